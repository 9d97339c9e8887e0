"""Errors of a source partition: what was there is gone, other, or held back."""

import shlex

from mirror.errors.base import TOPIC, MirrorError, Runbook
from mirror.errors.next_step import Command, Remedy, of_the_flow

TELL_NO_PRODUCERS = "its brokers are older than Kafka 2.8"
"""Why a cluster does not tell who writes to a partition."""
TRANSACTION_ENDS_LATE = (
    "its coordinator aborts it after its transaction.timeout.ms. One that is open for longer hangs. Brokers older than Kafka 2.8 do not "
    "name its producer: kafka-dump-log.sh shows its id and epochs in the leader's log, and with these kafka-transactions.sh of Kafka 3 "
    "aborts it (--producer-id, --producer-epoch, --coordinator-epoch)."
)
"""What becomes of a transaction of such brokers whose producer is gone."""


class SourceGap(MirrorError):
    """Raised when records between the watermark and the log start are gone before they were copied."""

    runbook = Runbook(
        "The source deleted records before they were copied (retention).",
        "Yes: the named offsets are gone from the source.",
        "Find out why the copy was behind: short retention, a pause, a budget that is too small. If you can bear the loss, accept the gap: "
        "the next run goes on behind it, and the ledger keeps the gap. To do so for every gap of a topic, set `mirror.on.gap`.",
        (Remedy("accept-gap", TOPIC),),
    )

    def __init__(self, topic: str, partition: int, watermark: int, log_start: int) -> None:
        super().__init__(
            f"{topic}-{partition}@{watermark}: the source's log starts at {log_start}, so {log_start - watermark} offsets "
            f"[{watermark}, {log_start}) are gone and were never copied. The partition stays at {watermark}.",
            topic=topic,
            partition=partition,
            offset=watermark,
            next=(
                "To go on behind the gap, and have it recorded: ",
                Remedy("accept-gap", topic, partition),
                " (for every gap of a topic: mirror.on.gap=skip-and-record)",
            ),
        )
        self.watermark = watermark
        self.log_start = log_start


class SourceRecreated(MirrorError):
    """Raised when the source topic was deleted and created again under the same name."""

    runbook = Runbook(
        "Somebody deleted the source topic and created it again.",
        "No. The new topic is not copied.",
        "Restart the partition: the new records follow the old ones in the remote topic. Or mirror the new topic under another alias of "
        "the same cluster (`east2->west`), and exclude it from this flow.",
        (Remedy("restart", TOPIC),),
    )

    def __init__(self, topic: str, partition: int, watermark: int, known_id: str, found_id: str) -> None:
        how = "its leader epoch went back" if known_id == found_id else f"topic id {known_id} became {found_id}"
        super().__init__(
            f"{topic}-{partition}@{watermark}: the source topic was recreated ({how}), "
            f"so offsets below {watermark} mean other records now. The partition stays at {watermark}.",
            topic=topic,
            partition=partition,
            offset=watermark,
            next=(
                "To copy the new topic from its beginning behind the old records: ",
                Remedy("restart", topic, partition),
                " Else exclude the topic, or mirror it under another source alias.",
            ),
        )
        self.known_id = known_id
        self.found_id = found_id


class SourceTruncated(MirrorError):
    """Raised when the source lost records that were copied already, as after an unclean leader election.

    `diverged` is the first source offset at which something else may stand than what was copied, `end` the log's end. `may_be_new`: whether
    the source has no topic ids, so that nobody can tell whether the topic was deleted and created again.
    """

    runbook = Runbook(
        "The source ends before what was copied: it lost records.",
        "The source lost them. The target still has them.",
        "Find out why the source lost records (unclean leader election). Then restart the partition: the copy goes on where the source's "
        "old records end.",
        (Remedy("restart", TOPIC),),
        more="A source older than Kafka 2.8 has no topic ids, so a topic that was deleted and created again looks the same. Restart that "
        "one with `--to-earliest`: its first records are not the ones that were copied.",
    )

    def __init__(
        self, topic: str, partition: int, watermark: int, end: int, diverged: int | None = None, *, may_be_new: bool = False
    ) -> None:
        lost = end if diverged is None else diverged
        others = f", and other records stand in [{lost}, {end}) now" if lost < end else ""
        options = f'--topic {shlex.quote(topic)} --partition {partition} --to-earliest --reason "…"'
        from_its_beginning = of_the_flow("decide restart", options)
        if_new = (". If somebody deleted the topic and created it again, copy it from its beginning: ", from_its_beginning)
        super().__init__(
            f"{topic}-{partition}@{watermark}: the source's log was cut off at {lost}. The records that were copied from "
            f"[{lost}, {watermark}) exist on the target only{others}. The partition stays at {watermark}.",
            topic=topic,
            partition=partition,
            offset=watermark,
            next=(
                "Find out why the source lost records (unclean leader election?). Then go on where its old records end: ",
                Remedy("restart", topic, partition),
                *(if_new if may_be_new else ()),
            ),
        )
        self.watermark = watermark
        self.end = end
        self.diverged = lost


class BlockedByOpenTransaction(MirrorError):
    """Raised when a transaction on the source has been open for so long that the last stable offset stands still.

    `holder` names it as far as Kafka does. `seconds` is None if its coordinator ended it, but the partition never heard of that. `untold`
    is why Kafka does not say for how long it is open; its first record's timestamp says it then.
    """

    runbook = Runbook(
        "A transaction on the source has been open for longer than `mirror.open.transaction.max.seconds`.",
        "No, records are only late.",
        "Run the `kafka-transactions.sh` command of the message. Then end the producer, or abort the transaction.",
        more="Its coordinator's clock says so; with brokers before 3.8 the worker's clock has to agree. Without DESCRIBE on the "
        "transactional id the timestamp of its first record says so, and the message tells.",
    )

    def __init__(
        self, topic: str, partition: int, last_stable: int, end: int, seconds: float | None, holder: str = "", untold: str = ""
    ) -> None:
        named = f" ({holder})" if holder else ""
        age = f"has been open for {seconds:.0f} s" if seconds is not None else "is over for its coordinator, but not for this partition"
        judged = f" Its age is by the timestamp of its first record, for Kafka does not tell us more: {untold}." if untold else ""
        tool = "kafka-transactions.sh --bootstrap-server <source>"
        place = f"--topic {topic} --partition {partition}"
        abort = (" If its producer is gone, end it with: ", Command(f"{tool} abort {place} --start-offset {last_stable}")) if holder else ()
        super().__init__(
            f"{topic}-{partition}@{last_stable}: a transaction{named} {age}, so nothing behind its first record "
            f"can be read as committed; {end - last_stable} offsets [{last_stable}, {end}) wait.{judged}",
            topic=topic,
            partition=partition,
            offset=last_stable,
            next=f"Let its producer end it. If that is gone, {TRANSACTION_ENDS_LATE}"
            if untold == TELL_NO_PRODUCERS
            else ("Look at it with: ", Command(f"{tool} find-hanging {place}"), *abort),
        )
        self.last_stable = last_stable
        self.end = end


class OtherCluster(MirrorError):
    """Raised when an alias leads to another cluster than the ledger was written for."""

    runbook = Runbook(
        "An alias leads to another cluster than before.",
        "No, nothing was copied.",
        "Correct `<alias>.bootstrap.servers`. If the cluster was replaced on purpose, adopt it.",
        (Remedy("adopt-cluster", alias="ALIAS"),),
    )

    def __init__(self, alias: str, known_id: str, found_id: str) -> None:
        super().__init__(
            f"The alias '{alias}' leads to cluster {found_id}, but the ledger was written for cluster {known_id}. Nothing was copied.",
            next=(
                f"Correct {alias}.bootstrap.servers. If the cluster was replaced on purpose: ",
                Remedy("adopt-cluster", alias=alias),
            ),
        )
        self.alias = alias
        self.known_id = known_id
        self.found_id = found_id


class SameCluster(MirrorError):
    """Raised when both aliases of a flow lead to one cluster, which the flow would mirror into itself. Each stands with its address, the
    bootstrap servers."""

    runbook = Runbook(
        "Both aliases of a flow lead to one cluster: an address is wrong, a tunnel leads elsewhere, or a broker advertises addresses of "
        "another cluster.",
        "No, nothing was created or copied.",
        "Correct `<alias>.bootstrap.servers`, or what the brokers there advertise. Set "
        "[`mirror.one.cluster`](../reference/configuration.md#mirror.one.cluster) where one cluster is meant, and where two clusters were "
        "formatted with the same id.",
    )

    def __init__(self, source: str, source_address: str, target: str, target_address: str, cluster_id: str) -> None:
        super().__init__(
            f"The aliases '{source}' ({source_address}) and '{target}' ({target_address}) lead to one cluster, {cluster_id}: the flow "
            "would mirror it into itself. Nothing was created or copied.",
            next=(
                f"Correct {source}.bootstrap.servers or {target}.bootstrap.servers, or the addresses that the brokers there advertise "
                f"(advertised.listeners). If one cluster is meant, or two that were formatted with one id: set "
                f"{source}->{target}.mirror.one.cluster=true."
            ),
        )
        self.source, self.source_address = source, source_address
        self.target, self.target_address = target, target_address
        self.cluster_id = cluster_id


class SourceRepeated(MirrorError):
    """Raised when a record of the source came once more, or one in front of where reading was to begin: written, it would stand twice."""

    retriable = True
    runbook = Runbook(
        "The source gave a record again, or one in front of where reading began.",
        "No, and nothing is doubled: the transaction was aborted.",
        "Nothing: the next run reads from the watermark again. If it stays, look at the partition's leader.",
    )

    def __init__(self, topic: str, partition: int, offset: int, expected: int) -> None:
        super().__init__(
            f"{topic}-{partition}@{offset}: the source gave this record where {expected} or a later one had to come. The transaction was "
            "aborted.",
            topic=topic,
            partition=partition,
            offset=offset,
            next="Nothing: the next run reads from the watermark again. If it stays, look at the log of the partition's leader.",
        )
        self.expected = expected


class SourceUnreadable(MirrorError):
    """Raised when a source partition cannot be read: the topic is hidden, gone or without leader."""

    retriable = True
    runbook = Runbook(
        "A source partition is hidden, gone, or has no leader that answers, or none that says whether its log was cut off; or a broker "
        "told of it that is cut off from its cluster; or it lost the wanted offset while it was read.",
        "Not known yet.",
        "Wait for the next run: it compares the offset with the log's start and end, and says which it is.",
    )
