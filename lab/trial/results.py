"""The outcomes of a trial's waves, and their table."""

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path

from lab.trial.asset_kills import RoundOutcome
from lab.trial.cutovers import CutoverOutcome, Fault
from lab.trial.journal import Verdict
from lab.trial.registry_kills import RegistryRound

RESULTS = Path(__file__).with_name("RESULTS.md")
_COLUMNS = ("fault", "waves", "hit", "runs", "not moved", "write pause s, median", "longest")


def table(outcomes: Sequence[CutoverOutcome]) -> str:
    """A row for each fault, and one for all of them, in Markdown."""
    faults = sorted({struck.fault for outcome in outcomes for struck in outcome.faults}, key=str)
    rows = [_row(str(fault), [outcome for outcome in outcomes if fault in _faults(outcome)], [fault]) for fault in faults]
    rows.append(_row("**all**", outcomes, faults))
    return "\n".join("| " + " | ".join(cells) + " |" for cells in (_COLUMNS, ["---"] + ["---:"] * (len(_COLUMNS) - 1), *rows))


def summary(policy: str, verdicts: Iterable[Verdict]) -> list[str]:
    """A line for each group."""
    return [f"- {policy}: {verdict}" for verdict in verdicts]


def hits(outcomes: Sequence[CutoverOutcome]) -> list[str]:
    """A line on how often each kill point was hit at least, and one on what the faults were where they differ."""
    faults = [fault for outcome in outcomes for fault in outcome.faults]
    counts = Counter(fault.fault for fault in faults if fault.is_hit)
    points = {fault.fault for fault in faults}
    lines = [f"- {len(points)} kill points, each hit {min(counts[point] for point in points)} times or more"] if points else []
    restarts = sum(outcome.restarts for outcome in outcomes)
    lines += [f"- {restarts} brokers were restarted because a run said that they had lost track of a group"] if restarts else []
    ways = Counter(fault.how for fault in faults if fault.how)
    return lines + ([f"- the faults were: {', '.join(f'{how} {count} times' for how, count in sorted(ways.items()))}"] if ways else [])


def append(outcomes: Sequence[CutoverOutcome], lines: Sequence[str], seed: int, seconds: float, file: Path = RESULTS) -> None:
    """Adds the table, under today's date, to the file of all results."""
    title = f"## {datetime.now(UTC):%Y-%m-%d}, seed {seed}: {len(outcomes)} waves in {seconds / 60:.0f} minutes"
    bad = [f"- {outcome}" for outcome in outcomes if outcome.wrong]
    text = "" if file.exists() else "# Trials of cutovers\n"
    with file.open("a", encoding="utf-8") as results:
        results.write("\n".join([text, title, "", table(outcomes), "", *hits(outcomes), *lines, *bad, ""]))


def append_asset_kills(outcomes: Sequence[RoundOutcome], seed: int, seconds: float, file: Path = RESULTS) -> None:
    """Adds a table of the rounds of asset_kills: a row for each shape of a round."""
    hit, good = (sum(getattr(outcome, name) for outcome in outcomes) for name in ("is_hit", "is_good"))
    title = (
        f"## {datetime.now(UTC):%Y-%m-%d}, seed {seed}: {hit} kills of the task that announces complete days, in {seconds / 60:.0f} minutes"
    )
    columns = ("round", "days", "killed", "events", "runs of the reader")
    rows = [columns, ("---", *["---:"] * 4)]
    for shape in sorted({outcome.round.shape for outcome in outcomes}):
        of_shape = [outcome for outcome in outcomes if outcome.round.shape == shape]
        counts = (len(of_shape), *(sum(getattr(outcome, name) for outcome in of_shape) for name in ("is_hit", "events", "readers")))
        rows.append((shape, *map(str, counts)))
    killed = Counter(outcome.round.kind for outcome in outcomes if outcome.is_hit)
    lines = [
        f"- {good} of {len(outcomes)} days have one event and one run; killed: "
        + ", ".join(f"{kind} {count} times" for kind, count in sorted(killed.items())),
        *(f"- {outcome}" for outcome in outcomes if not outcome.is_good),
    ]
    with file.open("a", encoding="utf-8") as results:
        results.write("\n".join(["", title, "", *("| " + " | ".join(row) + " |" for row in rows), "", *lines, ""]))


def append_registry_kills(outcomes: Sequence[RegistryRound], seed: int, seconds: float, file: Path = RESULTS) -> None:
    """Adds what came of the rounds of registry_kills."""
    killed, last = sum(outcome.is_hit for outcome in outcomes), outcomes[-1]
    title = (
        f"## {datetime.now(UTC):%Y-%m-%d}, seed {seed}: {killed} kills of the process that copies schemas, in {seconds / 60:.0f} minutes"
    )
    with_modes = sum(outcome.modes > 0 for outcome in outcomes)
    line = (
        f"- {last.versions} versions were copied by {len(outcomes)} processes. {killed} were killed at a write; {with_modes} of these left "
        f"a subject in the mode IMPORT.\n- In the end {last.missing} are missing, and {last.modes} subjects are in that mode; "
        f"{sum(outcome.wrong for outcome in outcomes)} had another id or text at some time."
    )
    with file.open("a", encoding="utf-8") as results:
        results.write("\n".join(["", title, "", line, ""]))


def _faults(outcome: CutoverOutcome) -> list[Fault]:
    return [struck.fault for struck in outcome.faults]


def _row(name: str, outcomes: Sequence[CutoverOutcome], faults: Sequence[Fault]) -> list[str]:
    pauses = sorted(outcome.write_pause for outcome in outcomes)
    counts = (
        len(outcomes),
        sum(struck.is_hit and struck.fault in faults for outcome in outcomes for struck in outcome.faults),
        sum(outcome.runs for outcome in outcomes),
        sum(bool(outcome.wrong) for outcome in outcomes),
    )
    return [name, *(f"{count:,}" for count in counts), f"{pauses[len(pauses) // 2]:.1f}", f"{pauses[-1]:.1f}"]
