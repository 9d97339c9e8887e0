"""The write pause and the read pause of a planned wave, and where their seconds go.

A wave of 100 partitions and five groups moves through all steps by `cutover run`, names are kept, the way back begins. A producer
writes and five consumers read until the wave keeps them off; 10,000 records are not copied when it begins. The write pause is counted from
the producer's last acknowledged record until `open` is done. A step's seconds begin at the end of the step before it.
"""

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer

from kafka_mirror.cutover.wave.step import AUDIT_GATE, BY_ACL, BY_HAND, FENCE, LAST_COPY, MOVE_GROUPS, OPEN
from lab.bench.processes import ENVIRONMENT
from lab.bench.results import append, spread
from lab.bench.stage import Stage, mirror_command, open_stage
from services.flows import ClusterPair

RUNS, QUICK_RUNS = 5, 1
PARTITIONS, QUICK_PARTITIONS = 100, 10
GROUPS = 5
COPIED, LAGGING = 100_000, 10_000
RATE = 200
"""Records a second of the producer that lives until the fence."""
WRITER = "writer"
PAUSED = (FENCE, LAST_COPY, AUDIT_GATE, MOVE_GROUPS, OPEN)
"""The steps during which the producer may not write."""
_IDENTITY = "org.apache.kafka.connect.mirror.IdentityReplicationPolicy"
_REFUSED = (KafkaError.TOPIC_AUTHORIZATION_FAILED, KafkaError._PURGE_QUEUE, KafkaError._PURGE_INFLIGHT)


@dataclass
class Writer:
    """A producer in a thread, which writes until `end` or until it is refused. `last` is when its last record was acknowledged."""

    cluster: Mapping[str, str]
    topic: str
    partitions: int
    acknowledged: int = 0
    last: float = 0.0
    over: threading.Event = field(default_factory=threading.Event)
    failures: list[KafkaError] = field(default_factory=list)

    def begin(self) -> None:
        """Starts the thread."""
        self._thread = threading.Thread(target=self._write, name="writer")
        self._thread.start()

    def end(self) -> None:
        """Ends it, as a person stops an application: it writes what is in its queue. Raises RuntimeError if it failed."""
        self.over.set()
        self._thread.join()
        if self.failures:
            raise RuntimeError(f"The producer failed: {self.failures[0]}")

    def _write(self) -> None:
        producer = Producer({**self.cluster, "linger.ms": 5, "enable.idempotence": True, "log_level": 0})
        began, sent = time.monotonic(), 0
        while not self.over.is_set():
            while sent < (time.monotonic() - began) * RATE:
                try:
                    producer.produce(self.topic, b"value " * 16, partition=sent % self.partitions, on_delivery=self._note_delivery)
                except KafkaException as refusal:  # the client knows by now that it may not
                    self._note_delivery(refusal.args[0], None)
                    break
                sent += 1
            producer.poll(0.01)
        producer.flush(30)

    def _note_delivery(self, error: KafkaError | None, _: Message | None) -> None:
        if error is None:
            self.acknowledged += 1
            self.last = time.time()
            return
        self.over.set()
        if error.code() not in _REFUSED:
            self.failures.append(error)


@contextmanager
def keep_reading(bootstrap: str, topic: str, groups: Sequence[str]) -> Iterator[threading.Event]:
    """Runs one member for each group, which reads until the event is set."""
    over = threading.Event()

    def read(group: str) -> None:
        consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": group, "auto.offset.reset": "earliest", "log_level": 0})
        consumer.subscribe([topic])
        while not over.is_set():
            consumer.consume(1000, 0.1)
        consumer.close()

    threads = [threading.Thread(target=read, args=(group,), name=group) for group in groups]
    for thread in threads:
        thread.start()
    try:
        yield over
    finally:
        over.set()
        for thread in threads:
            thread.join()


@dataclass(frozen=True)
class Pauses:
    """One wave's seconds: of the pauses, of each step in them, and of all; and how many records its last copy brought."""

    write: float
    read: float
    steps: Mapping[str, float]
    whole: float
    last_copy: int


def move(stage: Stage, by: str, partitions: int) -> Pauses:
    """Moves a topic and groups of their own. Raises RuntimeError unless it opened, with every record on the target."""
    pair = stage.pair()
    topic, groups = f"orders-{pair.source}", [f"{pair.source}-group-{number}" for number in range(GROUPS)]
    config = configuration(pair, topic)
    stage.oracle.create_topic(pair.source_bootstrap, topic, partitions)
    stage.oracle.create_acls(
        pair.source_bootstrap, [{"principal": f"User:{WRITER}", "type": "TOPIC", "name": topic, "pattern": "LITERAL", "operation": "WRITE"}]
    )
    stage.oracle.produce(pair.source_bootstrap, topic, COPIED, seed=1)
    run_mirror(config, "copy", "--without-spark")
    login = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN", "sasl.username": WRITER, "sasl.password": WRITER}
    writer = Writer({"bootstrap.servers": stage.source.secure_bootstrap, **login}, topic, partitions)
    with keep_reading(pair.source_bootstrap, topic, groups) as readers_over:
        writer.begin()
        try:
            stage.oracle.produce(pair.source_bootstrap, topic, LAGGING, seed=2)
            report = run_wave(config, pair, topic, by, writer, readers_over)
        finally:
            writer.end()
    stage.require(topic, COPIED + LAGGING + writer.acknowledged)
    stage.remove(topic)
    stage.oracle.delete_topic(pair.source_bootstrap, topic)
    return pauses(report, writer.last)


def run_mirror(config: Path, *words: str, follow_progress: Callable[[str], None] = lambda _: None) -> None:
    """Runs a command of the mirror; calls `follow_progress` with each line of its progress. Raises RuntimeError if it fails."""
    command = mirror_command(config, *words)
    lines: list[str] = []
    with subprocess.Popen(
        command, env={**os.environ, **ENVIRONMENT}, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None
        for line in process.stderr:
            lines.append(line)
            follow_progress(line)
    if process.returncode:
        raise RuntimeError(f"{' '.join(command)} ended with {process.returncode}:\n{''.join(lines)[-5000:]}")


def configuration(pair: ClusterPair, topic: str) -> Path:
    """Writes the properties of both flows with names kept, as in the handbook's guide."""
    opposite = f"{pair.target}->{pair.source}"
    way_back = {f"{opposite}.enabled": "true", f"{opposite}.topics": topic, f"{opposite}.mirror.way.back": "true"}
    return pair.properties(topic, {"replication.policy.class": _IDENTITY, **way_back})


def run_wave(config: Path, pair: ClusterPair, topic: str, by: str, writer: Writer, readers_over: threading.Event) -> Mapping[str, Any]:
    """Runs it; stops the producer when the fence begins, unless an ACL does that, and the consumers after the fence. Gives the report."""
    output = config.with_name("wave.json")

    def follow_progress(line: str) -> None:
        if f" {FENCE} begins." in line and by == BY_HAND:
            writer.end()
        if f" {LAST_COPY} begins." in line:
            readers_over.set()

    words = ("--flow", pair.flow, "--topics", topic, "--by", by, "--reason", "a benchmark", "--output", str(output))
    run_mirror(config, "cutover", "run", *words, follow_progress=follow_progress)
    report: dict[str, Any] = json.loads(output.read_text(encoding="utf-8"))
    return report


def pauses(report: Mapping[str, Any], last_write: float) -> Pauses:
    """The seconds of a wave, by its report and the time of the last record that was acknowledged."""
    steps = {step["step"]: step for step in report["steps"]}
    ends = {step: datetime.fromisoformat(of["ended"]).timestamp() for step, of in steps.items()}
    seconds, before = {}, last_write
    for step in PAUSED:
        seconds[step], before = ends[step] - before, ends[step]
    whole = ends[OPEN] - datetime.fromisoformat(report["began"]).timestamp()
    return Pauses(ends[OPEN] - last_write, report["read_pause_seconds"], seconds, whole, steps[LAST_COPY]["facts"]["records"])


def main(quick: bool = False) -> None:
    """Measures and appends to the log; `quick` tries it out and writes nothing."""
    partitions, rows = QUICK_PARTITIONS if quick else PARTITIONS, []
    with open_stage(users={WRITER: WRITER}) as stage:
        for by in (BY_HAND, BY_ACL):
            waves = [move(stage, by, partitions) for _ in range(QUICK_RUNS if quick else RUNS)]
            of_steps = [spread([wave.steps[step] for wave in waves]) for step in PAUSED]
            figures = (spread([wave.write for wave in waves]), *of_steps, spread([wave.read for wave in waves]))
            copied = spread([wave.last_copy for wave in waves], 0)
            rows.append(
                (f"{partitions} partitions, {GROUPS} groups", by, copied, str(len(waves)), *figures, spread([wave.whole for wave in waves]))
            )
    columns = (
        "wave",
        "fence",
        "records of the last copy",
        "runs",
        "write pause s",
        *(f"{step} s" for step in PAUSED),
        "read pause s",
        "whole wave s",
    )
    append("The pauses of a planned wave", columns, rows, write=not quick)


if __name__ == "__main__":
    main("--quick" in sys.argv)
