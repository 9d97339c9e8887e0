"""A failover against the target's log itself: whatever happened to either side since a checkpoint, no group passes what it has not read.

A life of one partition goes on, with groups whose checkpoints are written now and then. After each event its source is taken for lost.
"""

from hypothesis import example, given, settings
from hypothesis import strategies as st

from kafka_mirror.cutover.failover.positions import find_positions
from kafka_mirror.formats.mm2 import Checkpoint
from kafka_mirror.formats.offsets.holes import EXACT_PLACE
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.groups.checkpoint_rules import NotedCheckpoint, SeenLog, SeenLogs
from kafka_mirror.groups.translation import EXACT, NONE, SourceState, translate_back
from kafka_mirror.kafka.model import LogOffsets, PartitionLog
from tests.unit.groups.mirror_life import REMOTE, TP, MirrorLife
from tests.unit.groups.test_never_late import at_most, small
from tests.unit.groups.test_never_late import events as events_of_a_copy

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
    checkpoint, remote = known.checkpoint, TopicPartition(REMOTE, TP.partition)
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
