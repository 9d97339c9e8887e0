"""Whether source logs are still the ones that were copied: what a leader does not say counts as cut off, never as whole."""

from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_mirror.copy.plan.ranges import SourceOffsets, next_range
from kafka_mirror.copy.plan.source_partitions import confirm_partitions, with_epoch_ends
from kafka_mirror.errors import SourceUnreadable
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.kafka.cluster import Cluster
from kafka_mirror.kafka.model import LogOffsets
from kafka_mirror.kafka.produce_request import keyed_batches
from tests.unit.copy.batches.wire_broker import WireBroker
from tests.unit.ledger_records import ledger_record

STOCK = TopicPartition("stock", 0)


class Source:
    """Tells this end, or nothing."""

    def __init__(self, end):
        self.end, self.asked = end, []

    def ask_each_server(self, ask):
        """One server tells nothing, and the other one the same as before."""
        return {}, {}

    def find_shared_ends(self, positions, _seconds):
        self.asked = list(positions)
        return {} if self.end is None else dict.fromkeys(positions, self.end)


epochs = st.none() | st.integers(0, 3)


@given(copied=epochs, now=epochs, end=st.none() | st.integers(0, 60))
def test_a_leader_is_asked_about_each_older_epoch_and_one_that_is_silent_leaves_its_partition_unconfirmed(copied, now, end):
    source, records = Source(end), {STOCK: ledger_record(watermark=50, leader_epoch=copied)}
    (found,) = with_epoch_ends(source, {STOCK: SourceOffsets(STOCK, "id", 0, 60, 60, leader_epoch=now)}, records).values()
    is_older = copied is not None and now is not None and copied < now
    assert source.asked == ([(STOCK, copied, 50)] if is_older else [])
    assert (found.epoch_end, found.is_unconfirmed) == (end if is_older else None, is_older and end is None)
    if found.is_unconfirmed:
        with pytest.raises(SourceUnreadable, match="stock-0@50"):
            confirm_partitions({STOCK: found}, records)
    else:
        assert confirm_partitions({STOCK: found}, records) == {STOCK: found}


class Servers:
    """Each tells a topic id, an end and a leader epoch of the partition; the first one is the one that the plan was told by."""

    def __init__(self, *told):
        self.told = told

    def find_shared_ends(self, positions, _seconds):
        return dict.fromkeys(positions, 100)

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
        confirm_partitions({STOCK: found}, {STOCK: COPIED})


@pytest.mark.parametrize(
    ("told", "code"), [((("new", 40, 4), ("new", 60, 2)), "SourceTruncated"), ((("newest", 90, 0), ("newest", 90, 0)), "SourceRecreated")]
)
def test_what_the_newest_leader_tells_or_all_of_them_is_believed(told, code):
    assert Servers(*told).plan(COPIED)[0].code == code


def test_a_log_that_two_elections_took_back_to_another_branch_is_truncated_though_that_branch_is_longer():
    """It was copied up to 50 in epoch 4, of which the leader of epoch 5 has nothing: its own epoch 3 goes up to 70."""
    broker, record = WireBroker(), ledger_record(watermark=50, leader_epoch=4)
    try:
        log = broker.log(*STOCK)
        log.epoch, log.starts = 3, {0: 0, 3: 30}
        for number in range(70):
            (batch,) = keyed_batches([(b"key", b"%d" % number)], 1000)
            log.append(bytes(batch.data))
        log.elect(kept=70, epochs=2)
        with Cluster("east", broker.settings, 5.0) as source:
            offsets = SourceOffsets(STOCK, record.source_topic_id, 0, log.end, log.end, leader_epoch=log.epoch)
            (found,) = with_epoch_ends(source, {STOCK: offsets}, {STOCK: record}).values()
    finally:
        broker.close()
    error = next_range(found, record, False, datetime.now(UTC), timedelta(minutes=1))
    assert (getattr(error, "code", "none"), found.epoch_end) == ("SourceTruncated", 30)
