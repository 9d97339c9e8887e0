"""The demo's producer: a backlog once, then a moderate stream until SIGTERM. A process of its own:

    python -m services.demo.producer <bootstrap.servers> <file that says that the backlog is written>

Orders and payments are written in transactions, one in eight of which is aborted; clicks are written without.
"""

import random
import signal
import sys
import threading
import time
from pathlib import Path

from confluent_kafka import KafkaError, KafkaException, Producer
from confluent_kafka.admin import AdminClient, NewTopic

from services.demo.shop import RETURNS, TOPICS, Message, Shop

BACKLOG_CLICKS, BACKLOG_CHECKOUTS = 18_000, 7_000
BACKLOG_HOURS = 6
CLICKS, CHECKOUTS, SECONDS = 8, 3, 0.5
"""The stream: how many of each, every how many seconds."""
_AT_ONCE = 100
_ABORTED = 1 / 8


class Till:
    """Writes to the cluster. Raises KafkaException when a transaction could be neither committed nor aborted."""

    def __init__(self, bootstrap: str) -> None:
        common = {"bootstrap.servers": bootstrap, "linger.ms": 20, "partitioner": "murmur2_random", "enable.idempotence": True}
        self._plain = Producer({**common, "client.id": "clicks", "compression.type": "lz4"})
        settings = {**common, "client.id": "checkouts", "compression.type": "zstd"}
        self._transactional = Producer({**settings, "transactional.id": "shop", "transaction.timeout.ms": 15_000})
        self._transactional.init_transactions(30)
        self._chance = random.Random()

    def write_clicks(self, messages: list[Message]) -> None:
        _produce(self._plain, messages)
        self._plain.flush(30)

    def write_checkouts(self, messages: list[Message]) -> None:
        """Writes all of them or none."""
        self._transactional.begin_transaction()
        _produce(self._transactional, messages)
        self._transactional.flush(30)
        if self._chance.random() < _ABORTED:
            self._transactional.abort_transaction(30)
        else:
            self._transactional.commit_transaction(30)


def _produce(producer: Producer, messages: list[Message]) -> None:
    for message in messages:
        producer.produce(message.topic, message.value, message.key, headers=list(message.headers), timestamp=message.timestamp)
        producer.poll(0)


def create_topics(bootstrap: str) -> None:
    """Creates those that do not exist yet."""
    admin = AdminClient({"bootstrap.servers": bootstrap})
    for future in admin.create_topics([NewTopic(name, partitions, 1) for name, partitions in {**TOPICS, RETURNS: 1}.items()]).values():
        try:
            future.result()
        except KafkaException as error:
            if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
                raise


def write_backlog(till: Till, shop: Shop) -> None:
    """Writes the last hours, in the order in which they happened."""
    now = _now()
    rounds = BACKLOG_CHECKOUTS // _AT_ONCE
    for number in range(rounds):
        at = now - BACKLOG_HOURS * 3_600_000 * (rounds - number) // rounds
        till.write_clicks([shop.click(at + i * 100) for i in range(BACKLOG_CLICKS // rounds)])
        till.write_checkouts([message for i in range(_AT_ONCE) for message in shop.checkout(at + i * 1000)])


def write_stream(till: Till, shop: Shop, stop: threading.Event) -> None:
    """Writes what happens from now on."""
    while not stop.wait(SECONDS):
        till.write_clicks([shop.click(_now()) for _ in range(CLICKS)])
        till.write_checkouts([message for _ in range(CHECKOUTS) for message in shop.checkout(_now())])


def main(bootstrap: str, backlog_written: str) -> None:
    """Ends after the transaction it is in when it gets SIGTERM. A failed producer is not usable again: a new one aborts what it left."""
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda _number, _frame: stop.set())
    shop, marker = Shop(int(time.time())), Path(backlog_written)
    create_topics(bootstrap)
    while not stop.is_set():
        try:
            till = Till(bootstrap)
            if not marker.exists():
                write_backlog(till, shop)
                marker.touch()
            write_stream(till, shop, stop)
        except KafkaException as error:
            print(f"Beginning again after: {error}", flush=True)
            stop.wait(1)


def _now() -> int:
    return time.time_ns() // 1_000_000


if __name__ == "__main__":
    main(*sys.argv[1:])
