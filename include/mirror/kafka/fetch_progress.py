"""Whether a consumer gets on although nothing comes of it."""

import json
import time


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
            for topic, found in json.loads(statistics)["topics"].items()
            for number, partition in found["partitions"].items()
        }
        if any(offset > self._fetched.get(key, offset) for key, offset in fetched.items()):
            self.moved_at = time.monotonic()
        self._fetched = fetched
