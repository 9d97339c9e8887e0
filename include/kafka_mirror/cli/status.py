"""`status`: how each partition of a flow stands."""

import argparse
from collections.abc import Iterable
from datetime import datetime
from typing import Any

from kafka_mirror.cli.answer import DONE, FAILED, Answer, table
from kafka_mirror.config import Flow
from kafka_mirror.config.unknown_keys import nearest
from kafka_mirror.errors import UsageError
from kafka_mirror.errors.words import count_text, duration
from kafka_mirror.formats.documents import moment_text, to_document
from kafka_mirror.ledger.record import Writer
from kafka_mirror.status.judge import STUCK, level, problems
from kafka_mirror.status.limits import AT_ONE_LOOK
from kafka_mirror.status.observation import CheckObservation
from kafka_mirror.status.observe import status
from kafka_mirror.status.status import PROGRESSING, UNKNOWN, UP_TO_DATE, PartitionStatus, Status

_HEAD = ("topic", "partition", "state", "watermark", "end", "lag", "oldest", "written")


def run(flow: Flow, options: argparse.Namespace) -> Answer:
    """Looks at both clusters and writes nothing. Fails when a person has something to do, and not because work waits for the next run."""
    found = status(flow)
    known = {partition.topic for partition in found.partitions} | {error.topic for error in found.errors if error.topic is not None}
    first = ""
    if options.topic is not None:
        found = found.of_topic(options.topic)
        if options.topic not in known and not found.errors:
            first = _unknown(flow, options, known)
    shown = [partition for partition in found.partitions if not (options.problems and partition.state in PROGRESSING)]
    if options.watch is not None:  # a terminal may not have room for all
        shown.sort(key=lambda partition: partition.state == UP_TO_DATE)
    text = [first or summary(found), *table(_HEAD, [_row(partition, found.time) for partition in shown]), *found.notices]
    own_problems = [problem for problem in problems(CheckObservation(found, comparable=True), AT_ONE_LOOK).problems if problem.opens]
    codes = {error.code for error in found.errors}
    errors = (*found.errors, *(problem.report().of_flow(flow.name) for problem in own_problems if problem.kind not in codes))
    return Answer(FAILED if level(own_problems) == STUCK else DONE, _result(found, shown), errors, text, frozenset(known & {options.topic}))


def _unknown(flow: Flow, options: argparse.Namespace, known: Iterable[str]) -> str:
    """What is said of a topic that the flow does not mirror. Raises UsageError where the flow is named; else another one may have it."""
    words = f"{flow.name} mirrors no topic {options.topic}."
    if options.flow is None:
        return words
    near = nearest(options.topic, sorted(known))
    hint = f"Did you mean {near}? " if near else ""
    raise UsageError(words, next=f"{hint}Name a topic of the source as it is called there; status lists them.")


def summary(found: Status) -> str:
    """The flow in one line."""
    count = len(found.partitions)
    if not count:
        return "Nothing is known of any partition." if found.errors else "No partition is mirrored yet."
    noun = count_text(count, "partition")
    if found.lag is None:
        parts = [f"{noun}; how far they are behind is unknown"]
    elif found.behind:
        oldest = "" if found.oldest_seconds is None else f", oldest {duration(found.oldest_seconds)}"
        late = len(found.behind)
        parts = [f"{late} of {noun} behind by at most {found.lag:,} records{oldest}"]
    else:
        parts = [f"{noun}, none behind"]
    if found.unknown and found.lag is not None:
        parts.append(f"of {len(found.unknown)} it is unknown")
    told = PROGRESSING if found.lag is not None else PROGRESSING | {UNKNOWN}
    parts += [f"{number} {state}" for state, number in sorted(found.states.items()) if state not in told]
    parts.append(
        f"last written {_clock(found.written.time, found.time)} UTC by {_name_writer(found.written)}"
        if found.written
        else "nothing written yet"
    )
    return "; ".join(parts)


def _row(each: PartitionStatus, now: datetime) -> tuple[object, ...]:
    oldest = "-" if each.oldest_seconds is None else duration(each.oldest_seconds)
    numbers = ("-" if number is None else number for number in (each.watermark, each.end, each.lag))
    return (each.topic, each.partition, each.state, *numbers, oldest, _clock(each.written.time, now) if each.written else "-")


def _name_writer(writer: Writer) -> str:
    return f"{writer.host} ({writer.run})" if writer.run else writer.host


def _clock(time: datetime, now: datetime) -> str:
    """A time of today without its date, and one of another day without its seconds."""
    return f"{time:%H:%M:%S}" if time.date() == now.date() else f"{time:%Y-%m-%d %H:%M}"


def _result(found: Status, shown: list[PartitionStatus]) -> dict[str, Any]:
    return {
        "time": moment_text(found.time),
        "partitions_in_all": len(found.partitions),
        "behind": len(found.behind),
        "lag": found.lag,
        "oldest_seconds": found.oldest_seconds,
        "states": found.states,
        "written": to_document(found.written),
        "summary": summary(found),
        "notices": list(found.notices),
        "partitions": to_document(shown),
    }
