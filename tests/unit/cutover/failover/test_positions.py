"""Where a group goes on whose source is lost: never late, exact where the checkpoint or the ledger says so."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from kafka_mirror.cutover.failover.positions import COMMITTED, find_positions, read_time, report_positions
from kafka_mirror.formats.mm2 import Checkpoint
from kafka_mirror.formats.offsets.holes import EXACT_PLACE
from kafka_mirror.formats.offsets.map import OffsetMap, Run
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.groups.checkpoint_rules import NotedCheckpoint, SeenLog, SeenLogs
from kafka_mirror.groups.translation import EARLY, EXACT, INCOMPLETE, NONE, SourceState, generation, translate_back
from kafka_mirror.kafka.model import LogOffsets, PartitionLog
from kafka_mirror.ledger.record import Decided
from tests.unit.groups.mirror_life import TP, MirrorLife
from tests.unit.groups.test_never_late import at_most, small
from tests.unit.groups.test_never_late import events as events_of_a_copy
from tests.unit.ledger_records import ledger_record

ORDERS, REMOTE = TopicPartition("orders", 0), TopicPartition("east.orders", 0)
RECORD = ledger_record(watermark=100, target_next=90, offset_map=OffsetMap((Run(0, 0, 40), Run(60, 50, 40, True))), covered=((0, 100),))
"""Source offsets [40, 60) became the target's [40, 50); which of them, the map has forgotten."""
LOG = PartitionLog("target-topic-id", LogOffsets(0, 90, 90, None))
AT_MS = 1_795_249_872_000
AT = datetime.fromtimestamp(AT_MS / 1000, UTC)


SEEN = SeenLogs(SeenLog("source-topic-id", 0), SeenLog("target-topic-id", 0))


def stored(upstream, downstream, place="", record=RECORD, logs=SEEN):
    return NotedCheckpoint(Checkpoint("billing", *REMOTE, upstream, downstream, "note"), generation(record), place, AT_MS, logs)


def position(checkpoint, record=RECORD, log=LOG, committed=None, shared_end=1000):
    key = ("billing", REMOTE)
    facts = (
        {ORDERS: record} if record else {},
        {REMOTE: log} if log else {},
        {key: committed} if committed is not None else {},
        {key: shared_end} if shared_end is not None else {},
    )
    (answer,) = find_positions({("billing", REMOTE): checkpoint}, *facts)
    return answer


def answer(*arguments, **options):
    found = position(*arguments, **options)
    return found.answer.kind, found.answer.target, found.answer.reread


@pytest.mark.parametrize(
    ("upstream", "downstream", "place", "expected"),
    [
        (20, 20, "", (EXACT, 20, 0)),
        (100, 90, "", (EXACT, 90, 0)),
        (120, 80, "", (EXACT, 90, 0)),
        (50, 40, "", (EARLY, 40, 10)),
        (50, 45, "", (EARLY, 45, 5)),
        (43, 43, "", (EARLY, 43, 3)),
        (50, 45, EXACT_PLACE, (EXACT, 45, 0)),
        (50, 20, EXACT_PLACE, (EARLY, 40, 10)),
    ],
    ids=[
        "in the map",
        "at the watermark",
        "ahead of the copy",
        "in a hole",
        "moved on in it",
        "what it has read may follow",
        "counted",
        "what the map knows is better",
    ],
)
def test_the_later_one_of_checkpoint_and_ledger_counts(upstream, downstream, place, expected):
    assert answer(stored(upstream, downstream, place)) == expected


def test_a_checkpoint_of_another_generation_does_not_count_and_neither_does_one_behind_every_right_place():
    assert answer(stored(50, 45)._replace(generation="another")) == (EARLY, 40, 10)
    assert answer(stored(50, 45, logs=None)._replace(generation=None)) == (EARLY, 40, 10), "MirrorMaker 2's own"
    assert answer(stored(50, 70)) == (EARLY, 40, 10)


def test_the_ledger_does_not_answer_for_a_log_that_is_no_more():
    another = SEEN._replace(source=SeenLog("of the topic before", 0))
    assert answer(stored(100, 70, logs=another)._replace(generation="another")) == (EARLY, 70, None)
    newer = replace(RECORD, leader_epoch=1)
    assert answer(stored(120, 80, record=newer), record=newer) == (EARLY, 80, None), "what it had read ahead of the copy may be cut off"
    assert answer(stored(100, 90, record=newer), record=newer) == (EXACT, 90, 0), "all that it had read was copied by then"


def test_a_checkpoint_does_not_answer_beyond_what_the_target_kept_of_its_log():
    another = SEEN._replace(source=SeenLog("of the topic before", 0))
    assert answer(stored(100, 70, logs=another)._replace(generation="another"), shared_end=65) == (EARLY, 65, None)
    for checkpoint, shared_end in (
        (stored(100, 70, logs=another), None),
        (stored(100, 70, logs=another._replace(target=SeenLog("x", 0))), 70),
    ):
        found = position(checkpoint, shared_end=shared_end)
        assert (found.answer.kind, found.answer.target, found.answer.reread) == (EARLY, 0, None)
        assert "its checkpoint is of logs that are gone" in str(found)
    assert answer(stored(100, 70), shared_end=None) == (EXACT, 90, 0), "the source's log is the same, so the ledger answers"


def test_a_checkpoint_of_mirrormaker_2_holds_until_a_person_decides():
    theirs = stored(100, 70, logs=None)._replace(generation=None)
    assert answer(theirs) == (EARLY, 70, None)
    assert answer(theirs, record=replace(RECORD, decided=Decided("restart", "ana", AT, "seen"))) == (EARLY, 0, None)


@given(st.integers(0, 100), st.integers(0, 10))
def test_a_position_is_never_behind_the_first_record_that_the_group_has_not_read(offset, lost_in_front):
    """Of the 20 source offsets in the hole some 10 are records: the first ones, the last ones, or any between."""
    targets = {n: n for n in range(40)} | {60 + n: 50 + n for n in range(40)}
    targets |= {40 + lost_in_front + n: 40 + n for n in range(10)}
    first_unread = min((target for source, target in targets.items() if source >= offset), default=90)
    for downstream in (0, first_unread):
        found = position(stored(offset, downstream))
        assert found.answer.target <= first_unread
        assert first_unread - found.answer.target <= found.answer.reread


def test_without_a_ledger_record_the_checkpoint_stands_alone():
    assert answer(stored(50, 45, EXACT_PLACE), record=None) == (EXACT, 45, 0)
    assert answer(stored(50, 45), record=None) == (EARLY, 45, None)
    assert answer(stored(50, 45, EXACT_PLACE), record=None, shared_end=30) == (EARLY, 30, None), "its log was cut off there"
    assert answer(stored(50, 45, EXACT_PLACE), record=None, log=LOG._replace(topic_id="another")) == (EARLY, 0, None)
    assert answer(stored(50, 45, logs=None), record=None) == (EARLY, 45, None), "MirrorMaker 2's own"


def test_a_position_lies_within_the_targets_log():
    assert answer(stored(100, 90), log=LOG._replace(log=LogOffsets(0, 80, 80, None)))[:2] == (EXACT, 80)
    found = position(stored(20, 20), log=LOG._replace(log=LogOffsets(30, 90, 90, None)))
    assert (found.answer.kind, found.answer.target, found.following) == (INCOMPLETE, 30, 60)
    assert "log starts at 30" in found.answer.reason


def test_a_group_that_stands_further_on_on_the_target_is_not_moved_back():
    found = position(stored(20, 20), committed=35)
    assert (found.answer.kind, found.answer.target, found.following) == (COMMITTED, 35, 55)
    assert answer(stored(20, 20), committed=5)[:2] == (EXACT, 20)
    assert answer(stored(20, 20), committed=95)[:2] == (EXACT, 20), "a position that the partition does not have is none"


def test_a_partition_that_is_gone_or_was_created_anew_has_no_answer():
    assert position(stored(20, 20), log=None).answer.kind == NONE
    assert position(stored(20, 20), log=LOG._replace(topic_id="another")).answer.kind == NONE


def test_the_time_of_the_checkpoint_is_the_time_of_what_is_known():
    checkpoint = stored(20, 20)
    assert (position(checkpoint).noted, read_time(checkpoint)) == (checkpoint, AT)
    assert read_time(checkpoint._replace(time=None)) is None


def test_findings_say_what_is_read_again_what_is_missing_and_until_when_the_group_is_known():
    positions = [position(stored(50, 45)), position(stored(20, 20), log=None), position(stored(20, 20), committed=35)]
    codes = [(finding.kind, finding.code) for finding in report_positions(positions, "west")]
    assert codes == [
        ("stop", "GroupWithoutAnswer"),
        ("warning", "GroupNotExact"),
        ("warning", "GroupFurtherOnTarget"),
        ("information", "GroupKnownUntil"),
    ]
    early = next(finding for finding in report_positions(positions, "west") if finding.code == "GroupNotExact")
    assert "at most 5 records again" in early.message


UPSTREAM = TopicPartition("payments", 0)
events = st.one_of(
    events_of_a_copy,
    st.tuples(st.just("checkpoint"), st.sampled_from(["one", "two"]), st.integers(0, 150)),
    st.tuples(st.just("checkpoint"), st.sampled_from(["one", "two"]), st.just(10_000)),
    st.tuples(st.just("cut_source"), st.integers(0, 150)),
    st.tuples(st.just("create_source_anew"), small),
    st.tuples(st.just("create_remote_anew"), st.integers(0, 150)),
    st.tuples(st.just("elect")),
    st.tuples(st.just("lose_unseen"), small),
)
lives = st.lists(events, min_size=5, max_size=60)

CREATED_ANEW = [("produce", 9, 0), ("copy", 9, 0), ("checkpoint", "one", 7), ("create_source_anew", 3), ("restart", 0), ("copy", 9, 0)]
"""The old topic's last two and all of the new one stand on the target, and the group has read none of them."""
CUT_OFF = [
    ("produce", 9, 0),
    ("copy", 9, 0),
    ("checkpoint", "one", 9),
    ("cut_source", 6),
    ("produce", 2, 0),
    ("restart", 6),
    ("copy", 9, 0),
]
CUT_OFF_AHEAD_OF_THE_COPY = [
    *[("produce", 9, 0), ("copy", 4, 0), ("checkpoint", "one", 9), ("cut_source", 6), ("produce", 1, 0), ("copy", 9, 0)],
]
"""Nothing below the watermark is cut off, so no copy stops and nobody decides anything."""
LOST_ON_THE_TARGET = [
    *[("produce", 9, 0), ("copy", 9, 0), ("checkpoint", "one", 9), ("create_source_anew", 9), ("lose", 6, 0, 0), ("copy", 9, 0)],
]
"""The records of the new topic stand where the group's checkpoint was: the target had lost what stood there."""
LOST_UNSEEN = [
    *[("produce", 9, 0), ("copy", 9, 0), ("lose_unseen", 6), ("checkpoint", "one", 9), ("create_source_anew", 9), ("restart", 0)],
    *[("copy", 9, 0)],
]
"""When the checkpoint was written, the target had lost what the ledger had of it, and nobody had seen it."""


@settings(max_examples=200, deadline=None)
@given(st.sampled_from([0, 0, 30]), st.sampled_from([12, 24, 120, 1536]), lives)
@example(0, 1536, CREATED_ANEW)
@example(0, 1536, CUT_OFF)
@example(0, 1536, CUT_OFF_AHEAD_OF_THE_COPY)
@example(0, 1536, LOST_ON_THE_TARGET)
@example(0, 1536, LOST_UNSEEN)
def test_whatever_happened_a_failover_is_never_late(start, size, events):
    with at_most(size):
        life = MirrorLife(start)
        for name, *arguments in events:
            getattr(life, name)(*arguments)
            for known in life.checkpoints.values():
                assert_never_late(life, known)


def assert_never_late(life, known):
    """One copy of each record that the group has not read stands at its position or after it."""
    log = PartitionLog(life.target_id, LogOffsets(life.head, life.end, life.end, None))
    checkpoint, remote = known.checkpoint, TopicPartition("east.orders", TP.partition)
    key = (checkpoint.checkpoint.group, remote)
    noted = checkpoint.logs.target
    is_known = noted.topic_id == life.target_id and noted.leader_epoch is not None
    kept = {key: life.target_epochs.end_of(noted.leader_epoch, life.end)} if is_known else {}
    (found,) = find_positions({key: checkpoint}, {TP: life.record}, {remote: log}, {}, kept)
    assert found.answer.kind != NONE
    newest = {}
    for position, number in life.numbered:
        newest[number] = max(position, newest.get(number, 0))
    late = {number: place for number, place in newest.items() if known.has_not_read(number) and life.head <= place < found.answer.target}
    assert not late, f"{checkpoint} is told {found}, and misses the records {late}"
    if found.answer.reread is not None:
        live = {number for position, number in life.numbered if position not in life.history}
        again = {number for position, number in life.numbered if position >= found.answer.target and number in known.read}
        assert len(again & live) <= found.answer.reread, (checkpoint, found)


upstream_events = st.one_of(
    st.tuples(st.just("produce"), st.integers(1, 20), st.integers(0, 2)),
    st.tuples(st.just("copy"), st.integers(1, 15), st.sampled_from([0, 0, 1, 3])),
    st.tuples(st.just("cut_source"), st.integers(0, 60)),
    st.tuples(st.just("create_source_anew"), small),
    st.tuples(st.just("expire_source"), small),
    st.tuples(st.just("restart"), st.integers(0, 60)),
    st.tuples(st.just("elect")),
    st.tuples(st.just("read_mirror"), st.integers(0, 60)),
)


class UpstreamLife(MirrorLife):
    """A life whose source is the target of the failover: a group read the mirror, and goes on in the upstream topic."""

    def __init__(self):
        super().__init__(0)
        self.read = None

    def read_mirror(self, position):
        """A group has read its mirror up to a position, and its checkpoint says where it would go on upstream."""
        position = min(position, self.record.target_next)
        found = translate_back(position, self.record, SourceState(self.target_id, self.end), self.source_id)
        if found.target is None:
            return
        logs = SeenLogs(SeenLog(self.target_id, 0), SeenLog(self.source_id, self.record.leader_epoch))
        place = EXACT_PLACE if found.kind == EXACT else ""
        checkpoint = NotedCheckpoint(Checkpoint("billing", *UPSTREAM, position, found.target, ""), "any", place, None, logs)
        copied = {number for _, number in self.numbered}
        reached = self.record.watermark if self.cut is None else self.cut
        passed_over = {number for source, number in self.numbers.items() if source < reached and number not in copied}
        self.read = checkpoint, passed_over | {number for place, number in self.numbered if place < position}


@settings(max_examples=200, deadline=None)
@given(st.lists(upstream_events, min_size=4, max_size=40))
@example([("produce", 9, 0), ("copy", 9, 0), ("read_mirror", 9), ("create_source_anew", 12)])
@example([("produce", 9, 0), ("copy", 9, 0), ("read_mirror", 9), ("cut_source", 4), ("produce", 12, 0)])
def test_a_reader_of_a_mirror_never_passes_what_it_has_not_read_upstream(events):
    life = UpstreamLife()
    for name, *arguments in events:
        getattr(life, name)(*arguments)
        if life.read is not None:
            checkpoint, read = life.read
            noted = checkpoint.logs.target
            ends = {("billing", UPSTREAM): life.source_epochs.end_of(noted.leader_epoch, life.source_end)}
            log = PartitionLog(life.source_id, LogOffsets(life.log_start, life.source_end, life.source_end, None))
            shared = ends if noted.topic_id == life.source_id else {}
            (found,) = find_positions({("billing", UPSTREAM): checkpoint}, {}, {UPSTREAM: log}, {}, shared)
            unread = [source for source, number in life.numbers.items() if number not in read and source >= life.log_start]
            assert found.answer.target <= min(unread, default=found.answer.target), f"{checkpoint} is told {found}"
