"""The content of the pages: all flows with a row each, one flow with its newest audit, and the tab on a copy's run."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from kafka_mirror.audit.model import DIFFERENT, EQUAL, AuditResult
from kafka_mirror.audit.report import describe_not_copied
from kafka_mirror.config.flow import FlowName
from kafka_mirror.copy.model import Watermark, batches_text
from kafka_mirror.copy.run_result import FAILED, NOTHING_TO_DO, Verdict, describe_other_runs
from kafka_mirror.errors import ErrorReport
from kafka_mirror.errors.next_step import NextStep
from kafka_mirror.errors.words import count_text
from kafka_mirror.status.airflow_view import AirflowView, CopyRun, Person
from kafka_mirror.status.lag_history import LagHistory, LagPoint, read_history
from kafka_mirror.status.problems import Alert
from kafka_mirror.status.snapshot import FlowSnapshot, StandingDecision
from kafka_mirror.web.airflow_health import AirflowIssue, airflow_issues, alerts_of
from kafka_mirror.web.chart import SPANS, Curve, LagChart, Strip, lag_chart, lag_curve, strip, topic_curves
from kafka_mirror.web.context import Site, name_of
from kafka_mirror.web.decisions import ErrorGroup, problems
from kafka_mirror.web.formatting import number, size
from kafka_mirror.web.state import FlowState, state_of
from kafka_mirror.web.tables import GroupTable, TopicTable, group_table, topic_table
from kafka_mirror.web.waves import WaveTrack, wave_tracks

_MAX_LISTED = 10
_MAX_CARDS = 20


@dataclass(frozen=True)
class LastAudit:
    """The newest audit of a flow. `level` as in FlowState; `differences` are sentences, of at most ten of the `different` partitions."""

    level: str
    words: str
    time: datetime | None = None
    run: tuple[str, str] | None = None
    different: int = 0
    differences: tuple[str, ...] = ()
    errors: tuple[str, ...] = ()
    left_out: int = 0


def last_audit(view: AirflowView) -> LastAudit | None:
    """The newest audit; None if there was none yet."""
    if view.audit is None:
        return None
    try:
        if "columns" in view.audit:
            result = AuditResult.from_document(view.audit)
            return replace(
                _from_totals(result.totals, view),
                time=result.time,
                differences=tuple(map(str, result.differences[:_MAX_LISTED])),
                errors=tuple(map(str, result.errors[:_MAX_LISTED])),
            )
        return _from_totals(view.audit, view)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError):
        return LastAudit("unknown", "The newest audit left a document that this version cannot read.", run=view.audit_run)


def _from_totals(totals: Mapping[str, Any], view: AirflowView) -> LastAudit:
    state, different = totals["state"], int(totals["different"])
    records, partitions = number(totals["source_records"]), count_text(int(totals["partitions"]), "partition")
    if state == EQUAL:
        reach = " up to where the copy was" if describe_not_copied(totals) else ""
        words = f"Equal{reach}: {records} records of {partitions}, record by record on both sides."
    elif state == DIFFERENT:
        count = count_text(different, "partition")
        words = f"Different in {count} of {int(totals['partitions']):,}; {records} records of the source were read."
    else:
        words = f"Nothing could be compared in {partitions}."
    unproven = int(totals["unproven"])
    if state == EQUAL and unproven:
        words += f" Of {count_text(unproven, 'partition')} nothing could be compared."
    words += describe_not_copied(totals)
    level = {EQUAL: "fine" if not unproven else "behind", DIFFERENT: "stuck"}.get(state, "unknown")
    return LastAudit(level, words, run=view.audit_run, different=different, left_out=int(totals["left_out"]))


@dataclass(frozen=True)
class FlowSummary:
    """One flow as every page has it: its name, its snapshot, its state, and the points of its charts."""

    name: FlowName
    snapshot: FlowSnapshot
    state: FlowState
    view: AirflowView
    history: LagHistory
    points: Sequence[LagPoint]
    lag: Curve | None
    """Of the last hour."""

    @property
    def id(self) -> str:
        """The flow's name in URLs."""
        return self.name.airflow_name

    @property
    def figures(self) -> FlowSnapshot:
        """The snapshot whose figures the page shows: an older one if the newest is not complete."""
        return self.snapshot.with_figures


@dataclass(frozen=True)
class FlowPage:
    """One flow, whole. `causes` are the issues that the sentence of its state does not name already."""

    flow: FlowSummary
    may_edit: bool
    problems: Sequence[ErrorGroup]
    causes: Sequence[AirflowIssue]
    alerts: Sequence[Alert]
    chart: LagChart
    topic_curves: Mapping[str, Curve]
    strip: Strip | None
    topics: TopicTable
    groups: GroupTable
    audit: LastAudit | None
    decisions: Sequence[StandingDecision]
    waves: Sequence[WaveTrack]
    schema_topics: int

    @property
    def span(self) -> Mapping[str, str]:
        """The chart's part of the address, for links that keep it; none if it is the usual one."""
        return {} if self.chart.span == next(iter(SPANS)) else {"span": self.chart.span}

    @property
    def cards(self) -> Sequence[ErrorGroup]:
        """The problems that the page lists one by one."""
        return self.problems[:_MAX_CARDS]

    def is_listed(self, step: NextStep) -> bool:
        """Whether a card or an alert has this next step, so that the sentence above them need not repeat it."""
        listed = (*(problem.error.step for problem in self.cards), *(alert.step for alert in self.alerts))
        return bool(step) and step in listed


def summaries(site: Site, person: Person) -> list[FlowSummary]:
    """The flows that the person may read, the most urgent first."""
    now = datetime.now(UTC)
    readable = [snapshot for snapshot in site.snapshots().flows if site.airflow.may(person, "GET", name_of(snapshot))]
    return sorted((summary(site, person, snapshot, now) for snapshot in readable), key=lambda flow: -flow.state.rank)


def summary(site: Site, person: Person, snapshot: FlowSnapshot, now: datetime) -> FlowSummary:
    """One flow in short."""
    name = name_of(snapshot)
    view = site.airflow.read_view(person, name)
    history = read_history((view.freshness or {}).get("history"))
    points = site.points.continue_history(snapshot.flow, history)
    return FlowSummary(name, snapshot, state_of(snapshot, view, now), view, history, points, lag_curve(points, now.timestamp()))


def flow_page(site: Site, person: Person, snapshot: FlowSnapshot, parameters: Mapping[str, str]) -> FlowPage:
    """One flow whole, its tables as the address asks for them."""
    now = datetime.now(UTC)
    flow = summary(site, person, snapshot, now)
    observed = snapshot.with_figures
    topics = topic_table(observed, parameters)
    return FlowPage(
        flow=flow,
        may_edit=not snapshot.not_reached and site.airflow.may(person, "PUT", flow.name),
        problems=problems(dict.fromkeys((*snapshot.errors, *snapshot.groups.errors))),
        causes=[issue for issue in airflow_issues(snapshot, flow.view, now) if issue != flow.state.cause],
        alerts=alerts_of(flow.view, now),
        chart=lag_chart(flow.points, parameters.get("span", ""), observed.lag_limit, now.timestamp()),
        topic_curves=topic_curves(flow.history, (topic.topic for topic in topics.page.rows), now.timestamp()),
        strip=strip(observed),
        topics=topics,
        groups=group_table(observed.groups, parameters),
        audit=last_audit(flow.view),
        decisions=[decision for decision in observed.decisions if decision.in_force],
        waves=wave_tracks(observed.waves),
        schema_topics=sum(topic.schema_ids is not None for topic in observed.topics),
    )


MAX_ROWS = 200
"""How many partitions are listed, those with most records first, and how many errors."""

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


def run_page(copy_run: CopyRun) -> RunPage:
    """The tab of a run."""
    if copy_run.verdict is None:
        return RunPage(copy_run, *_describe_run(copy_run))
    copied = (watermark for watermark in copy_run.verdict.watermarks if watermark.records)
    moved = sorted(copied, key=lambda watermark: (-watermark.records, watermark.topic, watermark.partition))
    return RunPage(
        copy_run,
        *_describe_verdict(copy_run.verdict),
        copy_run.verdict.errors[:MAX_ROWS],
        moved[:MAX_ROWS],
        max(0, len(moved) - MAX_ROWS),
    )


def _describe_run(copy_run: CopyRun) -> tuple[str, str]:
    if copy_run.said:
        return "stuck" if copy_run.run.state == "failed" else "fine", f"Dry run. {copy_run.said}"
    if copy_run.run.state in _RUNNING:
        return "behind", "This run goes on; its verdict comes last."
    return (
        "stuck",
        "This run ended without a verdict: the log of the task that failed says why. The next run goes on after what was committed.",
    )


def _describe_verdict(verdict: Verdict) -> tuple[str, str, list[str]]:
    """The level, the first sentence, and those below it."""
    copied = f"{count_text(verdict.records, 'record')} ({size(verdict.bytes)}) copied"
    level, words = "fine", "Nothing to do: no partition had new records." if verdict.state == NOTHING_TO_DO else f"Done: {copied}."
    if verdict.state == FAILED:
        level = "behind" if verdict.retriable else "stuck"
        words = f"Failed: {count_text(len(verdict.errors), 'error')}, {copied}."
    said = [*batches_text(verdict.batches, verdict.rewritten), *describe_other_runs(verdict.copied_elsewhere)]
    if verdict.owed:
        said.append(f"{number(verdict.owed)} offsets are left for the next run")
    if verdict.skipped:
        said.append(f"{count_text(verdict.skipped, 'record')} were skipped (errors.tolerance=all)")
    return level, words, [*(f"{sentence[0].upper()}{sentence[1:]}." for sentence in said), *verdict.notices]
