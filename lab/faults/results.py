"""The outcomes of the rounds, and their table."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from lab.faults.translations import Tally
from services.comparison import Account

RESULTS = Path(__file__).with_name("RESULTS.md")
_COLUMNS = (
    *("fault", "rounds", "in time", "runs to mend", "records checked", "lost", "doubled", "foreign", "disordered"),
    *("positions judged", "late", "falsely exact", "stuck"),
)
_SHOWN, _DECIDED = 5, 12


@dataclass(frozen=True)
class Outcome:
    """One round. `in_time` says whether the copy still ran when it was hit; `stuck` says why the next runs did not
    mend the flow, if they did not."""

    number: int
    fault: str
    in_time: bool
    runs: int
    accounts: tuple[Account, ...]
    seconds: float
    stuck: str = ""
    judged: Tally = field(default_factory=Tally)
    at_last: Tally = field(default_factory=Tally)
    """What was judged when all was copied."""
    decided: tuple[str, ...] = ()
    """What people had decided until then, the latest last."""

    @property
    def records(self) -> int:
        return sum(account.source_records for account in self.accounts)

    @property
    def wrong(self) -> tuple[int, int, int, int]:
        """Lost, doubled, foreign, disordered."""
        counts = [(account.lost, account.doubled, account.foreign, account.disordered) for account in self.accounts]
        lost, doubled, foreign, disordered = (sum(column) for column in zip(*counts, strict=True)) if counts else (0, 0, 0, 0)
        return lost, doubled, foreign, disordered

    @property
    def is_good(self) -> bool:
        """Whether the mirror was exact afterwards, without the help of a person."""
        return not self.stuck and not any(self.wrong) and not self.judged.late and not self.judged.falsely_exact

    def __str__(self) -> str:
        lost, doubled, foreign, disordered = self.wrong
        records = f"{lost} lost, {doubled} doubled, {foreign} foreign, {disordered} disordered" if any(self.wrong) else "equal"
        when = "" if self.in_time else ", after the copy's end"
        mended = f"{self.runs} runs to mend; {self.records} records {records}; {self.seconds:.0f} s"
        text = f"round {self.number}: {self.fault}{when}; {mended}"
        late, exact = self.judged.late, self.judged.falsely_exact
        problems: list[str] = []
        if late or exact:
            remaining = len(self.at_last.late) + len(self.at_last.falsely_exact)
            what = f"{len(late)} late and {len(exact)} falsely exact of {self.judged.answers} positions"
            problems = [f"{what}, {remaining} of them when all was copied", *map(str, (*late[-_SHOWN:], *exact[-_SHOWN:]))]
        problems += [f"stuck: {self.stuck}"] if self.stuck else []
        problems += [f"decided: {'; '.join(self.decided[-_DECIDED:])}"] if self.decided and not self.is_good else []
        return "\n  ".join([text, *problems])


def table(outcomes: Sequence[Outcome]) -> str:
    """One row for each fault, and one for all of them, in Markdown."""
    faults = sorted({outcome.fault for outcome in outcomes})
    rows = [_row(fault, [outcome for outcome in outcomes if outcome.fault == fault]) for fault in faults]
    rows.append(_row("**all**", outcomes))
    lines = [_COLUMNS, ["---"] + ["---:"] * (len(_COLUMNS) - 1), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def disk_text(batches: Mapping[str, int]) -> str:
    """What Kafka's own tool found on the target's disks, as a sentence."""
    counts = f"{batches['valid']:,} valid and {batches['invalid']:,} invalid batches with {batches['records']:,} records, all opened"
    return f"DumpLogSegments on the target's disks: {counts}."


def append(outcomes: Sequence[Outcome], on_disk: Mapping[str, int], seed: int, seconds: float, results: Path = RESULTS) -> None:
    """Adds the table, under today's date, to the file of all results; below it what stands on the target's disks."""
    title = f"## {datetime.now(UTC):%Y-%m-%d}, seed {seed}: {len(outcomes)} rounds in {seconds / 60:.0f} minutes"
    bad = [f"- {outcome}" for outcome in outcomes if not outcome.is_good]
    with results.open("a", encoding="utf-8") as file:
        file.write("\n".join(["", title, "", table(outcomes), "", disk_text(on_disk), *(["", *bad] if bad else []), ""]))


def _row(fault: str, outcomes: Sequence[Outcome]) -> list[str]:
    wrong = (sum(column) for column in zip(*(outcome.wrong for outcome in outcomes), strict=True))
    counts = (
        len(outcomes),
        sum(outcome.in_time for outcome in outcomes),
        sum(outcome.runs for outcome in outcomes),
        sum(outcome.records for outcome in outcomes),
        *wrong,
        sum(outcome.judged.answers for outcome in outcomes),
        sum(len(outcome.judged.late) for outcome in outcomes),
        sum(len(outcome.judged.falsely_exact) for outcome in outcomes),
        sum(bool(outcome.stuck) for outcome in outcomes),
    )
    return [fault, *(f"{count:,}" for count in counts)]
