"""`<flow>.backfill`: brings a time interval to the target, also one from before the copy began, and audits it."""

from typing import Any, Literal

from airflow.sdk import Context, CronDataIntervalTimetable, Param, TriggerRule, chain

from kafka_mirror.airflow.assets import DAYS, HOURS, are_told
from kafka_mirror.airflow.dags.factory import FlowDag
from kafka_mirror.airflow.deadlines import audit_limit, copy_limit
from kafka_mirror.airflow.flow_operator import SparkOperator, flow_task
from kafka_mirror.airflow.operators import MirrorAuditOperator
from kafka_mirror.config import Flow

DOC = """
Brings the records of a time interval to the target, **exactly once**, and audits them. For a date range, use Airflow's own Backfill:
*Trigger* → *Backfill*, `POST /api/v2/backfills`, or `airflow backfill create`. Days may run in any order and several at once; a second
time copies nothing.

The schedule runs it each day for the day before: it waits until the copy has passed that day, audits it, and writes **no history**. Records
from before the copy's start come only if somebody asks for them: by a Backfill, or by a run with `history`, `into` or `order`.

| task | does |
|---|---|
| `resolve` | asks the source for the offsets of the times |
| `live` | runs the copy until it has passed them; starts no Spark if it has |
| `history` | writes what lies below the copy's start, where `into` or `mirror.backfill.into` says; only if somebody asks for it |
| `audit` | compares the interval on both sides, record by record |
| `summary` | the run's colour: red with all errors and with what is left |

With `mirror.assets.events` = hours or days there is `announce` in front of it: it tells the assets of the topics that are complete.

`live` and `history` copy slices of `mirror.run.max.seconds`. With a copy that follows they take turns lane by lane, each for the time of a
transaction (`mirror.transaction.timeout.ms`). One that ends with its plan takes a lane over from them, or they from it, and who lost it is
tried again; in a pool with one slot (`mirror.copy.pool`) they wait for each other, and the copy comes first.
The last run of a backfill sends one summary of the whole range (`mirror.alert.connections`).

**When not to use it.** To make the copy go on: it does so by itself, and a backfill of times that it has passed copies nothing. To repair
records that were mirrored wrongly: it never copies again what the ledger calls copied (`decide restart` does).

**When it is red**, read the log of `summary`: a wild timestamp, a topic that may not take history, a partition at which the copy is stuck,
a difference that the audit found. Everything else of the interval is on the target; run it again when the cause is gone.

By hand it takes a logical date, or `from` and `to`, or neither: then the last interval that has ended. `dry_run` writes nothing.

`HistoryOutOfOrder` means that the topic of the history has newer days already: run the older days again with the parameter `into` that the
error names, or with `order` = any.
"""

_WHERE = (
    "{remote} stands for the remote topic, {topic} for the source topic; '{remote}' alone is the remote topic. Empty: mirror.backfill.into."
)
PARAMS = {
    "topics": Param([], type="array", items={"type": "string"}, title="Topics", description="Only these source topics; none: all."),
    "from": Param(None, type=["null", "string"], format="date-time", title="From", description="Instead of the run's data interval."),
    "to": Param(None, type=["null", "string"], format="date-time", title="To", description="The interval ends in front of it."),
    "history": Param(
        False,
        type="boolean",
        title="Write history",
        description="For a run by hand: also write what lies below the copy's start. A Backfill does so anyway, a scheduled run never.",
        section="History",
    ),
    "into": Param(None, type=["null", "string"], title="History goes into", description=_WHERE, section="History"),
    "order": Param(
        None,
        type=["null", "string"],
        enum=[None, "time", "any"],
        title="Order of history",
        description="time: only after older history; any: in whatever order. Empty: mirror.backfill.order.",
        section="History",
    ),
    "accept_wild_timestamps": Param(
        False, type="boolean", title="Accept wild timestamps", description="Take intervals as they are that a wild timestamp cuts short."
    ),
    "dry_run": Param(False, type="boolean", title="Dry run", description="Only say what would be copied; write nothing."),
}


@flow_task(task_id="resolve")
def resolve_times(flow_name: str) -> dict[str, Any]:
    """Returns the offsets that the run's times come to. A partition without offsets does not fail this task: it is in the result, and fails
    the summary."""
    from kafka_mirror.airflow.work import backfill

    return backfill.resolve_times(flow_name)


class FillOperator(SparkOperator):
    """Fills the live part of the run's interval, or its history, slice by slice, and returns what it did. Without work it starts no
    Spark."""

    def __init__(self, *, part: Literal["live", "history"], **options: Any) -> None:
        super().__init__(**options)
        self.part = part

    def execute(self, context: Context) -> Any:
        """One slice. Raises AirflowRescheduleException if the next slice has work."""
        from kafka_mirror.airflow.work import backfill

        return backfill.fill(self, context)


class IntervalAuditOperator(MirrorAuditOperator):
    """Compares the interval of a backfill's run on both sides, live part and history."""

    def execute(self, context: Context) -> Any:
        """Compares, and leaves the result to the alerts of the freshness DAG."""
        from kafka_mirror.airflow.work.audit import audit_interval

        return audit_interval(self, context)


@flow_task(task_id="announce", trigger_rule=TriggerRule.ALL_DONE, max_active_tis_per_dag=1)
def announce(flow_name: str) -> dict[str, Any]:
    """Adds an event to the asset of each listed topic for each hour or day of the run's interval that is over and complete. Returns the
    keys by topic, and of the other topics why they are not complete."""
    from kafka_mirror.airflow.work import asset_partitions

    return asset_partitions.announce(flow_name)


@flow_task(task_id="summary", trigger_rule=TriggerRule.ALL_DONE, retries=0)
def summarize(flow_name: str) -> str:
    """Fails with everything that failed or is left. The last run of one of Airflow's backfills sends the summary of the whole range."""
    from kafka_mirror.airflow.work import backfill

    return backfill.summarize_run(flow_name)


def tasks(flow: Flow) -> None:
    """resolve → live → history → audit (→ announce) → summary; what fails for some partitions keeps the others from nothing."""
    slices = {
        "flow": flow.name,
        "pool": flow.value("mirror.copy.pool"),
        "max_active_tis_per_dag": 1,
        # The copy's weight is larger, so it is always taken first.
        "priority_weight": 1,
        "weight_rule": "absolute",
        "execution_timeout": copy_limit(flow),
    }
    chain(
        resolve_times(flow.name),
        FillOperator(task_id="live", part="live", **slices),
        FillOperator(task_id="history", part="history", trigger_rule=TriggerRule.ALL_DONE, **slices),
        IntervalAuditOperator(task_id="audit", flow=flow.name, trigger_rule=TriggerRule.ALL_DONE, execution_timeout=audit_limit(flow)),
        *([announce(flow.name)] if are_told(flow, HOURS, DAYS) else []),
        summarize(flow.name),
    )


def timetable(flow: Flow) -> CronDataIntervalTimetable:
    """Aligned data intervals, which Airflow's backfills need."""
    return CronDataIntervalTimetable(flow.value("mirror.backfill.schedule"), timezone="UTC")


# A backfill may take days, so its runs have no deadline.
KIND = FlowDag("backfill", tasks, timetable=timetable, deadline=lambda _flow: [], doc=DOC, params=PARAMS)
