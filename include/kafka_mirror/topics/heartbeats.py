"""Heartbeats of a pair of clusters, as MirrorMaker 2's heartbeat connector writes them: to the target, whether the source is there or not.

What beats on a cluster shows downstream that the flows from there work: they mirror `heartbeats` like any other topic.
"""

import time
from dataclasses import dataclass
from datetime import UTC, datetime
from threading import Event, Lock
from typing import TYPE_CHECKING

from kafka_mirror.config.deadlines import seconds_between_beats
from kafka_mirror.config.policies import replication_policy
from kafka_mirror.errors import MirrorError
from kafka_mirror.formats.mm2 import Heartbeat
from kafka_mirror.kafka.cluster import Cluster
from kafka_mirror.kafka.create_topics import HEARTBEATS_FACTOR, ensure_internal_topic
from kafka_mirror.kafka.produce_request import Outgoing
from kafka_mirror.kafka.writer import RecordWriter
from kafka_mirror.ledger.clusters import check_answering_clusters
from kafka_mirror.ledger.step import StepResult

if TYPE_CHECKING:
    from kafka_mirror.config import Flow


class Heart:
    """Beats for one pair."""

    def __init__(self, flow: "Flow") -> None:
        self.topic = replication_policy(flow).heartbeats_topic()
        self._flow = flow
        self._seconds = flow.request_seconds
        self._writer = RecordWriter(flow.target, flow.client("target", "producer"), self._seconds)

    def prepare(self, dry_run: bool = False) -> bool:
        """Creates the topic where it is missing; whether it was (with `dry_run`: would be). Raises SameCluster."""
        check_answering_clusters(self._flow)  # beats tell of the target alone, and go on without the source
        with Cluster(self._flow.target, self._flow.client("target", "admin"), self._seconds) as target:
            refused: dict[str, MirrorError] = {}
            missing = self.topic not in target.topics([self.topic], refused) and self.topic not in refused
            if not dry_run:
                ensure_internal_topic(target, self.topic, self._flow.value(HEARTBEATS_FACTOR), HEARTBEATS_FACTOR)
        return missing

    def beat(self) -> Heartbeat:
        """One beat, now, to partition 0: the only one that is read."""
        beat = Heartbeat(self._flow.source, self._flow.target, int(time.time() * 1000))
        self._writer.write([Outgoing(self.topic, beat.key, beat.value, beat.timestamp)], "the heartbeat")
        return beat


def step(flow: "Flow", dry_run: bool = False) -> StepResult:
    """One beat."""
    heart = Heart(flow)
    created = heart.prepare(dry_run)
    beat = None if dry_run else heart.beat().timestamp
    result = {"topic": heart.topic, "created": created, "timestamp": beat}
    new = f", {'which would be created' if dry_run else 'which was created'}" if created else ""
    said = "would beat"
    if beat is not None:
        said = f"beat at {datetime.fromtimestamp(beat / 1000, UTC).isoformat(timespec='milliseconds')}"
    return StepResult(result, lines=(f"{flow.name} {said} in {heart.topic} of {flow.target}{new}",))


@dataclass(frozen=True)
class HeartbeatsResult:
    """What a series of beats amounts to; times in Unix milliseconds, None without a beat."""

    beats: int
    first: int | None
    last: int | None


_running: dict[str, Event] = {}
"""Pair -> what ends the series of beats that this process has under way for it."""
_running_lock = Lock()


def beat_until(flow: "Flow", end: float, stop: Event) -> HeartbeatsResult:
    """Beats at the exact interval until `end` (Unix seconds), or until `stop` is set, or another series of the pair begins in this process.

    Beats fall on whole multiples of the interval since the epoch, so that the next series goes on in step with this one: without a gap and
    without a beat twice. A beat that comes too late because the cluster was slow is left out.
    """
    seconds = seconds_between_beats(flow)
    heart = Heart(flow)
    heart.prepare()
    times: list[int] = []
    with _running_lock:
        former, _running[flow.name] = _running.get(flow.name), stop
    if former is not None:
        former.set()
    try:
        turn = int(time.time() // seconds)
        while (turn := max(turn, int(time.time() // seconds)) + 1) * seconds < end:
            if stop.wait(max(turn * seconds - time.time(), 0)):
                break
            times.append(heart.beat().timestamp)
    finally:
        with _running_lock:
            if _running.get(flow.name) is stop:
                del _running[flow.name]
    return HeartbeatsResult(len(times), times[0] if times else None, times[-1] if times else None)
