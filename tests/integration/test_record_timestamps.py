"""Which timestamps a remote topic takes is for its broker to say: the clock of the worker that copies decides nothing."""

import time

import pytest

from kafka_mirror.copy.next_transaction import BatchBisection
from kafka_mirror.formats.offsets.partition import TopicPartition
from services.oracle import Record

HOUR, DAY = 3_600_000, 86_400_000
ANY = {"message.timestamp.after.max.ms": str(2**62)}
WITHIN_AN_HOUR = {"message.timestamp.before.max.ms": str(HOUR), "message.timestamp.after.max.ms": str(HOUR)}
TOLERANT = {"source->target.errors.tolerance": "all"}


@pytest.fixture
def tolerant(pair, make_mirroring):
    return make_mirroring(pair, TOLERANT)


@pytest.fixture
def topic(pair, tolerant):
    """A source topic whose mirror takes timestamps within an hour of its broker's clock."""
    name = pair.topic("orders")
    tolerant.oracle.create_topic(tolerant.source, name, 1, ANY)
    tolerant.refresh()
    tolerant.oracle.alter_configs(tolerant.target, pair.remote(name), WITHIN_AN_HOUR)
    return name


@pytest.fixture
def refusals(monkeypatch):
    """How many attempts ended because a batch was refused."""
    seen, narrow = [], BatchBisection.narrow
    monkeypatch.setattr(BatchBisection, "narrow", lambda self, refusal: seen.append(refusal.records) or narrow(self, refusal))
    return seen


def now():
    return int(time.time() * 1000)


def put_clock_wrong(monkeypatch, wrong):
    """Everything in this process goes by a wrong clock."""
    clock = time.time
    monkeypatch.setattr(time, "time", lambda: clock() + wrong / 1000)


def without_clock(errors, wrong):
    """The errors but for that of MirrorMaker 2's offset syncs, which have a time: where our clock is ahead, it leads to that clock."""
    of_clock = [error for error in errors if "by the clock of this host" in error.message]
    assert len(of_clock) == (wrong > 0)
    assert all("INVALID_TIMESTAMP" in error.message and "clock" in error.next for error in of_clock)
    return [error for error in errors if error not in of_clock]


def keys(mirroring, topic):
    return [each.key for each in mirroring.oracle.dump(mirroring.target, mirroring.pair.remote(topic))]


@pytest.mark.parametrize("wrong", [-DAY, DAY], ids=["a day behind", "a day ahead"])
def test_a_wrong_clock_of_the_worker_loses_no_record_that_the_broker_takes(tolerant, topic, monkeypatch, wrong):
    stamps = [0, -2 * HOUR, 0, 2 * HOUR, 0, -DAY, 0, DAY, 0]
    records = [Record(b"%d" % number, b"v", timestamp=now() + stamp) for number, stamp in enumerate(stamps)]
    tolerant.oracle.produce_records(tolerant.source, topic, records)
    put_clock_wrong(monkeypatch, wrong)
    judged = tolerant.copy()
    assert (without_clock(judged.errors, wrong), judged.records, judged.skipped) == ([], 5, 4)
    assert keys(tolerant, topic) == [b"0", b"2", b"4", b"6", b"8"]
    assert [(each.start, each.end) for each in tolerant.ledger()[TopicPartition(topic, 0)].skipped] == [(1, 2), (3, 4), (5, 6), (7, 8)]


@pytest.mark.parametrize("wrong", [-DAY, DAY], ids=["a day behind", "a day ahead"])
def test_without_tolerance_the_first_record_that_the_broker_refuses_is_named(pair, make_mirroring, topic, monkeypatch, wrong):
    mirroring = make_mirroring(pair)
    records = [Record(b"%d" % number, b"v", timestamp=now() + stamp) for number, stamp in enumerate((0, 0, 2 * HOUR, 0, -2 * HOUR))]
    mirroring.oracle.produce_records(mirroring.source, topic, records)
    put_clock_wrong(monkeypatch, wrong)
    (error,) = without_clock(mirroring.copy().errors, wrong)
    assert (error.code, error.topic, error.partition, error.offset) == ("RecordRefused", topic, 0, 2)
    assert "message.timestamp.after.max.ms" in error.message
    assert keys(mirroring, topic) == [b"0", b"1"]


@pytest.mark.parametrize("good_in_front", [0, 3])
def test_ten_thousand_refused_records_cost_a_few_attempts(tolerant, topic, refusals, good_in_front):
    late = now() - 2 * HOUR
    good = [Record(b"good", b"v", timestamp=now())] * good_in_front
    records = [*good, *(Record(b"late", b"v", timestamp=late - number) for number in range(10_000)), Record(b"last", b"v", timestamp=now())]
    tolerant.oracle.produce_records(tolerant.source, topic, records)
    began = time.monotonic()
    judged = tolerant.copy()
    print(f"{10_000 / (time.monotonic() - began):,.0f} refused records a second, {len(refusals)} refusals of {refusals} records")
    assert (judged.state, judged.skipped, judged.records) == ("done", 10_000, good_in_front + 1)
    assert keys(tolerant, topic) == [b"good"] * good_in_front + [b"last"]
    assert len(refusals) < 30


def test_refused_records_among_many_good_ones_cost_no_good_one(tolerant, topic, refusals):
    stamp = now()
    records = [Record(b"k%d" % n, b"v" * 300, timestamp=stamp - (2 * HOUR if n % 100 == 0 else 0)) for n in range(20_000)]
    tolerant.oracle.produce_records(tolerant.source, topic, records)
    began = time.monotonic()
    judged = tolerant.copy()
    print(f"{20_000 / (time.monotonic() - began):,.0f} records a second, {len(refusals)} refusals")
    assert (judged.state, judged.skipped, judged.records) == ("done", 200, 19_800)
    assert keys(tolerant, topic) == [b"k%d" % n for n in range(20_000) if n % 100]
    assert len(refusals) <= 10, "one attempt for each large batch, of which the broker names the records"


def test_the_only_refused_record_of_a_batch_costs_no_neighbour_though_the_client_gives_its_error_to_all(tolerant, topic, refusals):
    late = {0, 100, 4000}
    stamp = now()
    records = [Record(b"k%d" % n, b"v" * 300, timestamp=stamp - (2 * HOUR if n in late else 0)) for n in range(6000)]
    tolerant.oracle.produce_records(tolerant.source, topic, records)
    judged = tolerant.copy()
    print(f"{len(refusals)} refusals of {refusals} records")
    assert (judged.state, judged.skipped, judged.records) == ("done", 3, 5997)
    assert keys(tolerant, topic) == [b"k%d" % n for n in range(6000) if n not in late]
