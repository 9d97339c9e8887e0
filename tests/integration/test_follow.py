"""Lanes that follow their partitions, on real brokers: what arrives meanwhile, who ends them, and the command that follows."""

import json
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kafka_mirror.__main__ import main
from kafka_mirror.copy.model import LaneResult
from kafka_mirror.copy.plan.model import Plan
from kafka_mirror.copy.plan.run import plan
from kafka_mirror.copy.run import copy_in_process
from kafka_mirror.copy.run_result import RunResult, Verdict, publish_and_judge
from kafka_mirror.formats import mm2
from kafka_mirror.groups.context import group_context
from kafka_mirror.groups.mm2_topics import read_topic
from kafka_mirror.kafka.cluster import Cluster
from services.consumers import set_offsets
from services.flow_in_process import Mirroring
from services.waiting import PATIENCE, eventually

LONG = 600.0
CHANGE_SECONDS = 1.0
OFTEN = {"source->target.mirror.follow.seconds": "1", "source->target.mirror.follow.discovery.seconds": "2"}


class Follower:
    """A run that follows in a thread. It `is_due` at once, so that the next one may take over, or not before the test ends."""

    def __init__(self, mirroring: Mirroring, threads: ThreadPoolExecutor, name: str, is_due: bool) -> None:
        self.mirroring, self.name, self.stop = mirroring, f"a-to-b.copy / {name}", threading.Event()
        planned = plan(mirroring.flow, by_person=True, follow_for=LONG)
        self.planned: Plan = replace(planned, follow_for=1.0, hand_over_for=LONG) if is_due else planned
        self.run: Future[list[LaneResult]] = threads.submit(copy_in_process, mirroring.flow, self.planned, self.name, stop=self.stop)

    def verdict(self) -> Verdict:
        """The run's verdict once it has ended."""
        results = self.run.result(PATIENCE)
        return publish_and_judge(self.mirroring.flow, RunResult(self.planned, tuple(results)), self.name)

    def arrived(self, topic: str, records: int) -> None:
        """Until the target has so many records; it fails once the run has ended."""

        def there() -> bool:
            assert not self.run.done(), self.run.result()
            counts = self.mirroring.oracle.count(self.mirroring.target, self.mirroring.pair.remote(topic))
            return sum(count.records for count in counts) >= records

        eventually(there, f"{records} records")


@pytest.fixture
def follow(make_mirroring: Callable[..., Mirroring], pair: Any) -> Iterator[Callable[..., Follower]]:
    """Begins a run that follows; it is stopped with the test."""
    mirroring, runs = make_mirroring(pair, OFTEN), list[Follower]()
    with ThreadPoolExecutor(2) as threads:

        def begin(name: str, is_due: bool = False) -> Follower:
            runs.append(Follower(mirroring, threads, name, is_due))
            return runs[-1]

        try:
            yield begin
        finally:
            for run in runs:
                run.stop.set()


def test_what_arrives_is_copied_in_one_epoch_until_the_next_run_takes_the_lanes_over_and_a_pause_ends_that(
    follow: Callable[..., Follower], pair: Any, oracle: Any, topic: str
) -> None:
    first = follow("1", is_due=True)
    first.arrived(topic, 60)
    for number in range(1, 4):
        oracle.produce(pair.source_bootstrap, topic, 10, seed=number)
        first.arrived(topic, 60 + 10 * number)
    second = follow("2")
    assert (first.planned.is_busy, second.planned.is_busy) == (False, True)
    oracle.produce(pair.source_bootstrap, topic, 10, seed=7)
    second.arrived(topic, 100)
    oracle.produce(pair.source_bootstrap, topic, 10, seed=8)
    second.arrived(topic, 110)
    handed_over = first.verdict()  # its lanes were fenced, and find out with the first records
    decide = ["decide", "pause", "--flow", pair.flow, "--topic", topic, "--reason", "a test"]
    assert main(["--config", first.mirroring.flow.file, *decide]) == 0
    paused = second.verdict()
    assert [(judged.state, judged.errors, judged.copied_elsewhere) for judged in (handed_over, paused)] == [("done", (), ())] * 2
    assert handed_over.records + paused.records == sum(lane.records for run in (first, second) for lane in run.run.result()) == 110
    oracle.produce(pair.source_bootstrap, topic, 5, seed=9)
    assert first.mirroring.copy().records == 0, "the pause holds"
    ends = {tp.partition: record.watermark for tp, record in first.mirroring.ledger().items()}
    assert first.mirroring.assert_mirrored(topic, end=ends).records == 110


@pytest.mark.parametrize("how", [["--without-spark"], []], ids=["in this process", "with Spark"])
def test_the_command_copies_what_arrives_and_says_all_of_it_at_its_end(
    make_mirroring: Callable[..., Mirroring], pair: Any, oracle: Any, topic: str, capfd: pytest.CaptureFixture[str], how: list[str]
) -> None:
    mirroring = make_mirroring(pair, OFTEN)

    other = pair.topic("clicks")
    oracle.create_topic(pair.source_bootstrap, other, 1)

    def produce_and_end() -> None:
        def arrived(records: int) -> bool:
            return sum(record.records for record in mirroring.ledger().values()) == records

        eventually(lambda: arrived(60), "what was there")
        oracle.produce(pair.source_bootstrap, topic, 20, seed=2)
        eventually(lambda: arrived(80), "what came meanwhile")
        if how:  # a decision about one topic does not end the command for the others
            decide = ["--flow", pair.flow, "--topic", other, "--reason", "a test"]
            assert main(["--config", mirroring.flow.file, "--json", "decide", "pause", *decide]) == 0
        new = topic if how else pair.topic("payments")
        if not how:
            oracle.create_topic(pair.source_bootstrap, new, 1)
        oracle.produce(pair.source_bootstrap, new, 10, seed=3)
        eventually(lambda: arrived(90), "what came after the decision, or in a new topic")
        os.kill(os.getpid(), signal.SIGINT)

    with ThreadPoolExecutor(1) as threads:
        beside = threads.submit(produce_and_end)
        code = main(["--config", mirroring.flow.file, "--json", "copy", "--flow", pair.flow, "--follow", "10m", *how])
        beside.result(PATIENCE)
    document = capfd.readouterr().out
    (answer,) = json.loads(document[document.rindex('{\n  "command": "copy"') :])["flows"]
    assert (code, answer["state"], answer["errors"]) == (0, "done", [])
    assert (answer["result"]["records"], answer["result"]["owed"]) == (90, 0)
    assert sum(answer["result"]["watermarks"]["records"]) == 90
    mirroring.assert_mirrored(topic)


def test_the_command_writes_checkpoints_of_groups_as_they_move(
    make_mirroring: Callable[..., Mirroring], pair: Any, oracle: Any, topic: str
) -> None:
    mirroring = make_mirroring(pair, {**OFTEN, "source->target.emit.checkpoints.interval.seconds": "1"})
    group, (partition, *_) = f"reader-{pair.mark}", sorted(oracle.count(pair.source_bootstrap, topic), key=lambda count: -count.records)
    place, context = (topic, partition.partition), group_context(mirroring.flow)

    def checkpoint_is(offset: int) -> bool:
        with Cluster("target", context.clients.target_admin, 30.0) as target:
            found = read_topic(target, context.clients.target_consumer, context.checkpoints_topic, mm2.decode_checkpoint).records
        return bool(found) and (found[-1].group, found[-1].downstream) == (group, offset)

    def move_and_end() -> None:
        try:
            for offset in (2, 5):
                set_offsets(pair.source_bootstrap, group, {place: offset})
                eventually(lambda offset=offset: checkpoint_is(offset), f"a checkpoint at {offset}")  # type: ignore[misc]
        finally:
            os.kill(os.getpid(), signal.SIGINT)

    set_offsets(pair.source_bootstrap, group, {place: 1})
    with ThreadPoolExecutor(1) as threads:
        beside = threads.submit(move_and_end)
        command = ["copy", "--flow", pair.flow, "--follow", "10m", "--without-spark"]
        assert main(["--config", mirroring.flow.file, *command]) == 0
        beside.result(PATIENCE)


def test_a_changed_configuration_counts_while_the_command_follows_and_a_broken_one_ends_nothing(
    make_mirroring: Callable[..., Mirroring], pair: Any, oracle: Any, topic: str, capfd: pytest.CaptureFixture[str]
) -> None:
    other = pair.topic("clicks")
    oracle.create_topic(pair.source_bootstrap, other, 1)
    oracle.produce(pair.source_bootstrap, other, 10, seed=2)
    mirroring = make_mirroring(pair, OFTEN, topic)
    file = Path(mirroring.flow.file)

    def arrived(name: str, records: int) -> bool:
        copied = {tp: record.records for tp, record in mirroring.ledger().items() if tp.topic == name}
        return sum(copied.values()) == records

    def change_and_end() -> None:
        try:
            eventually(lambda: arrived(topic, 60), "what was there")
            file.write_text(file.read_text() + f"\n{pair.flow}.mirror.follow.seconds = never\n")
            time.sleep(2 * CHANGE_SECONDS)
            oracle.produce(pair.source_bootstrap, topic, 10, seed=3)
            eventually(lambda: arrived(topic, 70), "what came with a configuration that cannot be loaded")
            make_mirroring(pair, OFTEN, f"{topic},{other}")
            began = time.monotonic()
            eventually(lambda: arrived(other, 10), "a topic that the flow takes now")
            took.append(time.monotonic() - began)
        finally:
            os.kill(os.getpid(), signal.SIGINT)

    took: list[float] = []
    with ThreadPoolExecutor(1) as threads:
        beside = threads.submit(change_and_end)
        assert main(["--config", str(file), "copy", "--flow", pair.flow, "--follow", "10m", "--without-spark"]) == 0
        beside.result(PATIENCE)
    print(f"A changed configuration counted after {took[0]:.1f} s.")
    mirroring.assert_mirrored(other)
