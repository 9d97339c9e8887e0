"""Where a log departs from what was read of it in an older leader epoch (KIP-101, KIP-320).

A replica that becomes leader without having every record goes on with records of its own under a newer leader epoch. The end of the older
epoch in the log as it is now is then the first offset whose record may be another one:

    read in epoch 4    ──────────────┼── gone ──┤
    the log now        ── epoch 4 ───┼──── epoch 5 ──────
                                     └─ the end of epoch 4
"""

import re
import time
from collections.abc import Mapping
from typing import Any

from confluent_kafka import Consumer, KafkaError
from confluent_kafka import TopicPartition as ClientTopicPartition

from mirror.kafka.closing import close
from mirror.kafka.consumer_settings import reader_settings
from mirror.kafka.failures import Complaints, settings_with
from mirror.offsets.partition import TopicPartition

# The client has no request for it: it compares positions with the leader by itself and tells the answer in the words of its error.
_EPOCH_END = re.compile(r"truncation detected at .*?broker end offset is (\d+)")


def epoch_end(error: KafkaError) -> int | None:
    """The end of the position's leader epoch, if a consumer's error says that it lies in front of the position."""
    found = _EPOCH_END.search(error.str())
    return int(found.group(1)) if found else None


def epoch_ends(settings: Mapping[str, Any], asked: Mapping[TopicPartition, tuple[int, int]], seconds: float) -> dict[TopicPartition, int]:
    """The ends of leader epochs in the logs of one cluster. `asked` are an epoch and the log's end for each partition.

    A partition is absent if its epoch reaches to the log's end, or if its leader did not answer in time. No record is fetched: the consumer
    is placed at the log's end and only lets the leader look at its position.
    """
    if not asked:
        return {}
    waiting, found = set(asked), dict[TopicPartition, int]()
    deadline = time.monotonic() + seconds
    unheard = Complaints("", settings)  # nobody asks for them: a leader that does not answer is absent
    consumer = Consumer(settings_with({**reader_settings(settings, committed=False), "auto.offset.reset": "error"}, unheard))
    try:
        consumer.assign([ClientTopicPartition(*tp, end, leader_epoch=epoch) for tp, (epoch, end) in asked.items()])
        while waiting and time.monotonic() < deadline:
            for event in consumer.consume(len(asked), 0.02):
                tp = TopicPartition(event.topic() or "", -1 if event.partition() is None else int(event.partition() or 0))
                error = event.error()
                end = epoch_end(error) if error is not None else None
                if end is not None:
                    found[tp] = end
                if error is None or end is not None or error.code() in (KafkaError._PARTITION_EOF, KafkaError._AUTO_OFFSET_RESET):
                    waiting.discard(tp)
    finally:
        close(consumer)
    return found
