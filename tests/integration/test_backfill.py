"""Backfills between real brokers: five days of records, in any order, twice, two at once, killed, and what cannot be had."""

import os
import random
import signal
import subprocess
import sys
import threading
import time

import pendulum
import pytest

from mirror.__main__ import main
from mirror.backfill.model import ANY_ORDER, Request
from mirror.backfill.run import fill
from mirror.backfill.tiling import TimeInterval
from mirror.copy.run import copy_in_process
from mirror.offsets.partition import TopicPartition
from services.java import ROOT
from services.oracle import Record, Side

DAY = 86_400_000
FIRST = 1_793_491_200_000  # 2026-11-01
DAYS = 5
PARTITIONS = 2


def day(number, length=1):
    """So many days from the first, second … on."""
    return TimeInterval(FIRST + number * DAY, FIRST + (number + length) * DAY)


ALL = day(0, DAYS)


class Backfilling:
    """A flow that is backfilled, and what the witness says."""

    def __init__(self, mirroring):
        self.mirroring = mirroring
        self.oracle = mirroring.oracle

    def topic(self, name, *produce, **configs):
        """A source topic with what these put into it; `produce(topic, day)` is called for each of the days."""
        topic = self.mirroring.pair.topic(name)
        self.oracle.create_topic(self.mirroring.source, topic, PARTITIONS, configs=configs)
        for number in range(DAYS):
            for each in produce:
                each(topic, number)
        return topic

    def records(self, topic, number, count=20):
        """So many records of one day in each partition, in the order of time."""
        step = DAY // (count + 1)
        rows = [
            Record(
                b"%d" % n,
                b"%s %d/%d" % (topic.encode(), number, n),
                timestamp=FIRST + number * DAY + (n // PARTITIONS) * step,
                partition=n % PARTITIONS,
            )
            for n in range(count * PARTITIONS)
        ]
        self.oracle.produce_records(self.mirroring.source, topic, rows)

    def transaction(self, outcome):
        """Puts a transaction with this outcome into a day."""

        def produce(topic, number):
            rows = [
                Record(value=b"%s %d" % (outcome.encode(), n), timestamp=FIRST + number * DAY + DAY // 2, partition=n % 2) for n in range(6)
            ]
            self.oracle.open_transaction(self.mirroring.source, topic, f"{topic}-{outcome}", rows)
            self.oracle.end_transaction(f"{topic}-{outcome}", outcome)

        return produce

    def fill(self, times, topic, **options):
        return fill(self.mirroring.flow, Request(times, (topic,), **options), lambda plan: copy_in_process(self.mirroring.flow, plan))

    def into(self, topic):
        return f"history.{self.mirroring.pair.remote(topic)}"

    def starts(self, topic):
        """Where the copy of each partition began."""
        return {tp.partition: record.live_start for tp, record in self.mirroring.ledger().items() if tp.topic == topic}

    def side(self, topic, **source):
        return Side(self.mirroring.source, topic, **source)

    def assert_history(self, topic, into=None, start=None):
        """The history in its topic is the source's below the copy's start, record by record and in order."""
        source = self.side(topic, start=start or {}, end=self.starts(topic))
        return self.oracle.assert_mirrored(source, Side(self.mirroring.target, into or self.into(topic))).records

    def account(self, topic):
        """Nothing lost, doubled or foreign in the history; how many records it has."""
        found = self.oracle.account(self.side(topic, end=self.starts(topic)), Side(self.mirroring.target, self.into(topic)))
        assert [(each.lost, each.doubled, each.foreign) for each in found] == [(0, 0, 0)] * PARTITIONS
        return sum(each.target_records for each in found)

    def ends(self, *topics):
        return {topic: [count.end for count in self.oracle.count(self.mirroring.target, topic)] for topic in topics}


@pytest.fixture
def backfilling(make_mirroring, pair):
    """A flow that begins at the end of its topics: everything that is there when it first copies is history."""
    return Backfilling(
        make_mirroring(pair, {"source->target.mirror.start": "latest", "source->target.mirror.transaction.max.bytes": "2000"})
    )


def test_five_days_below_the_start_of_the_copy_come_once_in_order_and_a_second_time_copies_nothing(backfilling):
    name = backfilling.topic("orders", backfilling.records, backfilling.transaction("commit"), backfilling.transaction("abort"))
    backfilling.mirroring.copy()
    backfilling.records(name, DAYS)
    starts = backfilling.starts(name)

    done = backfilling.fill(ALL, name)

    assert (done.resolution.errors, done.live.errors, done.history.errors) == ((), (), ())
    assert (done.live.records, done.history.records, done.history.owed) == (0, DAYS * 46, 0)
    assert backfilling.assert_history(name) == DAYS * 46
    state, ledger = backfilling.ends(backfilling.into(name)), backfilling.mirroring.ledger()
    assert {record.watermark for tp, record in ledger.items() if tp.topic == name} == set(starts.values()), "live part untouched"
    again = backfilling.fill(ALL, name)
    assert (again.live.records, again.history.records, again.history.owed, again.history.errors) == (0, 0, 0, ())
    assert (backfilling.ends(backfilling.into(name)), backfilling.mirroring.ledger()) == (state, ledger), "not a byte was written"

    whole = backfilling.fill(day(0, DAYS + 1), name)
    assert (whole.live.records, whole.history.records) == (40, 0), "the live part is the copy, run until it has passed"
    assert backfilling.mirroring.assert_mirrored(name, start=starts).records == 40


def test_days_in_any_order_overlapping_and_empty_ones_come_once(backfilling):
    def but_for_the_third(topic, number):
        if number != 2:
            backfilling.records(topic, number)

    name = backfilling.topic("orders", but_for_the_third)
    backfilling.mirroring.copy()
    asked = [day(number) for number in range(DAYS)] + [day(1, 3), TimeInterval(FIRST + DAY // 2, FIRST + 3 * DAY + DAY // 3)]
    random.Random(6).shuffle(asked)

    done = [backfilling.fill(times, name, order=ANY_ORDER) for times in asked]

    assert [each.history.errors + each.resolution.errors for each in done] == [()] * len(asked)
    assert backfilling.account(name) == sum(each.history.records for each in done) == (DAYS - 1) * 40
    records = [record for tp, record in backfilling.mirroring.ledger().items() if tp.topic == name]
    assert [len(record.history_topics[0].intervals) for record in records] == [1] * PARTITIONS


def test_older_history_behind_newer_one_is_refused_unless_order_does_not_matter(backfilling):
    name = backfilling.topic("orders", backfilling.records)
    backfilling.mirroring.copy()
    backfilling.fill(day(3), name)
    before = backfilling.ends(backfilling.into(name))

    refused = backfilling.fill(day(1), name)

    assert {error.code for error in refused.history.errors} == {"HistoryOutOfOrder"}
    assert (refused.history.owed, backfilling.ends(backfilling.into(name))) == (40, before)
    assert backfilling.fill(day(1), name, order=ANY_ORDER).history.records == 40


def test_two_at_once_write_everything_once(backfilling):
    name = backfilling.topic("orders", lambda topic, number: backfilling.records(topic, number, 100))
    backfilling.mirroring.copy()
    errors = []

    def one(times):
        done = backfilling.fill(times, name, order=ANY_ORDER)
        errors.extend(error for error in done.history.errors if not error.retriable)

    threads = [threading.Thread(target=one, args=(times,)) for times in (ALL, day(1, 3), ALL)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)

    assert errors == []
    assert backfilling.fill(ALL, name, order=ANY_ORDER).history.owed == 0
    assert backfilling.account(name) == DAYS * 200


def test_killed_in_the_middle_it_goes_on_where_the_ledger_says(backfilling):
    name = backfilling.topic("orders", lambda topic, number: backfilling.records(topic, number, 400))
    backfilling.mirroring.copy()
    into, command = backfilling.into(name), ["backfill", "--from", "2026-11-01", "--to", "2026-11-06", "--topics", name, "--without-spark"]
    config = backfilling.mirroring.pair.directory / "mm2.properties"
    process = subprocess.Popen(
        [sys.executable, "-m", "mirror", "--config", str(config), *command],
        env={**os.environ, "PYTHONPATH": str(ROOT / "include")},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    deadline = time.monotonic() + 60
    while backfilling.oracle.topic_id(backfilling.mirroring.target, into) is None or sum(map(sum, backfilling.ends(into).values())) == 0:
        assert process.poll() is None and time.monotonic() < deadline
    process.send_signal(signal.SIGKILL)
    process.wait()
    cut = sum(count.records for count in backfilling.oracle.count(backfilling.mirroring.target, into))
    assert 0 < cut < DAYS * 800, "it was killed in the middle"

    done = backfilling.fill(ALL, name)

    assert (done.history.errors, done.history.owed) == ((), 0)
    assert done.history.records == DAYS * 800 - cut
    assert backfilling.assert_history(name) == DAYS * 800


def test_history_into_the_remote_topic_leaves_the_copy_and_its_translation_alone(backfilling):
    name = backfilling.topic("orders", backfilling.records)
    backfilling.mirroring.copy()
    remote, starts = backfilling.mirroring.pair.remote(name), backfilling.starts(name)
    backfilling.records(name, DAYS)
    backfilling.mirroring.copy()

    first = backfilling.fill(day(0, 2), name, into="{remote}")
    backfilling.records(name, DAYS + 1)
    assert backfilling.mirroring.copy().errors == ()
    second = backfilling.fill(ALL, name, into="{remote}")
    backfilling.records(name, DAYS + 2)
    judged = backfilling.mirroring.copy()

    assert (first.history.records, second.history.records, judged.errors) == (80, 120, ())
    found = backfilling.oracle.account(backfilling.side(name), Side(backfilling.mirroring.target, remote))
    assert [(each.lost, each.doubled, each.foreign) for each in found] == [(0, 0, 0)] * PARTITIONS
    shown = backfilling.oracle.dump(backfilling.mirroring.target, remote)
    source = {(each.partition, each.offset): each for each in backfilling.oracle.dump(backfilling.mirroring.source, name)}
    by_offset = {(each.partition, each.offset): each for each in shown}
    for tp, record in backfilling.mirroring.ledger().items():
        if tp.topic == name:
            assert len(record.places_of_history) == 2
            for run in record.offset_map.runs:
                assert run.source >= starts[tp.partition], "history is not in the offset map"
                for number in range(run.length):
                    copied = by_offset[tp.partition, run.target + number]
                    assert copied.value == source[tp.partition, run.source + number].value
            for place in record.places_of_history:
                copies = [each for each in shown if each.partition == tp.partition and place.target_start <= each.offset < place.target_end]
                assert [each.value for each in copies] == [source[tp.partition, offset].value for offset in range(place.start, place.end)]


def test_what_cannot_be_had_and_what_may_not_be_done_is_said(backfilling):
    """A log that begins inside the interval; a wild timestamp; compacted and forbidden topics; a topic that is not mirrored."""
    mirroring, oracle = backfilling.mirroring, backfilling.oracle
    shortened, compacted = (backfilling.topic(name, backfilling.records) for name in ("shortened", "compacted"))
    wild = backfilling.topic("wild", backfilling.records, **{"message.timestamp.after.max.ms": str(2**62)})
    ahead = Record(value=b"from the future", timestamp=FIRST + 9000 * DAY)
    oracle.produce_records(mirroring.source, wild, [ahead])
    backfilling.records(wild, DAYS)
    backfilling.records(wild, DAYS + 1)
    mirroring.copy()
    oracle.delete_records(mirroring.source, shortened, {0: 30, 1: 30})

    done = backfilling.fill(ALL, shortened)
    assert (done.history.records, done.history.errors) == (2 * 70, ())
    assert [text.split(":")[0] for text in done.history.not_had] == [f"{shortened}-0", f"{shortened}-1"]
    assert backfilling.assert_history(shortened) == 140
    gone = backfilling.fill(day(0), shortened)
    assert (gone.history.records, len(gone.history.not_had)) == (0, 2)

    backfilling.fill(ALL, wild)
    refused = backfilling.fill(day(DAYS), wild)
    assert [(error.code, error.partition, error.offset) for error in refused.resolution.errors] == [("WildTimestamp", 0, 100)]
    assert refused.history.records == 20, "the other partition was filled"
    taken = backfilling.fill(day(DAYS), wild, accept_wild=True)
    assert (taken.resolution.errors, taken.history.records) == ((), 0)
    behind = backfilling.fill(TimeInterval(FIRST, FIRST + 9001 * DAY), wild)
    assert (behind.resolution.errors, behind.history.errors) == ((), ())
    assert backfilling.assert_history(wild) == (DAYS + 2) * 40 + 1

    into = backfilling.into(compacted)
    oracle.create_topic(mirroring.target, into, PARTITIONS, configs={"cleanup.policy": "compact"})
    refused = backfilling.fill(ALL, compacted)
    assert [(error.code, error.topic) for error in refused.history.errors] == [("HistoryIntoCompacted", compacted)]
    assert backfilling.ends(into) == {into: [0, 0]}
    for name in ("elsewhere", mirroring.pair.remote(wild), f"mm2-ledger.{mirroring.pair.source}.internal", "history.no/name"):
        refused = backfilling.fill(ALL, compacted, into=name)
        assert [error.code for error in refused.history.errors] == ["HistoryTopicRefused"], name
    assert backfilling.fill(ALL, compacted, into="history.{topic}").history.records == DAYS * 40

    config = ["--config", str(mirroring.pair.directory / "mm2.properties")]
    assert main([*config, "decide", "pause", "--flow", mirroring.pair.flow, "--topic", compacted, "--reason", "a test"]) == 0
    paused = backfilling.fill(ALL, compacted)
    assert (paused.resolution.intervals, paused.history.owed) == ((), 0)
    assert [text.split(":")[0] for text in paused.resolution.not_had] == [compacted]


def test_dry_run_says_what_there_is_to_do_and_writes_nothing(backfilling, capsys):
    name = backfilling.topic("orders", backfilling.records)
    config = str(backfilling.mirroring.pair.directory / "mm2.properties")
    names = set(backfilling.oracle.topics(backfilling.mirroring.target))
    arguments = ["--config", config, "backfill", "--from", "2026-11-01", "--to", "2026-11-03", "--topics", name, "--dry-run"]

    assert main(arguments) == 0

    shown = capsys.readouterr().out
    assert f"{name}  0" in shown
    assert "80 offsets of history would be copied" in shown
    assert f"history.{backfilling.mirroring.pair.remote(name)} would be created with 2 partitions" in shown
    assert set(backfilling.oracle.topics(backfilling.mirroring.target)) == names
    assert main([*arguments[:-1], "--without-spark"]) == 0
    of_two_days = {number: start // DAYS * 2 for number, start in backfilling.starts(name).items()}
    target = Side(backfilling.mirroring.target, backfilling.into(name))
    assert backfilling.oracle.assert_mirrored(backfilling.side(name, end=of_two_days), target).records == 80


def test_partition_that_was_mirrored_from_its_beginning_has_no_history(mirroring, topic):
    mirroring.copy()
    before = mirroring.ledger()
    now = pendulum.now("UTC").int_timestamp * 1000

    done = fill(mirroring.flow, Request(TimeInterval(0, now + DAY)), lambda plan: copy_in_process(mirroring.flow, plan))

    assert (done.live.records, done.history.offsets, done.live.errors, done.history.errors) == (0, 0, (), ())
    assert all(each.is_provisional for each in done.resolution.intervals)
    assert mirroring.ledger() == before
    assert mirroring.ledger()[TopicPartition(topic, 0)].live_start == 0
