"""Errors of the ledger: what must not be read on or written over."""

from mirror.errors.base import MirrorError
from mirror.errors.next_step import Remedy


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
    """Raised when the settings of the ledger topic, or of the control topic, would endanger what is in it."""

    def __init__(self, ledger: str, setting: str, found: str, needed: str) -> None:
        super().__init__(
            f"The mirror's own topic {ledger} has {setting}={found}, and it needs {needed}. Nothing was copied.",
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
    """Raised when another installation has written to a lane's ledger just now; `seconds` below 0: by a clock that is ahead of ours."""

    def __init__(self, ledger: str, lane: int, installation: str, host: str, seconds: float) -> None:
        age = f"{seconds:.0f} s ago" if seconds >= 0 else f"at a time that is still {-seconds:.0f} s ahead of this host's clock"
        remedy = Remedy("take-ownership")
        super().__init__(
            f"Lane {lane} of {ledger} was written {age} by the installation '{installation}' on {host}. This run left the lane alone.",
            topic=ledger,
            partition=lane,
            next=f"Stop the other installation; then wait until '{installation}' has been silent for ten copy intervals, or decide now: "
            f"{remedy}",
            remedies=(remedy,),
        )
        self.installation = installation


class LedgerHidden(MirrorError):
    """Raised when a transaction stands open in a lane's ledger partition although the lane is fenced: an unclean leader election lost its
    end. Whether what it says was copied, only the remote partitions tell."""

    retriable = True

    def __init__(self, ledger: str, lane: int, last_stable: int, end: int) -> None:
        super().__init__(
            f"Lane {lane}: the records in [{last_stable}, {end}) of {ledger}-{lane} cannot be read: a transaction stands open there that "
            "nobody will end. The lane copied nothing.",
            topic=ledger,
            partition=lane,
            offset=last_stable,
            next=f"Find it with kafka-transactions.sh --bootstrap-server <target> find-hanging --topic {ledger} --partition {lane}, and "
            "abort it. Remote partitions that hold what these records told of are UnexplainedTarget then, and nothing is doubled.",
        )
        self.last_stable = last_stable
        self.end = end


class LedgerMissing(MirrorError):
    """Raised when the ledger that the control topic names is gone, or another one stands in its place; and when there is none yet under its
    name, but under a name with another separator (`elsewhere`)."""

    def __init__(self, ledger: str, known_id: str, found_id: str | None, elsewhere: str = "") -> None:
        state = "does not exist" if found_id is None else f"was created anew (topic id {known_id} became {found_id})"
        lost = f"{elsewhere} says how far each partition was copied" if elsewhere else "what says how far each partition was copied is lost"
        restore = "Set replication.policy.separator back" if elsewhere else "Restore the topic"
        remedy = Remedy("begin-ledger")
        super().__init__(
            f"The ledger topic {ledger} {state}: {lost}. Nothing was written.",
            topic=ledger,
            next=f"{restore} if there is a way. Else begin a new ledger; each remote partition that holds records has then to be "
            f"decided about: {remedy}",
            remedies=(remedy,),
        )
        self.known_id = known_id
        self.found_id = found_id


class ControlMissing(MirrorError):
    """Raised when the ledger holds partitions and the control topic, which every flow has from its first plan on, is gone or empty."""

    def __init__(self, control: str, ledger: str, partitions: int) -> None:
        remedy = Remedy("begin-control")
        super().__init__(
            f"The control topic {control} is gone or was emptied, though {ledger} holds {partitions} partitions: pauses and other "
            "decisions that people took are lost. Nothing was copied.",
            topic=control,
            next=f"Decide anew what has to hold, such as pauses; then say that nothing else does: {remedy}",
            remedies=(remedy,),
        )


class ControlUnreadable(MirrorError):
    """Raised when a record of the control topic cannot be read: damaged, or written by a newer version of the mirror."""

    def __init__(self, where: str, detail: str) -> None:
        super().__init__(
            f"The record of people's decisions at {where} cannot be read: {detail}. It was left as it is, and nothing was copied.",
            next="Look at the record with any console consumer. If a newer mirror wrote it, run that one; else write an empty record "
            "(null) with the same key, which takes it out, and decide again.",
        )
        self.where = where


class NothingToDecide(MirrorError):
    """Raised when a decision has no object: the state that it would answer does not exist."""

    def __init__(self, decision: str, state: str, *, topic: str | None = None, partition: int | None = None, next: str = "") -> None:
        super().__init__(f"There is nothing for {decision}: {state} Nothing was written.", topic=topic, partition=partition, next=next)
        self.decision = decision


class DecidedMeanwhile(MirrorError):
    """Raised when a decision would stand behind another that was taken since its taker looked: one of the two might never count."""

    retriable = True

    def __init__(self, control: str) -> None:
        super().__init__(
            f"Somebody else decided about this flow in the same moment: what was written to {control} is not what was read there. "
            "Nothing was written.",
            topic=control,
            next="See what was decided (python -m mirror decide list), and decide again if it is still needed.",
        )
