"""The decisions that a person can take: what each does, and what it needs to know."""

from collections.abc import Mapping
from dataclasses import dataclass

from kafka_mirror.ledger.control_records import (
    ACCEPT_GAP,
    ACCEPT_RECORDS,
    ADOPT_CLUSTER,
    BEGIN_CONTROL,
    BEGIN_LEDGER,
    PAUSE,
    RESTART,
    RESUME,
    SKIP_RECORD,
    TAKE_OWNERSHIP,
    THROTTLE,
)

TOPIC, PARTITION, ALIAS, START, RATE = "topic", "partition", "alias", "start", "bytes_per_second"
OPTIONS: Mapping[str, str] = {
    TOPIC: "--topic",
    PARTITION: "--partition",
    ALIAS: "--alias",
    START: "--to-earliest, --to-latest or --to-offset",
    RATE: "--bytes-per-second",
}
"""What a decision may be given beside who decides and why, with its options on the command line."""


@dataclass(frozen=True)
class DecisionKind:
    """One decision: its name on a button, what it does, what it must be given, and what it may be given."""

    title: str
    explanation: str
    needs: tuple[str, ...] = ()
    takes: tuple[str, ...] = ()


KINDS: Mapping[str, DecisionKind] = {
    ACCEPT_GAP: DecisionKind(
        "Accept the gap",
        "Go on where the source's log starts. What is gone stays gone, and is kept in the ledger as skipped.",
        (TOPIC,),
        (PARTITION,),
    ),
    SKIP_RECORD: DecisionKind(
        "Skip the record", "Pass over the one record that blocks its partition. The ledger keeps it as skipped.", (TOPIC,), (PARTITION,)
    ),
    RESTART: DecisionKind(
        "Restart", "Go on at another source offset: the one that the error calls for, unless you name one.", (TOPIC,), (PARTITION, START)
    ),
    ACCEPT_RECORDS: DecisionKind(
        "Accept the records", "Leave what stands in the remote partition, and write after it.", (TOPIC,), (PARTITION,)
    ),
    PAUSE: DecisionKind(
        "Pause", "Leave the topic, or one partition of it, out of every plan until somebody resumes it.", (TOPIC,), (PARTITION,)
    ),
    RESUME: DecisionKind("Resume", "Copy again what was paused, from where it was left.", (TOPIC,), (PARTITION,)),
    ADOPT_CLUSTER: DecisionKind(
        "Adopt the cluster", "Take the ledger's records for those of the cluster that the alias leads to now.", (ALIAS,)
    ),
    TAKE_OWNERSHIP: DecisionKind("Take ownership", "Write although another installation did just now. Stop that one first."),
    BEGIN_LEDGER: DecisionKind(
        "Begin a new ledger",
        "Begin a ledger in the place of the one that is gone. Every remote partition that holds records waits for a decision afterwards.",
    ),
    BEGIN_CONTROL: DecisionKind(
        "Begin the control topic", "Take what the control topic holds now for all that was decided, and let the copy go on."
    ),
    THROTTLE: DecisionKind(
        "Throttle",
        "Set how fast the flow copies, from the next transaction on. Bytes a second such as 5MB, -1 for no limit, or `configured`.",
        (RATE,),
    ),
}
"""All of them, in the order in which they are offered."""

DECISIONS = tuple(KINDS)
ABOUT_A_TOPIC = tuple(word for word, kind in KINDS.items() if TOPIC in kind.needs)
