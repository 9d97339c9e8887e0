"""Single records that the target does not take: the one that is meant is named, all else is copied, and nothing is written meanwhile."""

import random
from datetime import timedelta

import pytest

from kafka_mirror.copy.plan import ranges
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.ledger.record import Skipped
from services.oracle import Record

NOW = 1_790_000_000_000
TOLERANT = {"source->target.errors.tolerance": "all"}


def incompressible(size):
    return random.Random(size).randbytes(size)


@pytest.fixture
def make_topic(mirroring):
    """Makes a source topic and its mirror: `make_topic({"max.message.bytes": "50000"}, partitions=2)` sets configs of the mirror."""

    def make(remote_configs, partitions=1, source_configs=None, name="orders"):
        topic = mirroring.pair.topic(name)
        mirroring.oracle.create_topic(mirroring.source, topic, partitions, source_configs)
        mirroring.refresh()
        mirroring.oracle.alter_configs(mirroring.target, mirroring.pair.remote(topic), remote_configs)
        return topic

    return make


def only_error(judged):
    """The one error of a red run."""
    assert judged.state == "failed"
    (error,) = judged.errors
    return error


def ends(mirroring, topic):
    """The ends of one topic on the target, by partition."""
    return {each.partition: each.end for each in mirroring.oracle.count(mirroring.target, topic, "read_uncommitted")}


def test_a_record_too_large_in_the_middle_is_the_one_that_is_named_and_waits_without_a_trace(mirroring, make_topic, monkeypatch):
    topic = make_topic({"max.message.bytes": "50000"}, partitions=2)
    remote, ledger = mirroring.pair.remote(topic), f"mm2-ledger.{mirroring.pair.source}.internal"
    noise = bytes(range(256)) * 400
    records = [Record(b"k%d" % n, noise[n : n + 20_000], timestamp=NOW, partition=0) for n in range(40)]
    records += [Record(b"large", incompressible(60_000), timestamp=NOW, partition=0)]
    records += [Record(b"k%d" % n, noise[n : n + 20_000], timestamp=NOW, partition=n % 2) for n in range(40)]
    mirroring.oracle.produce_records(mirroring.source, topic, records)

    error = only_error(mirroring.copy())
    assert (error.code, error.topic, error.partition, error.offset) == ("RecordRefused", topic, 0, 40)
    assert "max.message.bytes" in error.message
    assert mirroring.assert_mirrored(topic, end={0: 40}).records == 60

    before = ends(mirroring, remote), ends(mirroring, ledger)
    for _ in range(2):
        assert only_error(mirroring.copy()).offset == 40
    assert (ends(mirroring, remote), ends(mirroring, ledger)) == before, "a refused record is left alone for a while"
    blocked = mirroring.ledger()[TopicPartition(topic, 0)].blocked
    assert (blocked.offset, blocked.tries) == (40, 1)

    mirroring.oracle.produce_records(mirroring.source, topic, [Record(b"new", b"v", timestamp=NOW, partition=p) for p in (0, 1)])
    assert only_error(mirroring.copy()).offset == 40
    assert mirroring.assert_mirrored(topic, end={0: 40}).records == 61, "the partition's neighbour goes on"
    assert ends(mirroring, remote)[0] == before[0][0]

    monkeypatch.setattr(ranges, "_LONGEST_PAUSE", timedelta(0))
    mirroring.oracle.produce_records(mirroring.source, topic, [Record(b"new", b"v", timestamp=NOW, partition=1)])
    assert only_error(mirroring.copy()).offset == 40
    assert mirroring.ledger()[TopicPartition(topic, 0)].blocked.tries == 2
    assert mirroring.assert_mirrored(topic, end={0: 40}).records == 62, "the neighbour goes on while the record is tried again"

    mirroring.oracle.alter_configs(mirroring.target, remote, {"max.message.bytes": "100000"})
    assert mirroring.copy().state == "done"
    assert mirroring.assert_mirrored(topic).records == len(records) + 3
    assert mirroring.ledger()[TopicPartition(topic, 0)].blocked is None


def test_a_changed_limit_of_the_remote_topic_has_the_record_tried_at_once(mirroring, make_topic):
    topic = make_topic({"max.message.bytes": "50000"})
    mirroring.oracle.produce_records(mirroring.source, topic, [Record(b"k", incompressible(size)) for size in (10, 60_000, 10)])
    for _ in range(2):
        assert only_error(mirroring.copy()).offset == 1
    blocked = mirroring.ledger()[TopicPartition(topic, 0)].blocked
    assert (blocked.tries, "max.message.bytes=50000" in blocked.limits) == (1, True)
    mirroring.oracle.alter_configs(mirroring.target, mirroring.pair.remote(topic), {"max.message.bytes": "55000"})
    for _ in range(2):
        assert only_error(mirroring.copy()).offset == 1
    assert mirroring.ledger()[TopicPartition(topic, 0)].blocked.tries == 2, "once for each change"
    mirroring.oracle.alter_configs(mirroring.target, mirroring.pair.remote(topic), {"max.message.bytes": "100000"})
    assert mirroring.copy().state == "done"
    mirroring.assert_mirrored(topic)


def test_a_copy_that_a_person_starts_tries_the_record_at_once(mirroring, make_topic):
    topic = make_topic({"max.message.bytes": "50000"})
    mirroring.oracle.produce_records(mirroring.source, topic, [Record(b"k", incompressible(60_000))])
    assert only_error(mirroring.copy()).offset == 0
    assert only_error(mirroring.copy()).offset == 0
    assert mirroring.ledger()[TopicPartition(topic, 0)].blocked.tries == 1
    assert only_error(mirroring.copy(by_person=True)).offset == 0
    assert mirroring.ledger()[TopicPartition(topic, 0)].blocked.tries == 2


def test_a_small_limit_on_the_target_takes_every_record_that_fits(mirroring, make_topic):
    topic = make_topic({"max.message.bytes": "30000"}, partitions=2)
    records = [Record(b"k%d" % n, incompressible(20_000), timestamp=NOW, partition=n % 2) for n in range(60)]
    mirroring.oracle.produce_records(mirroring.source, topic, records)
    assert mirroring.copy().records == 60
    mirroring.assert_mirrored(topic)


# ---------------------------------------------------------------- errors.tolerance=all


def visible(mirroring, bootstrap, topic):
    """(partition, key, value, timestamp) of every record of a topic."""
    return [(each.partition, each.key, each.value, each.timestamp) for each in mirroring.oracle.dump(bootstrap, topic)]


def test_with_tolerance_every_refused_record_is_passed_over_and_recorded_and_all_others_are_copied(
    pair, mirroring, make_topic, make_mirroring
):
    topic = make_topic({"max.message.bytes": "50000"})
    good = [Record(b"k%d" % n, incompressible(500 + n), timestamp=NOW + n) for n in range(60)]
    large = [Record(b"large", incompressible(60_000 + n), timestamp=NOW) for n in range(3)]
    mirroring.oracle.produce_records(mirroring.source, topic, [*good[:20], *large[:2], *good[20:40], large[2], *good[40:]])
    mirroring.oracle.produce_raw(mirroring.source, topic, [Record(b"odd", b"v", timestamp=NOW)], raw_header_keys=[b"\xff"])
    mirroring.oracle.produce_records(mirroring.source, topic, [Record(b"last", b"v", timestamp=NOW)])
    assert only_error(mirroring.copy()).offset == 20

    tolerant = make_mirroring(pair, TOLERANT)
    judged = tolerant.copy()
    assert (judged.state, judged.errors, judged.owed, judged.skipped) == ("done", (), 0, 3), "what was stuck is passed over at once"
    (notice,) = judged.notices
    assert (
        f"3 records of 1 partitions were skipped and are missing on the target; the first is {topic}-0@20 (RecordRefused: it is larger"
        in notice
    )
    assert [(each.start, each.end, each.reason.partition(":")[0]) for each in tolerant.ledger()[TopicPartition(topic, 0)].skipped] == [
        (20, 22, "RecordRefused"),
        (42, 43, "RecordRefused"),
    ]
    wanted = [each for each in visible(tolerant, tolerant.source, topic) if each[1] != b"large"]
    assert visible(tolerant, tolerant.target, pair.remote(topic)) == wanted
    assert len(wanted) == 62
    assert tolerant.copy().state == "nothing to do"


def test_with_tolerance_no_skipped_record_is_forgotten_however_many_there_are(pair, make_mirroring):
    tolerant = make_mirroring(pair, TOLERANT)
    topic, remote = pair.topic("orders"), None
    tolerant.oracle.create_topic(tolerant.source, topic, 1)
    tolerant.refresh()
    remote = pair.remote(topic)
    tolerant.oracle.alter_configs(tolerant.target, remote, {"cleanup.policy": "compact"})
    records = [Record(None if n % 3 else b"k%d" % n, b"v%d" % n, timestamp=NOW + n) for n in range(600)]
    tolerant.oracle.produce_records(tolerant.source, topic, records)
    judged = tolerant.copy()
    assert (judged.state, judged.records, judged.skipped) == ("done", 200, 400)
    skipped = tolerant.ledger()[TopicPartition(topic, 0)].skipped
    assert len(skipped) == 64
    assert sum(each.offsets for each in skipped) == 400
    assert skipped[-1] == Skipped(598, 600, skipped[0].reason)
    assert visible(tolerant, tolerant.target, remote) == [each for each in visible(tolerant, tolerant.source, topic) if each[1] is not None]
