"""Errors of the ledger and the control topic: what must not be read on or written over."""

from collections.abc import Sequence
from dataclasses import field

from kafka_mirror.errors.base import DeclaredError, MirrorError, OffsetError, PartitionError
from kafka_mirror.errors.next_step import Part, Remedy


class LedgerDamaged(DeclaredError):
    """A ledger record cannot be read."""

    where: str
    detail: str
    topic: str | None = field(default=None, kw_only=True)
    partition: int | None = field(default=None, kw_only=True)
    means_loss = True
    text = "The ledger record at {where} cannot be read: {detail}. It was left as it is, and its lane copies nothing."
    next_text = "Look at the record with any console consumer; restore it from an earlier version of the topic if someone wrote to it."
    lost = "No, nothing was overwritten."
    more = "Its lane copies nothing."


class LedgerTooNew(DeclaredError):
    """A newer version of the mirror wrote the ledger."""

    where: str
    version: int
    supported: int
    text = "The ledger record at {where} has version {version}, and this mirror knows versions up to {supported}. It was left as it is."
    next_text = "Run the newer version of the mirror, the one that wrote the ledger."


class LedgerUnsuitable(DeclaredError):
    """A setting of the ledger topic or the control topic would endanger what is in it (`cleanup.policy`, partitions)."""

    topic: str
    setting: str
    actual: str
    needed: str
    text = "The mirror's own topic {topic} has {setting}={actual}, and it needs {needed}. Nothing was copied."
    next_text = "Set `{setting}` of {topic} to {needed} (`kafka-configs.sh --alter`), and find out who changed it."
    lost = "No, nothing was copied."


class LanesChanged(DeclaredError):
    """`mirror.lanes` is not what the ledger was written with."""

    topic: str
    actual: int
    configured: int
    text = "The ledger {topic} was written with {actual} lanes, and mirror.lanes is {configured}. Nothing was copied."
    next_text = "Set `mirror.lanes={actual}` again; a partition must not change its lane."
    lost = "No, nothing was copied."


class ForeignWriter(PartitionError):
    """Another installation (`mirror.installation`) wrote to the lane just now.

    `topic` and `partition` are the ledger's, `seconds` below 0: by a clock that is ahead of ours.
    """

    installation: str
    host: str
    seconds: float
    answered_by = Remedy("take-ownership")
    text = "The installation '{installation}' on {host} wrote to lane {partition} of {topic} {age}. This run left the lane alone."
    next_text = (
        "Stop the other installation. Then wait until '{installation}' has been silent for ten copy intervals, or decide now: {remedy}"
    )
    do = "Stop one of the two. To let this one write at once, take ownership."

    @property
    def age(self) -> str:
        """When it wrote."""
        ahead = f"at a time that is still {-self.seconds:.0f} s ahead of this host's clock"
        return f"{self.seconds:.0f} s ago" if self.seconds >= 0 else ahead


class LedgerHidden(OffsetError):
    """A transaction stays open in a lane's ledger partition for ever: an unclean leader election lost its end.

    The lane is fenced. Whether what its records say was copied, only the remote partitions tell. `offset` is the last stable one of the
    ledger's partition.
    """

    end: int
    retriable = True
    text = (
        "Lane {partition}: the records in [{offset}, {end}) of {topic}-{partition} cannot be read: an unclean "
        "election lost the end of a transaction there, so it stays open. The lane copied nothing."
    )
    next_text = (
        "Find it with {shell:kafka-transactions.sh --bootstrap-server <target> find-hanging --topic {topic} --partition {partition}}, and "
        "abort it. Remote partitions that hold what these records note are UnexplainedTarget then, and nothing is doubled."
    )
    do = "Abort the transaction as the message says. Remote partitions that hold more than the ledger then knows are `UnexplainedTarget`."
    more = "The lane copies nothing."


class LedgerMissing(DeclaredError):
    """Somebody deleted or recreated the ledger topic; or changed `replication.policy.separator`, and with it the name of every topic of
    the flow.

    `elsewhere`: there is none yet under its name, but one under a name with another separator.
    """

    topic: str
    known_id: str
    found_id: str | None
    elsewhere: str = ""
    means_loss = True
    answered_by = Remedy("begin-ledger")
    lost = "The ledger is lost: it says how far each partition was copied. Nothing was written."
    do = (
        "Restore the topic, or set the separator back. Else begin a new ledger: each remote partition that holds records is then "
        "`UnexplainedTarget`, and you decide about it."
    )

    def _describe(self) -> str:
        state = "does not exist" if self.found_id is None else f"was created again (topic id {self.known_id} became {self.found_id})"
        says = "says how far each partition was copied"
        lost = f"{self.elsewhere} {says}" if self.elsewhere else f"what {says} is lost"
        return f"The ledger topic {self.topic} {state}: {lost}. Nothing was written."

    def _advise(self) -> Sequence[Part]:
        restore = "Set replication.policy.separator back" if self.elsewhere else "Restore the topic"
        way = "if there is a way. Else begin a new ledger; you then decide about each remote partition that holds records: "
        return f"{restore} {way}", self.remedy


class ControlMissing(DeclaredError):
    """Somebody deleted or emptied the control topic, while the ledger holds partitions."""

    topic: str
    ledger: str
    partitions: int
    answered_by = Remedy("begin-control")
    text = (
        "The control topic {topic} is gone or was emptied, though {ledger} holds {partitions} partitions: pauses and other decisions that "
        "people took are lost. Nothing was copied."
    )
    next_text = "Decide again what must hold, such as pauses. Then say that nothing else does: {remedy}"
    lost = "No record is. People's decisions, pauses above all, are lost. Nothing was copied."
    do = "Decide again what must hold, such as pauses. Then say that nothing else does."


class ControlUnreadable(DeclaredError):
    """A record of people's decisions is damaged, or a newer mirror wrote it."""

    where: str
    detail: str
    text = "The record of people's decisions at {where} cannot be read: {detail}. It was left as it is, and nothing was copied."
    next_text = (
        "Look at the record with any console consumer. If a newer mirror wrote it, run that one. Else write an empty record (null) with "
        "the same key, which takes it out, and decide again."
    )
    lost = "No, nothing was overwritten."
    more = "The whole flow copies nothing, for it might be a pause."


class NothingToDecide(MirrorError):
    """`decide` was asked to answer something that is not there: no gap, no stuck record."""

    lost = "No, nothing was written."
    do = "The message says how things stand; `plan` says what is wrong now."

    def __init__(self, decision: str, state: str, *, topic: str | None = None, partition: int | None = None, next: str = "") -> None:
        super().__init__(f"There is nothing for {decision}: {state} Nothing was written.", topic=topic, partition=partition, next=next)


class DecidedMeanwhile(DeclaredError):
    """Somebody else decided about this flow in the same moment, and now the decision would come to something else.

    Of two decisions that stand one after the other, one might never count.
    """

    topic: str
    retriable = True
    text = (
        "Somebody else decided about this flow in the same moment: what was written to {topic} is not what was read there. Nothing was "
        "written."
    )
    next_text = "See what was decided ({mirror:decide list}), and decide again if it is still needed."
    lost = "No, nothing was written."
    more = (
        "Or others did so five times in a row; or a broker that is cut off from its cluster answered; or somebody's transaction stays "
        "open in the control topic."
    )
