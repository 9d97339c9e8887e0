"""A throttled flow on real brokers: the rate of a run, what it fetches meanwhile, and a rate that is decided while it runs."""

import random
import threading
import time
from dataclasses import replace

import pytest

from kafka_mirror.__main__ import main
from kafka_mirror.copy.plan.run import plan
from kafka_mirror.copy.run import copy_in_process
from kafka_mirror.copy.throttle import LOOK_EVERY_SECONDS
from kafka_mirror.errors import NothingToDecide
from services.oracle import Record
from services.waiting import PATIENCE, eventually

MEGABYTE = 1_000_000
RATE = "source->target.mirror.max.bytes.per.second"
SMALL = "source->target.mirror.transaction.max.bytes"


@pytest.fixture
def backlog(pair, oracle):
    """Makes a topic of four partitions with so many records of 1,000 bytes that hardly compress."""

    def make(records):
        name = pair.topic("backlog")
        oracle.create_topic(pair.source_bootstrap, name, 4)
        oracle.produce(pair.source_bootstrap, name, records, seed=3, min_size=1000, max_size=1000, null_values=False, text_size=MEGABYTE)
        return name

    return make


def copied(results):
    return sum(mark.bytes for result in results for mark in result.watermarks)


def timed(mirroring):
    planned = plan(mirroring.flow)
    began = time.monotonic()
    results = copy_in_process(mirroring.flow, planned)
    return results, time.monotonic() - began


def decide(pair, *arguments):
    return main(["--config", str(pair.properties()), "decide", "throttle", "--flow", pair.flow, "--reason", "a test", *arguments])


def test_a_run_keeps_to_its_rate_over_all_lanes_with_transactions_that_are_small(make_mirroring, pair, backlog):
    topic, rate = backlog(2000), 400_000
    mirroring = make_mirroring(pair, {RATE: str(rate)})
    results, seconds = timed(mirroring)
    assert [error for result in results for error in result.errors] == []
    assert mirroring.assert_mirrored(topic).records == 2000
    size = copied(results)
    # Nobody waits behind its last transaction, and a transaction may be two seconds' worth.
    assert size / (seconds + 2) <= rate
    assert max(result.transactions for result in results) >= 3


def test_a_throttled_run_fetches_about_what_it_copies(make_mirroring, make_pair, east, west, oracle):
    pair = replace(make_pair(east, west), source_bootstrap=east.proxied_bootstrap)
    name = pair.topic("backlog")
    oracle.create_topic(east.bootstrap, name, 1)
    oracle.produce(east.bootstrap, name, 20_000, seed=3, min_size=1000, max_size=1000, null_values=False, text_size=MEGABYTE)
    mirroring = make_mirroring(pair, {RATE: "200000", "source->target.mirror.run.max.seconds": "3"})
    planned = plan(mirroring.flow)
    before = east.network.passed
    size = copied(copy_in_process(mirroring.flow, planned))
    fetched = east.network.passed - before
    assert 200_000 <= size <= 2 * MEGABYTE
    assert fetched < size + MEGABYTE, "two portions of 262,144 bytes are on the way; unthrottled, a lane would have read twenty megabytes"


def test_a_rate_that_is_decided_while_a_run_goes_on_counts_for_its_next_transactions_whether_lower_or_higher(
    make_mirroring, pair, backlog, capsys
):
    topic = backlog(4000)
    mirroring = make_mirroring(pair, {RATE: "400000", "source->target.mirror.run.max.seconds": "250", SMALL: "60000"})

    def written():
        return sum(record.bytes for record in mirroring.ledger_view().records.values())

    planned = plan(mirroring.flow)
    results = []
    run = threading.Thread(target=lambda: results.extend(copy_in_process(mirroring.flow, planned)))
    began = time.monotonic()
    run.start()
    eventually(lambda: mirroring.ledger_view().records, "the first transaction", PATIENCE / 2)
    assert decide(pair, "--bytes-per-second", "20000") == 0, capsys.readouterr().err
    before, lowered = written(), time.monotonic()
    time.sleep(5)
    # At the old rate until each lane has looked, and with what it had begun; all the time it would be two million.
    assert written() - before <= 400_000 * (LOOK_EVERY_SECONDS + 1) + 20_000 * (time.monotonic() - lowered)
    assert run.is_alive()
    assert decide(pair, "--bytes-per-second", "-1") == 0, capsys.readouterr().err
    run.join(150)
    seconds = time.monotonic() - began
    assert not run.is_alive()
    assert mirroring.assert_mirrored(topic).records == 4000
    assert [error for result in results for error in result.errors] == []
    assert seconds < 0.75 * copied(results) / 20_000, "it would have taken minutes"
    assert "as fast as it can" in capsys.readouterr().out


def test_a_decision_holds_for_the_runs_after_it_until_it_is_taken_back(make_mirroring, pair, backlog, oracle, capsys):
    topic = backlog(1000)
    oracle.produce_records(pair.source_bootstrap, topic, [Record(value=random.Random(1).randbytes(900_000))])
    mirroring = make_mirroring(pair, {RATE: "500000"})
    assert decide(pair, "--bytes-per-second", "1000000") == 0, capsys.readouterr().err
    (throttle,) = [each for each in plan(mirroring.flow).decisions if each.decision == "throttle"]
    assert throttle.bytes_per_second == 1_000_000
    results, seconds = timed(mirroring)
    assert copied(results) / (seconds + 2) <= 1_000_000
    assert mirroring.assert_mirrored(topic).records == 1001, "one that is larger than what is fetched at a time among them"

    assert decide(pair, "--bytes-per-second", "configured") == 0
    assert "at most 500,000 bytes a second, as the properties say" not in capsys.readouterr().out, "this file has no throttle"
    assert plan(mirroring.flow).decisions == ()
    assert decide(pair, "--bytes-per-second", "configured") == 1
    assert NothingToDecide.__name__ in capsys.readouterr().err
