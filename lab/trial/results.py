"""The tables of what trials gave, which their runs append to RESULTS.md."""

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path

from lab.trial.asset_kills import RoundOutcome
from lab.trial.cutovers import CutoverOutcome, Fault
from lab.trial.failovers import FailoverOutcome
from lab.trial.registry_kills import RegistryRound

RESULTS = Path(__file__).with_name("RESULTS.md")
_WAVE_COLUMNS = ("fault", "waves", "hit", "runs", "not moved", "write pause s, median", "longest")
_FAILOVER_COLUMNS = (
    "failovers",
    "rounds",
    "wave killed",
    "planned wave under way",
    "source came back",
    "records acknowledged",
    "said missing at most",
    "missing",
    "of them written later",
    "read again",
    "of them early",
    "hanging transactions",
    "unexplained",
)


# ------------------------------------------------------------ waves


def append_waves(outcomes: Sequence[CutoverOutcome], lines: Sequence[str], seed: int, seconds: float, file: Path = RESULTS) -> None:
    """Appends the table of waves, and what each group got (`lines`)."""
    bad = [f"- {outcome}" for outcome in outcomes if outcome.wrong]
    _append(file, seed, f"{len(outcomes)} waves", seconds, [wave_table(outcomes), "", *count_hits(outcomes), *lines, *bad])


def wave_table(outcomes: Sequence[CutoverOutcome]) -> str:
    """A row for each fault, and one for all of them, in Markdown."""
    faults = sorted({struck.fault for outcome in outcomes for struck in outcome.faults}, key=str)
    by_fault = {fault: [outcome for outcome in outcomes if fault in {struck.fault for struck in outcome.faults}] for fault in faults}
    rows = [_wave_row(str(fault), of_fault, [fault]) for fault, of_fault in by_fault.items()]
    return _table(_WAVE_COLUMNS, [*rows, _wave_row("**all**", outcomes, faults)])


def count_hits(outcomes: Sequence[CutoverOutcome]) -> list[str]:
    """A line on how often each kill point was hit at least, and one on what the faults were where they differ."""
    faults = [fault for outcome in outcomes for fault in outcome.faults]
    counts = Counter(fault.fault for fault in faults if fault.is_hit)
    points = {fault.fault for fault in faults}
    lines = [f"- {len(points)} kill points, each hit {min(counts[point] for point in points)} times or more"] if points else []
    restarts = sum(outcome.restarts for outcome in outcomes)
    lines += [f"- {restarts} brokers were restarted because a run said that they had lost track of a group"] if restarts else []
    ways = Counter(fault.how for fault in faults if fault.how)
    return lines + ([f"- the faults were: {', '.join(f'{how} {count} times' for how, count in sorted(ways.items()))}"] if ways else [])


def _wave_row(name: str, outcomes: Sequence[CutoverOutcome], faults: Sequence[Fault]) -> list[str]:
    pauses = sorted(outcome.write_pause for outcome in outcomes)
    counts = (
        len(outcomes),
        sum(struck.is_hit and struck.fault in faults for outcome in outcomes for struck in outcome.faults),
        sum(outcome.runs for outcome in outcomes),
        sum(bool(outcome.wrong) for outcome in outcomes),
    )
    return [name, *(f"{count:,}" for count in counts), f"{pauses[len(pauses) // 2]:.1f}", f"{pauses[-1]:.1f}"]


# ------------------------------------------------------------ failovers


def append_failovers(outcomes: Sequence[FailoverOutcome], seed: int, seconds: float, file: Path = RESULTS) -> None:
    """Appends the table of failovers, and a line for each thing that went wrong."""
    bad = [f"- round {outcome.number}, {outcome.blow}: {text}" for outcome in outcomes for text in outcome.wrong]
    _append(file, seed, f"{len(outcomes)} failovers", seconds, [_failover_table(outcomes), *(["", *bad] if bad else [])])


def _failover_table(outcomes: Sequence[FailoverOutcome]) -> str:
    """A row for each policy, and one for all of them, in Markdown."""
    names = sorted({outcome.blow.policy for outcome in outcomes})
    rows = [_failover_row(name, [outcome for outcome in outcomes if outcome.blow.policy == name]) for name in names]
    return _table(_FAILOVER_COLUMNS, [*rows, _failover_row("**all**", outcomes)])


def _failover_row(name: str, outcomes: Sequence[FailoverOutcome]) -> list[str]:
    groups = [group for outcome in outcomes for group in outcome.groups]
    counts = (
        len(outcomes),
        sum(outcome.is_hit for outcome in outcomes),
        sum(outcome.is_beside_planned for outcome in outcomes),
        sum(outcome.only_there is not None for outcome in outcomes),
        sum(outcome.losses.acknowledged for outcome in outcomes),
        sum(outcome.losses.said for outcome in outcomes),
        sum(len(outcome.losses.lost) for outcome in outcomes),
        sum(outcome.losses.later for outcome in outcomes),
        sum(group.again for group in groups),
        sum(group.early for group in groups),
        sum(outcome.aborted for outcome in outcomes),
        sum(len(outcome.wrong) for outcome in outcomes),
    )
    return [name, *(f"{count:,}" for count in counts)]


# ------------------------------------------------------------ kills of what announces days and copies schemas


def append_asset_kills(outcomes: Sequence[RoundOutcome], seed: int, seconds: float, file: Path = RESULTS) -> None:
    """Appends a table of the rounds of asset_kills, with a row for each shape of a round."""
    hit, good = (sum(getattr(outcome, name) for outcome in outcomes) for name in ("is_hit", "is_good"))
    rows = []
    for shape in sorted({outcome.round.shape for outcome in outcomes}):
        of_shape = [outcome for outcome in outcomes if outcome.round.shape == shape]
        counts = (len(of_shape), *(sum(getattr(outcome, name) for outcome in of_shape) for name in ("is_hit", "events", "readers")))
        rows.append([shape, *map(str, counts)])
    kinds = Counter(outcome.round.kind for outcome in outcomes if outcome.is_hit)
    killed = ", ".join(f"{kind} {count} times" for kind, count in sorted(kinds.items()))
    lines = [
        _table(("round", "days", "killed", "events", "runs of the reader"), rows),
        "",
        f"- {good} of {len(outcomes)} days have one event and one run; killed: {killed}",
        *(f"- {outcome}" for outcome in outcomes if not outcome.is_good),
    ]
    _append(file, seed, f"{hit} kills of the task that announces complete days", seconds, lines)


def append_registry_kills(outcomes: Sequence[RegistryRound], seed: int, seconds: float, file: Path = RESULTS) -> None:
    """Appends what the rounds of registry_kills gave."""
    killed, last = sum(outcome.is_hit for outcome in outcomes), outcomes[-1]
    with_modes = sum(outcome.modes > 0 for outcome in outcomes)
    line = (
        f"- {last.versions} versions were copied by {len(outcomes)} processes. {killed} were killed at a write; {with_modes} of these left "
        f"a subject in the mode IMPORT.\n- In the end {last.missing} are missing, and {last.modes} subjects are in that mode; "
        f"{sum(outcome.wrong for outcome in outcomes)} had another id or text at some time."
    )
    _append(file, seed, f"{killed} kills of the process that copies schemas", seconds, [line])


# ------------------------------------------------------------ the file


def _table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    return "\n".join("| " + " | ".join(cells) + " |" for cells in (columns, ["---"] + ["---:"] * (len(columns) - 1), *rows))


def _append(file: Path, seed: int, what: str, seconds: float, lines: Iterable[str]) -> None:
    """Appends a section under today's date."""
    title = f"## {datetime.now(UTC):%Y-%m-%d}, seed {seed}: {what} in {seconds / 60:.0f} minutes"
    start = "" if file.exists() else "# Trials of cutovers\n"
    with file.open("a", encoding="utf-8") as results:
        results.write("\n".join([start, title, "", *lines, ""]))
