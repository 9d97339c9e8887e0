"""Errors of a run as a whole."""

from mirror.errors.base import ErrorReport, MirrorError


class JobFailed(MirrorError):
    """Raised when the Spark job ended without a result."""

    retriable = True


class WorkerUnprepared(MirrorError):
    """Raised when a Spark worker lacks a module that the copy needs."""

    def __init__(self, module: str, host: str, python: str, detail: str) -> None:
        super().__init__(
            f"The Spark worker on {host} cannot import '{module}' with {python}: {detail}. Its lanes copied nothing.",
            next=f"Install '{module}' there, or give the workers an environment that has it (an image, or spark.archives with "
            "spark.pyspark.python).",
        )
        self.module = module
        self.host = host


class ReportedError(MirrorError):
    """Raised here for an error that was raised in another process and arrived as a value.

    Its code, facts and `retriable` are the report's.
    """

    def __init__(self, report: ErrorReport) -> None:
        super().__init__(
            report.message, topic=report.topic, partition=report.partition, offset=report.offset, next=report.next, remedies=report.remedies
        )
        self.reported = report
        self.retriable = report.retriable  # type: ignore[misc]  # of this error, not of its class

    @property
    def code(self) -> str:
        """The code of the error as it was raised."""
        return self.reported.code


class PlanMismatch(MirrorError):
    """Raised when a worker has another configuration than the plan was made with."""

    def __init__(self, planned: str, found: str) -> None:
        super().__init__(
            f"The plan was made with configuration {planned}, and this worker has {found}. Nothing was copied.",
            next="Run the copy again: it plans with the new configuration.",
        )


class NothingMoved(MirrorError):
    """Raised when a run owed work and copied nothing."""

    retriable = True
