"""Whether source logs are still the ones that were copied: what a leader does not say counts as cut off, never as whole."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mirror.errors import SourceUnreadable
from mirror.offsets.partition import TopicPartition
from mirror.plan.ranges import SourceOffsets
from mirror.plan.source_partitions import confirmed, with_epoch_ends
from tests.unit.ledger_records import ledger_record

STOCK = TopicPartition("stock", 0)


class Source:
    """Tells this end, or nothing."""

    def __init__(self, end):
        self.end, self.asked = end, {}

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
