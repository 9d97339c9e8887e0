"""Errors of the ledger and the control topic: what must not be read on or written over."""

from mirror.errors.base import MirrorError, Runbook
from mirror.errors.next_step import Command, Remedy, own


class LedgerDamaged(MirrorError):
    """Raised when a ledger record cannot be read; it is never overwritten."""

    runbook = Runbook(
        "A ledger record cannot be read.",
        "No, nothing was overwritten.",
        "Look at the record with a console consumer. Find out who wrote to the ledger, and restore the record from an earlier version.",
        more="Its lane copies nothing.",
    )

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

    runbook = Runbook("A newer version of the mirror wrote the ledger.", "No.", "Run the newer version.")

    def __init__(self, where: str, version: int, supported: int) -> None:
        super().__init__(
            f"The ledger record at {where} has version {version}, and this mirror knows versions up to {supported}. It was left as it is.",
            next="Run the newer version of the mirror, the one that wrote the ledger.",
        )
        self.version = version


class LedgerUnsuitable(MirrorError):
    """Raised when the settings of the ledger topic, or of the control topic, would endanger what is in it."""

    runbook = Runbook(
        "A setting of the ledger topic or the control topic would endanger what is in it (`cleanup.policy`, partitions).",
        "No, nothing was copied.",
        "Set it back as the message says, and find out who changed it.",
    )

    def __init__(self, ledger: str, setting: str, actual: str, needed: str) -> None:
        super().__init__(
            f"The mirror's own topic {ledger} has {setting}={actual}, and it needs {needed}. Nothing was copied.",
            topic=ledger,
            next=f"Set {setting} of {ledger} to {needed} (kafka-configs.sh --alter), and find out who changed it.",
        )
        self.setting = setting
        self.actual = actual
        self.needed = needed


class LanesChanged(MirrorError):
    """Raised when mirror.lanes differs from what the ledger was written with."""

    runbook = Runbook(
        "`mirror.lanes` is not what the ledger was written with.",
        "No, nothing was copied.",
        "Set it back. The number of lanes of a flow cannot be changed yet.",
    )

    def __init__(self, ledger: str, actual: int, configured: int) -> None:
        super().__init__(
            f"The ledger {ledger} was written with {actual} lanes, and mirror.lanes is {configured}. Nothing was copied.",
            topic=ledger,
            next=f"Set mirror.lanes={actual} again; a partition must not change its lane.",
        )
        self.actual = actual
        self.configured = configured


class ForeignWriter(MirrorError):
    """Raised when another installation has written to a lane's ledger just now; `seconds` below 0: by a clock that is ahead of ours."""

    runbook = Runbook(
        "Another installation (`mirror.installation`) wrote to the lane just now.",
        "No.",
        "Stop one of the two. To let this one write at once, take ownership.",
        (Remedy("take-ownership"),),
    )

    def __init__(self, ledger: str, lane: int, installation: str, host: str, seconds: float) -> None:
        age = f"{seconds:.0f} s ago" if seconds >= 0 else f"at a time that is still {-seconds:.0f} s ahead of this host's clock"
        super().__init__(
            f"The installation '{installation}' on {host} wrote to lane {lane} of {ledger} {age}. This run left the lane alone.",
            topic=ledger,
            partition=lane,
            next=(
                f"Stop the other installation. Then wait until '{installation}' has been silent for ten copy intervals, or decide now: ",
                Remedy("take-ownership"),
            ),
        )
        self.installation = installation


class LedgerHidden(MirrorError):
    """Raised when a transaction stands open in a lane's ledger partition although the lane is fenced: an unclean leader election lost its
    end. Whether what it says was copied, only the remote partitions tell."""

    retriable = True
    runbook = Runbook(
        "A transaction stands open in a lane's ledger partition, and nobody will end it: an unclean leader election lost its end.",
        "No.",
        "Abort the transaction as the message says. Remote partitions that hold more than the ledger then knows are `UnexplainedTarget`.",
        more="The lane copies nothing.",
    )

    def __init__(self, ledger: str, lane: int, last_stable: int, end: int) -> None:
        super().__init__(
            f"Lane {lane}: the records in [{last_stable}, {end}) of {ledger}-{lane} cannot be read: a transaction stands open there that "
            "nobody will end. The lane copied nothing.",
            topic=ledger,
            partition=lane,
            offset=last_stable,
            next=(
                "Find it with ",
                Command(f"kafka-transactions.sh --bootstrap-server <target> find-hanging --topic {ledger} --partition {lane}"),
                ", and abort it. Remote partitions that hold what these records told of are UnexplainedTarget then, and nothing is "
                "doubled.",
            ),
        )
        self.last_stable = last_stable
        self.end = end


class LedgerMissing(MirrorError):
    """Raised when the ledger that the control topic names is gone, or another one stands in its place; and when there is none yet under its
    name, but under a name with another separator (`elsewhere`)."""

    runbook = Runbook(
        "Somebody deleted the ledger topic or created it anew; or `replication.policy.separator` was changed, and with it the name of "
        "every topic of the flow.",
        "The ledger is lost: it says how far each partition was copied. Nothing was written.",
        "Restore the topic, or set the separator back, if there is a way. Else begin a new ledger. Each remote partition that holds "
        "records is then `UnexplainedTarget`, and you decide about it.",
        (Remedy("begin-ledger"),),
    )

    def __init__(self, ledger: str, known_id: str, found_id: str | None, elsewhere: str = "") -> None:
        state = "does not exist" if found_id is None else f"was created anew (topic id {known_id} became {found_id})"
        lost = f"{elsewhere} says how far each partition was copied" if elsewhere else "what says how far each partition was copied is lost"
        restore = "Set replication.policy.separator back" if elsewhere else "Restore the topic"
        super().__init__(
            f"The ledger topic {ledger} {state}: {lost}. Nothing was written.",
            topic=ledger,
            next=(
                f"{restore} if there is a way. Else begin a new ledger; you then decide about each remote partition that holds records: ",
                Remedy("begin-ledger"),
            ),
        )
        self.known_id = known_id
        self.found_id = found_id


class ControlMissing(MirrorError):
    """Raised when the ledger holds partitions and the control topic, which every flow has from its first plan on, is gone or empty."""

    runbook = Runbook(
        "Somebody deleted or emptied the control topic, while the ledger holds partitions.",
        "No record is. People's decisions, pauses above all, are lost. Nothing was copied.",
        "Decide anew what has to hold. Then say that nothing else does.",
        (Remedy("begin-control"),),
    )

    def __init__(self, control: str, ledger: str, partitions: int) -> None:
        super().__init__(
            f"The control topic {control} is gone or was emptied, though {ledger} holds {partitions} partitions: pauses and other "
            "decisions that people took are lost. Nothing was copied.",
            topic=control,
            next=("Decide anew what has to hold, such as pauses. Then say that nothing else does: ", Remedy("begin-control")),
        )


class ControlUnreadable(MirrorError):
    """Raised when a record of the control topic cannot be read: damaged, or written by a newer version of the mirror."""

    runbook = Runbook(
        "A record of people's decisions is damaged, or a newer mirror wrote it.",
        "No, nothing was overwritten.",
        "Run the newer version. Or write an empty record (null) with the same key, and decide again.",
        more="The whole flow copies nothing, for it might be a pause.",
    )

    def __init__(self, where: str, detail: str) -> None:
        super().__init__(
            f"The record of people's decisions at {where} cannot be read: {detail}. It was left as it is, and nothing was copied.",
            next="Look at the record with any console consumer. If a newer mirror wrote it, run that one. Else write an empty record "
            "(null) with the same key, which takes it out, and decide again.",
        )
        self.where = where


class NothingToDecide(MirrorError):
    """Raised when a decision has no object: the state that it would answer does not exist."""

    runbook = Runbook(
        "`decide` was asked to answer something that is not there: no gap, no stuck record.",
        "No, nothing was written.",
        "The message says how things stand; `plan` says what is wrong now.",
    )

    def __init__(self, decision: str, state: str, *, topic: str | None = None, partition: int | None = None, next: str = "") -> None:
        super().__init__(f"There is nothing for {decision}: {state} Nothing was written.", topic=topic, partition=partition, next=next)
        self.decision = decision


class DecidedMeanwhile(MirrorError):
    """Raised when a decision would stand behind another that was taken since its taker looked: one of the two might never count."""

    retriable = True
    runbook = Runbook(
        "Somebody else decided about this flow in the same moment, and now the decision would come to something else.",
        "No, nothing was written.",
        "`decide list` shows what was decided. Decide again if it is still needed.",
        more="Or others did so five times in a row; or a broker that is cut off from its cluster said what had been decided; or "
        "somebody's transaction stays open in the control topic.",
    )

    def __init__(self, control: str) -> None:
        super().__init__(
            f"Somebody else decided about this flow in the same moment: what was written to {control} is not what was read there. "
            "Nothing was written.",
            topic=control,
            next=("See what was decided (", own("decide list"), "), and decide again if it is still needed."),
        )
