"""Errors of single records, and of attempts at a lane."""

from mirror.errors.base import MirrorError
from mirror.errors.next_step import Remedy


class RecordNotCarried(MirrorError):
    """Raised when the client cannot carry a record unchanged, such as a header key that is not UTF-8 or a timestamp of 0."""

    def __init__(self, topic: str, partition: int, offset: int, detail: str) -> None:
        remedy = Remedy("skip-record", topic, partition)
        super().__init__(
            f"{topic}-{partition}@{offset}: {detail}, which this client would change silently. The partition stays at {offset}.",
            topic=topic,
            partition=partition,
            offset=offset,
            next=f"To go on without this record, and have that recorded: {remedy}",
            remedies=(remedy,),
        )
        self.detail = detail

    @property
    def reason(self) -> str:
        """Why it was passed over, in the ledger's words."""
        return f"{self.code}: {self.detail}"


class RecordRefused(MirrorError):
    """Raised when the target refuses a record whatever we do: too large, a timestamp out of limits, no key in a compacted topic."""

    def __init__(self, topic: str, partition: int, offset: int, remote: str, detail: str) -> None:
        remedy = Remedy("skip-record", topic, partition)
        super().__init__(
            f"{topic}-{partition}@{offset}: the target refuses this record for {remote}: {detail}. Everything before it is copied.",
            topic=topic,
            partition=partition,
            offset=offset,
            next=f"Raise the named limit of {remote}; the next run tries the record again. To go on without it, and have that recorded: "
            f"{remedy}",
            remedies=(remedy,),
        )
        self.remote = remote
        self.detail = detail

    @property
    def reason(self) -> str:
        """Why it was passed over, in the ledger's words."""
        return f"{self.code}: {self.detail}"


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
    """Raised when a transaction ran into its timeout; the next one is half as large or less. `written` is the share (0 to 1) of its
    records that was acknowledged by then."""

    retriable = True

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

    def __init__(self, log: tuple[str, int], expected: int, delivered: int, source: tuple[str, int] | None = None, times: int = 1) -> None:
        where, named = f"{log[0]}-{log[1]}", source or log
        often = f" It was so {times} times in this run." if times > 1 else ""
        super().__init__(
            f"{where}: a record was delivered at {delivered}, and {expected} was to come next: a broker that is cut off from its cluster "
            f"may have told where the partition ends, or somebody else writes there. The transaction was aborted.{often}",
            topic=named[0],
            partition=named[1],
            next="Nothing, the copy begins again and asks another broker. If it stays: look for a broker that does not reach its "
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
    the end that was told, or an offset that its log does not reach, `known` the one that was seen elsewhere."""

    retriable = True

    def __init__(self, log: tuple[str, int], read: int, known: int) -> None:
        where = f"{log[0]}-{log[1]}"
        super().__init__(
            f"{where} ends at {read}, says a broker, and it reaches {known} at least: the broker is cut off from its cluster and still "
            "answers. What it said was not gone by.",
            topic=log[0],
            partition=log[1],
            next="Nothing, the next run asks again. If it stays: look for a broker that does not reach its controller.",
        )
        self.log = log
        self.read = read
        self.known = known
