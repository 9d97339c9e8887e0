"""A steady producer on the source, and a reader of committed records on the target that notes how old each record is on arrival."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition

_TICK_SECONDS = 0.01
_MOST_MESSAGES = 1000


@dataclass
class Arrivals:
    """Source timestamp and age in seconds of each record that arrived, so far."""

    timestamps: list[float] = field(default_factory=list)
    ages: list[float] = field(default_factory=list)

    def ages_of(self, begin: float, end: float) -> list[float]:
        """The ages of the records that were produced in a span of time, sorted."""
        return sorted(age for timestamp, age in zip(self.timestamps, self.ages, strict=True) if begin <= timestamp < end)


def produce_steadily(bootstrap: str, topic: str, partitions: int, rate: int, seconds: float) -> int:
    """Produces `rate` records of 100 bytes a second, to all partitions in turn; gives how many there were. Raises KafkaException."""
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 5, "partitioner": "consistent_random"})
    began, sent = time.monotonic(), 0
    while (passed := time.monotonic() - began) < seconds:
        while sent < passed * rate:
            producer.produce(topic, b"value " * 16, key=b"key-%d" % sent, partition=sent % partitions)
            sent += 1
        producer.poll(0)
        time.sleep(_TICK_SECONDS)
    if pending := producer.flush(30):
        raise RuntimeError(f"{pending} records could not be produced.")
    return sent


def percentile(ordered: list[float], share: float) -> float:
    """The value below which this share of sorted values lies."""
    return ordered[min(int(len(ordered) * share), len(ordered) - 1)]


@contextmanager
def read_arrivals(bootstrap: str, topic: str, partitions: int) -> Iterator[Arrivals]:
    """Reads a target topic from its end on, until the block ends."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "bench-arrivals",
            "enable.auto.commit": "false",
            "isolation.level": "read_committed",
            "fetch.wait.max.ms": "100",
            "fetch.queue.backoff.ms": "5",
            "auto.offset.reset": "error",
        }
    )
    places = [TopicPartition(topic, number) for number in range(partitions)]
    consumer.assign([TopicPartition(topic, place.partition, consumer.get_watermark_offsets(place, 30)[1]) for place in places])
    arrivals, over, failures = Arrivals(), threading.Event(), []

    def read() -> None:
        while not over.is_set():
            for message in consumer.consume(_MOST_MESSAGES, 0.05):
                now = time.time()
                if error := message.error():
                    if error.code() != KafkaError._TRANSPORT:
                        failures.append(error)
                    continue
                timestamp = message.timestamp()[1] / 1000
                arrivals.timestamps.append(timestamp)
                arrivals.ages.append(now - timestamp)

    thread = threading.Thread(target=read, name="arrivals")
    thread.start()
    try:
        yield arrivals
    finally:
        over.set()
        thread.join()
        consumer.close()
    if failures:
        raise KafkaException(failures[0])
