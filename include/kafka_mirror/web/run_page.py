"""The content of the tab on a copy's run: its verdict, what failed, and how far its partitions came."""

from collections.abc import Sequence
from dataclasses import dataclass

from kafka_mirror.copy.batch_text import batches_text
from kafka_mirror.copy.model import Watermark
from kafka_mirror.copy.verdict import DONE, FAILED, NOTHING_TO_DO, Verdict, other_runs_text
from kafka_mirror.errors import ErrorReport
from kafka_mirror.errors.words import count_text
from kafka_mirror.status.airflow_view import CopyRun
from kafka_mirror.web.formatting import number, size

MAX_ROWS = 200
"""So many partitions are listed, those with most records first, and so many errors."""

_RUNNING = ("queued", "running")


@dataclass(frozen=True)
class RunPage:
    """What the tab shows. `level` as in FlowState; `sentences` stand below the first one."""

    run: CopyRun
    level: str
    words: str
    sentences: Sequence[str] = ()
    errors: Sequence[ErrorReport] = ()
    watermarks: Sequence[Watermark] = ()
    left_out: int = 0
    """How many partitions moved and are not listed."""


def run_page(found: CopyRun) -> RunPage:
    """The tab of a run."""
    if found.verdict is None:
        return RunPage(found, *_without_verdict(found))
    moved = sorted((each for each in found.watermarks if each.records), key=lambda each: (-each.records, each.topic, each.partition))
    return RunPage(
        found,
        *_of_verdict(found.verdict),
        _sentences(found.verdict),
        found.verdict.errors[:MAX_ROWS],
        moved[:MAX_ROWS],
        max(0, len(moved) - MAX_ROWS),
    )


def _without_verdict(found: CopyRun) -> tuple[str, str]:
    if found.said:
        return "stuck" if found.run.state == "failed" else "fine", f"Dry run. {found.said}"
    if found.run.state in _RUNNING:
        return "behind", "This run goes on; its verdict comes last."
    return (
        "stuck",
        "This run ended without a verdict: the log of the task that failed says why. The next run goes on behind what was committed.",
    )


def _of_verdict(verdict: Verdict) -> tuple[str, str]:
    copied = f"{count_text(verdict.records, 'record')} ({size(verdict.bytes)}) copied"
    if verdict.state == FAILED:
        return "behind" if verdict.retriable else "stuck", f"Failed: {count_text(len(verdict.errors), 'error')}, {copied}."
    return "fine", {DONE: f"Done: {copied}.", NOTHING_TO_DO: "Nothing to do: no partition had new records."}[verdict.state]


def _sentences(verdict: Verdict) -> list[str]:
    said = [*batches_text(verdict.batches, verdict.rewritten), *other_runs_text(verdict.copied_elsewhere)]
    if verdict.owed:
        said.append(f"{number(verdict.owed)} offsets are left for the next run")
    if verdict.skipped:
        said.append(f"{count_text(verdict.skipped, 'record')} were skipped (errors.tolerance=all)")
    return [*(f"{sentence[0].upper()}{sentence[1:]}." for sentence in said), *verdict.notices]
