"""A decision as a person asks for it, on the command line or the status page: by the same rules, refused in the same words.

KINDS has the decisions: what each does, and what it needs to know.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from kafka_mirror.errors import UsageError
from kafka_mirror.errors.next_step import mirror_command
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
    UNLIMITED,
)

AS_CONFIGURED = "configured"
EARLIEST, LATEST = "earliest", "latest"
_LONGEST_REASON = 300
_SIZE = re.compile(r"([0-9]+(?:\.[0-9]+)?) ?([kKmMgGtT]?)(i?)([bB]?)(?:/s)?")
_POWERS = "kmgt"
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


@dataclass(frozen=True)
class DecisionRequest:
    """A decision as it was asked for. `start` is where to restart: earliest, latest, an offset, or None for what the error calls for."""

    decision: str
    who: str
    why: str
    topic: str | None = None
    partition: int | None = None
    alias: str | None = None
    start: str | int | None = None
    bytes_per_second: int | None = None
    """How fast to copy (throttle): -1 as fast as possible, None as the properties say."""


def request(
    decision: str,
    *,
    who: str,
    why: str | None,
    topic: str | None = None,
    partition: int | None = None,
    alias: str | None = None,
    start: str | int | None = None,
    bytes_per_second: str | int | None = None,
) -> DecisionRequest:
    """What is asked for. Raises UsageError with all that is not complete or does not fit together."""
    _require(decision in DECISIONS, f"there is no decision {decision!r}; choose one of {', '.join(DECISIONS)}")
    reason, kind = (why or "").strip(), KINDS[decision]
    values = {TOPIC: topic, PARTITION: partition, ALIAS: alias, START: start, RATE: bytes_per_second}
    missing = [OPTIONS[name] for name in kind.needs if values[name] is None] + ([] if reason else ["--reason"])
    _require(not missing, f"decide {decision} needs {join_with_and(missing)}")
    surplus = [OPTIONS[name] for name, value in values.items() if value is not None and name not in (*kind.needs, *kind.takes)]
    _require(not surplus, f"decide {decision} has no use for {join_with_and(surplus)}")
    _require(len(reason) <= _LONGEST_REASON, f"--reason has {len(reason)} characters, and {_LONGEST_REASON} are kept")
    _require(not isinstance(start, int) or partition is not None, "--to-offset needs --partition")
    try:
        rate = None if bytes_per_second is None else parse_rate(bytes_per_second)
    except ValueError as error:
        raise UsageError(f"{error}.", next="Correct the rate, and try again.") from None
    return DecisionRequest(decision, who, reason, topic, partition, alias, start, rate)


def join_with_and(names: Sequence[str]) -> str:
    """'a, b and c'."""
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1]))) if names else ""


def parse_offset(given: str | int) -> int:
    """A partition or an offset: a number from 0 on. Raises ValueError."""
    text = str(given).strip()
    if not (text.isascii() and text.isdigit()):
        raise ValueError(f"{text!r} is no whole number from 0 on")
    return int(text)


def parse_start(given: str | int) -> str | int:
    """Where to restart: `earliest`, `latest` or a source offset. Raises ValueError."""
    return given if isinstance(given, str) and given in (EARLIEST, LATEST) else parse_offset(given)


def parse_rate(given: str | int) -> int | None:
    """How fast to copy, in bytes a second; -1 for no limit, and None for `configured`: what the properties say.

    Takes 5000000, 5MB and 500k (powers of 1000), and 5MiB (of 1024). Raises ValueError.
    """
    text = str(given).strip()
    if text == AS_CONFIGURED:
        return None
    if text == str(UNLIMITED):
        return UNLIMITED
    match = _SIZE.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is no rate; write bytes a second, such as 5000000, 5MB or 5MiB, -1 for no limit, or {AS_CONFIGURED}")
    number, prefix, binary, byte = match.groups()
    if prefix.isupper() and byte == "b":
        raise ValueError(f"{text!r} may be bits; write {number}{prefix}{binary}B for bytes a second")
    rate = Fraction(number) * (1024 if binary else 1000) ** (_POWERS.index(prefix.lower()) + 1 if prefix else 0)
    if rate < 1 or rate.denominator != 1 or (binary and not prefix):
        raise ValueError(f"{text!r} is no rate; it must be a whole number of bytes a second, at least 1")
    return int(rate)


def _require(fulfilled: bool, otherwise: str) -> None:
    if not fulfilled:
        raise UsageError(f"The command line cannot be used: {otherwise}.", next=("See ", mirror_command("decide --help"), "."))
