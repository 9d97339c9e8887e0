"""A large audit on Spark: when it is one, and how it is started by hand.

As a job, jobs/audit_ranges.py: what goes in, what comes out. In a session of a Spark that stays: this process is its driver."""

import base64
import pickle
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kafka_mirror.audit.compare_ranges import compare_audit_ranges
from kafka_mirror.audit.context import AuditContext
from kafka_mirror.audit.parallel import compare_on_spark
from kafka_mirror.audit.range import AuditRange, Outcome
from kafka_mirror.audit.run import Compare
from kafka_mirror.spark.connect_url import is_connect
from kafka_mirror.spark.files import JobFiles, job_directory, read_answer, write_private
from kafka_mirror.spark.start import JOBS, master_by_hand
from kafka_mirror.spark.submit import Job, submit

if TYPE_CHECKING:
    from kafka_mirror.config import Flow
    from kafka_mirror.spark.connect import ConnectSession

JOB = JOBS / "audit_ranges.py"


def by_size(flow: "Flow", on_spark: Compare, in_process: Compare = compare_audit_ranges) -> Compare:
    """Compares in this process what is small, and on Spark what is more than mirror.audit.spark.threshold."""

    def compare(context: AuditContext, stretches: Sequence[AuditRange]) -> list[Outcome]:
        few = sum(stretch.offsets for stretch in stretches) <= flow.value("mirror.audit.spark.threshold")
        return in_process(context, stretches) if few else on_spark(context, stretches)

    return compare


def by_hand(flow: "Flow", master: str | None, by: str) -> Compare:
    """Compares by a Spark job whose driver is on this host, or in a session of a Spark Connect server, where `by` says which command it is.
    Raises what the job reports, and JobFailed when it ends without a word."""

    def compare(context: AuditContext, stretches: Sequence[AuditRange]) -> list[Outcome]:
        """The outcomes of the stretches, from the Spark that the command or the flow names."""
        chosen = master_by_hand(master, flow.value("mirror.spark.connection"))
        if is_connect(chosen):
            from kafka_mirror.spark.connect import flow_session

            with flow_session(flow, "audit", f"hand: {by}", chosen) as session:
                return compare_in_session(session, flow, context, stretches)
        with audit_job(flow, context, stretches) as (files, job):
            ended = submit(job, files, flow, chosen)
            return read_outcomes(files.result, ended)

    return compare


def compare_in_session(session: "ConnectSession", flow: "Flow", context: AuditContext, stretches: Sequence[AuditRange]) -> list[Outcome]:
    """Compares on a Spark that stays; the outcomes in any order."""
    return compare_on_spark(context, stretches, flow.value("mirror.audit.spark.threshold"), session.cores, session.run)


@contextmanager
def audit_job(flow: "Flow", context: AuditContext, stretches: Sequence[AuditRange]) -> Iterator[tuple[JobFiles, Job]]:
    """The files of a job and how it is called. No secret is in them: the job loads the configuration itself."""
    document = {"flow": flow.name, "config": flow.config_hash, "show_payload": context.show_payload, "stretches": _packed(list(stretches))}
    with job_directory(document) as files:
        yield files, Job(JOB, f"mirror audit {flow.name}", [str(files.plan), str(files.result)])


def stretches_of(document: Mapping[str, Any]) -> list[AuditRange]:
    """The stretches in the document that a job was given."""
    stretches: list[AuditRange] = _unpacked(document["stretches"])
    return stretches


def write_outcomes(path: Path, outcomes: Sequence[Outcome]) -> None:
    """Hands the outcomes back to the submitter."""
    write_private(path, {"outcomes": _packed(list(outcomes))})


def read_outcomes(path: Path, detail: str) -> list[Outcome]:
    """The outcomes of a job. Raises ReportedError, and JobFailed with `detail`."""
    outcomes: list[Outcome] = _unpacked(read_answer(path, detail)["outcomes"])
    return outcomes


def _packed(values: Any) -> str:
    return base64.b64encode(pickle.dumps(values)).decode("ascii")


def _unpacked(text: str) -> Any:
    # Both files lie in a directory of our own that nobody else can write to.
    return pickle.loads(base64.b64decode(text))  # noqa: S301
