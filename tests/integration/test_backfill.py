"""Backfills between real brokers: five days of records, in any order, twice, two at once, and killed."""

import os
import random
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pendulum

from kafka_mirror.backfill.model import ANY_ORDER, BackfillRequest, TimeInterval
from kafka_mirror.backfill.run import run_backfill
from kafka_mirror.copy.plan.run import plan
from kafka_mirror.copy.run import copy_in_process
from kafka_mirror.formats.offsets.partition import TopicPartition
from services.java import ROOT
from services.waiting import PATIENCE, eventually
from tests.integration.backfill_flow import ALL, DAY, DAYS, FIRST, PARTITIONS, Backfilling, day


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


def test_beside_a_copy_that_follows_both_are_done_and_each_record_comes_once(make_mirroring, pair):
    extra = {"mirror.start": "latest", "mirror.transaction.max.bytes": "2000", "mirror.transaction.timeout.ms": "2000"}
    backfilling = Backfilling(make_mirroring(pair, {f"source->target.{name}": value for name, value in extra.items()}))
    name, stop = backfilling.topic("orders", lambda topic, number: backfilling.records(topic, number, 60)), threading.Event()
    flow, planned = backfilling.mirroring.flow, plan(backfilling.mirroring.flow, follow_for=600.0)
    with ThreadPoolExecutor(1) as threads:
        run = threads.submit(copy_in_process, flow, planned, "a-to-b.copy / 1", stop=stop)
        eventually(lambda: len(backfilling.starts(name)) == PARTITIONS, "the start of the copy")
        backfilling.records(name, DAYS, 10)
        done = backfilling.fill(ALL, name)
        backfilling.records(name, DAYS, 10)

        def arrived():
            return sum(record.records for record in backfilling.mirroring.ledger().values()) == 40 or run.done()

        eventually(arrived, "what came meanwhile and afterwards")
        stop.set()
        results = run.result(PATIENCE)
    assert (done.history.owed, [error for result in results for error in result.errors]) == (0, [])
    assert backfilling.assert_history(name) == DAYS * 120
    assert backfilling.mirroring.assert_mirrored(name, start=backfilling.starts(name)).records == 40


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
        thread.join(PATIENCE)

    assert errors == []
    assert backfilling.fill(ALL, name, order=ANY_ORDER).history.owed == 0
    assert backfilling.account(name) == DAYS * 200


def test_killed_in_the_middle_it_goes_on_where_the_ledger_says(backfilling):
    name = backfilling.topic("orders", lambda topic, number: backfilling.records(topic, number, 400))
    backfilling.mirroring.copy()
    into, command = backfilling.into(name), ["backfill", "--from", "2026-11-01", "--to", "2026-11-06", "--topics", name, "--without-spark"]
    directory, slow = backfilling.mirroring.pair.directory, f"{backfilling.mirroring.pair.flow}.mirror.max.bytes.per.second = 20000\n"
    config = directory / "slow.properties"  # so that there is a middle, however late somebody looks
    config.write_text((directory / "mm2.properties").read_text() + slow)
    process = subprocess.Popen(
        [sys.executable, "-m", "kafka_mirror", "--config", str(config), *command],
        env={**os.environ, "PYTHONPATH": str(ROOT / "include")},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    deadline = time.monotonic() + PATIENCE
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


def test_partition_that_was_mirrored_from_its_beginning_has_no_history(mirroring, topic):
    mirroring.copy()
    before = mirroring.ledger()
    now = pendulum.now("UTC").int_timestamp * 1000

    done = run_backfill(mirroring.flow, BackfillRequest(TimeInterval(0, now + DAY)), lambda plan: copy_in_process(mirroring.flow, plan))

    assert (done.live.records, done.history.offsets, done.live.errors, done.history.errors) == (0, 0, (), ())
    assert all(each.is_provisional for each in done.resolution.intervals)
    assert mirroring.ledger() == before
    assert mirroring.ledger()[TopicPartition(topic, 0)].live_start == 0
