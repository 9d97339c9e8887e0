"""The mirror in people's own DAGs: `from kafka_mirror.airflow.operators import MirrorCompleteSensor, MirrorAuditOperator`.

The mirror's own DAGs are made of these classes too. What each does once it runs stands in `work`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from airflow.sdk import BaseHook, BaseSensorOperator

from kafka_mirror.airflow.assets import alert_asset
from kafka_mirror.airflow.compat import is_deferrable_by_default
from kafka_mirror.airflow.flow_files import configured_flow, flow_name, set_files
from kafka_mirror.airflow.flow_operator import FlowOperator, SparkOperator
from kafka_mirror.config.load import paths_of
from kafka_mirror.cutover.wave.step import BY_HAND, PLANNED

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from airflow.sdk import Context, PokeReturnValue

    from kafka_mirror.config import Flow

__all__ = [
    "MirrorAuditOperator",
    "MirrorBackfillOperator",
    "MirrorCompleteSensor",
    "MirrorCopyOperator",
    "MirrorCutoverOperator",
    "MirrorHook",
]


class MirrorCopyOperator(SparkOperator):
    """Copies a flow by a Spark job, writes offset syncs, and judges by the ledger, however the job ended: it fails with everything that
    failed in the run, and if work was owed and nothing moved. It leaves its verdict in XCom (`state`, `records`, `bytes`, `owed`, errors)
    with the watermarks reached, also if it fails.

    It copies what the source has when it plans, within a run's budget, and ends. Beside the flow's own copy DAG it takes turns with that
    lane by lane, and nothing is doubled. Without work it starts no Spark. Airflow retries it if an error of its lanes is retriable: a retry
    goes on at the ledger's watermarks. With `plan_only` it only says what it would copy.

    `plan_task` makes it the task of the flow's own DAG: it copies what that task planned, and follows (`mirror.follow.seconds`).
    """

    template_fields: Sequence[str] = ("flow", "plan_only")

    def __init__(self, *, plan_only: bool | str = False, plan_task: str = "", **options: Any) -> None:
        super().__init__(**options)
        self.plan_only = plan_only
        self.plan_task = plan_task

    def execute(self, context: Context) -> Any:
        """Runs the task. It reads the configuration now: a changed one needs no new DAG. Raises ReportedError with all that failed."""
        from kafka_mirror.airflow.work.copy import run_copy

        return run_copy(self, context)


class MirrorBackfillOperator(SparkOperator):
    """Brings the time interval `[start, end)` to the target in one task, also from before the copy began, and returns the summary.

    A second run of it copies nothing. `topics` are source topics, in a list or between commas; without any, all of the flow's. `into`,
    `order`, `accept_wild_timestamps` and `history` are as in the trigger form of the backfill DAG; here history is written unless it is
    switched off. With `plan_only` it only says what it would copy. It audits nothing: MirrorAuditOperator does.
    """

    template_fields: Sequence[str] = (
        *("flow", "topics", "start", "end", "into", "order", "history", "accept_wild_timestamps", "plan_only"),
    )

    def __init__(
        self,
        *,
        start: str | datetime,
        end: str | datetime,
        topics: str | Sequence[str] = (),
        into: str | None = None,
        order: str | None = None,
        history: bool | str = True,
        accept_wild_timestamps: bool | str = False,
        plan_only: bool | str = False,
        **options: Any,
    ) -> None:
        super().__init__(**options)
        self.start = start
        self.end = end
        self.topics = topics
        self.into = into
        self.order = order
        self.history = history
        self.accept_wild_timestamps = accept_wild_timestamps
        self.plan_only = plan_only

    def execute(self, context: Context) -> Any:  # noqa: ARG002 — the base class's
        """Runs slices until the interval is there. Raises ReportedError with all that failed."""
        from kafka_mirror.airflow.work.backfill import run_interval

        return run_interval(self)


class MirrorAuditOperator(SparkOperator):
    """Compares source and target record by record and returns the result. It fails with the first difference of each partition.

    `topics` are source topics, in a list or between commas; without any, all of the flow's. With `start` and `end` it compares what is
    stamped in `[start, end)`, without them everything that is copied. With `complete` it fails, too, while anything of it is not copied
    yet or could not be compared. Spark is started only for what is more than mirror.audit.spark.threshold.
    """

    template_fields: Sequence[str] = ("flow", "topics", "start", "end", "complete")

    def __init__(
        self,
        *,
        flow: str,
        topics: str | Sequence[str] = (),
        start: str | datetime | None = None,
        end: str | datetime | None = None,
        complete: bool | str = False,
        **options: Any,
    ) -> None:
        # Airflow knows an asset by the DAGs that name it: what an audit found is kept in this one's store.
        inlets = [*options.pop("inlets", ()), alert_asset(flow_name(flow))]
        super().__init__(flow=flow, inlets=inlets, **options)
        self.topics = topics
        self.start = start
        self.end = end
        self.complete = complete

    def execute(self, context: Context) -> Any:
        """Compares, and leaves the result to the alerts of the freshness DAG."""
        from kafka_mirror.airflow.work.audit import run_audit

        return run_audit(self, context)


class MirrorCutoverOperator(FlowOperator):
    """Moves a wave of topics and consumer groups to the target: all steps in one task, or `step` alone.

    `topics` and `groups` are Java patterns between commas. The other arguments are those of the cutover DAG's trigger form. It begins as
    a dry run, which changes nothing: `plan_only=False` moves. A step that waits for people gives the task's place to others and looks
    again, for `wait_minutes` at most. The clusters and the control topic are the only state: a cleared task goes on from there.
    It returns what each step did, of `step` what that did, and fails when something stops the wave.
    """

    template_fields: Sequence[str] = (
        *("flow", "topics", "groups", "wave", "mode", "by", "reason"),
        *("max_lag", "quiet_seconds", "full_audit", "wait_minutes", "plan_only"),
    )

    def __init__(
        self,
        *,
        topics: str,
        groups: str = "",
        step: str = "",
        wave: str = "",
        mode: str = PLANNED,
        by: str = BY_HAND,
        reason: str = "",
        max_lag: int | str = 1000,
        quiet_seconds: float | str = 5,
        full_audit: bool | str = False,
        wait_minutes: float | str = 60,
        plan_only: bool | str = True,
        **options: Any,
    ) -> None:
        super().__init__(**options)
        self.topics = topics
        self.groups = groups
        self.step = step
        self.wave = wave
        self.mode = mode
        self.by = by
        self.reason = reason
        self.max_lag = max_lag
        self.quiet_seconds = quiet_seconds
        self.full_audit = full_audit
        self.wait_minutes = wait_minutes
        self.plan_only = plan_only

    def execute(self, context: Context) -> Any:  # noqa: ARG002 — the base class's
        """Runs the steps from what the clusters and the control topic say now. Raises AirflowRescheduleException while a step waits."""
        from kafka_mirror.airflow.work.cutover import run_steps

        return run_steps(self)


class MirrorCompleteSensor(FlowOperator, BaseSensorOperator):
    """Waits until every record that the source stamped before `up_to` is on the target, by the source's offsets and the mirror's ledger.

    `topics` are source topics, in a list or between commas; without any, all of the flow's. A partition that is paused or that an error
    holds back keeps it waiting, and the log says so. With `deferrable` it waits in the triggerer and takes no slot of a worker; by default
    as Airflow's `[operators] default_deferrable` says. It returns `up_to` and how many partitions and offsets there were.
    """

    template_fields: Sequence[str] = ("flow", "topics", "up_to")

    def __init__(self, *, up_to: str | datetime, topics: str | Sequence[str] = (), deferrable: bool | None = None, **options: Any) -> None:
        super().__init__(**options)
        self.topics = topics
        self.up_to = up_to
        self.deferrable = is_deferrable_by_default() if deferrable is None else deferrable

    def execute(self, context: Context) -> Any:
        """Looks once, and defers if it has to wait; without `deferrable` it looks again and again, as every sensor."""
        if not self.deferrable:
            return super().execute(context)
        from kafka_mirror.airflow.work.arrival import wait_in_triggerer

        return wait_in_triggerer(self)

    def execute_complete(self, _context: Context, event: Mapping[str, Any]) -> Mapping[str, Any]:
        """Returns the figures that the trigger gives, or raises its error."""
        from kafka_mirror.airflow.work.arrival import complete

        return complete(self, event)

    def poke(self, context: Context) -> PokeReturnValue:  # noqa: ARG002 — the base class's
        """Asks the clusters and the ledger once. Raises what does not pass by itself: a topic that the flow does not mirror, a login."""
        from kafka_mirror.airflow.work.arrival import look_once

        return look_once(self)


class MirrorHook(BaseHook):
    """The clusters of a flow, with the logins of its configuration. `config` names the files in the place of MIRROR_CONFIG."""

    def __init__(self, flow: str, config: str = "") -> None:
        super().__init__()
        self.flow = flow_name(flow).name
        if config:
            set_files([flow_name(flow)], [str(path) for path in paths_of(config)])

    def get_flow(self) -> Flow:
        """The flow as its files have it now. Raises ConfigurationError, or UsageError for a flow that is not there."""
        return configured_flow(self.flow)

    def test_connection(self) -> tuple[bool, str]:
        """Whether a copy of the flow would work, and a sentence: it reaches both clusters and plans a copy without writing anything.

        The plan's errors are what the mirror may not read or describe, and what a person must decide. Then both clusters are asked what the
        mirror may not write; whether it may use its transactional ids only a write shows.
        """
        from kafka_mirror.airflow.work.copy import try_flow

        return try_flow(self.flow)
