"""The waves of a flow's cutovers: each a track of its steps, with times."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from kafka_mirror.cutover.wave.record import OPENED, ROLLED_BACK, RUNNING, UNDER_WAY, StepNote, decode_wave
from kafka_mirror.cutover.wave.step import DONE, STOPPED, WAITING, read_code

MAX_WAVES = 20
"""How many waves a page shows, the newest; `kafka-mirror cutover status` lists all."""
_LEVELS = {DONE: "fine", WAITING: "behind", RUNNING: "behind", STOPPED: "stuck"}
_NOT_BEGUN = "not begun"


@dataclass(frozen=True)
class SaidLine:
    """One line of what a step said. `code`: of the error that it tells of, between the text before it and the text after it."""

    text: str
    code: str = ""
    rest: str = ""


@dataclass(frozen=True)
class TrackStep:
    """One step of a wave. `seconds` is how long it took, None while it runs; `lines` are what it said."""

    name: str
    state: str
    level: str
    began: datetime | None = None
    seconds: float | None = None
    lines: tuple[SaidLine, ...] = ()


@dataclass(frozen=True)
class WaveTrack:
    """One wave: what it moves, how it stands, its steps in order. `reason` says why its record cannot be read, if so."""

    name: str
    state: str
    level: str
    began: datetime | None = None
    topics: str = ""
    groups: str = ""
    who: str = ""
    why: str = ""
    steps: tuple[TrackStep, ...] = ()
    reason: str = ""

    @property
    def is_over(self) -> bool:
        """Whether nothing is left to do for it."""
        return self.state in (OPENED, ROLLED_BACK)


def wave_tracks(documents: Mapping[str, str]) -> list[WaveTrack]:
    """The waves under way first, then the newest; at most MAX_WAVES."""
    tracks = [_track(name, document) for name, document in documents.items()]
    never = datetime.min.replace(tzinfo=UTC)
    newest = sorted(tracks, key=lambda track: track.began or never, reverse=True)
    return sorted(newest, key=lambda track: track.is_over)[:MAX_WAVES]


def _track(name: str, document: str) -> WaveTrack:
    try:
        record = decode_wave(name, document)
    except ValueError as failure:
        return WaveTrack(name, "unreadable", "unknown", reason=f"This version cannot read the wave's record: {failure}.")
    steps = tuple(_step(step, record.steps.get(step)) for step in record.order)
    if record.state == OPENED:
        level = "fine"
    else:
        stuck = any(step.level == "stuck" for step in steps)
        level = "unknown" if record.state != UNDER_WAY else "stuck" if stuck else "behind"
    return WaveTrack(
        name,
        record.state,
        level,
        _time(record.began),
        ", ".join(record.topics),
        ", ".join(record.groups) or "all with a position there",
        record.who,
        record.why,
        steps,
    )


def _step(name: str, note: StepNote | None) -> TrackStep:
    if note is None:
        return TrackStep(name, _NOT_BEGUN, "unknown")
    seconds = None if note.ended is None else (note.ended - note.began) / 1000
    lines = tuple(SaidLine(*line.partition(code)) if (code := read_code(line)) else SaidLine(line) for line in note.lines)
    return TrackStep(name, note.state, _LEVELS.get(note.state, "unknown"), _time(note.began), seconds, lines)


def _time(milliseconds: int) -> datetime:
    return datetime.fromtimestamp(milliseconds / 1000, UTC)
