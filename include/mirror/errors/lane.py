"""Errors of single records, of attempts at a lane, and of a run as a whole."""

from collections.abc import Sequence

from mirror.errors.base import TOPIC, ErrorReport, MirrorError, Runbook
from mirror.errors.next_step import Remedy, own, the_plan

_LARGEST = "mirror.unpacked.batch.max.bytes"
"""How many bytes the records of a batch may have, unpacked."""


class BatchNotUnpacked(MirrorError):
    """Raised when a batch of the source unpacks to more bytes than it may, is damaged, or cannot be opened at all. `end` is the offset
    after it."""

    runbook = Runbook(
        "A batch of the source unpacks to more bytes than `mirror.unpacked.batch.max.bytes` (a few kilobytes may unpack to gigabytes, and "
        "everybody who may produce may write them), is damaged (its checksum is not that of its bytes), or cannot be opened.",
        "No. Its partition stops in front of the batch; the others go on.",
        "If a large batch is to be trusted, raise `mirror.unpacked.batch.max.bytes`, for which each lane needs the memory. Of a damaged "
        "batch another replica on the source may have whole bytes: make that one the leader, and start the copy by hand. Or skip the "
        "batch: the copy goes on after it, and the ledger keeps that.",
        (Remedy("skip-record", TOPIC),),
    )

    def __init__(self, topic: str, partition: int, offset: int, end: int, detail: str, is_too_large: bool = False) -> None:
        size = f"the {end - offset} offsets [{offset}, {end}) of this batch"
        way = (
            f"If its producer is to be trusted, raise {_LARGEST}."
            if is_too_large
            else "Another replica on the source may have it whole: make that one the leader, and start the copy by hand."
        )
        super().__init__(
            f"{topic}-{partition}@{offset}: a batch cannot be opened: {detail}. The partition stays at {offset}; the others go on.",
            topic=topic,
            partition=partition,
            offset=offset,
            next=(
                f"{way} To go on without {size}, and have that recorded: ",
                Remedy("skip-record", topic, partition),
            ),
        )
        self.detail = detail
        self.end = end

    @property
    def reason(self) -> str:
        """Why it was passed over, in the ledger's words."""
        return f"{self.code}: {self.detail}"


class RecordRefused(MirrorError):
    """Raised when the target refuses a record whatever we do: too large, a timestamp out of limits, no key in a compacted topic."""

    runbook = Runbook(
        "The target refuses one record.",
        "No. Its partition stops in front of the record.",
        "Raise the named limit of the remote topic. The record is tried again by itself: at once when a limit of the remote topic has "
        "changed or somebody starts the copy by hand, else at the latest every hour. Or skip the record.",
        (Remedy("skip-record", TOPIC),),
    )

    def __init__(self, topic: str, partition: int, offset: int, remote: str, detail: str) -> None:
        super().__init__(
            f"{topic}-{partition}@{offset}: the target refuses this record for {remote}: {detail}. Everything before it is copied.",
            topic=topic,
            partition=partition,
            offset=offset,
            next=(
                f"Raise the named limit of {remote}; the next run tries the record again. To go on without it, and have that recorded: ",
                Remedy("skip-record", topic, partition),
            ),
        )
        self.remote = remote
        self.detail = detail

    @property
    def reason(self) -> str:
        """Why it was passed over, in the ledger's words."""
        return f"{self.code}: {self.detail}"


class Overtaken(MirrorError):
    """Raised when a lane's transactional id is no longer this attempt's: another one has taken over, and what it commits counts, or the id
    expired on the target."""

    retriable = True
    runbook = Runbook(
        "Another attempt took the lane over, or the lane's transactional id expired on the target (`transactional.id.expiration.ms`) while "
        "the attempt stood still; the message says which it may be.",
        "No, and nothing is doubled.",
        "Nothing. If it happens in every run, look for a second scheduler or a run by hand.",
    )

    def __init__(self, lane: int, is_id_unknown: bool = False) -> None:
        """`is_id_unknown`: the target does not know the attempt's producer id (INVALID_PRODUCER_ID_MAPPING), and does not say why."""
        why = f"Lane {lane} was taken over by another attempt while it was copied here."
        if is_id_unknown:
            why = (
                f"Lane {lane}: the target no longer knows the producer id of this attempt: its transactional id expired there "
                "(transactional.id.expiration.ms), or another attempt was given a new producer id."
            )
        super().__init__(
            f"{why} Nothing is lost or doubled: this transaction was not committed.",
            next="Nothing: the ledger decides what is left to do. If it happens in every run, look for a second scheduler or a run "
            "by hand.",
        )
        self.lane = lane


class TransactionTooSlow(MirrorError):
    """Raised when a transaction ran into its timeout; the next one is half as large or less. `written` is the share (0 to 1) of its
    records that was acknowledged by then."""

    retriable = True
    runbook = Runbook(
        "The target ended a transaction because it had been open for too long.",
        "No.",
        "Nothing: the next transaction is half as large. If it stays, look at the target's brokers and the network, or raise "
        "`mirror.transaction.timeout.ms`.",
    )

    def __init__(self, lane: int, seconds: float, timeout: float, written: float = 1.0) -> None:
        super().__init__(
            f"Lane {lane}: a transaction had been open for {seconds:.1f} s and was not done; the target ends it after {timeout:g} s.",
            next="Nothing: the next transaction is at most half as large. If it goes on, look at the target's brokers, its quotas and the "
            "network, or raise mirror.transaction.timeout.ms.",
        )
        self.lane = lane
        self.written = written


class TransactionTimeoutRefused(MirrorError):
    """Raised when the target's brokers do not allow transactions as long as mirror.transaction.timeout.ms."""

    runbook = Runbook(
        "The target does not allow transactions of `mirror.transaction.timeout.ms`.",
        "No.",
        "Set `mirror.transaction.timeout.ms` to at most the brokers' `transaction.max.timeout.ms`.",
    )

    def __init__(self, cluster: str, seconds: float) -> None:
        super().__init__(
            f"Cluster '{cluster}' does not allow transactions of {seconds:g} s. Nothing was copied.",
            next="Set mirror.transaction.timeout.ms to at most the brokers' transaction.max.timeout.ms.",
        )
        self.cluster = cluster


class UnexpectedOffset(MirrorError):
    """Raised when the target delivered a record of a lane elsewhere than at the end that had been read, in a partition that nobody else
    writes: what was read there was not true, or has changed. `log` is the partition on the target, `times` how often that was so in a run.
    """

    retriable = True
    runbook = Runbook(
        "The target put a record elsewhere than at the end that a broker had told.",
        "No, and nothing is doubled: the transaction was aborted.",
        "Nothing: the copy begins again and asks other brokers. If it stays, look for a broker that does not reach its controller, and for "
        "somebody else who writes to the named partition.",
        more="A broker that is cut off from its cluster still answers as leader, or somebody else writes there.",
    )

    def __init__(self, log: tuple[str, int], expected: int, delivered: int, source: tuple[str, int] | None = None, times: int = 1) -> None:
        where, named = f"{log[0]}-{log[1]}", source or log
        often = f" It was so {times} times in this run." if times > 1 else ""
        super().__init__(
            f"{where}: a record was delivered at {delivered}, and {expected} was to come next: a broker that is cut off from its cluster "
            f"may have told where the partition ends, or somebody else writes there. The transaction was aborted.{often}",
            topic=named[0],
            partition=named[1],
            next="Nothing, the copy begins again and asks another broker. If it stays, look for a broker that does not reach its "
            f"controller and still answers, and for somebody else who writes to {where}.",
        )
        self.log = log
        self.expected = expected
        self.delivered = delivered
        self.source = source
        self.times = times

    def counted(self, times: int) -> "UnexpectedOffset":
        """This error, seen so many times."""
        return UnexpectedOffset(self.log, self.expected, self.delivered, self.source, times)


class StaleAnswer(MirrorError):
    """Raised when a broker said that a partition of the target ends in front of where it is known to go on. `log` is the partition, `read`
    the end that was told, or an offset that its log does not reach, `furthest` the one that was seen elsewhere."""

    retriable = True
    runbook = Runbook(
        "A broker told an older end of a partition than is known, or lacks what another one told of.",
        "No, the mirror did not act on the answer.",
        "Nothing: the next run asks again. If it stays, find that broker, and name the others in `<alias>.bootstrap.servers` as well.",
        more="It is cut off from its cluster and still answers.",
    )

    def __init__(self, log: tuple[str, int], read: int, furthest: int) -> None:
        where = f"{log[0]}-{log[1]}"
        super().__init__(
            f"A broker says that {where} ends at {read}, and it reaches {furthest} at least. The broker is cut off from its cluster and "
            "still answers. The mirror did not act on its answer.",
            topic=log[0],
            partition=log[1],
            next="Nothing, the next run asks again. If it stays, look for a broker that does not reach its controller.",
        )
        self.log = log
        self.read = read
        self.furthest = furthest


class JobFailed(MirrorError):
    """Raised when the Spark job ended without a result."""

    retriable = True
    runbook = Runbook(
        "The Spark job ended without a result: it was killed, had no memory, or found no Java.",
        "No.",
        "Read the log of the task `copy`: it has the output of spark-submit.",
    )


class WorkerUnprepared(MirrorError):
    """Raised when a Spark worker lacks a module that the mirror needs."""

    runbook = Runbook(
        "A Spark worker lacks a Python module.",
        "No.",
        "Install the module there, or ship an environment that has it.",
    )

    def __init__(self, module: str, host: str, python: str, detail: str) -> None:
        super().__init__(
            f"The Spark worker on {host} cannot import '{module}' with {python}: {detail}. It did nothing.",
            next=f"Install '{module}' there, or give the workers an environment that has it (an image, or spark.archives with "
            "spark.pyspark.python).",
        )
        self.module = module
        self.host = host


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


class PlanMismatch(MirrorError):
    """Raised when a worker has another configuration than the plan was made with."""

    runbook = Runbook("The configuration changed between plan and copy.", "No, nothing was copied.", "Run the copy again.")

    def __init__(self, planned: str, configured: str) -> None:
        super().__init__(
            f"The plan was made with configuration {planned}, and this worker has {configured}. Nothing was copied.",
            next="Run the copy again: it plans with the new configuration.",
        )


class NothingMoved(MirrorError):
    """Raised when a run owed work and copied nothing."""

    retriable = True
    runbook = Runbook(
        "A run had work and copied nothing; or its budget was spent before it tried all partitions that are stuck.",
        "No, records are only late.",
        "Read the log of the task `copy`. `status` says what each stuck partition is stuck at.",
    )

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
                own("status"),
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
