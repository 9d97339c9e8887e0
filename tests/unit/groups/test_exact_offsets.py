"""Counting for groups, with clusters in memory: what is read, what it may cost, and what is remembered."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

from kafka_mirror.config.resolved_flow import ClientSettings
from kafka_mirror.errors import DeadlineExceeded
from kafka_mirror.formats.mm2 import Checkpoint
from kafka_mirror.formats.offsets.holes import EXACT_PLACE, UNPLACED, Hole, UncountedHole
from kafka_mirror.formats.offsets.map import OffsetMap, Run
from kafka_mirror.formats.offsets.older_copies import OlderCopies
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.groups import hole_reader as module
from kafka_mirror.groups.checkpoint_rules import NotedCheckpoint
from kafka_mirror.groups.exact_offsets import EarlyOffset, KnownPlaces, count_early
from kafka_mirror.groups.hole_reader import CountFailure, HoleCounter, PartitionHole
from kafka_mirror.groups.translation import BY_CHECKPOINT, BY_COUNT, BY_MAP, EARLY, EXACT, SourceState, translate, translate_back
from kafka_mirror.ledger.record import Decided, History, HistoryTopic, Skipped
from tests.unit.audit.memory import MemoryMessage, record
from tests.unit.ledger_records import WRITTEN_AT, ledger_record

TP, REMOTE = TopicPartition("orders", 0), TopicPartition("east.orders", 0)
PLENTY = 1_000_000


def log(first, count, step=1, start=0, kind=1):
    """`count` records from an offset on, the first of them number `start`."""
    return [
        record(first + number * step, b"value %d" % (start + number), timestamp=9 if kind == 2 else start + number, kind=kind)
        for number in range(count)
    ]


class Brokers:
    """Both clusters: their logs, where these begin and end, and every range that was read."""

    def __init__(self, monkeypatch, seconds=20.0, limit=PLENTY):
        self.logs = {TP: log(0, 100), REMOTE: [*log(0, 50), *log(51, 50, start=50)]}
        self.starts, self.ends = {TP: 0, REMOTE: 0}, {TP: 100, REMOTE: 102}
        self.reads, self.failure = [], None
        self.context = SimpleNamespace(
            clients=ClientSettings({}, {}, {}, {}),
            source="east",
            target="west",
            read_committed=True,
            request_seconds=5.0,
            count_max_bytes=limit,
            count_max_seconds=seconds,
        )
        brokers = self

        class MemorySide:
            def __init__(self, alias, *_):
                self.alias = alias

            def read_batches(self, parts, errors):
                for tp, part in parts.items():
                    brokers.reads.append((self.alias, tp, part.start, part.end))
                    kept = [each for each in brokers.logs[tp] if part.start <= each.offset < part.end]
                    kept = [each for each in kept if not any(start <= each.offset < end for start, end in part.excluded)]
                    for at in range(0, len(kept), 10):
                        yield tp, [MemoryMessage(each) for each in kept[at : at + 10]]

        monkeypatch.setattr(module, "PartReader", MemorySide)

    def offsets(self, tps, at, committed=False):
        if self.failure is not None:
            raise self.failure
        there = self.starts if at == "earliest" else self.ends
        return {tp: there[tp] for tp in tps if tp in there}

    def count(self, holes):
        return HoleCounter(self.context, self, self).count(holes)


LEDGER = ledger_record(
    watermark=100,
    target_topic="east.orders",
    target_next=101,
    covered=((0, 100),),
    offset_map=OffsetMap((Run(0, 0, 10), Run(90, 91, 10, thinned=True))),
    records=100,
    bytes=1_000,
)


@pytest.fixture
def brokers(monkeypatch):
    return Brokers(monkeypatch)


def early(offset, ledger=LEDGER):
    answer = translate(offset, ledger, SourceState(ledger.source_topic_id, 100), ledger.target_topic_id)
    assert answer.kind == EARLY
    return EarlyOffset(offset, answer, REMOTE, "one", PartitionHole(TP, ledger, answer.hole))


def answers(brokers, *asked, known=None, limit=PLENTY):
    found = count_early(asked, known or KnownPlaces(), brokers.count, limit)
    return [found[each] for each in asked]


def test_all_groups_in_a_hole_are_answered_by_one_reading(brokers):
    found = answers(brokers, early(11), early(49), early(50), early(89))
    assert [(each.kind, each.by, each.target, each.reread) for each in found] == [
        (EXACT, BY_COUNT, target, 0) for target in (11, 49, 51, 90)
    ]
    assert sorted(brokers.reads) == [("east", TP, 10, 90), ("west", REMOTE, 10, 91)]
    assert {each.place for each in found} == {EXACT_PLACE}


def test_after_a_decision_nothing_that_the_target_alone_holds_is_passed_over(brokers):
    brokers.starts[TP] = 40
    brokers.logs[TP] = log(40, 60, start=40)
    asked = early(60), early(60, replace(LEDGER, decided=Decided("restart", "somebody", WRITTEN_AT, "because")))
    assert [(each.kind, each.target) for each in answers(brokers, asked[0])] == [(EXACT, 61)]
    (found,) = answers(brokers, asked[1])
    assert (found.kind, found.target, found.reason) == (EARLY, 10, module.NOT_THE_SAME)


def test_no_hole_is_counted_that_newer_copies_will_answer_for():
    """A restart at 50 copies once more, and the older copies answer, of which the map knows those below 10 and from 90 on."""
    older = OlderCopies(50, 100, 50, 0, LEDGER.offset_map)
    ledger = replace(
        LEDGER, watermark=60, offset_map=OffsetMap((Run(0, 0, 10), Run(50, 102, 10, thinned=True))), target_next=112, older=older
    )
    source = SourceState(LEDGER.source_topic_id, 100)
    found = translate(20, ledger, source, LEDGER.target_topic_id)
    assert (found.kind, found.target, found.hole, found.place) == (EARLY, 10, None, "")
    further_back = replace(ledger, older=replace(older, start=95, restarted=95))
    assert translate(20, further_back, source, LEDGER.target_topic_id).hole == Hole(10, 10, 90, 91), (
        "all of it lies in front of the restart"
    )


def test_what_was_passed_over_and_what_backfills_wrote_is_not_counted(brokers):
    brokers.logs[REMOTE] = [*log(0, 20), *log(20, 5, start=500), *log(25, 65, start=25), *log(91, 10, start=90)]
    place = History(900, 905, "east.orders", 20, 25)
    history = HistoryTopic("east.orders", LEDGER.target_topic_id, 25, ((900, 905),), (place,))
    ledger = replace(LEDGER, skipped=(Skipped(20, 25, "too large"),), history_topics=(history,))
    assert [each.target for each in answers(brokers, early(19, ledger), early(22, ledger), early(40, ledger))] == [19, 25, 40]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda brokers: brokers.logs[REMOTE].insert(30, record(-1, b"foreign")._replace(offset=30)), "do not hold the same"),
        (lambda brokers: brokers.logs[TP].pop(60), "do not hold the same"),
        (lambda brokers: brokers.starts.update({TP: 95}), "are gone"),
        (lambda brokers: brokers.ends.update({REMOTE: 40}), "are gone"),
        (lambda brokers: brokers.starts.update({TP: 45}), "are gone"),
        (lambda brokers: setattr(brokers, "failure", DeadlineExceeded("Nobody answers.")), "DeadlineExceeded: Nobody answers."),
    ],
    ids=["foreign", "compacted", "gone", "cut off", "begins behind it", "unreachable"],
)
def test_what_cannot_be_counted_stays_early_and_says_why(brokers, change, reason):
    change(brokers)
    (found,) = answers(brokers, early(40))
    assert (found.kind, found.target, found.by, found.is_over_budget) == (EARLY, 10, BY_MAP, False)
    assert reason in found.reason


def test_skipped_records_of_which_nobody_knows_which_keep_it_early_unread(brokers):
    ledger = replace(LEDGER, skipped=(Skipped(20, 40, "several reasons", 3),))
    (found,) = answers(brokers, early(50, ledger))
    assert (found.kind, brokers.reads) == (EARLY, [])


def test_a_target_that_stamps_its_records_is_compared_by_the_rest(brokers):
    brokers.logs[REMOTE] = [*log(0, 90, kind=2), *log(91, 10, start=90, kind=2)]
    assert answers(brokers, early(40))[0].target == 40


def test_the_budget_is_for_all_holes_and_the_small_ones_come_first(monkeypatch):
    brokers = Brokers(monkeypatch, limit=30_000)
    small = [TopicPartition("orders", number) for number in (1, 2)]
    for tp in small:
        remote = REMOTE._replace(partition=tp.partition)
        brokers.logs |= {tp: log(0, 100), remote: log(0, 100)}
        brokers.starts |= {tp: 0, remote: 0}
        brokers.ends |= {tp: 100, remote: 100}
    large = PartitionHole(TP, LEDGER, Hole(10, 10, 90, 91))
    holes = [large, *(PartitionHole(tp, LEDGER, Hole(10, 10, 20, 20)) for tp in small)]
    found = brokers.count(holes)
    assert [isinstance(found[each], CountFailure) for each in holes] == [False, False, False]
    brokers.context.count_max_bytes = 5_000
    brokers.reads.clear()
    found = brokers.count(holes)
    assert [isinstance(found[each], CountFailure) for each in holes] == [True, False, False]
    assert found[large].is_over_budget
    assert not any(tp == TP for _, tp, _, _ in brokers.reads), "what is too large for sure is not begun"


def test_a_hole_that_is_larger_than_it_looked_is_not_read_again_with_the_same_budget(monkeypatch):
    brokers = Brokers(monkeypatch, limit=20_000)
    brokers.logs[TP] = [each._replace(value=each.value * 50) for each in brokers.logs[TP]]
    brokers.logs[REMOTE] = [each._replace(value=each.value * 50) for each in brokers.logs[REMOTE]]
    known, ledger = KnownPlaces(), replace(LEDGER, records=1_000, bytes=1_000)
    (found,) = answers(brokers, early(40, ledger), known=known, limit=20_000)
    assert (found.kind, found.is_over_budget, len(brokers.reads)) == (EARLY, True, 2)
    assert found.place == UncountedHole(Hole(10, 10, 90, 91), 20_000).text
    again = answers(brokers, early(41, ledger), known=known, limit=20_000)
    assert (again[0].is_over_budget, len(brokers.reads)) == (True, 2)
    brokers.context.count_max_bytes = PLENTY
    assert answers(brokers, early(41, ledger), known=known, limit=PLENTY)[0].kind == EXACT


def test_nothing_is_read_when_time_is_up(monkeypatch):
    brokers = Brokers(monkeypatch, seconds=-1.0)
    (found,) = answers(brokers, early(40))
    assert (found.is_over_budget, brokers.reads) == (True, [])
    assert "mirror.translation.count.max.seconds" in found.reason


# ---------------------------------------------------------------- what is known already


def stored(offset, position, generation="one", place=EXACT_PLACE):
    return NotedCheckpoint(Checkpoint("somebody", *REMOTE, offset, position), generation, place)


def known_by(*checkpoints):
    return KnownPlaces(lambda: dict(enumerate(checkpoints)))


def test_a_checkpoint_of_the_same_generation_and_offset_says_the_place(brokers):
    (found,) = answers(brokers, early(50), known=known_by(stored(50, 51)))
    assert (found.kind, found.by, found.target, found.place, brokers.reads) == (EXACT, BY_CHECKPOINT, 51, EXACT_PLACE, [])


@pytest.mark.parametrize(
    "checkpoint",
    [
        stored(50, 51, generation="another"),
        stored(50, 51, generation=None),
        stored(50, 51, place=""),
        stored(49, 49),
        stored(50, 95),
        stored(50, 9),
    ],
    ids=["generation", "nobody's", "early", "offset", "behind the hole", "in front of it"],
)
def test_any_other_checkpoint_says_nothing(brokers, checkpoint):
    (found,) = answers(brokers, early(50), known=known_by(checkpoint))
    assert (found.by, found.target) == (BY_COUNT, 51)


def test_a_hole_whose_sides_differ_is_not_read_again_for_any_group(brokers):
    known = known_by(stored(20, 10, place=UncountedHole(Hole(10, 10, 90, 91)).text))
    (found,) = answers(brokers, early(50), known=known)
    assert (found.kind, brokers.reads) == (EARLY, [])
    assert "do not hold the same" in found.reason


def test_an_offset_whose_place_cannot_be_told_is_not_counted_again_and_others_in_its_hole_are(brokers):
    brokers.starts[TP], known = 45, KnownPlaces()
    first = answers(brokers, early(20), early(60), known=known)
    assert [(each.kind, each.target, each.place) for each in first] == [(EARLY, 10, UNPLACED), (EXACT, 61, EXACT_PLACE)]
    brokers.reads.clear()
    (again,) = answers(brokers, early(20), known=known)
    (from_checkpoint,) = answers(brokers, early(20), known=known_by(stored(20, 10, place=UNPLACED)))
    assert again == from_checkpoint == first[0]
    assert brokers.reads == []
    assert answers(brokers, early(70), known=known_by(stored(20, 10, place=UNPLACED)))[0].target == 71


def test_checkpoints_that_cannot_be_read_leave_the_answer_early_with_the_reason(brokers):
    def fails():
        raise DeadlineExceeded("Nobody answers.")

    (found,) = answers(brokers, early(50), known=KnownPlaces(fails))
    assert (found.kind, brokers.reads) == (EARLY, [])
    assert "DeadlineExceeded" in found.reason


def test_looks_remember_what_they_counted_as_long_as_it_is_asked_for(brokers):
    known, loads = KnownPlaces(), []

    def load():
        loads.append(1)
        return {}

    for expected in (BY_COUNT, BY_CHECKPOINT, BY_CHECKPOINT):
        known.begin(load)
        assert answers(brokers, early(50), known=known)[0].by == expected
    assert (len(brokers.reads), len(loads)) == (2, 1)
    known.begin(load)
    known.begin(load)
    assert answers(brokers, early(50), known=known)[0].by == BY_COUNT, "nobody had asked for it any more"


def test_readers_of_the_mirror_are_counted_backwards(brokers):
    ledger = LEDGER
    answer = translate_back(40, ledger, SourceState(ledger.target_topic_id, 102), ledger.source_topic_id)
    assert answer.kind == EARLY
    asked = [
        EarlyOffset(offset, answer, TP, "one", PartitionHole(TP, ledger, answer.hole, is_back=True)) for offset in (11, 49, 50, 51, 90, 91)
    ]
    brokers.starts, brokers.ends = dict(brokers.starts), dict(brokers.ends)
    found = count_early(asked, KnownPlaces(), brokers.count, PLENTY)
    assert [found[each].target for each in asked] == [11, 49, 50, 50, 89, 90]
    assert sorted(brokers.reads) == [("east", REMOTE, 10, 91), ("west", TP, 10, 90)]
