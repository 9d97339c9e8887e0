"""A decision as somebody asks for it, by the command line or on the status page: by the same rules, refused in the same words."""

from dataclasses import dataclass

from mirror.errors import UsageError
from mirror.formats.control import (
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

ABOUT_A_TOPIC = (ACCEPT_GAP, SKIP_RECORD, RESTART, ACCEPT_RECORDS, PAUSE, RESUME)
DECISIONS = (*ABOUT_A_TOPIC, ADOPT_CLUSTER, TAKE_OWNERSHIP, BEGIN_LEDGER, BEGIN_CONTROL, THROTTLE)
AS_CONFIGURED = "configured"
EARLIEST, LATEST = "earliest", "latest"
_LONGEST_REASON = 300


@dataclass(frozen=True)
class Request:
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
) -> Request:
    """What is asked for. Raises UsageError for what is not complete or does not fit together."""
    reason = (why or "").strip()
    _require(decision in DECISIONS, f"there is no decision {decision!r}; choose one of {', '.join(DECISIONS)}")
    _require(bool(reason), f"decide {decision} needs --reason, which is kept with it")
    _require(len(reason) <= _LONGEST_REASON, f"--reason has {len(reason)} characters, and {_LONGEST_REASON} are kept")
    _require((topic is not None) == (decision in ABOUT_A_TOPIC), _wanted("--topic", decision, decision in ABOUT_A_TOPIC))
    _require(partition is None or decision in ABOUT_A_TOPIC, _wanted("--partition", decision, False))
    _require((alias is not None) == (decision == ADOPT_CLUSTER), _wanted("--alias", decision, decision == ADOPT_CLUSTER))
    _require(start is None or decision == RESTART, _wanted("--to-earliest, --to-latest or --to-offset", decision, False))
    _require(not isinstance(start, int) or partition is not None, "--to-offset needs --partition")
    rate = bytes_per_second
    _require((rate is not None) == (decision == THROTTLE), _wanted("--bytes-per-second", decision, decision == THROTTLE))
    return Request(decision, who, reason, topic, partition, alias, start, None if rate is None else rate_of(rate))


def offset_of(given: str | int) -> int:
    """A partition or an offset: a number from 0 on. Raises ValueError."""
    number = int(given)
    if number < 0:
        raise ValueError(f"{number} is below 0")
    return number


def start_of(given: str | int) -> str | int:
    """Where to restart: `earliest`, `latest` or a source offset. Raises ValueError."""
    return given if isinstance(given, str) and given in (EARLIEST, LATEST) else offset_of(given)


def rate_of(given: str | int) -> int | None:
    """How fast to copy, in bytes a second; -1 for no limit, and None for `configured`: what the properties say. Raises ValueError."""
    if given == AS_CONFIGURED:
        return None
    number = int(given)
    if number != UNLIMITED and number < 1:
        raise ValueError(f"{number} is no rate")
    return number


def _require(fulfilled: bool, otherwise: str) -> None:
    if not fulfilled:
        raise UsageError(f"The command line cannot be used: {otherwise}.", next="See python -m mirror decide --help.")


def _wanted(option: str, decision: str, needed: bool) -> str:
    return f"decide {decision} {'needs' if needed else 'has no use for'} {option}"
