"""What the rounds of a run come to together."""

from mirror.copy.model import BATCHES, RECORDS, EncodedAnew, EngineShare, LaneResult, Watermark
from mirror.copy.run_result import together


def lane(*partitions: int, engine: str = RECORDS) -> LaneResult:
    """A lane that copied ten records of each of these partitions."""
    marks = tuple(Watermark("orders", number, 10, 10, 10, 500) for number in partitions)
    share = EngineShare(engine, len(marks), 10 * len(marks), 500 * len(marks))
    anew = (EncodedAnew("a few records", len(marks), "orders", partitions[0]),) if engine == RECORDS else ()
    return LaneResult(0, marks, transactions=1, engines=(share,), encoded_anew=anew)


def test_a_partition_that_several_rounds_copied_is_one_of_those_that_an_engine_copied() -> None:
    both = together(together(lane(0, 1), lane(1, 2)), lane(2))
    assert both.engines == (EngineShare(RECORDS, 3, 50, 2_500),)
    assert both.encoded_anew == (EncodedAnew("a few records", 3, "orders", 0),)


def test_engines_are_told_apart() -> None:
    both = together(lane(0, 1), lane(0, engine=BATCHES))
    assert {share.engine: share.partitions for share in both.engines} == {RECORDS: 2, BATCHES: 1}
