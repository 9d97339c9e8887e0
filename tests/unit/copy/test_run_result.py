"""What the plans of a run come to together."""

from kafka_mirror.copy.model import FORWARDED, REWRITTEN, BatchShare, LaneResult, RewriteReason, Watermark
from kafka_mirror.copy.run_result import join_results


def lane(*partitions: int, way: str = REWRITTEN) -> LaneResult:
    """A lane that copied ten records of each of these partitions, in a batch each."""
    marks = tuple(Watermark("orders", number, 10, 10, 10, 500) for number in partitions)
    share = BatchShare(way, len(marks), 10 * len(marks))
    rewritten = (RewriteReason("an edge", len(marks), "orders", partitions[0]),) if way == REWRITTEN else ()
    return LaneResult(0, marks, transactions=1, batches=(share,), rewritten=rewritten)


def test_the_batches_of_several_plans_are_added_up() -> None:
    both = join_results(join_results(lane(0, 1), lane(1, 2)), lane(2))
    assert both.batches == (BatchShare(REWRITTEN, 5, 50),)
    assert both.rewritten == (RewriteReason("an edge", 5, "orders", 0),)


def test_their_ways_are_told_apart() -> None:
    both = join_results(lane(0, 1), lane(0, way=FORWARDED))
    assert {share.way: share.batches for share in both.batches} == {REWRITTEN: 2, FORWARDED: 1}
