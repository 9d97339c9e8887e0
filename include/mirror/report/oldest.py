"""How old the oldest record is that each partition has not copied yet: one record is read a partition, in small fetches."""

from collections.abc import Iterable, Mapping, MutableMapping
from concurrent.futures import ThreadPoolExecutor

from mirror.config import Flow
from mirror.errors import MirrorError
from mirror.kafka.reading import BoundedReader
from mirror.offsets.partition import TopicPartition
from mirror.plan.choose import SourcePartition

READ_SECONDS = 5.0
"""How long records are read in all; a partition that has not answered by then has no age."""

SMALL_FETCHES = {"fetch.message.max.bytes": 65_536, "fetch.max.bytes": 8_388_608, "message.max.bytes": 1_000_000, "queued.min.messages": 1}
"""Consumer settings for whoever wants one record of each of many partitions."""


Known = MutableMapping[TopicPartition, tuple[int, int]]
"""The offset and the timestamp of the oldest record of each partition, as it was read before."""


def oldest_records(
    flow: Flow, positions: Iterable[tuple[SourcePartition, int]], errors: MutableMapping[str, MirrorError], known: Known | None = None
) -> dict[TopicPartition, int]:
    """The timestamp (Unix milliseconds) of the first record at or behind each position, for each partition that has one.

    A partition whose readable records are all copied, but which an open transaction holds back, gives the first record of that
    transaction. A topic that may not be read is in `errors`. What is `known` of a partition that stands where it stood is not read again;
    what is read is known the next time.
    """
    before, again = dict(known or {}), dict[TopicPartition, tuple[int, int]]()
    readable: dict[TopicPartition, tuple[int, int]] = {}
    held: dict[TopicPartition, tuple[int, int]] = {}
    for found, position in positions:
        start = max(position, found.log_start)
        if start < found.readable_end and found.tp in before and before[found.tp][0] == start:
            again[found.tp] = before[found.tp]
        elif start < found.readable_end:
            readable[found.tp] = (start, found.readable_end)
        elif start < found.end:
            held[found.tp] = (start, found.end)
    committed = flow.client("source", "consumer").get("isolation.level") != "read_uncommitted"
    with ThreadPoolExecutor(2) as threads:
        asked = [threads.submit(_stamps, flow, ranges, stable, errors) for ranges, stable in ((readable, committed), (held, False))]
    stamps, waiting = (answer.result() for answer in asked)
    again |= {tp: (readable[tp][0], stamp) for tp, stamp in stamps.items()}
    if known is not None:
        known.clear()
        known.update(again)
    return {tp: stamp for tp, (_, stamp) in again.items()} | waiting


def _stamps(
    flow: Flow, ranges: Mapping[TopicPartition, tuple[int, int]], committed: bool, errors: MutableMapping[str, MirrorError]
) -> dict[TopicPartition, int]:
    reader = BoundedReader(flow.source, {**flow.client("source", "consumer"), **SMALL_FETCHES}, committed)
    first = reader.first_visible(ranges, READ_SECONDS, errors, partial=True)
    return {tp: int(message.timestamp()[1]) for tp, message in first.items()}
