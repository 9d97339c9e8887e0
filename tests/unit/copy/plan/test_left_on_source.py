"""Which records of a moved topic stand on the source and nobody copies, over a log in memory."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from kafka_mirror.copy.plan.left_on_source import find_unexplained
from kafka_mirror.formats.offsets.map import OffsetMap, runs_of
from kafka_mirror.kafka.model import LogOffsets, Partition, Topic
from tests.unit.ledger_records import ledger_record

COPIED, OURS, STRANGE, INVISIBLE = "copied", "ours", "strange", "invisible"
TOPIC = Topic("orders", "source-topic-id", (Partition(0, 1, (1,), (1,)),))

EVENTS = st.lists(st.sampled_from([OURS, STRANGE, INVISIBLE]), max_size=12)
"""What happens to the source since the topic moved: the way back writes a transaction, a stranger a record, somebody aborts one."""


class Moved:
    """A partition of the source since its topic moved, with names kept: the log, and the record of the way back's ledger."""

    def __init__(self, copied, has_way_back):
        self.log = [COPIED] * copied
        self.record = ledger_record(watermark=copied, source_topic_id=TOPIC.id)
        self.way_back = None
        if has_way_back:
            self.way_back = ledger_record(target_topic="orders", target_topic_id=TOPIC.id, target_next=copied, records=0)

    def happens(self, event):
        if event == OURS:
            self._write_back()
        else:
            self.log.append(event)

    def _write_back(self):
        """As its lane does: not behind records that nobody explains."""
        if self.way_back is None or STRANGE in self.log[self.way_back.target_next :]:
            return
        first = len(self.log)
        self.log += [OURS, OURS, INVISIBLE]
        offset_map = OffsetMap(tuple(runs_of([0, 1], [first, first + 1])))
        self.way_back = replace(self.way_back, target_next=first + 2, records=2, offset_map=offset_map)

    def named(self, start=0):
        """The first offset that is named, as a reader of committed records comes to it."""
        log = LogOffsets(start, len(self.log), len(self.log), 0)
        part = find_unexplained(self.record, self.way_back, TOPIC, log)
        return next((place for place in range(*part) if self.log[place] != INVISIBLE), None) if part else None


@given(st.integers(0, 5), st.booleans(), EVENTS)
def test_the_first_record_that_neither_flow_wrote_is_named_and_nothing_else_is(copied, has_way_back, events):
    moved = Moved(copied, has_way_back)
    for event in events:
        moved.happens(event)
        first = moved.log.index(STRANGE) if STRANGE in moved.log else None
        assert moved.named() == first


@given(st.integers(0, 5), EVENTS, st.integers(0, 20))
def test_what_is_deleted_on_the_source_is_named_no_more(copied, events, start):
    moved = Moved(copied, has_way_back=False)
    for event in events:
        moved.happens(event)
    start = min(start, len(moved.log))
    left = [place for place, entry in enumerate(moved.log) if entry == STRANGE and place >= start]
    assert moved.named(start) == (left[0] if left else None)


def test_a_partition_that_nobody_copied_or_that_was_created_anew_is_named_from_its_beginning():
    log = LogOffsets(3, 9, 9, 0)
    assert find_unexplained(None, None, TOPIC, log) == (3, 9)
    anew = replace(TOPIC, id="another id")
    assert find_unexplained(ledger_record(watermark=9, source_topic_id=TOPIC.id), None, anew, log) == (3, 9)
    assert find_unexplained(ledger_record(watermark=9, source_topic_id=TOPIC.id), None, TOPIC, log) is None


def test_what_a_transaction_holds_back_is_named_once_it_is_committed():
    record = ledger_record(watermark=5, source_topic_id=TOPIC.id)
    assert find_unexplained(record, None, TOPIC, LogOffsets(0, 5, 9, 0)) is None
    assert find_unexplained(record, None, TOPIC, LogOffsets(0, 9, 9, 0)) == (5, 9)
