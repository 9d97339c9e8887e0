"""Follows a wave's record in the control topic, as it is written: which step begins, and how long each took."""

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from confluent_kafka import Consumer, TopicPartition

from kafka_mirror.config.policies import replication_policy
from kafka_mirror.cutover.wave.record import RUNNING, decode_wave
from kafka_mirror.cutover.wave.step import DONE
from kafka_mirror.ledger.control_records import WAVE, decode

if TYPE_CHECKING:
    from kafka_mirror.config import Flow

_POLL_SECONDS = 0.05


class WaveWatch:
    """Sees the steps of one wave begin until the block ends. It reads with a consumer of its own: through the mirror's clients a look takes
    longer than a short step."""

    def __init__(self, flow: "Flow", bootstrap: str, wave: str, begins: Callable[[str], None]) -> None:
        """`bootstrap` is of the target; `begins` is called with each step that begins, from another thread."""
        self.seconds: dict[str, float] = {}
        """How long the steps took that are done."""
        self._topic = replication_policy(flow).control_topic(flow.source)
        self._bootstrap = bootstrap
        self._wave = wave
        self._begins = begins
        self._began: dict[str, int] = {}
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._read, daemon=True)

    def __enter__(self) -> "WaveWatch":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ending.set()
        self._thread.join()

    def has_begun(self, step: str) -> bool:
        """Whether the step has begun at least once."""
        return step in self._began

    def _read(self) -> None:
        consumer = Consumer(
            {
                "bootstrap.servers": self._bootstrap,
                "group.id": "wave-watch",
                "enable.auto.commit": False,
                "isolation.level": "read_committed",
                "auto.offset.reset": "earliest",
                "fetch.wait.max.ms": 50,
                "log_level": 0,
            }
        )
        try:
            consumer.assign([TopicPartition(self._topic, 0, 0)])
            while not self._ending.is_set():
                for message in consumer.consume(100, _POLL_SECONDS):
                    if message.error() is None and (value := message.value()) is not None:
                        self._take(value)
        finally:
            consumer.close()

    def _take(self, value: bytes) -> None:
        decision = decode(value, self._topic)
        if decision.decision != WAVE or decision.topic != self._wave:
            return
        for step, note in decode_wave(self._wave, decision.document or "").steps.items():
            if note.state == RUNNING and self._began.get(step) != note.began:
                self._began[step] = note.began
                self._begins(step)
            elif note.state == DONE and note.ended is not None:
                self.seconds[step] = (note.ended - note.began) / 1000
