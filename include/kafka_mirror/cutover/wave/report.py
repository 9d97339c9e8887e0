"""The report of a wave: who moved what and when, how long no application could write and read, what was audited, and how to go back. Pure.

Of a wave whose source is lost it says what may be missing, and what groups read again.

It is made of the wave's record, and of what the source shows now, so it can be had as long as the control topic is there. Times are
milliseconds UTC.
"""

import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from kafka_mirror.cutover.failover.missing_records import MISSING, MissingListing, read_missing, show_missing
from kafka_mirror.cutover.wave.record import OPENED, ROLLED_BACK, StepNote, WaveRecord
from kafka_mirror.cutover.wave.step import (
    AUDIT_GATE,
    EMPTY_SINCE_MS,
    FENCE,
    KNOWN_MS,
    LAST_WRITE_MS,
    MOVE_GROUPS,
    OPEN,
    PREFLIGHT,
    QUIET_SINCE_MS,
    RECORDS,
    REREAD,
)
from kafka_mirror.errors import ErrorReport
from kafka_mirror.errors.next_step import mirror_command
from kafka_mirror.formats.documents import moment_text, to_document
from kafka_mirror.groups.group_move import AFTER, BEFORE, read_by_partition

MAX_ROWS = 200
"""How many positions the page lists; the document has all."""


@dataclass(frozen=True)
class GroupPosition:
    """One position of a group on the target: its offset before the wave and since; None where it has none. `reread`: how many records it
    reads again at most of those that it is known to have read (None: that is unknown)."""

    group: str
    topic: str
    partition: int
    before: int | None
    after: int | None
    reread: int | None = 0


@dataclass(frozen=True)
class WaveReport:
    """What there is to say of a wave, whether it is open or not yet."""

    flow: str
    record: WaveRecord
    groups: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """What was noted of each group."""
    written: tuple[ErrorReport, ...] = ()
    """Records that stand on the source and that no flow copies, since the wave opened; or why that is unknown."""

    @property
    def write_pause(self) -> int | None:
        """For how many milliseconds no producer could write: from the last write, or if that was before the wave, since the ends are still,
        until producers may write on the target. None before that."""
        facts = self.record.facts_of(FENCE)
        last, quiet = _time(facts.get(LAST_WRITE_MS)), _time(facts.get(QUIET_SINCE_MS))
        return self._measure_to_open(quiet if last is None or last < self.record.began else last)

    @property
    def read_pause(self) -> int | None:
        """For how many milliseconds no group could read: since the last of them had no members. None before the wave is open, or if it
        moved no group."""
        return self._measure_to_open(_time(self.record.facts_of(MOVE_GROUPS).get(EMPTY_SINCE_MS)))

    @property
    def audited(self) -> int | None:
        """How many records the audit compared; None if it did not say."""
        records = self.record.facts_of(AUDIT_GATE).get(RECORDS)
        return records if type(records) is int else None

    @property
    def positions(self) -> tuple[GroupPosition, ...]:
        """All positions of all groups, in order."""
        positions = []
        for group, facts in sorted(self.groups.items()):
            before, after, reread = (read_by_partition(facts.get(name) or {}) for name in (BEFORE, AFTER, REREAD))
            places = sorted({*before, *after})
            positions += [GroupPosition(group, *place, before.get(place), after.get(place), reread.get(place, 0)) for place in places]
        return tuple(positions)

    @property
    def missing_listing(self) -> MissingListing | None:
        """What may be missing on the target; None of a planned wave, which loses nothing."""
        document = self.record.facts_of(PREFLIGHT).get(MISSING)
        return read_missing(document) if isinstance(document, Mapping) else None

    @property
    def checkpoint_times(self) -> Mapping[str, int]:
        """Of each group the time of its oldest checkpoint, where the source is lost: what it read since then it reads again."""
        times = {group: _time(facts.get(KNOWN_MS)) for group, facts in sorted(self.groups.items())}
        return {group: time for group, time in times.items() if time is not None}

    @property
    def undo(self) -> tuple[str, ...]:
        """The commands that take the wave back: a roll back, or after `open` a wave of the opposite flow."""
        if self.record.state == ROLLED_BACK:
            return ()
        if self.record.state != OPENED:
            return (str(mirror_command(f"cutover rollback --flow '{self.flow}' --wave {shlex.quote(self.record.name)}")),)
        source, _, target = self.flow.partition("->")
        groups = f" --groups {shlex.quote(','.join(self.record.groups))}" if self.record.groups else ""
        wave = f"--flow '{target}->{source}' --topics {shlex.quote(','.join(self.record.topics))}{groups}"
        return (str(mirror_command(f"cutover plan {wave}")), str(mirror_command(f"cutover run {wave}")))

    def as_document(self) -> dict[str, Any]:
        """The report as JSON has it; times in ISO 8601, pauses in seconds."""
        return {
            "flow": self.flow,
            **write_wave(self.record),
            "write_pause_seconds": _seconds(self.write_pause),
            "read_pause_seconds": _seconds(self.read_pause),
            "audited_records": self.audited,
            "may_be_missing": None if self.missing_listing is None else self.missing_listing.as_document(),
            "positions": [vars(position) for position in self.positions],
            "groups_known_at": {group: show_time(time) for group, time in self.checkpoint_times.items()},
            "written_on_source": to_document(self.written),
            "undo": list(self.undo),
        }

    def as_markdown(self) -> str:
        """The report as a page."""
        return "\n".join(self._write_page()) + "\n"

    def _write_page(self) -> Iterator[str]:
        record = self.record
        yield f"# Wave {record.name} of {self.flow}: {record.state}"
        yield ""
        yield f"- Topics: {_code(record.topics)}; groups: {_code(record.groups) or 'all with a position in them'}; mode: {record.mode}."
        yield f"- Begun by {_text(record.who)} at {show_time(record.began)}: {_text(record.why)}"
        if record.ended is not None:
            yield f"- {record.state.capitalize()} at {show_time(record.ended)}, after {(record.ended - record.began) / 1000:,.1f} s."
        yield f"- Write pause: {_pause(self.write_pause)}. Read pause: {_pause(self.read_pause)}."
        yield f"- Records audited: {'unknown' if self.audited is None else f'{self.audited:,}'}."
        yield from ("", "## Steps", "", "| step | state | who | began | seconds |", "|---|---|---|---|---|")
        for step in record.order:
            yield _show_step(step, record.steps.get(step))
        if self.written:
            yield from ("", "## Written on the source since", "", *(f"- {_text(str(error))}" for error in self.written))
        if self.missing_listing is not None:
            yield from show_missing(self.missing_listing, MAX_ROWS)
        yield from self._write_positions()
        if self.undo:
            yield from ("", "## How to go back", "", "```sh", *self.undo, "```")

    def _write_positions(self) -> Iterator[str]:
        positions = self.positions
        if positions:
            head = ("| group | topic on the target | partition | before | after | reads again at most |", "|---|---|---|---|---|---|")
            yield from ("", "## Positions on the target", "", *head)
        for place in positions[:MAX_ROWS]:
            cells = (_cell(place.group), place.topic, place.partition, _offset(place.before), _offset(place.after))
            yield f"| {' | '.join(map(str, cells))} | {'unknown' if place.reread is None else f'{place.reread:,}'} |"
        if len(positions) > MAX_ROWS:
            yield f"\n{len(positions) - MAX_ROWS:,} more positions are in the JSON of this report."
        for group, time in self.checkpoint_times.items():
            yield f"\nWhat {_text(group)} read on the source after its checkpoints it reads again; the oldest is of {show_time(time)}."

    def _measure_to_open(self, since: int | None) -> int | None:
        note = self.record.steps.get(OPEN)
        if since is None or note is None or note.ended is None or self.record.state != OPENED:
            return None
        return max(0, note.ended - since)


def write_wave(record: WaveRecord) -> dict[str, Any]:
    """A wave and its steps as JSON has them in the report and in `cutover status`."""
    return {
        "wave": record.name,
        "topics": list(record.topics),
        "groups": list(record.groups),
        "mode": record.mode,
        "state": record.state,
        "who": record.who,
        "why": record.why,
        "began": show_time(record.began),
        "ended": show_time(record.ended),
        "attempt": record.attempt,
        "steps": [_write_step(step, record.steps[step]) for step in record.order if step in record.steps],
    }


def _write_step(step: str, note: StepNote) -> dict[str, Any]:
    return {
        "step": step,
        "state": note.state,
        "who": note.who,
        "began": show_time(note.began),
        "ended": show_time(note.ended),
        "seconds": _seconds(None if note.ended is None else note.ended - note.began),
        "lines": list(note.lines),
        "facts": dict(note.facts),
    }


def show_time(milliseconds: int | None) -> str | None:
    """A time of a record as text, such as 2026-11-21T08:00:00.000Z."""
    return None if milliseconds is None else moment_text(datetime.fromtimestamp(milliseconds / 1000, UTC))


def _time(value: Any) -> int | None:
    return value if type(value) is int and value >= 0 else None


def _seconds(milliseconds: int | None) -> float | None:
    return None if milliseconds is None else milliseconds / 1000


def _pause(milliseconds: int | None) -> str:
    return "–" if milliseconds is None else f"{milliseconds / 1000:,.1f} s"


def _offset(offset: int | None) -> str:
    return "–" if offset is None else str(offset)


def _show_step(step: str, note: StepNote | None) -> str:
    if note is None:
        return f"| {step} | | | | |"
    seconds = "" if note.ended is None else f"{(note.ended - note.began) / 1000:,.1f}"
    return f"| {step} | {note.state} | {_cell(note.who)} | {show_time(note.began)} | {seconds} |"


def _code(words: tuple[str, ...]) -> str:
    return ", ".join(f"`{word}`" for word in words)


def _cell(text: str) -> str:
    return _text(text).replace("|", "\\|")


def _text(text: str) -> str:
    """A person's words in one line."""
    return " ".join(text.split())
