"""Errors of a backfill: times that do not become offsets, and history that cannot be written where it was asked for."""

from mirror.errors.base import MirrorError, Runbook
from mirror.errors.next_step import backfill_again


class WildTimestamp(MirrorError):
    """Raised when a record is stamped so far ahead that it takes the place of the records of an interval."""

    runbook = Runbook(
        "A wrong clock stamped a record far ahead.",
        "No. The backfill filled nothing of that partition; the copy is not affected.",
        "Take an interval that ends after the record's time. Or take the interval as it is: `--accept-wild-timestamps` (in Airflow "
        "`accept_wild_timestamps`), for good `mirror.backfill.on.wild.timestamp`.",
        more="So a backfill's interval ends in front of that record, or is empty. The records behind it count as later.",
    )

    def __init__(self, topic: str, partition: int, offset: int, stamped: str, times: str) -> None:
        super().__init__(
            f"{topic}-{partition}@{offset}: this record is stamped {stamped}, and records behind it are stamped earlier. So the interval "
            f"{times} ends in front of it, and the records behind it count as later. Nothing of this partition was filled.",
            topic=topic,
            partition=partition,
            offset=offset,
            next=(
                f"To fill the records behind it too, take an interval that ends after {stamped}. To take the interval as it is: ",
                *backfill_again(topic, "--accept-wild-timestamps", "accept_wild_timestamps = true"),
                f", or mirror.backfill.on.wild.timestamp={topic}=accept",
            ),
        )
        self.stamped = stamped


class HistoryIntoCompacted(MirrorError):
    """Raised when history would go into a compacted topic: it stands behind newer records there, so old values would win."""

    runbook = Runbook(
        "The topic that history shall go to is compacted.",
        "No, nothing was written.",
        "Let the history go into a topic of its own: `--into` (in Airflow `into`), for all topics `mirror.backfill.into`.",
        more="Behind newer records, old values would win there.",
    )

    def __init__(self, topic: str, partition: int | None, into: str) -> None:
        super().__init__(
            f"{topic}: its history cannot go into {into}, which is compacted: the topic keeps the last value of each key, and that would "
            "be an old one. Nothing was written to it.",
            topic=topic,
            partition=partition,
            next="Let it go into a topic of its own that is not compacted (--into, in Airflow the parameter into; for all "
            "mirror.backfill.into).",
        )
        self.into = into


class HistoryTopicRefused(MirrorError):
    """Raised when history may not go where it was asked for."""

    runbook = Runbook(
        "History may not go where it was asked for: the name is not allowed, internal, or another topic's.",
        "No, nothing was written.",
        "Name another topic (`--into`, in Airflow `into`), or allow this one: `mirror.backfill.into.allowed`.",
    )

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

    runbook = Runbook(
        "The topic has newer history already, and older history would come behind it.",
        "No, nothing was written.",
        "Let the older days go into a topic of their own (`--into 'history.{remote}-older'`, in Airflow the parameter `into`). Or, if the "
        "order there does not matter, take `--order any` (`order`). Or delete the topic and begin anew.",
    )

    def __init__(self, topic: str, partition: int, start: int, end: int, into: str, newer: int, another: str) -> None:
        super().__init__(
            f"{topic}-{partition}@{start}: {into}-{partition} already holds newer history (from source offset {newer} on), so the history "
            f"[{start}, {end}) would come behind it. Nothing was written.",
            topic=topic,
            partition=partition,
            offset=start,
            next=(
                "Let the older time go into a topic of its own: ",
                *backfill_again(topic, f"--into '{another}'", f"into = {another}"),
                f"; or, if the order of the records in {into} does not matter, behind what is there: ",
                *backfill_again(topic, "--order any", "order = any"),
                f"; or delete {into}, if nothing reads it any more, and backfill the whole time: then its history begins anew.",
            ),
        )
        self.into = into
        self.newer = newer
        self.another = another


class HistoryTooScattered(MirrorError):
    """Raised when a partition's history has so many gaps that the ledger cannot note another interval."""

    runbook = Runbook(
        "The history of a partition has so many gaps that the ledger cannot note one more.",
        "No, nothing was written.",
        "Run one backfill over the whole time, which closes the gaps. Then go on.",
    )

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
    runbook = Runbook(
        "The copy has not begun with the partition, so nothing says where its history ends.",
        "No, nothing was written.",
        "Wait for the next run, or run the backfill again.",
    )

    def __init__(self, topic: str, partition: int) -> None:
        super().__init__(
            f"{topic}-{partition}: the ledger does not know this partition, so nothing says where its history ends. Nothing was written.",
            topic=topic,
            partition=partition,
            next="Let the copy begin with it; a backfill does so by itself when it is run again.",
        )
