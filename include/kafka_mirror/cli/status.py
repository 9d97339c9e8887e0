"""`status`: how each partition of a flow stands."""

import argparse
from collections.abc import Iterable
from datetime import datetime
from typing import Any

from kafka_mirror.cli.answer import DONE, FAILED, Answer, table
from kafka_mirror.config import Flow
from kafka_mirror.config.deadlines import AT_ONE_LOOK
from kafka_mirror.config.unknown_keys import nearest
from kafka_mirror.errors import UsageError
from kafka_mirror.errors.words import count_text, duration
from kafka_mirror.formats.documents import moment_text, to_document
from kafka_mirror.status.judge import STUCK, level, problems
from kafka_mirror.status.observation import CheckObservation
from kafka_mirror.status.observe import status
from kafka_mirror.status.status import PROGRESSING, UNKNOWN, UP_TO_DATE, PartitionStatus, Status

_HEAD = ("topic", "partition", "state", "watermark", "end", "lag", "oldest", "written")


def run(flow: Flow, options: argparse.Namespace) -> Answer:
    """Looks at both clusters and writes nothing. Fails when a person has something to do, and not because work waits for the next run."""
    flow_status = status(flow)
    known_topics = {partition.topic for partition in flow_status.partitions} | {
        error.topic for error in flow_status.errors if error.topic is not None
    }
    first = ""
    if options.topic is not None:
        flow_status = flow_status.select_topic(options.topic)
        if options.topic not in known_topics and not flow_status.errors:
            first = _unknown(flow, options, known_topics)
    partitions = [partition for partition in flow_status.partitions if not (options.problems and partition.state in PROGRESSING)]
    if options.watch is not None:  # a terminal may not have room for all
        partitions.sort(key=lambda partition: partition.state == UP_TO_DATE)
    text = [
        first or summary(flow_status),
        *table(_HEAD, [_row(partition, flow_status.time) for partition in partitions]),
        *flow_status.notices,
    ]
    own_problems = [problem for problem in problems(CheckObservation(flow_status, comparable=True), AT_ONE_LOOK).problems if problem.opens]
    codes = {error.code for error in flow_status.errors}
    errors = (*flow_status.errors, *(problem.report().with_flow(flow.name) for problem in own_problems if problem.kind not in codes))
    state = FAILED if level(own_problems) == STUCK else DONE
    return Answer(state, _result(flow_status, partitions), errors, text, frozenset(known_topics & {options.topic}))


def _unknown(flow: Flow, options: argparse.Namespace, known_topics: Iterable[str]) -> str:
    """What is said of a topic that the flow does not mirror. Raises UsageError where the flow is named; else another one may have it."""
    words = f"{flow.name} mirrors no topic {options.topic}."
    if options.flow is None:
        return words
    near = nearest(options.topic, sorted(known_topics))
    hint = f"Did you mean {near}? " if near else ""
    raise UsageError(words, next=f"{hint}Name a topic of the source as it is called there; status lists them.")


def summary(flow_status: Status) -> str:
    """The flow in one line."""
    count = len(flow_status.partitions)
    if not count:
        return "Nothing is known of any partition." if flow_status.errors else "No partition is mirrored yet."
    noun = count_text(count, "partition")
    if flow_status.lag is None:
        parts = [f"{noun}; how far they are behind is unknown"]
    elif flow_status.behind:
        oldest = "" if flow_status.oldest_seconds is None else f", oldest {duration(flow_status.oldest_seconds)}"
        late = len(flow_status.behind)
        parts = [f"{late} of {noun} behind by at most {flow_status.lag:,} records{oldest}"]
    else:
        parts = [f"{noun}, none behind"]
    if flow_status.unknown and flow_status.lag is not None:
        parts.append(f"of {len(flow_status.unknown)} it is unknown")
    unmentioned = PROGRESSING if flow_status.lag is not None else PROGRESSING | {UNKNOWN}
    parts += [f"{number} {state}" for state, number in sorted(flow_status.states.items()) if state not in unmentioned]
    if flow_status.written:
        run = f" ({flow_status.written.run})" if flow_status.written.run else ""
        parts.append(f"last written {_clock(flow_status.written.time, flow_status.time)} UTC by {flow_status.written.host}{run}")
    else:
        parts.append("nothing written yet")
    return "; ".join(parts)


def _row(partition: PartitionStatus, now: datetime) -> tuple[object, ...]:
    oldest = "-" if partition.oldest_seconds is None else duration(partition.oldest_seconds)
    numbers = ("-" if number is None else number for number in (partition.watermark, partition.end, partition.lag))
    return (
        partition.topic,
        partition.partition,
        partition.state,
        *numbers,
        oldest,
        _clock(partition.written.time, now) if partition.written else "-",
    )


def _clock(time: datetime, now: datetime) -> str:
    """A time of today without its date, and one of another day without its seconds."""
    return f"{time:%H:%M:%S}" if time.date() == now.date() else f"{time:%Y-%m-%d %H:%M}"


def _result(flow_status: Status, partitions: list[PartitionStatus]) -> dict[str, Any]:
    return {
        "time": moment_text(flow_status.time),
        "partitions_in_all": len(flow_status.partitions),
        "behind": len(flow_status.behind),
        "lag": flow_status.lag,
        "oldest_seconds": flow_status.oldest_seconds,
        "states": flow_status.states,
        "written": to_document(flow_status.written),
        "summary": summary(flow_status),
        "notices": list(flow_status.notices),
        "partitions": to_document(partitions),
    }
