"""The outcomes of a trial's failovers, and their table."""

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from lab.trial.failovers import FailoverOutcome
from lab.trial.results import RESULTS

_COLUMNS = (
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


def table(outcomes: Sequence[FailoverOutcome]) -> str:
    """A row for each policy, and one for all of them, in Markdown."""
    names = sorted({outcome.blow.policy for outcome in outcomes})
    rows = [_row(name, [outcome for outcome in outcomes if outcome.blow.policy == name]) for name in names]
    rows.append(_row("**all**", outcomes))
    return "\n".join("| " + " | ".join(cells) + " |" for cells in (_COLUMNS, ["---"] + ["---:"] * (len(_COLUMNS) - 1), *rows))


def line(outcome: FailoverOutcome) -> str:
    """One round, for people who wait."""
    what, losses = outcome.blow, outcome.losses
    parts = [
        f"round {outcome.number}, {what.policy}, {outcome.seconds:.0f} s, {outcome.runs} runs",
        f"killed in {what.step}" if outcome.is_hit else "not killed",
        "beside a planned wave" if outcome.is_beside_planned else "alone",
        f"copier {'killed' if what.copier_dies else 'left'}, budget {what.budget}",
        f"{losses.acknowledged:,} acknowledged, {losses.said:,} said missing, {len(losses.lost):,} missing, {losses.later:,} later",
        f"{sum(group.again for group in outcome.groups):,} read again, {sum(group.early for group in outcome.groups):,} early",
        "the source did not come back" if outcome.only_there is None else f"{outcome.only_there:,} only on the source",
    ]
    return "; ".join(parts) + "".join(f"\n    WRONG: {text}" for text in outcome.wrong)


def append(outcomes: Sequence[FailoverOutcome], seed: int, seconds: float, file: Path = RESULTS) -> None:
    """Adds the table, under today's date, to the file of all results."""
    title = f"## {datetime.now(UTC):%Y-%m-%d}, seed {seed}: {len(outcomes)} failovers in {seconds / 60:.0f} minutes"
    bad = [f"- round {outcome.number}, {outcome.blow}: {text}" for outcome in outcomes for text in outcome.wrong]
    text = "" if file.exists() else "# Trials of cutovers\n"
    with file.open("a", encoding="utf-8") as results:
        results.write("\n".join([text, title, "", table(outcomes), "", *bad, *([""] if bad else [])]))


def _row(name: str, outcomes: Sequence[FailoverOutcome]) -> list[str]:
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
