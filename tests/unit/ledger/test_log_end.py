"""Where records are delivered, held against the ends that were read."""

import pytest

from kafka_mirror.errors import UnexpectedOffset
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.ledger.compare_and_set import LogEnd

LEDGER, ORDERS = TopicPartition("mm2-ledger.east.internal", 3), TopicPartition("orders", 1)


def test_each_transaction_follows_the_marker_of_the_one_before():
    end = LogEnd(LEDGER, 10)
    end.extend([(10, 1), (11, 2)])
    end.pass_marker()
    end.pass_marker()  # one that wrote nothing here has no marker here
    end.extend([(14, 1)])
    assert end.next == 15


@pytest.mark.parametrize("delivered", [[(9, 1)], [(11, 1)], [(-1, 1)], [(10, 1), (12, 1)], [(10, 2), (11, 1)]])
def test_a_record_that_lands_anywhere_else_must_not_be_committed(delivered):
    with pytest.raises(UnexpectedOffset) as raised:
        LogEnd(LEDGER, 10).extend(delivered)
    assert (raised.value.log, raised.value.delivered) == (LEDGER, delivered[-1][0])
    assert (raised.value.topic, raised.value.partition, raised.value.retriable) == (*LEDGER, True)


def test_without_the_marker_of_the_last_transaction_a_record_is_too_early():
    end = LogEnd(LEDGER, 10)
    end.extend([(10, 1)])
    end.pass_marker()
    with pytest.raises(UnexpectedOffset) as raised:
        end.extend([(11, 1)])
    assert (raised.value.expected, raised.value.delivered) == (12, 11)


def test_the_error_names_the_source_partition_and_the_place_on_the_target():
    with pytest.raises(UnexpectedOffset) as raised:
        LogEnd(TopicPartition("east.orders", 1), 5, ORDERS).extend([(9, 1)])
    assert (raised.value.topic, raised.value.partition) == ("orders", 1)
    assert "east.orders-1" in raised.value.message
    assert "3 times" in raised.value.counted(3).message
