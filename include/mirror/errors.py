"""Every error of the mirror: one class a situation, its facts as attributes, and what to do next in the message.

`retriable` says whether the same step may simply be run again. Callers ask the error and never parse its text.
"""

from dataclasses import asdict, dataclass
from typing import Any, ClassVar


@dataclass(frozen=True)
class ErrorReport:
    """An error as a value: what travels from a Spark worker, stands in `--json` and in the verdict."""

    code: str
    message: str
    topic: str | None = None
    partition: int | None = None
    offset: int | None = None
    retriable: bool = False
    next: str = ""

    def as_dict(self) -> dict[str, Any]:
        """The fields by name, as the command line's JSON has them."""
        return asdict(self)

    def __str__(self) -> str:
        return f"{self.code}: {self.message}" + (f" Next: {self.next}" if self.next else "")


class MirrorError(Exception):
    """The base of all: a message, where it happened, whether to retry, and the next step for a person."""

    retriable: ClassVar[bool] = False

    def __init__(
        self,
        message: str,
        *,
        topic: str | None = None,
        partition: int | None = None,
        offset: int | None = None,
        next: str = "",
    ) -> None:
        super().__init__(message)
        self.message = message
        self.topic = topic
        self.partition = partition
        self.offset = offset
        self.next = next

    @property
    def code(self) -> str:
        """The class name: stable, for programs."""
        return type(self).__name__

    def report(self) -> ErrorReport:
        """This error as a value."""
        return ErrorReport(self.code, self.message, self.topic, self.partition, self.offset, self.retriable, self.next)

    def __str__(self) -> str:
        return f"{self.message} Next: {self.next}" if self.next else self.message


# ---------------------------------------------------------------- configuration and usage


@dataclass(frozen=True)
class Problem:
    """One thing wrong in the configuration: which property, its value (never a secret), and what is allowed."""

    property: str
    message: str
    value: str | None = None

    def __str__(self) -> str:
        return f"{self.property}: {self.message}" + (f" (it is '{self.value}')" if self.value is not None else "")


class ConfigurationError(MirrorError):
    """Raised when the configuration cannot be used; `problems` has all of them at once."""

    def __init__(self, problems: list[Problem], *, file: str = "", flow: str = "") -> None:
        where = " ".join(part for part in (f"in {file}" if file else "", f"for {flow}" if flow else "") if part)
        listed = "; ".join(str(problem) for problem in problems)
        super().__init__(
            f"The configuration {where + ' ' if where else ''}cannot be used: {listed}.",
            next="Correct the named properties and run again; nothing was written.",
        )
        self.problems = tuple(problems)
        self.file = file
        self.flow = flow


class UsageError(MirrorError):
    """Raised when the command line asks for something that does not exist, such as an unknown flow."""


# ---------------------------------------------------------------- talking to a cluster


class ClusterUnreachable(MirrorError):
    """Raised when no broker of a cluster answered within the deadline."""

    retriable = True

    def __init__(self, cluster: str, bootstrap: str, seconds: float, detail: str = "") -> None:
        super().__init__(
            f"Cluster '{cluster}' did not answer at {bootstrap} within {seconds:g} s{': ' + detail if detail else ''}.",
            next="Check that the brokers run and that this host reaches the addresses they advertise; the next run goes on by itself.",
        )
        self.cluster = cluster
        self.bootstrap = bootstrap


class AuthenticationFailed(MirrorError):
    """Raised when a cluster refuses our credentials, or its certificate cannot be trusted."""

    def __init__(self, cluster: str, bootstrap: str, detail: str) -> None:
        super().__init__(
            f"Cluster '{cluster}' at {bootstrap} refused the connection: {detail}.",
            next=f"Check {cluster}.security.protocol, {cluster}.sasl.* and {cluster}.ssl.*; the next run goes on where the ledger ends.",
        )
        self.cluster = cluster


class AuthorizationRefused(MirrorError):
    """Raised when the cluster knows us but does not let us do this."""

    def __init__(self, cluster: str, operation: str, resource: str, *, topic: str | None = None) -> None:
        super().__init__(
            f"Cluster '{cluster}' refuses {operation} on {resource}.",
            topic=topic,
            next=f"Grant the mirror's principal {operation} on {resource} of '{cluster}'; the next run goes on where the ledger ends.",
        )
        self.cluster = cluster
        self.operation = operation
        self.resource = resource


class DeadlineExceeded(MirrorError):
    """Raised when a step did not end in the time it may take."""

    retriable = True


class KafkaFailure(MirrorError):
    """Raised when a broker or the client failed in a way that a new attempt may mend. `reason` is Kafka's name for it, if it has one."""

    retriable = True

    def __init__(
        self,
        message: str,
        *,
        reason: str = "",
        topic: str | None = None,
        partition: int | None = None,
        offset: int | None = None,
        next: str = "",
    ) -> None:
        super().__init__(message, topic=topic, partition=partition, offset=offset, next=next)
        self.reason = reason


# ---------------------------------------------------------------- the source


class SourceGap(MirrorError):
    """Raised when records between the watermark and the log start are gone before they were copied."""

    def __init__(self, topic: str, partition: int, watermark: int, log_start: int) -> None:
        super().__init__(
            f"{topic}-{partition}@{watermark}: the source's log starts at {log_start}, so {log_start - watermark} offsets "
            f"[{watermark}, {log_start}) are gone and were never copied. The partition stays at {watermark}.",
            topic=topic,
            partition=partition,
            offset=watermark,
            next=f"To go on at {log_start} and record the gap, set mirror.on.gap=skip-and-record for this topic.",
        )
        self.watermark = watermark
        self.log_start = log_start


class SourceRecreated(MirrorError):
    """Raised when the source topic was deleted and created again under the same name."""

    def __init__(self, topic: str, partition: int, watermark: int, known_id: str, found_id: str) -> None:
        super().__init__(
            f"{topic}-{partition}@{watermark}: the source topic was recreated (topic id {known_id} became {found_id}), "
            f"so offsets below {watermark} mean other records now. The partition stays at {watermark}.",
            topic=topic,
            partition=partition,
            offset=watermark,
            next="Mirror the new topic by a flow with another source alias, which has its own remote topics and ledger, or exclude "
            "the topic.",
        )
        self.known_id = known_id
        self.found_id = found_id


class SourceTruncated(MirrorError):
    """Raised when the source lost records that were copied already, as after an unclean leader election."""

    def __init__(self, topic: str, partition: int, watermark: int, end: int) -> None:
        super().__init__(
            f"{topic}-{partition}@{watermark}: the source's log ends at {end}, below what was copied; records in [{end}, {watermark}) "
            f"exist on the target only. The partition stays at {watermark}.",
            topic=topic,
            partition=partition,
            offset=watermark,
            next="Find out why the source lost records (unclean leader election?) before anything is copied on top.",
        )
        self.end = end


class BlockedByOpenTransaction(MirrorError):
    """Raised when a transaction on the source has been open for so long that the last stable offset stands still."""

    def __init__(self, topic: str, partition: int, last_stable: int, end: int, seconds: float) -> None:
        super().__init__(
            f"{topic}-{partition}@{last_stable}: a transaction has been open for {seconds:.0f} s, so nothing behind its first record "
            f"can be read as committed; {end - last_stable} offsets [{last_stable}, {end}) wait.",
            topic=topic,
            partition=partition,
            offset=last_stable,
            next=f"Look at it with: kafka-transactions.sh --bootstrap-server <source> find-hanging --topic {topic} --partition {partition}",
        )
        self.last_stable = last_stable
        self.end = end


class OtherCluster(MirrorError):
    """Raised when an alias leads to another cluster than the ledger was written for."""

    def __init__(self, alias: str, known_id: str, found_id: str) -> None:
        super().__init__(
            f"The alias '{alias}' leads to cluster {found_id}, but the ledger was written for cluster {known_id}. Nothing was copied.",
            next=f"Correct {alias}.bootstrap.servers; if the cluster was replaced on purpose, use a new alias.",
        )
        self.alias = alias
        self.known_id = known_id
        self.found_id = found_id


class SourceUnreadable(MirrorError):
    """Raised when a source partition cannot be read: the topic is hidden, gone or without leader."""

    retriable = True


# ---------------------------------------------------------------- the ledger


class LedgerDamaged(MirrorError):
    """Raised when a ledger record cannot be read; it is never overwritten."""

    def __init__(self, where: str, detail: str, *, topic: str | None = None, partition: int | None = None) -> None:
        super().__init__(
            f"The ledger record at {where} cannot be read: {detail}. It was left as it is, and its lane copies nothing.",
            topic=topic,
            partition=partition,
            next="Look at the record with any console consumer; restore it from an earlier version of the topic if someone wrote to it.",
        )
        self.where = where


class LedgerTooNew(MirrorError):
    """Raised when a ledger record was written by a newer version of the mirror."""

    def __init__(self, where: str, version: int, known: int) -> None:
        super().__init__(
            f"The ledger record at {where} has version {version}, and this mirror knows versions up to {known}. It was left as it is.",
            next="Run the newer version of the mirror, the one that wrote the ledger.",
        )
        self.version = version


class LedgerUnsuitable(MirrorError):
    """Raised when the ledger topic's own settings would endanger it."""

    def __init__(self, ledger: str, setting: str, found: str, needed: str) -> None:
        super().__init__(
            f"The ledger topic {ledger} has {setting}={found}, and it needs {needed}. Nothing was copied.",
            topic=ledger,
            next=f"Set {setting} of {ledger} to {needed} (kafka-configs.sh --alter), or find out who changed it.",
        )
        self.setting = setting
        self.found = found
        self.needed = needed


class LanesChanged(MirrorError):
    """Raised when mirror.lanes differs from what the ledger was written with."""

    def __init__(self, ledger: str, found: int, configured: int) -> None:
        super().__init__(
            f"The ledger {ledger} was written with {found} lanes, and mirror.lanes is {configured}. Nothing was copied.",
            topic=ledger,
            next=f"Set mirror.lanes={found} again; a partition must not change its lane.",
        )
        self.found = found
        self.configured = configured


class ForeignWriter(MirrorError):
    """Raised when another installation has written to a lane's ledger just now."""

    def __init__(self, ledger: str, lane: int, installation: str, host: str, seconds: float) -> None:
        super().__init__(
            f"Lane {lane} of {ledger} was written {seconds:.0f} s ago by the installation '{installation}' on {host}. "
            "This run left the lane alone.",
            topic=ledger,
            partition=lane,
            next=f"Stop the other installation, or give both the same mirror.installation; once '{installation}' has been silent for "
            "ten copy intervals, the lane is taken over.",
        )
        self.installation = installation


# ---------------------------------------------------------------- the target


class UnexplainedTarget(MirrorError):
    """Raised when the remote partition holds records that the ledger does not account for."""

    def __init__(self, topic: str, partition: int, remote: str, first: int, end: int, known: bool) -> None:
        what = "records beyond what this mirror wrote" if known else "records, and the ledger knows nothing of this partition"
        super().__init__(
            f"{topic}-{partition}: the remote partition {remote}-{partition}@{first} holds {what} (it ends at {end}). "
            "Nothing was written to it.",
            topic=topic,
            partition=partition,
            offset=first,
            next=f"Find out who writes to {remote}; give this flow another remote name (replication.policy.*), or, if the records may "
            "stay in front of the copy, set mirror.on.unexplained.target=append.",
        )
        self.remote = remote


class TargetRecreated(MirrorError):
    """Raised when the remote topic is another one than the ledger was written for."""

    def __init__(self, topic: str, partition: int, remote: str, known: str, found: str) -> None:
        super().__init__(
            f"{topic}-{partition}: the remote topic {remote} is not the one that was written before ({known} became {found}); "
            "what was copied into the old one is not in it. Nothing was written to it.",
            topic=topic,
            partition=partition,
            next="If it was deleted by mistake, the copy has to start again under another remote name; if the policy was changed, "
            "change it back.",
        )
        self.remote = remote
        self.known = known
        self.found = found


class TargetLostRecords(MirrorError):
    """Raised when the remote partition ends before what the ledger says was written."""

    def __init__(self, topic: str, partition: int, remote: str, target_next: int, end: int) -> None:
        super().__init__(
            f"{topic}-{partition}: the remote partition {remote}-{partition} ends at {end}, but {target_next} had been reached: "
            f"the target lost what was committed in [{end}, {target_next}). Nothing was written to it.",
            topic=topic,
            partition=partition,
            offset=end,
            next="Find out why the target lost committed records (unclean leader election?) before anything is written behind the hole.",
        )
        self.remote = remote
        self.target_next = target_next
        self.end = end


class TargetMissing(MirrorError):
    """Raised when the remote topic or partition does not exist (yet)."""

    retriable = True

    def __init__(self, topic: str, partition: int, remote: str) -> None:
        super().__init__(
            f"{topic}-{partition}: the remote partition {remote}-{partition} does not exist on the target. Nothing was written to it.",
            topic=topic,
            partition=partition,
            next="Run refresh-topics, which creates it; if it was deleted on purpose, exclude the topic.",
        )
        self.remote = remote


class TargetUnavailable(MirrorError):
    """Raised when a remote partition has no leader or too few in-sync replicas: a commit marker to it would block the whole lane."""

    retriable = True

    def __init__(self, topic: str, partition: int, remote: str, detail: str) -> None:
        super().__init__(
            f"{topic}-{partition}: the remote partition {remote}-{partition} cannot be written: {detail}. Its lane went on without it.",
            topic=topic,
            partition=partition,
            next="Bring the target's brokers back; the next run goes on by itself.",
        )
        self.remote = remote


class RemoteNameUnusable(MirrorError):
    """Raised when a topic's remote name is one that Kafka does not take, or that another topic has too."""

    def __init__(self, topic: str, remote: str, detail: str) -> None:
        super().__init__(
            f"{topic}: its remote name '{remote}' {detail}. The topic is not mirrored; the others are.",
            topic=topic,
            next="Name remote topics in another way (replication.policy.*, or a shorter alias), or put the topic into topics.exclude.",
        )
        self.remote = remote


class RemoteTopicRefused(MirrorError):
    """Raised when the target refuses to create or extend a remote topic, and would refuse it again."""

    def __init__(self, topic: str, remote: str, detail: str, next: str) -> None:
        super().__init__(f"{topic}: the target refuses its remote topic. {detail} Nothing was changed.", topic=topic, next=next)
        self.remote = remote


# ---------------------------------------------------------------- records and attempts


class RecordNotCarried(MirrorError):
    """Raised when the client cannot carry a record unchanged, such as a header key that is not UTF-8 or a timestamp of 0."""

    def __init__(self, topic: str, partition: int, offset: int, detail: str) -> None:
        super().__init__(
            f"{topic}-{partition}@{offset}: {detail}, which this client would change silently. The partition stays at {offset}.",
            topic=topic,
            partition=partition,
            offset=offset,
            next="Exclude the topic, or let the record expire and accept the gap.",
        )


class RecordRefused(MirrorError):
    """Raised when the target refuses a record whatever we do: too large, a timestamp out of limits, no key in a compacted topic."""

    def __init__(self, topic: str, partition: int, offset: int, remote: str, detail: str) -> None:
        super().__init__(
            f"{topic}-{partition}@{offset}: the target refuses this record for {remote}: {detail}. Everything before it is copied.",
            topic=topic,
            partition=partition,
            offset=offset,
            next=f"Raise the named limit of {remote}; the next run tries the record again.",
        )
        self.remote = remote
        self.detail = detail


class Overtaken(MirrorError):
    """Raised when another attempt at the same lane has taken over; what it commits counts."""

    retriable = True

    def __init__(self, lane: int) -> None:
        super().__init__(
            f"Lane {lane} was taken over by another attempt while it was copied here. Nothing is lost or doubled: "
            "this transaction was not committed.",
            next="Nothing: the ledger decides what is left to do. If it happens in every run, look for a second scheduler or a run "
            "by hand.",
        )
        self.lane = lane


class TransactionTooSlow(MirrorError):
    """Raised when a transaction ran into the broker's transaction timeout; the next one is half as large."""

    retriable = True

    def __init__(self, lane: int, seconds: float, timeout: float) -> None:
        super().__init__(
            f"Lane {lane}: a transaction stayed open for {seconds:.1f} s of the {timeout:g} s that the target allows, and was ended by it.",
            next="Nothing: the next transaction is half as large. If it goes on, look at the target's brokers and the network.",
        )
        self.lane = lane


class TransactionTimeoutRefused(MirrorError):
    """Raised when the target's brokers do not allow transactions as long as mirror.transaction.timeout.ms."""

    def __init__(self, cluster: str, seconds: float) -> None:
        super().__init__(
            f"Cluster '{cluster}' does not allow transactions of {seconds:g} s. Nothing was copied.",
            next="Set mirror.transaction.timeout.ms to at most the brokers' transaction.max.timeout.ms.",
        )
        self.cluster = cluster


# ---------------------------------------------------------------- the run


class JobFailed(MirrorError):
    """Raised when the Spark job ended without a result."""

    retriable = True


class WorkerUnprepared(MirrorError):
    """Raised when a Spark worker lacks a module that the copy needs."""

    def __init__(self, module: str, host: str, python: str, detail: str) -> None:
        super().__init__(
            f"The Spark worker on {host} cannot import '{module}' with {python}: {detail}. Its lanes copied nothing.",
            next=f"Install '{module}' there, or give the workers an environment that has it (an image, or spark.archives with "
            "spark.pyspark.python).",
        )
        self.module = module
        self.host = host


class ReportedError(MirrorError):
    """Raised here for an error that was raised in another process and arrived as a value.

    Its code, facts and `retriable` are the report's.
    """

    def __init__(self, report: ErrorReport) -> None:
        super().__init__(report.message, topic=report.topic, partition=report.partition, offset=report.offset, next=report.next)
        self.reported = report
        self.retriable = report.retriable  # type: ignore[misc]  # of this error, not of its class

    @property
    def code(self) -> str:
        """The code of the error as it was raised."""
        return self.reported.code


class PlanMismatch(MirrorError):
    """Raised when a worker has another configuration than the plan was made with."""

    def __init__(self, planned: str, found: str) -> None:
        super().__init__(
            f"The plan was made with configuration {planned}, and this worker has {found}. Nothing was copied.",
            next="Run the copy again: it plans with the new configuration.",
        )


class NothingMoved(MirrorError):
    """Raised when a run owed work and copied nothing."""

    retriable = True
