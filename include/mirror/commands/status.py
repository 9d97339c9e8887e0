"""`status`: how each partition of a flow stands."""

import argparse
from datetime import datetime
from typing import Any

from mirror.commands.answer import DONE, FAILED, Answer, table
from mirror.config import Flow
from mirror.errors import UsageError
from mirror.formats.ledger import Writer
from mirror.report.observe import status
from mirror.report.status import PROGRESSING, UNKNOWN, PartitionStatus, Status
from mirror.report.words import duration

_HEAD = ("topic", "partition", "state", "watermark", "end", "lag", "oldest", "written", "by")


def run(flow: Flow, options: argparse.Namespace) -> Answer:
    """Looks at both clusters and writes nothing. Fails when a person has something to do, and not because work waits for the next run."""
    found = status(flow)
    shown = [
        each for each in found.partitions if options.topic in (None, each.topic) and not (options.problems and each.state in PROGRESSING)
    ]
    known = {each.topic for each in found.partitions} | {error.topic for error in found.errors if error.topic is not None}
    if options.flow is not None and options.topic is not None and options.topic not in known:
        raise UsageError(
            f"{flow.name} mirrors no topic {options.topic}.", next="Name a topic of the source as it is called there; status lists them."
        )
    lines = [summary(found), *table(_HEAD, [_row(each, found.time) for each in shown]), *found.notices]
    return Answer(
        FAILED if found.errors else DONE, _result(found, shown), found.errors, "\n".join(lines), frozenset(known & {options.topic})
    )


def summary(found: Status) -> str:
    """The flow in one line."""
    count = len(found.partitions)
    if not count:
        return "Nothing is known of any partition." if found.errors else "No partition is mirrored yet."
    noun = f"{count} partition{'' if count == 1 else 's'}"
    if found.lag is None:
        parts = [f"{noun}; how far they are behind is unknown"]
    elif found.behind:
        oldest = "" if found.oldest_seconds is None else f", oldest {duration(found.oldest_seconds)}"
        parts = [f"{len(found.behind)} of {noun} behind by at most {found.lag:,} records{oldest}"]
    else:
        parts = [f"{noun}, none behind"]
    if found.unknown and found.lag is not None:
        parts.append(f"of {len(found.unknown)} it is unknown")
    told = PROGRESSING if found.lag is not None else PROGRESSING | {UNKNOWN}
    parts += [f"{number} {state}" for state, number in sorted(found.states.items()) if state not in told]
    parts.append(
        f"last written {_clock(found.written.time, found.time)} by {_who(found.written)}" if found.written else "nothing written yet"
    )
    return "; ".join(parts)


def _row(each: PartitionStatus, now: datetime) -> tuple[object, ...]:
    oldest = "-" if each.oldest_seconds is None else duration(each.oldest_seconds)
    written = (_clock(each.written.time, now), _who(each.written)) if each.written else ("-", "")
    numbers = ("-" if number is None else number for number in (each.watermark, each.end, each.lag))
    return (each.topic, each.partition, each.state, *numbers, oldest, *written)


def _who(writer: Writer) -> str:
    return f"{writer.host} ({writer.run})" if writer.run else writer.host


def _clock(time: datetime, now: datetime) -> str:
    """A time of today without its date."""
    return f"{time:%H:%M:%S} UTC" if time.date() == now.date() else f"{time:%Y-%m-%d %H:%M:%S} UTC"


def _result(found: Status, shown: list[PartitionStatus]) -> dict[str, Any]:
    return {
        "time": _iso(found.time),
        "partitions_in_all": len(found.partitions),
        "behind": len(found.behind),
        "lag": found.lag,
        "oldest_seconds": found.oldest_seconds,
        "states": found.states,
        "written": _writer(found.written),
        "summary": summary(found),
        "notices": list(found.notices),
        "partitions": [_document(each) for each in shown],
    }


def _document(each: PartitionStatus) -> dict[str, Any]:
    names = (
        "topic",
        "partition",
        "state",
        "watermark",
        "last_stable",
        "end",
        "lag",
        "oldest_seconds",
        "records",
        "bytes",
        "note",
        "history",
    )
    return {
        **{name: getattr(each, name) for name in names},
        "written": _writer(each.written),
        "since": _iso(each.since) if each.since else None,
        "error": each.error.as_dict() if each.error else None,
    }


def _writer(writer: Writer | None) -> dict[str, str] | None:
    if writer is None:
        return None
    return {"time": _iso(writer.time), "host": writer.host, "run": writer.run, "installation": writer.installation}


def _iso(time: datetime) -> str:
    return time.isoformat(timespec="milliseconds").replace("+00:00", "Z")
