"""What there is to compare: for random flows, the source records of a stretch are those whose copies stand in its target offsets."""

from dataclasses import dataclass, replace

from hypothesis import given
from hypothesis import strategies as st

from kafka_mirror.audit import copied_ranges as module
from kafka_mirror.audit.copied_ranges import BEFORE_LEDGER, FORGOTTEN, NEVER_COPIED, AuditRange, LogBounds, history_range, live_ranges
from kafka_mirror.audit.model import LeftOut
from kafka_mirror.formats.offsets.intervals import merge_intervals
from kafka_mirror.formats.offsets.map import OffsetMap, Run
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.ledger.record import History, HistoryTopic, LedgerRecord, Skipped
from tests.unit.ledger_records import ledger_record

TP = TopicPartition("orders", 0)


@dataclass(frozen=True)
class Life:
    """A partition that was mirrored: which source offset became which target offset, and what the ledger says of it."""

    pairs: tuple[tuple[int, int], ...]
    record: LedgerRecord
    end: int


@st.composite
def lives(draw: st.DrawFn) -> Life:
    """Transactions of runs with holes in the source, markers in the target, skipped offsets, and a map that is thinned."""
    source = start = draw(st.integers(0, 20))
    target = draw(st.integers(0, 20))
    pairs: list[tuple[int, int]] = []
    runs: list[Run] = []
    skipped: list[Skipped] = []
    covered: list[tuple[int, int]] = []
    for _ in range(draw(st.integers(1, 25))):
        begin = source
        for _ in range(draw(st.integers(1, 3))):
            source += draw(st.integers(0, 2))
            length = draw(st.integers(1, 4))
            runs.append(Run(source, target, length, draw(st.integers(0, 9)) == 0))
            pairs += [(source + number, target + number) for number in range(length)]
            source, target = source + length, target + length
        covered.append((begin, source))
        target += draw(st.integers(1, 3))
        if draw(st.integers(0, 4)) == 0:
            skipped.append(Skipped(source, source + 2, "gap"))
            source += 2
    thinned = [runs[0]]
    dropped = False
    for run in runs[1:-1]:
        if draw(st.booleans()):
            dropped = True
        else:
            thinned.append(run._replace(thinned=dropped))
            dropped = False
    if len(runs) > 1:
        thinned.append(runs[-1]._replace(thinned=dropped))
    last = runs[-1]
    record = ledger_record(
        watermark=source,
        target_next=last.target + last.length,
        offset_map=OffsetMap().with_runs(thinned),
        covered=tuple(merge_intervals(covered)),
        skipped=tuple(skipped),
        start=start,
    )
    return Life(tuple(pairs), record, source)


def records_of(stretch: AuditRange, life: Life, held: LogBounds) -> tuple[list[int], list[int]]:
    """The source offsets on both sides of a stretch: those that are read, and those whose copies are read."""
    source = [
        ours
        for ours, _ in life.pairs
        if stretch.start <= ours < stretch.end and ours >= held.source_start and not any(a <= ours < b for a, b in stretch.source_left)
    ]
    target = [
        ours
        for ours, copy in life.pairs
        if stretch.target_start <= copy < stretch.target_read_end
        and copy >= held.target_start
        and not any(a <= copy < b for a, b in stretch.target_left)
    ]
    return source, target


@given(lives(), st.data())
def test_a_stretch_has_the_copies_of_its_records_and_a_head_ends_with_them(life: Life, data: st.DataObject) -> None:
    last = life.record.target_next
    held = LogBounds(data.draw(st.integers(0, life.end)), life.end, data.draw(st.integers(0, last)), last + 1)
    wanted = data.draw(st.none() | st.tuples(st.integers(0, life.end), st.integers(0, life.end)).map(lambda pair: (min(pair), max(pair))))
    stretches, left_out = live_ranges(TP, life.record, wanted, held)
    read: set[int] = set()
    for stretch in stretches:
        source, target = records_of(stretch, life, held)
        assert stretch.start >= held.source_start
        assert stretch.target_start >= held.target_start
        common = min(len(source), len(target))
        assert source[len(source) - common :] == target[len(target) - common :]
        assert len(source) <= len(target) or stretch.source_ahead
        assert len(target) <= len(source) or stretch.target_ahead
        assert read.isdisjoint(source)
        read.update(source)
    said = {offset for left in left_out for offset in range(left.start, left.end)}
    asked = range(*wanted) if wanted is not None else range(life.end)
    for ours, copy in life.pairs:
        if ours in asked and ours not in read:
            assert ours in said, f"{ours} is neither read nor left out"
        if ours in asked and ours >= held.source_start and copy >= held.target_start:
            assert ours in read, f"both sides have {ours}, and it is not read"


RECORD = ledger_record(
    watermark=100, target_next=111, covered=((0, 100),), offset_map=OffsetMap((Run(0, 0, 50), Run(50, 60, 50, thinned=True))), start=0
)
HELD = LogBounds(0, 100, 0, 112)


def test_everything_is_one_stretch_up_to_the_watermark() -> None:
    (stretch,), left_out = live_ranges(TP, RECORD, None, HELD)
    assert (stretch.start, stretch.end, stretch.target_start, stretch.target_end) == (0, 100, 0, 111)
    assert (stretch.is_head, left_out) == (False, [])


def test_what_is_asked_for_and_not_copied_is_said() -> None:
    _, left_out = live_ranges(TP, RECORD, (90, 120), HELD)
    assert left_out == [LeftOut(100, 120, "not copied yet: the watermark is 100")]
    _, left_out = live_ranges(TP, replace(RECORD, covered=((10, 100),)), (0, 20), HELD)
    assert left_out == [LeftOut(0, 10, BEFORE_LEDGER)]
    late = replace(RECORD, covered=((10, 100),), start=10, offset_map=OffsetMap((Run(10, 0, 90),)))
    assert live_ranges(TP, late, (0, 20), HELD)[1] == [LeftOut(0, 10, NEVER_COPIED)]
    assert live_ranges(TP, late, None, HELD)[1] == [], "what was never to be copied is not missed"


def test_where_both_logs_begin_in_one_gap_of_the_map_either_side_may_be_ahead() -> None:
    record = replace(RECORD, offset_map=OffsetMap((Run(0, 0, 10), Run(80, 90, 20, thinned=True))), target_next=110)
    (head, rest), _ = live_ranges(TP, record, None, LogBounds(20, 100, 40, 111))
    assert (head.start, head.end, head.target_start, head.target_end) == (20, 80, 40, 90)
    assert (head.source_ahead, head.target_ahead, rest.is_head) == (True, True, False)
    (head, _), _ = live_ranges(TP, record, None, LogBounds(20, 100, 0, 111))
    assert (head.target_start, head.source_ahead, head.target_ahead) == (10, False, True)


def test_what_the_ledger_forgot_is_said() -> None:
    covered = tuple((number, number + 1) for number in range(20, 84))
    (first, *_) = (left for left in live_ranges(TP, replace(RECORD, covered=covered), None, HELD)[1] if left.start < 20)
    assert first == LeftOut(0, 20, FORGOTTEN)


def test_a_target_that_ends_early_is_read_to_its_end() -> None:
    (stretch,), _ = live_ranges(TP, RECORD, None, replace(HELD, target_end=90))
    assert (stretch.target_end, stretch.target_read_end, stretch.remote_goes_on) == (111, 90, False)


def test_a_source_that_was_cut_off_is_compared_as_far_as_it_goes() -> None:
    (stretch,), left_out = live_ranges(TP, RECORD, None, replace(HELD, source_end=80))
    assert (stretch.end, stretch.target_end) == (80, 90)
    assert left_out == [LeftOut(80, 100, "the source's log ends at 80 now")]


def test_history_in_the_remote_topic_is_no_part_of_the_live_copy_and_a_stretch_of_its_own() -> None:
    place = History(0, 40, "east.orders", 52, 57)
    record = replace(RECORD, history_topics=(HistoryTopic("east.orders", "id", 57, ((0, 40),), (place,)),))
    (stretch,), _ = live_ranges(TP, record, None, HELD)
    assert stretch.target_left == ((52, 57),)
    (history,), left_out = history_range(TP, place, HELD, record)
    assert (history.start, history.end, history.target_start, history.target_end, history.is_head) == (0, 40, 52, 57, False)
    assert left_out == []


def test_history_of_which_a_side_lost_the_beginning_is_a_head() -> None:
    place = History(0, 40, "history.orders", 5, 45)
    (history,), left_out = history_range(TP, place, replace(HELD, source_start=10), RECORD)
    assert (history.start, history.target_start, history.source_ahead, history.target_ahead) == (10, 5, False, True)
    assert [(left.start, left.end) for left in left_out] == [(0, 10)]
    (history,), _ = history_range(TP, place, replace(HELD, target_start=20), RECORD)
    assert (history.start, history.target_start, history.source_ahead, history.target_ahead) == (0, 20, True, False)
    assert history_range(TP, place, replace(HELD, source_start=40), RECORD)[0] == []
    assert history_range(TP, place, replace(HELD, target_start=45), RECORD)[0] == []


def test_what_a_backfill_passed_over_is_no_part_of_its_history() -> None:
    place = History(0, 40, "history.orders", 5, 44)
    record = replace(RECORD, skipped=(Skipped(7, 8, "RecordRefused"), Skipped(10, 30, "several reasons", 3), Skipped(60, 61, "gap")))
    (history,), _ = history_range(TP, place, HELD, record)
    assert (history.source_left, history.unsure, history.most_unsure) == (((7, 8),), ((10, 30),), 3)
    (live,), _ = live_ranges(TP, record, (40, 100), HELD)
    assert (live.source_left, live.unsure, live.most_unsure) == (((60, 61),), (), 0)


def test_history_of_which_the_ledger_forgot_the_place_is_known() -> None:
    topic = HistoryTopic("east.orders", "id", 57, ((0, 40), (50, 60)), (History(20, 40, "east.orders", 52, 57),))
    assert module.forgotten(topic) == ((0, 20), (50, 60))


def test_a_head_with_something_else_in_it_is_not_counted_back() -> None:
    (head,), _ = history_range(TP, History(0, 40, "history.orders", 5, 45), replace(HELD, source_start=10), RECORD)
    assert module.countable(head) == head
    for spoilt in (replace(head, lenient=True), replace(head, unsure=((12, 20),), most_unsure=2)):
        found = module.countable(spoilt)
        assert isinstance(found, AuditRange)
        assert (found.is_head, found.lenient, found.unsure) == (False, True, spoilt.unsure), "what the target has in front may stand there"
        assert module.countable(replace(spoilt, compacted=True)).is_head, "keys are not counted"  # type: ignore[union-attr]
        left = module.countable(replace(spoilt, source_ahead=True))
        assert isinstance(left, LeftOut)
        assert (left.start, left.end) == (10, 40)


def test_a_source_that_was_cut_off_where_the_map_is_coarse_says_what_is_not_compared() -> None:
    record = replace(RECORD, offset_map=OffsetMap((Run(0, 0, 10), Run(80, 90, 20, thinned=True))), target_next=110)
    (stretch,), left_out = live_ranges(TP, record, None, replace(HELD, source_end=50))
    assert (stretch.end, stretch.target_end) == (10, 10)
    assert {(left.start, left.end) for left in left_out} == {(10, 50), (50, 100)}
