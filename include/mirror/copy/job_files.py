"""The two files between whoever submits the Spark job and the job: the plan goes in, the results come out.

Both are readable by their owner alone (mode 0600 in a directory of 0700). They hold no secret: the job loads the configuration itself and
resolves secrets where they are needed; the plan only carries the hash that says which configuration it was made with.
"""

import json
import os
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mirror.copy.job_lock import in_use, remove_abandoned
from mirror.copy.model import LaneResult
from mirror.copy.results import results_from_columns, results_to_columns
from mirror.errors import ErrorReport, JobFailed, MirrorError, ReportedError
from mirror.plan.encode import from_columns, to_columns
from mirror.plan.model import Plan

_PREFIX = "mirror-copy-"


@dataclass(frozen=True)
class JobFiles:
    """Where the plan and the result of one job are; `directory` is theirs alone. `lock` is a file descriptor that the job has to inherit:
    while anybody has it, nobody else deletes the directory."""

    directory: Path
    lock: int = -1

    @property
    def plan(self) -> Path:
        """The plan, written before the job starts."""
        return self.directory / "plan.json"

    @property
    def result(self) -> Path:
        """The results, written by the job at its end."""
        return self.directory / "result.json"


@contextmanager
def job_files(plan: Plan) -> Iterator[JobFiles]:
    """`job_directory` with a plan."""
    with job_directory(to_columns(plan)) as files:
        yield files


@contextmanager
def job_directory(work: Any) -> Iterator[JobFiles]:
    """A private temporary directory with what the job shall do, as JSON; deleted with all that is in it at the end. Those of jobs that were
    killed go before."""
    remove_abandoned(Path(tempfile.gettempdir()), _PREFIX)
    with tempfile.TemporaryDirectory(prefix=_PREFIX) as directory, in_use(Path(directory)) as lock:
        files = JobFiles(Path(directory), lock)
        write_private(files.plan, work)
        yield files


def read_plan(path: Path) -> Plan:
    """The plan that the submitter wrote."""
    return from_columns(json.loads(path.read_text(encoding="utf-8")))


def write_results(path: Path, results: Iterable[LaneResult]) -> None:
    """Hands the lanes' results back to the submitter."""
    write_private(path, {"results": results_to_columns(results)})


def write_failure(path: Path, error: MirrorError) -> None:
    """Hands back the error that kept the job from copying anything."""
    write_private(path, {"error": error.report().as_dict()})


def read_results(path: Path, detail: str = "") -> list[LaneResult]:
    """What the lanes did. Raises as `read_answer`."""
    return results_from_columns(read_answer(path, detail)["results"])


def read_answer(path: Path, detail: str = "") -> dict[str, Any]:
    """What the job handed back.

    Raises ReportedError with the error that the job reported, and JobFailed (with `detail`, such as the end of its output) when it
    ended without a word.
    """
    if not path.exists():
        raise JobFailed(
            f"The Spark job ended without a result{': ' + detail if detail else '.'}",
            next="Look at the job's output above; what was committed is in the ledger, and the next run goes on behind it.",
        )
    document: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    if "error" in document:
        raise ReportedError(ErrorReport.from_dict(document["error"]))
    return document


def write_private(path: Path, document: Any) -> None:
    """Writes JSON that only its owner can read, and that is complete whenever it is there."""
    unfinished = path.with_name(f".{path.name}.unfinished")
    descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        json.dump(document, file, separators=(",", ":"))
    unfinished.rename(path)
