"""Applications over librdkafka, as many as are asked for, with the same JSON lines as the Java ones (`applications/Applications.java`).

`python -m lab.trial.librdkafka_applications` reads requests from its input and ends with it.
"""

import json
import sys
import threading
import time
from abc import ABC, abstractmethod
from collections import defaultdict
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer

_ROUND = 5
_FLUSH_SECONDS = 30.0
_POLL_SECONDS = 0.1
_AT_ONCE = 100
_NOT_NOW = {
    KafkaError.REBALANCE_IN_PROGRESS,
    KafkaError.ILLEGAL_GENERATION,
    KafkaError.STALE_MEMBER_EPOCH,
}


class Application(ABC):
    """One that runs in a thread until it is ended."""

    def __init__(self, request: dict[str, Any]) -> None:
        self._request = request
        self._journal = Path(request["journal"]).open("a", encoding="utf-8")  # noqa: SIM115 — open as long as the application runs
        self._ending = threading.Event()
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    @abstractmethod
    def work(self) -> None:
        """Works until it is to end, and ends in order."""

    def end(self) -> None:
        """Lets it end what is under way, and waits for that. Raises what it failed by."""
        self._ending.set()
        self._thread.join()
        if self._failure is not None:
            raise self._failure

    def write(self, *words: object) -> None:
        """A line of the journal; it counts once it is flushed."""
        self._journal.write(" ".join(map(str, words)) + "\n")

    def _run(self) -> None:
        try:
            self.work()
        except BaseException as failure:  # noqa: BLE001 — `end` raises it
            self._failure = failure
        finally:
            self._journal.close()


class ProducingApplication(Application):
    """Numbers its records, for each partition by itself, and writes down those that were acknowledged (see `Producer.java`)."""

    numbers: ClassVar[defaultdict[str, defaultdict[int, int]]] = defaultdict(lambda: defaultdict(int))
    """The next number of each partition by application, through all its starts."""

    def work(self) -> None:
        """Rounds of a few records, each a transaction where the producer has a transactional id."""
        producer: Producer | None = None
        while not self._ending.is_set():
            if producer is None:
                producer = self._open()
            elif not self._round(producer):
                producer.purge()
                producer = None
            time.sleep(self._request.get("pause_ms", 20) / 1000)
        if producer is not None:
            producer.flush(_FLUSH_SECONDS)

    @property
    def _transactional_id(self) -> str | None:
        return self._request.get("transactional_id")

    def _open(self) -> Producer | None:
        settings = {
            "bootstrap.servers": self._request["bootstrap"],
            "enable.idempotence": True,
            "linger.ms": 2,
            "message.timeout.ms": self._request.get("delivery_timeout_ms", 60_000),
            "log_level": 0,
            **self._request.get("client", {}),
        }
        if self._transactional_id is not None:
            longest = self._request.get("transaction_timeout_ms", 20_000)
            settings |= {"transactional.id": self._transactional_id, "transaction.timeout.ms": longest, "message.timeout.ms": longest}
        producer = Producer(settings)
        try:
            if self._transactional_id is not None:
                producer.init_transactions(_FLUSH_SECONDS)
        except KafkaException as failure:
            self._note_failure(failure.args[0])
            return None
        return producer

    def _round(self, producer: Producer) -> bool:
        """Sends a round, and says whether the producer is good for another one."""
        request = self._request
        topic, sent = request["topic"], self._next_numbers()
        answers: list[KafkaError | None] = []
        offsets: dict[tuple[int, int], int] = {}

        def note_delivery(place: tuple[int, int], error: KafkaError | None, message: Message) -> None:
            answers.append(error)
            offsets[place] = message.offset() or 0

        try:
            if self._transactional_id is not None:
                producer.begin_transaction()
            for partition, number in sent:
                value = f"{request['name']} {number}".encode()
                producer.produce(topic, value, partition=partition, on_delivery=partial(note_delivery, (partition, number)))
            producer.flush(_FLUSH_SECONDS * 3)
            missing: list[KafkaError | None] = [KafkaError(KafkaError._TIMED_OUT)] * (len(sent) - len(answers))
            if failures := [error for error in answers + missing if error is not None]:
                raise KafkaException(failures[0])
            if self._transactional_id is not None:
                self._commit(producer)
        except KafkaException as failure:
            for partition, number in sent:
                self.write("doubt", topic, partition, number, number)
            self._note_failure(failure.args[0])
            return False
        now = round(time.time() * 1000)
        for partition, number in sent:
            self.write("acked", topic, partition, number, offsets[partition, number], request["cluster"], now)
        self._journal.flush()
        return True

    def _next_numbers(self) -> list[tuple[int, int]]:
        numbers, sent = self.numbers[self._request["name"]], []
        for _ in range(_ROUND):
            for partition in range(self._request["partitions"]):
                sent.append((partition, numbers[partition]))
                numbers[partition] += 1
        return sent

    def _commit(self, producer: Producer) -> None:
        while True:
            try:
                producer.commit_transaction(_FLUSH_SECONDS)
            except KafkaException as failure:
                if failure.args[0].retriable():
                    continue
                raise
            return

    def _note_failure(self, error: KafkaError) -> None:
        refused = error.code() in (KafkaError.TOPIC_AUTHORIZATION_FAILED, KafkaError.CLUSTER_AUTHORIZATION_FAILED)
        self.write("failed", "unauthorized" if refused else "", error.name())
        self._journal.flush()


class ConsumingApplication(Application):
    """A member of a group that writes down each record before its position is committed (see `Consumer.java`)."""

    def work(self) -> None:
        """Reads, writes down, commits; ends between two polls, with everything committed."""
        request = self._request
        consumer = Consumer(
            {
                "bootstrap.servers": request["bootstrap"],
                "group.id": request["group"],
                "group.protocol": request.get("protocol", "classic"),
                "enable.auto.commit": False,
                "enable.auto.offset.store": True,
                "auto.offset.reset": "earliest",
                "isolation.level": "read_committed",
                "fetch.wait.max.ms": 100,
                "log_level": 0,
                **request.get("client", {}),
            }
        )
        try:
            consumer.subscribe(request["topics"])
            committed = True
            while not self._ending.is_set() or not committed:
                messages = [message for message in consumer.consume(_AT_ONCE, _POLL_SECONDS) if message.error() is None]
                for message in messages:
                    value = (message.value() or b"").decode()
                    self.write("read", message.topic(), message.partition(), message.offset(), value, request["cluster"])
                self._journal.flush()
                if messages or not committed:
                    committed = self._commit(consumer)
                time.sleep(request.get("pause_ms", 0) / 1000)
        finally:
            consumer.close()

    def _commit(self, consumer: Consumer) -> bool:
        """Commits the positions; gives whether it could. It cannot while the group rebalances, which the next poll continues."""
        while True:
            try:
                consumer.commit(asynchronous=False)
                return True
            except KafkaException as failure:
                error = failure.args[0]
                if error.code() in _NOT_NOW:
                    return False
                if error.code() == KafkaError._NO_OFFSET:
                    return True
                if not (error.retriable() or error.code() in (KafkaError._TRANSPORT, KafkaError._TIMED_OUT, KafkaError._WAIT_COORD)):
                    self.write("uncommitted", error.name())
                    return True
                time.sleep(0.1)


def main() -> None:
    """Answers requests until the input ends."""
    running: dict[str, Application] = {}
    kinds = {"produce": ProducingApplication, "consume": ConsumingApplication}
    for line in sys.stdin:
        answer: dict[str, Any] = {"answer": {}}
        try:
            request = json.loads(line)
            if request["command"] == "end":
                running.pop(request["name"]).end()
            elif request["name"] in running:
                raise RuntimeError(f"{request['name']} runs already")
            else:
                running[request["name"]] = kinds[request["command"]](request)
        except Exception as problem:  # noqa: BLE001 — it is the answer
            answer = {"error": f"{type(problem).__name__}: {problem}"}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
