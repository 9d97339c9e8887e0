"""Errors of a source partition: what was there is gone, other, or held back."""

import shlex
from collections.abc import Sequence
from dataclasses import field

from kafka_mirror.errors.base import TOPIC, DeclaredError, MirrorError, OffsetError, PartitionError
from kafka_mirror.errors.next_step import Command, Part, Remedy, flow_command

TELL_NO_PRODUCERS = "its brokers are older than Kafka 2.8"
"""Why a cluster does not tell who writes to a partition."""
TRANSACTION_ENDS_LATE = (
    "its coordinator aborts it after its transaction.timeout.ms. One that is open for longer hangs. Brokers older than Kafka 2.8 do not "
    "name its producer: kafka-dump-log.sh shows its id and epochs in the leader's log, and with these kafka-transactions.sh of Kafka 3 "
    "aborts it (--producer-id, --producer-epoch, --coordinator-epoch)."
)
"""What becomes of a transaction of such brokers whose producer is gone."""


class SourceGap(OffsetError):
    """The source deleted records before they were copied (retention).

    `offset` is the watermark.
    """

    log_start: int
    partition_state = "gap"
    means_loss = True
    answered_by = Remedy("accept-gap", TOPIC)
    next_text = (
        "To skip the lost records and continue after them (this is recorded): {remedy} "
        "(for every gap of a topic: mirror.on.gap=skip-and-record)"
    )
    lost = "Yes: the named offsets are gone from the source."
    do = (
        "Find out why the copy lagged: short retention, a pause, a budget that is too small. If you can bear the loss, accept the gap: "
        "the next run goes on after it. For every gap of a topic, set `mirror.on.gap`."
    )

    def _describe(self) -> str:
        gap = f"{self.log_start - self.offset} offsets [{self.offset}, {self.log_start})"
        return (
            f"{self.topic}-{self.partition}@{self.offset}: the source's log starts at {self.log_start}, so {gap} are gone and were never "
            f"copied. The partition stays at {self.offset}."
        )


class SourceRecreated(OffsetError):
    """Somebody deleted the source topic and created it again.

    `offset` is the watermark.
    """

    known_id: str
    found_id: str
    partition_state = "recreated"
    means_loss = True
    answered_by = Remedy("restart", TOPIC)
    text = (
        "{topic}-{partition}@{offset}: the source topic was recreated ({how}), so offsets below {offset} mean other records now. The "
        "partition stays at {offset}."
    )
    next_text = (
        "To copy the new topic from its beginning after the old records: {remedy} Else exclude the topic, or mirror it under another "
        "source alias."
    )
    lost = "No. The new topic is not copied."
    do = (
        "Restart the partition: the new records follow the old ones in the remote topic. Or mirror the new topic under another alias "
        "(`east2->west`), and exclude it from this flow."
    )

    @property
    def how(self) -> str:
        """What shows it."""
        return "its leader epoch went back" if self.known_id == self.found_id else f"topic id {self.known_id} became {self.found_id}"


class SourceTruncated(OffsetError):
    """The source ends before what was copied: it lost records.

    `offset` is the watermark, `end` the log's end, `diverged` the first source offset at which something else may stand than what was
    copied; None if that is the end. `may_be_new`: whether the source has no topic ids, so that it is unknown whether the topic was
    deleted and created again.
    """

    end: int
    diverged: int | None = None
    may_be_new: bool = field(default=False, kw_only=True)
    partition_state = "truncated"
    means_loss = True
    answered_by = Remedy("restart", TOPIC)
    lost = "The source lost them. The target still has them."
    do = (
        "Find out why the source lost records (unclean leader election). Then restart the partition: the copy goes on where the source's "
        "old records end."
    )
    more = "A source older than Kafka 2.8 has no topic ids, so a recreated topic looks the same. Restart that one with `--to-earliest`."

    def _describe(self) -> str:
        lost = self.end if self.diverged is None else self.diverged
        others = f", and other records stand in [{lost}, {self.end}) now" if lost < self.end else ""
        return (
            f"{self.topic}-{self.partition}@{self.offset}: the source's log was cut off at {lost}. The records that were copied from "
            f"[{lost}, {self.offset}) exist on the target only{others}. The partition stays at {self.offset}."
        )

    def _advise(self) -> Sequence[Part]:
        find_out = "Find out why the source lost records (unclean leader election?). Then go on where its old records end: "
        options = f'--topic {shlex.quote(self.topic)} --partition {self.partition} --to-earliest --reason "…"'
        from_its_beginning = flow_command("decide restart", options)
        if_new = ". If somebody deleted the topic and created it again, copy it from its beginning: ", from_its_beginning
        return find_out, self.remedy, *(if_new if self.may_be_new else ())


class BlockedByOpenTransaction(OffsetError):
    """A transaction on the source has been open for longer than `mirror.open.transaction.max.seconds`.

    `offset` is the last stable one, which stands still, `end` the log's end. `holder` names the transaction as far as Kafka does. `seconds`
    is None if its coordinator ended it, but the partition never heard of that. `untold` is why Kafka does not say for how long it is open;
    its first record's timestamp says it then.
    """

    end: int
    seconds: float | None
    holder: str = ""
    untold: str = ""
    partition_state = "open transaction"
    lost = "No, records are only late."
    do = "Run the `kafka-transactions.sh` command of the message. Then end the producer, or abort the transaction."
    more = (
        "Its coordinator's clock says so; with brokers before 3.8 also the worker's, and without DESCRIBE on the transactional id the "
        "timestamp of its first record."
    )

    def _describe(self) -> str:
        named = f" ({self.holder})" if self.holder else ""
        age = (
            "is over for its coordinator, but not for this partition" if self.seconds is None else f"has been open for {self.seconds:.0f} s"
        )
        untold = f" Its age is by the timestamp of its first record, for Kafka does not tell us more: {self.untold}." if self.untold else ""
        return (
            f"{self.topic}-{self.partition}@{self.offset}: a transaction{named} {age}, so nothing after its first record can be read as "
            f"committed; {self.end - self.offset} offsets [{self.offset}, {self.end}) wait.{untold}"
        )

    def _advise(self) -> Sequence[Part]:
        if self.untold == TELL_NO_PRODUCERS:
            return (f"Let its producer end it. If that is gone, {TRANSACTION_ENDS_LATE}",)
        tool, place = "kafka-transactions.sh --bootstrap-server <source>", f"--topic {self.topic} --partition {self.partition}"
        abort = " If its producer is gone, end it with: ", Command(f"{tool} abort {place} --start-offset {self.offset}")
        return "Look at it with: ", Command(f"{tool} find-hanging {place}"), *(abort if self.holder else ())


class OtherCluster(DeclaredError):
    """An alias leads to another cluster than before."""

    alias: str
    known_id: str
    found_id: str
    answered_by = Remedy("adopt-cluster", alias="ALIAS")
    text = "The alias '{alias}' leads to cluster {found_id}, but the ledger was written for cluster {known_id}. Nothing was copied."
    next_text = "Correct {alias}.bootstrap.servers. If the cluster was replaced on purpose: {remedy}"
    lost = "No, nothing was copied."
    do = "Correct `<alias>.bootstrap.servers`. If the cluster was replaced on purpose, adopt it."


class SameCluster(DeclaredError):
    """Both aliases of a flow lead to one cluster: an address is wrong, a tunnel leads elsewhere, or a broker advertises addresses of
    another cluster."""

    source: str
    source_address: str
    target: str
    target_address: str
    cluster_id: str
    text = (
        "The aliases '{source}' ({source_address}) and '{target}' ({target_address}) lead to one cluster, {cluster_id}: the flow would "
        "mirror it into itself. Nothing was created or copied."
    )
    next_text = (
        "Correct {source}.bootstrap.servers or {target}.bootstrap.servers, or the addresses that the brokers there advertise "
        "(advertised.listeners). If one cluster is meant, or two that were formatted with one id: set "
        "{source}->{target}.mirror.one.cluster=true."
    )
    lost = "No, nothing was created or copied."
    do = (
        "Correct `<alias>.bootstrap.servers`, or what the brokers there advertise. Set "
        "[`mirror.one.cluster`](../reference/configuration.md#mirror.one.cluster) where one cluster is meant, or two have the same id."
    )


class SourceRepeated(OffsetError):
    """The source gave a record again, or one before where reading began.

    Written, it would stand twice.
    """

    expected: int
    retriable = True
    text = (
        "{topic}-{partition}@{offset}: the source gave this record where {expected} or a later one had to come. The transaction was "
        "aborted."
    )
    next_text = "Nothing: the next run reads from the watermark again. If it stays, look at the log of the partition's leader."
    lost = "No, and nothing is doubled: the transaction was aborted."


class NoLeader(PartitionError):
    """A partition has no leader on the source, so nothing of it can be read."""

    retriable = True
    partition_state = "no leader"
    text = "{topic}-{partition}: no broker of the source leads it, so nothing of it can be read."
    next_text = (
        "Bring the source's brokers back that hold such partitions ({shell:kafka-topics.sh --describe --unavailable-partitions} names "
        "them); the next run of the copy goes on by itself."
    )
    lost = "No, as long as a replica comes back that has everything."


class SourceUnreadable(MirrorError):
    """A source partition is hidden, gone, or has no leader that answers and says whether its log was cut off; or a broker that is cut
    off from its cluster answered; or the wanted offset was lost while it was read.
    """

    retriable = True
    partition_state = "unreadable"
    lost = "Not known yet."
    do = "Wait for the next run: it compares the offset with the log's start and end, and says which it is."
