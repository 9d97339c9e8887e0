"""Errors of single records, of attempts at a lane, and of a run as a whole."""

from collections.abc import Sequence

from kafka_mirror.errors.base import TOPIC, DeclaredError, ErrorReport, MirrorError, OffsetError
from kafka_mirror.errors.next_step import Part, Remedy, mirror_command, the_plan

_LARGEST = "mirror.unpacked.batch.max.bytes"
"""How many bytes the records of a batch may have, unpacked."""


class BatchNotUnpacked(OffsetError):
    """A batch of the source unpacks to more bytes than `mirror.unpacked.batch.max.bytes`, is damaged (its checksum is wrong), or cannot
    be opened.

    `end` is the offset after the batch.
    """

    end: int
    detail: str
    is_too_large: bool = False
    answered_by = Remedy("skip-record", TOPIC)
    text = "{topic}-{partition}@{offset}: a batch cannot be opened: {detail}. The partition stays at {offset}; the others go on."
    lost = "No. Its partition stops before the batch; the others go on."
    do = (
        "If you trust a large batch, raise `mirror.unpacked.batch.max.bytes`, for which each lane needs the memory. Of a damaged batch "
        "another replica on the source may have whole bytes: make that one the leader, and start the copy by hand. Or skip the batch."
    )

    def _advise(self) -> Sequence[Part]:
        whole = "Another replica on the source may have it whole: make that one the leader, and start the copy by hand."
        way = f"If its producer is to be trusted, raise {_LARGEST}." if self.is_too_large else whole
        size = f"the {self.end - self.offset} offsets [{self.offset}, {self.end}) of this batch"
        return f"{way} To go on without {size}, and have that recorded: ", self.remedy

    @property
    def reason(self) -> str:
        """Why it was passed over, in the ledger's words."""
        return f"{self.code}: {self.detail}"


class RecordRefused(OffsetError):
    """The target refuses one record."""

    remote: str
    detail: str
    answered_by = Remedy("skip-record", TOPIC)
    text = "{topic}-{partition}@{offset}: the target refuses this record for {remote}: {detail}. Everything before it is copied."
    next_text = (
        "Raise the named limit of {remote}; the next run tries the record again. To go on without it, and have that recorded: {remedy}"
    )
    lost = "No. Its partition stops before the record."
    do = (
        "Raise the named limit of the remote topic. The copy tries the record again at once when a limit has changed or somebody starts "
        "it by hand, else at the latest every hour. Or skip the record."
    )

    @property
    def reason(self) -> str:
        """Why it was passed over, in the ledger's words."""
        return f"{self.code}: {self.detail}"


class Overtaken(DeclaredError):
    """Another attempt took the lane over, or its transactional id expired on the target (`transactional.id.expiration.ms`) while it
    stood still.

    What the other attempt commits counts. `is_id_unknown`: the target does not know the attempt's producer id
    (INVALID_PRODUCER_ID_MAPPING), and does not say why.
    """

    lane: int
    is_id_unknown: bool = False
    retriable = True
    next_text = "Nothing: the ledger decides what is left to do. If it happens in every run, look for a second scheduler or a run by hand."
    lost = "No, and nothing is doubled."

    def _describe(self) -> str:
        why = f"Lane {self.lane} was taken over by another attempt while it was copied here."
        if self.is_id_unknown:
            why = (
                f"Lane {self.lane}: the target no longer knows the producer id of this attempt: its transactional id expired there "
                "(transactional.id.expiration.ms), or another attempt was given a new producer id."
            )
        return f"{why} Nothing is lost or doubled: this transaction was not committed."


class TransactionTooSlow(DeclaredError):
    """The target ended a transaction because it had been open for too long.

    `written` is the share (0 to 1) of its records that was acknowledged by then.
    """

    lane: int
    seconds: float
    timeout: float
    written: float = 1.0
    retriable = True
    text = "Lane {lane}: a transaction had been open for {seconds:.1f} s and was not done; the target ends it after {timeout:g} s."
    next_text = (
        "Nothing: the next transaction is at most half as large. If it goes on, look at the target's brokers, its quotas and the "
        "network, or raise `mirror.transaction.timeout.ms`."
    )


class TransactionTimeoutRefused(DeclaredError):
    """The target does not allow transactions of `mirror.transaction.timeout.ms`."""

    cluster: str
    seconds: float
    text = "Cluster '{cluster}' does not allow transactions of {seconds:g} s. Nothing was copied."
    next_text = "Set `mirror.transaction.timeout.ms` to at most the brokers' `transaction.max.timeout.ms`."


class UnexpectedOffset(DeclaredError):
    """The target put a record elsewhere than at the end that a broker had given.

    Only the mirror writes to the partition: the end was wrong, or it has changed since. `log` is the partition on the target, `source`
    that on the source, if it is known, `times` how often that was so in a run.
    """

    log: tuple[str, int]
    expected: int
    delivered: int
    source: tuple[str, int] | None = None
    times: int = 1
    retriable = True
    next_text = (
        "Nothing, the copy begins again and asks another broker. If it stays, look for a broker that does not reach its "
        "controller and still answers, and for somebody else who writes to {remote}."
    )
    lost = "No, and nothing is doubled: the transaction was aborted."
    more = "That broker is cut off from its cluster, or somebody else writes there."

    def _place(self) -> tuple[str, int, None]:
        return *(self.source or self.log), None

    def _describe(self) -> str:
        often = f" It was so {self.times} times in this run." if self.times > 1 else ""
        return (
            f"{self.remote}: a record was delivered at {self.delivered}, and {self.expected} was to come next: a broker that is cut off "
            f"from its cluster may have given its end, or somebody else writes there. The transaction was aborted.{often}"
        )

    @property
    def remote(self) -> str:
        """The partition on the target."""
        return f"{self.log[0]}-{self.log[1]}"

    def with_count(self, times: int) -> "UnexpectedOffset":
        """This error with how often it was seen."""
        return UnexpectedOffset(self.log, self.expected, self.delivered, self.source, times)


class StaleAnswer(DeclaredError):
    """A broker gave an older end of a partition than is known, or lacks what another one has.

    `log` is the partition, `read` the end that it gave, or an offset that its log does not reach, `furthest` the one that was seen
    elsewhere.
    """

    log: tuple[str, int]
    read: int
    furthest: int
    retriable = True
    next_text = "Nothing, the next run asks again. If it stays, look for a broker that does not reach its controller."
    lost = "No, the mirror did not act on the answer."
    do = "Nothing: the next run asks again. If it stays, find that broker, and name others in `<alias>.bootstrap.servers` as well."
    more = "It is cut off from its cluster."

    def _place(self) -> tuple[str, int, None]:
        return *self.log, None

    def _describe(self) -> str:
        return (
            f"A broker says that {self.log[0]}-{self.log[1]} ends at {self.read}, and it reaches {self.furthest} at least. The broker is "
            "cut off from its cluster and still answers. The mirror did not act on its answer."
        )


class JobFailed(MirrorError):
    """The Spark job ended without a result: it was killed, had no memory, or found no Java."""

    retriable = True
    do = "Read the log of the task `copy`: it has the output of spark-submit."


class WorkerUnprepared(DeclaredError):
    """A Spark worker lacks a Python module."""

    module: str
    host: str
    python: str
    detail: str
    text = "The Spark worker on {host} cannot import '{module}' with {python}: {detail}. It did nothing."
    next_text = (
        "Install '{module}' there, or give the workers an environment that has it (an image, or `spark.archives` with "
        "`spark.pyspark.python`)."
    )


class ReportedError(MirrorError):
    """Raised here for an error that was raised in another process and arrived as a value.

    Its code, facts and `retriable` are the report's. `parts`: the errors that it lists, if it stands for several.
    """

    def __init__(self, report: ErrorReport, parts: Sequence[ErrorReport] = ()) -> None:
        super().__init__(report.message, topic=report.topic, partition=report.partition, offset=report.offset)
        self.step = report.step
        self.remedies = report.remedies
        self.reported = report
        self.parts = tuple(parts) or (report,)
        self.retriable = report.retriable  # type: ignore[misc]  # of this error, not of its class

    @property
    def code(self) -> str:
        """The code of the error as it was raised."""
        return self.reported.code


class PlanMismatch(DeclaredError):
    """The configuration changed between plan and copy."""

    planned: str
    configured: str
    text = "The plan was made with configuration {planned}, and this worker has {configured}. Nothing was copied."
    next_text = "Run the copy again: it plans with the new configuration."
    lost = "No, nothing was copied."


class NothingMoved(MirrorError):
    """A run had work and copied nothing; or its budget was spent before it tried all partitions that are stuck."""

    retriable = True
    lost = "No, records are only late."
    do = "Read the log of the task `copy`. `status` says what each stuck partition is stuck at."

    @classmethod
    def in_a_run(cls, partitions: int, named: str) -> "NothingMoved":
        """Of a run in which none of the partitions with work moved; `named` are some of them."""
        return cls(
            f"{partitions} partitions had work and none of them moved ({named}).",
            next="Look at the log of the task copy; the next run tries again.",
        )

    @classmethod
    def for_want_of_budget(cls, partitions: int, named: str) -> "NothingMoved":
        """Of a run whose budget was spent before these stuck partitions had their turn."""
        return cls(
            f"{partitions} partitions are stuck and were not tried again, for the run's budget was spent ({named}).",
            next=(
                "See what each is stuck at: ",
                mirror_command("status"),
                ". The next runs try them in turn, the least recently tried first. A larger mirror.run.max.seconds lets a run try more.",
            ),
        )

    @classmethod
    def of_history(cls, partitions: int, named: str) -> "NothingMoved":
        """Of a backfill that wrote no history though some is left to be written."""
        return cls(
            f"{partitions} partitions have history to be written, and nothing was written of any ({named}).",
            next="Look at the log of the copy; the next run tries again.",
        )

    @classmethod
    def behind_the_log(cls, offsets: int) -> "NothingMoved":
        """Of a backfill whose live part is left though the copy has no work."""
        return cls(
            f"{offsets} offsets of the live part are left, and the copy has no work: the source's logs end in front of them by now.",
            next=("See what the plan says of their partitions: ", *the_plan(), "."),
        )
