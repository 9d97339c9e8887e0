"""What the pages show, gathered: one flow, or all of them in a row each."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from mirror.alerts.model import Alert
from mirror.config.names import FlowName
from mirror.errors import ErrorReport
from mirror.report.snapshot import FlowSnapshot, StandingDecision
from mirror.web.access import Airflow, AirflowView, Person
from mirror.web.answers import Problem, problems
from mirror.web.causes import Cause, alerts_of, causes
from mirror.web.groups import GroupTable, group_table
from mirror.web.history import Seen
from mirror.web.last_audit import LastAudit, last_audit
from mirror.web.site import Site, name_of
from mirror.web.sparkline import Sparkline, sparkline
from mirror.web.state import State, state_of
from mirror.web.topics import TopicTable, topic_table


@dataclass(frozen=True)
class Summary:
    """One flow as every page has it: its name, its snapshot, its state, and curves of how far it was behind."""

    name: FlowName
    snapshot: FlowSnapshot
    state: State
    view: AirflowView
    records: Sparkline | None
    seconds: Sparkline | None
    bytes: Sparkline | None

    @property
    def id(self) -> str:
        """What stands in addresses."""
        return self.name.airflow_name

    @property
    def shown(self) -> FlowSnapshot:
        """The snapshot whose figures are shown: an older one, if not everything could be seen in the newest."""
        return self.snapshot.shown


@dataclass(frozen=True)
class FlowPage:
    """One flow, whole. `causes` are those that the sentence does not tell already."""

    flow: Summary
    may_edit: bool
    problems: Sequence[Problem]
    causes: Sequence[Cause]
    alerts: Sequence[Alert]
    topics: TopicTable
    groups: GroupTable
    audit: LastAudit | None
    decisions: Sequence[StandingDecision]
    schema_topics: int


def summaries(site: Site, person: Person) -> list[Summary]:
    """The flows that the person may read, those first that need somebody soonest."""
    now = datetime.now(UTC)
    readable = [each for each in site.snapshots().flows if site.airflow.may(person, "GET", name_of(each))]
    return sorted((summary(site, each, now) for each in readable), key=lambda each: -each.state.rank)


def summary(site: Site, snapshot: FlowSnapshot, now: datetime) -> Summary:
    """One flow in short."""
    name = name_of(snapshot)
    view = site.airflow.view(name)
    seen = site.history.of(snapshot.flow, view.freshness)
    return Summary(
        name,
        snapshot,
        state_of(snapshot, view, now),
        view,
        *(_curve(seen, figure) for figure in (lambda each: each.records, lambda each: each.seconds, lambda each: each.bytes)),
    )


def flow_page(site: Site, person: Person, snapshot: FlowSnapshot, parameters: Mapping[str, str]) -> FlowPage:
    """One flow whole, its tables as the address asks for them."""
    now = datetime.now(UTC)
    flow = summary(site, snapshot, now)
    shown = snapshot.shown
    return FlowPage(
        flow=flow,
        may_edit=may_edit(site.airflow, person, flow.name),
        problems=problems(_unique(snapshot)),
        causes=[each for each in causes(snapshot.flow, flow.view, now) if each != flow.state.cause],
        alerts=alerts_of(flow.view, now),
        topics=topic_table(shown, parameters),
        groups=group_table(shown.groups, parameters),
        audit=last_audit(flow.view),
        decisions=[each for each in shown.decisions if each.in_force],
        schema_topics=sum(topic.schema_ids is not None for topic in shown.topics),
    )


def may_edit(airflow: Airflow, person: Person, flow: FlowName) -> bool:
    """Whether the person may decide about the flow."""
    return airflow.may(person, "PUT", flow)


def _curve(seen: Iterable[Seen], figure: Callable[[Seen], float | None]) -> Sparkline | None:
    return sparkline((each.time, figure(each)) for each in seen)


def _unique(snapshot: FlowSnapshot) -> list[ErrorReport]:
    return list(dict.fromkeys((*snapshot.errors, *snapshot.groups.errors)))
