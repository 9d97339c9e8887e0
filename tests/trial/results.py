"""What came of the waves of a trial, and the table of it."""

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path

from tests.trial.cutovers import NO_FAULT, CutoverOutcome
from tests.trial.journal import Verdict

RESULTS = Path(__file__).with_name("RESULTS.md")
_COLUMNS = ("fault", "waves", "hit", "runs", "not moved", "write pause s, median", "longest")


def table(outcomes: Sequence[CutoverOutcome]) -> str:
    """A row for each fault, and one for all of them, in Markdown."""
    names = sorted({str(outcome.fault) for outcome in outcomes})
    rows = [_row(name, [outcome for outcome in outcomes if str(outcome.fault) == name]) for name in names]
    rows.append(_row("**all**", outcomes))
    return "\n".join("| " + " | ".join(cells) + " |" for cells in (_COLUMNS, ["---"] + ["---:"] * (len(_COLUMNS) - 1), *rows))


def summary(policy: str, verdicts: Iterable[Verdict]) -> list[str]:
    """A line for each group."""
    return [f"- {policy}: {verdict}" for verdict in verdicts]


def hits(outcomes: Sequence[CutoverOutcome]) -> list[str]:
    """A line on how often each kill point was hit at least, and one on what the faults were where they differ."""
    counts = {outcome.fault: 0 for outcome in outcomes if outcome.fault.kind != NO_FAULT}
    for outcome in outcomes:
        if outcome.is_hit:
            counts[outcome.fault] += 1
    lines = [f"- {len(counts)} kill points, each hit {min(counts.values())} times or more"] if counts else []
    ways = Counter(outcome.how for outcome in outcomes if outcome.how)
    return lines + ([f"- killed: {', '.join(f'{how} {count} times' for how, count in sorted(ways.items()))}"] if ways else [])


def append(outcomes: Sequence[CutoverOutcome], lines: Sequence[str], seed: int, seconds: float, file: Path = RESULTS) -> None:
    """Adds the table, under today's date, to the file of all results."""
    title = f"## {datetime.now(UTC):%Y-%m-%d}, seed {seed}: {len(outcomes)} waves in {seconds / 60:.0f} minutes"
    bad = [f"- wave {outcome.number}, {outcome.policy}, {outcome.fault}: {text}" for outcome in outcomes for text in outcome.wrong]
    text = "" if file.exists() else "# Trials of cutovers\n"
    with file.open("a", encoding="utf-8") as results:
        results.write("\n".join([text + "", title, "", table(outcomes), "", *hits(outcomes), *lines, *bad, ""]))


def _row(name: str, outcomes: Sequence[CutoverOutcome]) -> list[str]:
    pauses = sorted(outcome.write_pause for outcome in outcomes)
    counts = (
        len(outcomes),
        sum(outcome.is_hit or outcome.fault.kind == NO_FAULT for outcome in outcomes),
        sum(outcome.runs for outcome in outcomes),
        sum(bool(outcome.wrong) for outcome in outcomes),
    )
    return [name, *(f"{count:,}" for count in counts), f"{pauses[len(pauses) // 2]:.1f}", f"{pauses[-1]:.1f}"]
