"""`cutover plan`: the preflight of a wave, as text and as a document."""

import argparse
from typing import TYPE_CHECKING, Any

from kafka_mirror.cli.answer import DONE, FAILED, Answer, Piece, table
from kafka_mirror.config import Flow
from kafka_mirror.cutover.wave.findings import KINDS
from kafka_mirror.cutover.wave.selection import Wave
from kafka_mirror.errors.display import show
from kafka_mirror.errors.words import count_text

if TYPE_CHECKING:
    from kafka_mirror.cutover.groups.findings import WaveGroup
    from kafka_mirror.cutover.steps.preflight import Preflight
    from kafka_mirror.cutover.steps.writers import Writers

_HEAD = ("group", "positions", "exact", "read again", "no answer", "members", "members on the target")


def run(flow: Flow, options: argparse.Namespace) -> Answer:
    """Asks both clusters, and writes nothing. Fails when something stops the wave."""
    from kafka_mirror.cutover.steps.preflight import preflight

    wave = Wave(options.topics, options.groups or (), options.max_lag)
    result = preflight(flow, wave)
    return Answer(DONE if result.may_move else FAILED, _document(wave, result), (), _text(result))


def _text(result: "Preflight") -> list[Piece]:
    counts = {kind: sum(finding.kind == kind for finding in result.findings) for kind in KINDS}
    stops, warnings, _ = counts.values()
    size = f"{len(result.topics)} topics with {len(result.partitions)} partitions, {len(result.groups)} groups"
    verdict = "Nothing stops the wave" if result.may_move else f"The wave cannot move: {count_text(stops, 'stop')}"
    lines: list[Piece] = [f"{size}. {verdict}, {count_text(warnings, 'warning')}."]
    return [*lines, *table(_HEAD, [_row(group) for group in result.groups]), *map(str, result.findings)]


def _row(group: "WaveGroup") -> tuple[object, ...]:
    exact = sum(position.is_exact for position in group.positions)
    reread = "?" if group.reread is None else group.reread
    people = len(group.members), len(group.target_members)
    return (show(group.name), len(group.positions), exact, reread, len(group.unanswered), *people)


def _document(wave: Wave, result: "Preflight") -> dict[str, Any]:
    return {
        "time": result.time.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        "wave": {"topics": list(wave.topics), "groups": list(wave.groups), "max_lag": wave.max_lag},
        "may_move": result.may_move,
        "topics": list(result.topics),
        "partitions": [
            {"topic": each.topic, "partition": each.partition, "state": each.state, "lag": each.lag} for each in result.partitions
        ],
        "groups": [_group(group) for group in result.groups],
        "producers": [] if result.writers is None else _producers(result.writers),
        "findings": [finding.as_document() for finding in result.findings],
    }


def _group(group: "WaveGroup") -> dict[str, Any]:
    return {
        "group": group.name,
        "positions": [
            {
                "topic": each.topic,
                "partition": each.partition,
                "offset": each.offset,
                "answer": each.answer.kind,
                "position": each.answer.target,
                "reread": each.answer.reread,
                "ahead": each.answer.ahead,
                "reason": each.answer.reason,
                "target_offset": each.target_offset,
            }
            for each in group.positions
        ],
        "outside": list(group.outside),
        "members": [member._asdict() for member in group.members],
        "target_members": [member._asdict() for member in group.target_members],
    }


def _producers(writers: "Writers") -> list[dict[str, Any]]:
    return [
        {"topic": tp.topic, "partition": tp.partition, **producer._asdict(), "recent": writers.is_recent(producer)}
        for tp, producers in sorted(writers.producers.items())
        for producer in producers
    ]
