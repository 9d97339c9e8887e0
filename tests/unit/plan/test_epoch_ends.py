"""Whether source logs are still the ones that were copied: what a leader does not say counts as cut off, never as whole."""

from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mirror.errors import SourceUnreadable
from mirror.kafka.model import LogOffsets
from mirror.offsets.partition import TopicPartition
from mirror.plan.ranges import SourceOffsets, next_range
from mirror.plan.source_partitions import confirmed, with_epoch_ends
from tests.unit.ledger_records import ledger_record

STOCK = TopicPartition("stock", 0)


class Source:
    """Tells this end, or nothing."""

    def __init__(self, end):
        self.end, self.asked = end, {}

    def ask_each_server(self, ask):
        """One server tells nothing, and the other one the same as before."""
        return {}, {}

    def epoch_ends(self, epochs, _seconds):
        self.asked = dict(epochs)
        return {} if self.end is None else dict.fromkeys(epochs, self.end)


epochs = st.none() | st.integers(0, 3)


@given(copied=epochs, now=epochs, end=st.none() | st.integers(0, 60))
def test_a_leader_is_asked_about_each_older_epoch_and_one_that_is_silent_leaves_its_partition_unconfirmed(copied, now, end):
    source, records = Source(end), {STOCK: ledger_record(watermark=50, leader_epoch=copied)}
    (found,) = with_epoch_ends(source, {STOCK: SourceOffsets(STOCK, "id", 0, 60, 60, leader_epoch=now)}, records).values()
    is_older = copied is not None and now is not None and copied < now
    assert source.asked == ({STOCK: copied} if is_older else {})
    assert (found.epoch_end, found.is_unconfirmed) == (end if is_older else None, is_older and end is None)
    if found.is_unconfirmed:
        with pytest.raises(SourceUnreadable, match="stock-0@50"):
            confirmed({STOCK: found}, records)
    else:
        assert confirmed({STOCK: found}, records) == {STOCK: found}


class Servers:
    """Each tells a topic id, an end and a leader epoch of the partition; the first one is the one that the plan was told by."""

    def __init__(self, *told):
        self.told = told

    def epoch_ends(self, epochs, _seconds):
        return dict.fromkeys(epochs, 100)

    def ask_each_server(self, ask):
        return {number: ask(Servers(one)) for number, one in enumerate(self.told)}, {}

    def topics(self, names, _refused):
        return {name: SimpleNamespace(id=self.told[0][0]) for name in names}

    def log_offsets(self, wanted, _refused):
        return {tp: LogOffsets(0, self.told[0][1], self.told[0][1], self.told[0][2]) for tp in wanted}

    def plan(self, record):
        topic_id, end, epoch = self.told[0]
        offsets = {STOCK: SourceOffsets(STOCK, topic_id, 0, end, end, leader_epoch=epoch)}
        (found,) = with_epoch_ends(self, offsets, {STOCK: record}).values()
        return next_range(found, record, False, datetime.now(UTC), timedelta(minutes=1)), found


COPIED = ledger_record(watermark=50, source_topic_id="new", leader_epoch=3)


@pytest.mark.parametrize("cut_off", [("new", 40, 2), ("new", 70, 2), ("old", 90, 7)], ids=("shorter", "another branch", "an older topic"))
def test_a_broker_that_is_cut_off_from_its_cluster_makes_no_log_another_one_while_some_server_knows_better(cut_off):
    outcome, found = Servers(cut_off, ("new", 60, 4)).plan(COPIED)
    assert (outcome.code, outcome.retriable) == ("SourceUnreadable", True)
    with pytest.raises(SourceUnreadable, match="cut off from its cluster"):
        confirmed({STOCK: found}, {STOCK: COPIED})


@pytest.mark.parametrize(
    ("told", "code"), [((("new", 40, 4), ("new", 60, 2)), "SourceTruncated"), ((("newest", 90, 0), ("newest", 90, 0)), "SourceRecreated")]
)
def test_what_the_newest_leader_tells_or_all_of_them_is_believed(told, code):
    assert Servers(*told).plan(COPIED)[0].code == code
