"""A large audit as a Spark job, jobs/audit_ranges.py: when it is one, what goes in, what comes out, and how it is started by hand."""

import base64
import pickle
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mirror.audit.run import Compare
from mirror.audit.stretch import Stretch
from mirror.audit.stretch_audit import audit_stretches
from mirror.audit.work import AuditWork, Outcome
from mirror.config.connections import handed_over
from mirror.copy.job_files import JobFiles, job_directory, read_answer, write_private
from mirror.copy.spark_start import INCLUDE, LOCAL_MASTER, master_of
from mirror.copy.spark_submit import Job, submit

if TYPE_CHECKING:
    from collections.abc import Callable

    from mirror.config import Flow

JOB = INCLUDE.parent / "jobs" / "audit_ranges.py"


def by_size(flow: "Flow", submitted: "Callable[[AuditWork, Sequence[Stretch]], list[Outcome]]") -> Compare:
    """Compares in this process what is small, and by a Spark job what is more than mirror.audit.spark.threshold."""

    def compare(work: AuditWork, stretches: Sequence[Stretch]) -> list[Outcome]:
        few = sum(stretch.offsets for stretch in stretches) <= flow.value("mirror.audit.spark.threshold")
        return audit_stretches(work, stretches) if few else submitted(work, stretches)

    return compare


def by_hand(flow: "Flow", master: str | None) -> Compare:
    """Compares by a Spark job whose driver is on this host. Raises what the job reports, and JobFailed when it ends without a word."""

    def compare(work: AuditWork, stretches: Sequence[Stretch]) -> list[Outcome]:
        connection = flow.value("mirror.spark.connection")
        with audit_job(flow, work, stretches) as (files, job):
            chosen = master or (master_of(connection) if connection else LOCAL_MASTER)
            ended = submit(job, files, chosen, flow.value("mirror.spark.properties.file"), flow.file, handed_over(flow))
            return read_outcomes(files.result, ended)

    return compare


@contextmanager
def audit_job(flow: "Flow", work: AuditWork, stretches: Sequence[Stretch]) -> Iterator[tuple[JobFiles, Job]]:
    """The files of a job and how it is called. No secret is in them: the job loads the configuration itself."""
    document = {"flow": flow.name, "config": flow.config_hash, "show_payload": work.show_payload, "stretches": _packed(list(stretches))}
    with job_directory(document) as files:
        yield files, Job(JOB, f"mirror audit {flow.name}", [str(files.plan), str(files.result)])


def stretches_of(document: Mapping[str, Any]) -> list[Stretch]:
    """The stretches in the document that a job was given."""
    found: list[Stretch] = _unpacked(document["stretches"])
    return found


def write_outcomes(path: Path, outcomes: Sequence[Outcome]) -> None:
    """Hands the outcomes back to the submitter."""
    write_private(path, {"outcomes": _packed(list(outcomes))})


def read_outcomes(path: Path, detail: str) -> list[Outcome]:
    """The outcomes of a job. Raises ReportedError, and JobFailed with `detail`."""
    found: list[Outcome] = _unpacked(read_answer(path, detail)["outcomes"])
    return found


def _packed(values: Any) -> str:
    return base64.b64encode(pickle.dumps(values)).decode("ascii")


def _unpacked(text: str) -> Any:
    # Both files lie in a directory of our own that nobody else can write to.
    return pickle.loads(base64.b64decode(text))  # noqa: S301
