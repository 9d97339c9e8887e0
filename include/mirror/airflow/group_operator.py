"""The task that runs a step for the groups that `refresh-groups` found."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from airflow.sdk import BaseOperator

from mirror.airflow.context import is_dry_run, leave, newest
from mirror.airflow.errors import as_airflow_errors, raise_errors
from mirror.airflow.xcom import from_xcom, to_xcom
from mirror.config import load

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from airflow.sdk import Context

    from mirror.airflow.spark_hook import JobHook
    from mirror.config import Flow
    from mirror.sync.groups import KnownGroups
    from mirror.sync.step import Done

REFRESH = "refresh-groups"
REFRESH_TASK = "refresh_groups"
_INTERVALS = 3
"""A list that is older than so many of the refresh's intervals is not believed any more."""


class GroupOperator(BaseOperator):
    """Runs `checkpoints` or `group-offsets` of a flow; red with what failed."""

    template_fields: Sequence[str] = ()

    def __init__(self, *, flow: str, step: str, **options: Any) -> None:
        super().__init__(task_id=step.replace("-", "_"), **options)
        self.flow = flow
        self.step = step
        self._hook: JobHook | None = None

    def execute(self, context: Context) -> Any:  # noqa: ARG002 — the name that Airflow calls
        """The whole task."""
        from mirror.sync.group_steps import run_group_step

        with as_airflow_errors():
            flow = load().flow(self.flow)
            known = self._known(flow)
            if known is None:
                self.log.info("There is no fresh list of groups from %s, so the source is asked.", flow.dag_id(REFRESH))
            done = run_group_step(self.step, flow, known, is_dry_run(), self._submit)
            for line in done.lines:
                self.log.info("%s", line)
            value = to_xcom(done.result, done.totals)
            if done.errors:
                leave(value)
            raise_errors(f"{self.flow}: {self.step} failed in part", done.errors)
        return value

    def on_kill(self) -> None:
        """Ends the Spark job, if there is one; the next run does what is left."""
        if self._hook is not None:
            self._hook.on_kill()

    def _submit(self, flow: Flow, step: str, names: Collection[str], dry_run: bool) -> Done:
        from mirror.airflow.spark_hook import job_hook
        from mirror.sync.group_job import group_job, read_done

        with group_job(flow, step, names, dry_run) as (files, job):
            self._hook = job_hook(flow, files, job)
            return read_done(files.result, self._hook.run(job))

    def _known(self, flow: Flow) -> KnownGroups | None:
        """The newest list, if it was made with this configuration and not too long ago."""
        from mirror.sync.groups import known_groups

        left = newest(flow.dag_id(REFRESH), REFRESH_TASK)
        document = from_xcom(left) if left is not None else None
        longest = _INTERVALS * flow.value("refresh.groups.interval.seconds")
        return known_groups(document, flow.config_hash, datetime.now(UTC), longest) if document is not None else None
