"""For how long a transaction on the source is open: as its coordinator says, whatever is stamped on its records."""

import time

import pytest

from services.oracle import Record
from tests.integration.guards.runs import changed, only_error

DAY_MS = 86_400_000
IMPATIENT = {"source->target.mirror.open.transaction.max.seconds": "1"}


@pytest.fixture
def opened(mirroring, pair):
    """`opened(days)`: a topic, copied, with an open transaction whose record is stamped so many days from now."""

    def make(days):
        name = pair.topic("stamped")
        mirroring.oracle.create_topic(mirroring.source, name, 1, {"message.timestamp.after.max.ms": str(9 * DAY_MS)})
        mirroring.oracle.produce(mirroring.source, name, 10, seed=1)
        assert mirroring.copy().state == "done"
        stamped = int(time.time() * 1000) + days * DAY_MS
        mirroring.oracle.open_transaction(mirroring.source, name, name, [Record(b"k", b"v", timestamp=stamped)])
        return name

    return make


def test_a_young_transaction_of_old_records_is_nothing_to_report(mirroring, opened):
    topic = opened(-2)
    assert mirroring.copy().state == "nothing to do"
    mirroring.oracle.end_transaction(topic, "commit")
    assert mirroring.copy().state == "done"
    mirroring.assert_mirrored(topic)


@pytest.mark.parametrize("days", [1, -1], ids=["ahead", "behind"])
def test_one_that_is_open_too_long_is_named_with_its_producer_whatever_its_records_say(mirroring, opened, make_mirroring, days):
    topic = opened(days)
    impatient = changed(mirroring, make_mirroring, IMPATIENT)
    time.sleep(1.1)
    error = only_error(impatient.copy())
    assert (error.code, error.topic, error.partition, error.offset) == ("BlockedByOpenTransaction", topic, 0, 10)
    assert f"transactional id '{topic}', producer id " in error.message
    assert "coordinator is broker " in error.message
    assert "timestamp" not in error.message
    assert f"abort --topic {topic} --partition 0 --start-offset 10" in error.next
    seconds = float(error.message.partition("has been open for ")[2].partition(" s")[0])
    assert 1 <= seconds < 600
    mirroring.oracle.end_transaction(topic, "abort")
    assert impatient.copy().state == "done"
