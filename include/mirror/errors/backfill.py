"""Errors of a backfill: times that do not become offsets, and history that cannot be written where it was asked for."""

from mirror.errors.base import MirrorError
from mirror.errors.next_step import backfill


class WildTimestamp(MirrorError):
    """Raised when a record is stamped so far ahead that it takes the place of the records of an interval."""

    def __init__(self, topic: str, partition: int, offset: int, stamped: str, times: str) -> None:
        super().__init__(
            f"{topic}-{partition}@{offset}: this record is stamped {stamped}, and records behind it are stamped earlier, so the interval "
            f"{times} ends in front of it, and what stands behind it counts as later. Nothing of this partition was filled.",
            topic=topic,
            partition=partition,
            offset=offset,
            next=f"To have what stands behind it as well, take an interval that ends after {stamped}. To take the interval as it is: "
            f"{backfill(topic, '--accept-wild-timestamps', 'accept_wild_timestamps = true')}, or "
            f"mirror.backfill.on.wild.timestamp={topic}=accept",
        )
        self.stamped = stamped


class HistoryIntoCompacted(MirrorError):
    """Raised when history would go into a compacted topic: it stands behind newer records there, so old values would win."""

    def __init__(self, topic: str, partition: int | None, into: str) -> None:
        super().__init__(
            f"{topic}: its history cannot go into {into}, which is compacted: of each key the last value stays, and that would be an old "
            "one. Nothing was written to it.",
            topic=topic,
            partition=partition,
            next="Let it go into a topic of its own that is not compacted (--into, in Airflow the parameter into; for all "
            "mirror.backfill.into).",
        )
        self.into = into


class HistoryTopicRefused(MirrorError):
    """Raised when history may not go where it was asked for."""

    def __init__(self, topic: str, into: str, why: str) -> None:
        super().__init__(
            f"{topic}: its history cannot go into '{into}', which {why}. Nothing was written.",
            topic=topic,
            next="Name another topic (--into, in Airflow the parameter into; for all mirror.backfill.into), or allow this one "
            "(mirror.backfill.into.allowed).",
        )
        self.into = into


class HistoryOutOfOrder(MirrorError):
    """Raised when newer history of a partition stands already where older one shall go, and time order was not given up.

    `another` is a topic that may take the older one, as `--into` has it.
    """

    def __init__(self, topic: str, partition: int, start: int, end: int, into: str, newer: int, another: str) -> None:
        aside = backfill(topic, f"--into '{another}'", f"into = {another}")
        behind = backfill(topic, "--order any", "order = any")
        super().__init__(
            f"{topic}-{partition}@{start}: the history [{start}, {end}) would stand behind newer one (from source offset {newer} on) in "
            f"{into}-{partition}. Nothing was written.",
            topic=topic,
            partition=partition,
            offset=start,
            next=f"Let the older time go into a topic of its own: {aside}; or, if the order of the records in {into} does not matter, "
            f"behind what is there: {behind}; or delete {into}, if nothing reads it any more, and backfill the whole time: then its "
            "history begins anew.",
        )
        self.into = into
        self.newer = newer
        self.another = another


class HistoryTooScattered(MirrorError):
    """Raised when a partition's history has so many gaps that the ledger cannot note another interval."""

    def __init__(self, topic: str, partition: int, into: str, intervals: int) -> None:
        super().__init__(
            f"{topic}-{partition}: {intervals} separate intervals of its history are in {into}, and the ledger notes no more of them. "
            "Nothing was written.",
            topic=topic,
            partition=partition,
            next="Fill the gaps between them first, with one backfill over the whole time; then go on.",
        )
        self.into = into


class HistoryWithoutStart(MirrorError):
    """Raised when history of a partition is asked for of which the copy has not begun: nothing says what of it is history."""

    retriable = True

    def __init__(self, topic: str, partition: int) -> None:
        super().__init__(
            f"{topic}-{partition}: the ledger does not know this partition, so nothing says where its history ends. Nothing was written.",
            topic=topic,
            partition=partition,
            next="Let the copy begin with it; a backfill does so by itself when it is run again.",
        )
