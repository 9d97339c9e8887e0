"""Errors of a source partition: what was there is gone, other, or held back."""

from mirror.errors.base import MirrorError
from mirror.errors.next_step import Remedy


class SourceGap(MirrorError):
    """Raised when records between the watermark and the log start are gone before they were copied."""

    def __init__(self, topic: str, partition: int, watermark: int, log_start: int) -> None:
        remedy = Remedy("accept-gap", topic, partition)
        super().__init__(
            f"{topic}-{partition}@{watermark}: the source's log starts at {log_start}, so {log_start - watermark} offsets "
            f"[{watermark}, {log_start}) are gone and were never copied. The partition stays at {watermark}.",
            topic=topic,
            partition=partition,
            offset=watermark,
            next=f"To go on behind the gap, and have it recorded: {remedy} (for every gap of a topic: mirror.on.gap=skip-and-record)",
            remedies=(remedy,),
        )
        self.watermark = watermark
        self.log_start = log_start


class SourceRecreated(MirrorError):
    """Raised when the source topic was deleted and created again under the same name."""

    def __init__(self, topic: str, partition: int, watermark: int, known_id: str, found_id: str) -> None:
        remedy = Remedy("restart", topic, partition)
        super().__init__(
            f"{topic}-{partition}@{watermark}: the source topic was recreated (topic id {known_id} became {found_id}), "
            f"so offsets below {watermark} mean other records now. The partition stays at {watermark}.",
            topic=topic,
            partition=partition,
            offset=watermark,
            next=f"To copy the new topic from its beginning behind the old records: {remedy} "
            "Else exclude the topic, or mirror it under another source alias.",
            remedies=(remedy,),
        )
        self.known_id = known_id
        self.found_id = found_id


class SourceTruncated(MirrorError):
    """Raised when the source lost records that were copied already, as after an unclean leader election.

    `diverged` is the first source offset at which something else may stand than what was copied, `end` the log's end.
    """

    def __init__(self, topic: str, partition: int, watermark: int, end: int, diverged: int | None = None) -> None:
        lost = end if diverged is None else diverged
        others = f", and other records stand in [{lost}, {end}) now" if lost < end else ""
        remedy = Remedy("restart", topic, partition)
        super().__init__(
            f"{topic}-{partition}@{watermark}: the source's log was cut off at {lost}; the records that were copied from "
            f"[{lost}, {watermark}) exist on the target only{others}. The partition stays at {watermark}.",
            topic=topic,
            partition=partition,
            offset=watermark,
            next=f"Find out why the source lost records (unclean leader election?). Then go on where its old records end: {remedy}",
            remedies=(remedy,),
        )
        self.watermark = watermark
        self.end = end
        self.diverged = lost


class BlockedByOpenTransaction(MirrorError):
    """Raised when a transaction on the source has been open for so long that the last stable offset stands still.

    `holder` names it as far as Kafka does. `seconds` is None if its coordinator ended it, but the partition never heard of that. `untold`
    is why Kafka does not say for how long it is open; its first record's timestamp says it then.
    """

    def __init__(
        self, topic: str, partition: int, last_stable: int, end: int, seconds: float | None, holder: str = "", untold: str = ""
    ) -> None:
        named = f" ({holder})" if holder else ""
        age = f"has been open for {seconds:.0f} s" if seconds is not None else "is over for its coordinator, but not for this partition"
        judged = f" That is by the timestamp of its first record, for Kafka does not tell us more: {untold}." if untold else ""
        tool = "kafka-transactions.sh --bootstrap-server <source>"
        place = f"--topic {topic} --partition {partition}"
        abort = f" If its producer is gone, end it with: {tool} abort {place} --start-offset {last_stable}" if holder else ""
        super().__init__(
            f"{topic}-{partition}@{last_stable}: a transaction{named} {age}, so nothing behind its first record "
            f"can be read as committed; {end - last_stable} offsets [{last_stable}, {end}) wait.{judged}",
            topic=topic,
            partition=partition,
            offset=last_stable,
            next=f"Look at it with: {tool} find-hanging {place}{abort}",
        )
        self.last_stable = last_stable
        self.end = end


class OtherCluster(MirrorError):
    """Raised when an alias leads to another cluster than the ledger was written for."""

    def __init__(self, alias: str, known_id: str, found_id: str) -> None:
        remedy = Remedy("adopt-cluster", alias=alias)
        super().__init__(
            f"The alias '{alias}' leads to cluster {found_id}, but the ledger was written for cluster {known_id}. Nothing was copied.",
            next=f"Correct {alias}.bootstrap.servers. If the cluster was replaced on purpose: {remedy}",
            remedies=(remedy,),
        )
        self.alias = alias
        self.known_id = known_id
        self.found_id = found_id


class SourceRepeated(MirrorError):
    """Raised when a record of the source came once more, or one in front of where reading was to begin: written, it would stand twice."""

    retriable = True

    def __init__(self, topic: str, partition: int, offset: int, expected: int) -> None:
        super().__init__(
            f"{topic}-{partition}@{offset}: this record came where {expected} or a later one had to. The transaction was aborted.",
            topic=topic,
            partition=partition,
            offset=offset,
            next="Nothing: the next run reads from the watermark again. If it stays, look at the log of the partition's leader.",
        )
        self.expected = expected


class SourceUnreadable(MirrorError):
    """Raised when a source partition cannot be read: the topic is hidden, gone or without leader."""

    retriable = True
