"""How librdkafka's consumers read exactly between two offsets: what correctness needs stands over everything else that is set.

Their statistics alone tell whether a consumer gets on where all that it fetches was aborted.
"""

import json
import time
from collections.abc import Mapping
from typing import Any

FETCH_BYTES = 4 * 1024 * 1024
QUEUE_KILOBYTES = 16 * 1024
STATISTICS_MS = 5000
"""How often the client tells how far it has fetched; well below the time for which a source may be silent."""

SMALL_FETCHES = {"fetch.message.max.bytes": 65_536, "fetch.max.bytes": 8_388_608, "message.max.bytes": 1_000_000, "queued.min.messages": 1}
"""Consumer settings for whoever wants one record of each of many partitions."""


def bulk_settings(settings: Mapping[str, Any], committed: bool) -> dict[str, Any]:
    """For reading many records: the user's settings under what correctness needs. A start that does not exist must be an error, never a
    jump."""
    return {
        "fetch.wait.max.ms": 100,
        # What is fetched is inflated at once, often tenfold, so the whole answer is bounded and not each partition's part of it alone. One
        # fetch is under way at a time: on a far network its size is the rate, and one partition may have all of it.
        "fetch.max.bytes": FETCH_BYTES,
        "max.partition.fetch.bytes": FETCH_BYTES,
        "queued.max.messages.kbytes": QUEUE_KILOBYTES,
        **settings,
        **_exact(committed),
        "statistics.interval.ms": STATISTICS_MS,
        "auto.offset.reset": "error",
    }


def reader_settings(settings: Mapping[str, Any], committed: bool) -> dict[str, Any]:
    """For reading few records, of our own topics mostly: nothing of the user's tuning but how to connect.

    An explicit first offset with `earliest` behind it makes the first fetch start at once; asking for the beginning costs half a second.
    """
    return {**settings, **_exact(committed), "auto.offset.reset": "earliest", "fetch.wait.max.ms": 10}


def _exact(committed: bool) -> dict[str, Any]:
    return {
        "group.id": "mirror",
        "enable.auto.commit": False,
        "enable.auto.offset.store": False,
        "enable.partition.eof": True,
        "isolation.level": "read_committed" if committed else "read_uncommitted",
        "check.crcs": True,
        "allow.auto.create.topics": False,
        "fetch.queue.backoff.ms": 5,
    }


class FetchProgress:
    """Takes the statistics of a consumer (its `stats_cb`).

    Aborted records give no event, however long it takes to fetch them: only the client's statistics tell that it gets on. What they tell is
    no progress to go by, for records in front of it may wait to be handed over.
    """

    def __init__(self) -> None:
        self.moved_at = 0.0
        """When (time.monotonic) the client was last seen to have come further in any partition."""
        self._fetched: dict[tuple[str, str], int] = {}

    def __call__(self, statistics: str) -> None:
        """Takes the client's statistics, as it has them every so often."""
        fetched = {
            (topic, number): partition["next_offset"]
            for topic, partitions in json.loads(statistics)["topics"].items()
            for number, partition in partitions["partitions"].items()
        }
        if any(offset > self._fetched.get(key, offset) for key, offset in fetched.items()):
            self.moved_at = time.monotonic()
        self._fetched = fetched
