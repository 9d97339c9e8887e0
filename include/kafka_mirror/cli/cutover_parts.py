"""The parts of `cutover`: what a person sees of a wave (its preflight and its steps), and of a source that came back after a failover."""

import argparse
import json
import shlex
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from kafka_mirror.cli.answer import DONE, FAILED, WAITING, Answer, Piece, table
from kafka_mirror.cli.cutover import COMPARE, PLAN, REOPEN, REPORT, ROLLBACK, RUN, STATUS
from kafka_mirror.cli.options import user_at_host
from kafka_mirror.config import Flow
from kafka_mirror.cutover.failover.close_flow import reopen_flow
from kafka_mirror.cutover.failover.source_comparison import SourceComparison, compare_source
from kafka_mirror.cutover.steps.group_survey import WaveGroup
from kafka_mirror.cutover.steps.preflight import Preflight, preflight
from kafka_mirror.cutover.wave import step as words
from kafka_mirror.cutover.wave.control_notes import StoredWaves, find_written_since_open
from kafka_mirror.cutover.wave.record import OPENED, ROLLED_BACK, TAKING_BACK, WaveRecord, name_wave
from kafka_mirror.cutover.wave.report import WaveReport, show_time, write_wave
from kafka_mirror.cutover.wave.run import WaveRun, get_wave, read_waves, report_wave, roll_back, run_wave
from kafka_mirror.cutover.wave.selection import Wave
from kafka_mirror.cutover.wave.step import KINDS, STOP, StepOptions, StepOutcome
from kafka_mirror.errors import UsageError, name_flow_in_errors
from kafka_mirror.errors.next_step import mirror_command
from kafka_mirror.errors.words import count_text, show, visible

_GROUPS_HEAD = ("group", "positions", "exact", "read again", "no answer", "members", "members on the target")


def run_part(flow: Flow, options: argparse.Namespace) -> Answer:
    """Runs the part that is named."""
    parts = {PLAN: plan, RUN: run, STATUS: status, ROLLBACK: rollback, REPORT: report, COMPARE: compare, REOPEN: reopen}
    with name_flow_in_errors(flow.name):
        return parts[options.part](flow, options)


def plan(flow: Flow, options: argparse.Namespace) -> Answer:
    """Asks both clusters, and writes nothing. Fails when something stops the wave."""
    wave = Wave(options.topics, options.groups or (), options.max_lag)
    result = preflight(flow, wave)
    counts = {kind: sum(finding.kind == kind for finding in result.findings) for kind in KINDS}
    stops, warnings, _ = counts.values()
    size = f"{len(result.topics)} topics with {len(result.partitions)} partitions, {len(result.groups)} groups"
    verdict = "Nothing stops the wave" if result.may_move else f"The wave cannot move: {count_text(stops, 'stop')}"
    rows = [
        (
            show(group.name),
            len(group.positions),
            sum(position.translated.rereads_nothing for position in group.positions),
            "?" if group.reread is None else group.reread,
            len(group.unanswered),
            len(group.members),
            len(group.target_members),
        )
        for group in result.groups
    ]
    text = [f"{size}. {verdict}, {count_text(warnings, 'warning')}.", *table(_GROUPS_HEAD, rows), *map(str, result.findings)]
    return Answer(DONE if result.may_move else FAILED, _preflight_document(wave, result), (), text)


def _preflight_document(wave: Wave, result: Preflight) -> dict[str, Any]:
    return {
        "time": result.time.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        "wave": {"topics": list(wave.topics), "groups": list(wave.groups), "max_lag": wave.max_lag},
        "may_move": result.may_move,
        "topics": list(result.topics),
        "partitions": [
            {"topic": partition.topic, "partition": partition.partition, "state": partition.state, "lag": partition.lag}
            for partition in result.partitions
        ],
        "groups": [_group_document(group) for group in result.groups],
        "producers": [
            {"topic": tp.topic, "partition": tp.partition, **producer._asdict(), "recent": result.writers.is_recent(producer)}
            for tp, producers in sorted(result.writers.producers.items())
            for producer in producers
        ]
        if result.writers is not None
        else [],
        "findings": [finding.as_document() for finding in result.findings],
    }


def _group_document(group: WaveGroup) -> dict[str, Any]:
    return {
        "group": group.name,
        "positions": [
            {
                "topic": position.source.topic,
                "partition": position.source.partition,
                "offset": position.committed.offset,
                "answer": position.translated.kind,
                "position": position.translated.target,
                "reread": position.translated.reread,
                "ahead": position.translated.ahead,
                "reason": position.translated.reason,
                "target_offset": group.get_place(position),
            }
            for position in group.positions
        ],
        "outside": list(group.outside),
        "members": [member._asdict() for member in group.members],
        "target_members": [member._asdict() for member in group.target_members],
    }


_STATES = {words.DONE: DONE, words.WAITING: WAITING, words.STOPPED: FAILED}
_WAVES_HEAD = ("wave", "state", "mode", "next step", "began", "ended", "who")
_STEPS_HEAD = ("step", "state", "began", "seconds", "who")
_NO_REASON = "no reason was given"


def run(flow: Flow, options: argparse.Namespace) -> Answer:
    """Runs a wave's steps; with `--dry-run` says what each would do. Waits are said on standard error."""
    stored = read_waves(flow)
    wave, steps = _read_wave(flow, options, stored)
    result = run_wave(flow, wave, steps, options.until, options.step)
    name = result.record.name
    report = report_wave(flow, read_waves(flow), name) if result.record.state == OPENED and not options.dry_run else None
    if report is not None and options.output is not None:
        _write(report, options.output)
    document = {**_run_document(flow, result), "report": None if report is None else report.as_document()}
    pieces = _outcomes(result.outcomes, options.dry_run)
    if report is not None:
        pieces += [report.as_markdown()]
    elif not options.dry_run:
        pieces += [f"Next: {'; or '.join(_next_commands(flow, result.record))}"]
    return Answer(_STATES[result.state], document, (), pieces)


def rollback(flow: Flow, options: argparse.Namespace) -> Answer:
    """Takes a wave back; with `--dry-run` says what it would take back."""
    result = roll_back(flow, _step_options(options, options.wave, options.reason or _NO_REASON))
    if not result.outcomes and result.record.state == ROLLED_BACK:
        pieces: list[Piece] = [f"The wave {result.record.name} is rolled back."]
    else:
        next_text = [] if options.dry_run else [f"Next: {'; or '.join(_next_commands(flow, result.record))}"]
        pieces = [*_outcomes(result.outcomes, options.dry_run), *next_text]
    return Answer(_STATES[result.state], _run_document(flow, result), (), pieces)


def status(flow: Flow, options: argparse.Namespace) -> Answer:
    """Lists the flow's waves, or says of one how each step ended."""
    stored = read_waves(flow)
    waves = [get_wave(stored, options.wave)] if options.wave is not None else [*stored.waves.values()]
    waves.sort(key=lambda record: record.began)
    documents = [_wave_document(flow, record) for record in waves]
    written = find_written_since_open(flow, stored, options.wave)
    if not waves:
        return Answer(DONE, {"waves": []}, (), "No wave was begun.")
    rows = []
    for record in waves:
        step = record.next_step if record.state not in (OPENED, ROLLED_BACK, TAKING_BACK) else None
        times = show_time(record.began), show_time(record.ended) or ""
        rows.append((record.name, record.state, record.mode, step or "", *times, record.who))
    pieces: list[Piece] = [*table(_WAVES_HEAD, rows)]
    for record in waves:
        if options.wave is not None or record.state not in (OPENED, ROLLED_BACK):
            pieces += _wave_pieces(flow, record)
    return Answer(FAILED if written else DONE, {"waves": documents}, written, pieces)


def report(flow: Flow, options: argparse.Namespace) -> Answer:
    """The report of a wave; with `--output` into a file."""
    wave_report = report_wave(flow, read_waves(flow), options.wave)
    if options.output is None:
        return Answer(DONE, wave_report.as_document(), (), wave_report.as_markdown().rstrip("\n"))
    _write(wave_report, options.output)
    return Answer(DONE, wave_report.as_document(), (), f"The report is in {options.output}.")


def _read_wave(flow: Flow, options: argparse.Namespace, stored: StoredWaves) -> tuple[Wave, StepOptions]:
    """The wave that is meant and how its steps run: what a person does not say is as it was noted when the wave began."""
    if options.topics is None:
        record: WaveRecord | None = get_wave(stored, options.wave)
        assert record is not None
        wave = Wave(record.topics, options.groups or record.groups)
        name = record.name
    else:
        wave = Wave(options.topics, options.groups or ())
        name = options.wave or name_wave(flow.name, wave, options.mode or words.PLANNED)
        record = stored.waves.get(name)
    mode = options.mode or (record.mode if record else words.PLANNED)
    note = record.steps.get(words.FENCE) if record else None
    noted = note.facts.get("by") if note else None
    fence = options.by or (noted if noted in words.FENCES else words.BY_HAND)
    reason = options.reason or (record.why if record else _NO_REASON)
    return wave, _step_options(options, name, reason, mode=mode, by=fence)


def _step_options(options: argparse.Namespace, name: str, reason: str, **more: Any) -> StepOptions:
    given = {key: getattr(options, key) for key in ("max_lag", "quiet_seconds", "full_audit") if hasattr(options, key)}
    who = (options.who or "").strip() or user_at_host()
    return StepOptions(name, who, reason, dry_run=options.dry_run, timeout=options.wait, progress=_say, **given, **more)


def _say(line: str) -> None:
    """One line of progress on standard error, with the time: a pause is on, and somebody waits."""
    sys.stderr.write(f"{datetime.now(UTC):%H:%M:%S} {visible(line, keep='')}\n")
    sys.stderr.flush()


# ---------------------------------------------------------------- as text


def _outcomes(outcomes: Sequence[StepOutcome], dry_run: bool) -> list[Piece]:
    pieces: list[Piece] = []
    for outcome in outcomes:
        pieces.append(f"{outcome.step}: {words.show_state(outcome.state, dry_run)}")
        pieces += [f"  {line}" for line in (*outcome.lines, *outcome.findings)]
    return pieces


def _wave_pieces(flow: Flow, record: WaveRecord) -> list[Piece]:
    rows = []
    for step in record.order:
        note = record.steps.get(step)
        seconds = "" if note is None or note.ended is None else f"{(note.ended - note.began) / 1000:,.1f}"
        rows.append((step, note.state, show_time(note.began), seconds, note.who) if note else (step, "", "", "", ""))
    groups = f", groups {', '.join(record.groups)}" if record.groups else ""
    head = f"{record.name}: topics {', '.join(record.topics)}{groups}."
    lines = [f"{step}: {line}" for step, note in record.steps.items() if note.state != words.DONE for line in note.lines]
    return [head, *table(_STEPS_HEAD, rows), *lines, f"Next: {'; or '.join(_next_commands(flow, record))}"]


def _next_commands(flow: Flow, record: WaveRecord) -> list[str]:
    wave = f"--flow '{flow.name}' --wave {shlex.quote(record.name)}"
    go_on, take_back, tell = (str(mirror_command(f"cutover {part} {wave}")) for part in ("run", "rollback", "report"))
    if record.state == OPENED:
        return [tell]
    if record.state == TAKING_BACK:
        return [take_back]
    return [go_on] if record.state == ROLLED_BACK else [go_on, take_back]


def _wave_document(flow: Flow, record: WaveRecord) -> dict[str, Any]:
    return {**write_wave(record), "next_step": record.next_step, "commands": _next_commands(flow, record)}


def _run_document(flow: Flow, result: WaveRun) -> dict[str, Any]:
    return {"outcomes": [outcome.as_document() for outcome in result.outcomes], "wave": _wave_document(flow, result.record)}


def _write(wave_report: WaveReport, file: str) -> None:
    """Raises UsageError for a file that cannot be written."""
    text = json.dumps(wave_report.as_document(), indent=2) + "\n" if file.endswith(".json") else wave_report.as_markdown()
    try:
        Path(file).write_text(text, encoding="utf-8")
    except OSError as failure:
        said = f"The report cannot be written to {file}: {failure.strerror}. The wave is as it was."
        raise UsageError(said, next="Name a file in a directory that is there.") from failure


# ---------------------------------------------------------------- a source that came back


_COMPARED_HEAD = ("partition", "state", "copied up to", "only on the source", "no more on the source", "exported")


def compare(flow: Flow, options: argparse.Namespace) -> Answer:
    """Compares; fails when a person must look at something before anything moves back."""
    result = compare_source(flow, getattr(options, "topics", ()), getattr(options, "export", None), not options.without_audit)
    is_stopped = any(finding.kind == STOP for finding in result.findings)
    return Answer(FAILED if is_stopped else DONE, _comparison_document(result), (), _comparison_text(result))


def reopen(flow: Flow, options: argparse.Namespace) -> Answer:
    """Opens the flow."""
    dry_run = getattr(options, "dry_run", False)
    done = reopen_flow(flow, user_at_host(), options.reason, dry_run)
    verb = "would be" if dry_run else "was"
    said = f"{flow.name} {'was already open' if done.was_there else f'{verb} opened'}, in {len(done.lanes)} lanes: {done.decision}."
    return Answer(DONE, {"reopened": str(done.decision), "lanes": list(done.lanes)}, (), said)


def _comparison_text(result: SourceComparison) -> list[Piece]:
    exported = ((result.exported, ""), (result.exported_open, " after the open transaction"))
    rows = [
        (
            compared.source,
            compared.state,
            "-" if compared.watermark is None else compared.watermark,
            f"{compared.only_start}..{compared.only_end - 1}" if compared.only else "-",
            f"{compared.lost_start}..{compared.lost_end - 1}" if compared.lost else "-",
            ", ".join(f"{counts[compared.source]} records{where}" for counts, where in exported if compared.source in counts) or "-",
        )
        for compared in result.partitions
        if compared.only or compared.lost or compared.open_until is not None
    ]
    return [f"{len(result.partitions)} partitions compared.", *table(_COMPARED_HEAD, rows), *map(str, result.findings)]


def _comparison_document(result: SourceComparison) -> dict[str, object]:
    return {
        "time": result.time.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        "partitions": [
            {
                **compared.as_document(),
                "exported_records": result.exported.get(compared.source),
                "exported_open_records": result.exported_open.get(compared.source),
            }
            for compared in result.partitions
        ],
        "audit": None if result.audit is None else result.audit.state,
        "findings": [finding.as_document() for finding in result.findings],
    }
