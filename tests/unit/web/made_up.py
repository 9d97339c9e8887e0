"""Made-up flows for the page's tests, an Airflow that answers what a test says, and the application over both."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from fastapi import HTTPException, Request
from fastapi.testclient import TestClient

from kafka_mirror.config.deadlines import Limits
from kafka_mirror.config.flow import FlowName
from kafka_mirror.decide.binding import DecisionWithEffect
from kafka_mirror.errors import ErrorReport, Remedy
from kafka_mirror.ledger.record import Writer
from kafka_mirror.status.airflow_view import AirflowView, CopyRun, Dag, DagRun, Person
from kafka_mirror.status.judge import problems
from kafka_mirror.status.observation import CheckObservation, with_waits
from kafka_mirror.status.snapshot import (
    FlowSnapshot,
    GroupSnapshot,
    GroupsSnapshot,
    HeartbeatPath,
    InexactPosition,
    PartitionSnapshot,
    SchemaIds,
    Snapshots,
    TopicSnapshot,
)
from kafka_mirror.status.status import BEHIND, UP_TO_DATE, PartitionStatus, Status
from kafka_mirror.status.throughput import CatchUp, Throughput
from kafka_mirror.web.app import create_app
from kafka_mirror.web.context import Site
from kafka_mirror.web.decisions import Decider

NOW = datetime.now(UTC).replace(microsecond=0)
FLOW = "east->west"
HOSTILE = "<script>alert(1)</script>\"'&"
HEALTHY = AirflowView(
    dags=(
        Dag(
            "east-to-west.copy",
            "copy",
            newest=DagRun("scheduled__2", "success", NOW - timedelta(seconds=70), NOW - timedelta(seconds=60)),
            last_good=DagRun("scheduled__2", "success", NOW - timedelta(seconds=70), NOW - timedelta(seconds=60)),
        ),
        Dag("east-to-west.checkpoints", "checkpoints"),
    )
)


def partition(topic: str, number: int, lag: int | None = 0, **fields: Any) -> PartitionSnapshot:
    """A partition that is this far behind its end, 1,000."""
    given = {
        "state": BEHIND if lag else UP_TO_DATE,
        "watermark": 1000 - (lag or 0),
        "end": 1000,
        "last_stable": 1000,
        "lag": lag,
        "oldest_seconds": float(lag) if lag else None,
        "records": 1000 - (lag or 0),
        "written": Writer("", "host", "run", NOW - timedelta(seconds=number + 1)),
        **fields,
    }
    status = PartitionStatus(topic, number, **given)
    return PartitionSnapshot(status, f"east.{topic}", number % 16, None if lag is None else lag * 10, Throughput(60, 5.0, 50.0, 4.0))


def topic(name: str, *lags: int | None, **fields: Any) -> TopicSnapshot:
    """A topic with a partition for each lag."""
    return topic_of(name, [partition(name, number, lag) for number, lag in enumerate(lags)], **fields)


def topic_of(name: str, partitions: list[PartitionSnapshot], **fields: Any) -> TopicSnapshot:
    """A topic with these partitions."""
    lags = [each.status.lag for each in partitions if each.status.lag is not None]
    ages = [each.status.oldest_seconds for each in partitions if each.status.oldest_seconds is not None]
    lag = sum(lags) if lags else None
    written = max((each.status.written for each in partitions if each.status.written), key=lambda each: each.time, default=None)
    return TopicSnapshot(
        name, f"east.{name}", tuple(partitions), lag, max(ages, default=None), None if lag is None else lag * 10, written=written, **fields
    )


def snapshot(*topics: TopicSnapshot, errors: tuple[ErrorReport, ...] = (), **fields: Any) -> FlowSnapshot:
    """A flow with these topics, of which both clusters were seen just now."""
    partitions = tuple(each.status for one in topics for each in one.partitions)
    status = Status(FLOW, NOW, partitions, errors)
    lag = status.lag
    given = {
        "comparable": True,
        "bytes_behind": None if lag is None else lag * 10,
        "throughput": Throughput(300, 100.0, 1000.0, 80.0),
        "catch_up": CatchUp(0.0 if not lag else 120.0, ""),
        **fields,
    }
    return judged(FlowSnapshot(FLOW, NOW, status, topics=topics, **given))


def judged(taken: FlowSnapshot) -> FlowSnapshot:
    """The snapshot with what is a problem by it alone."""
    assert taken.status is not None
    seen = with_waits(CheckObservation(taken.status, taken.comparable), None)
    return replace(taken, problems=tuple(each for each in problems(seen, Limits()).problems if each.opens), late=seen.late)


GROUPS = GroupsSnapshot(
    NOW,
    (
        GroupSnapshot("billing", 3, 3),
        GroupSnapshot(HOSTILE, 2, 1, early=1, reread=40, ahead=46, examples=(InexactPosition("orders", 1, 7, "early", 40, "thinned"),)),
        GroupSnapshot("reports", 4, 2, unanswered=2, reread=None, examples=(InexactPosition("gone", 0, 9, "none", None, "no such topic"),)),
    ),
)
BUSY = snapshot(
    topic("orders", 0, 5, 700),
    topic("payments", 0, 0, schema_ids=SchemaIds((1, 7))),
    topic("clicks", 30),
    groups=GROUPS,
    heartbeats=(HeartbeatPath(("north", "east", "west"), "north.heartbeats", NOW, 3.0),),
)


def large(topics: int = 250, partitions: int = 20) -> FlowSnapshot:
    """A flow of 5,000 partitions."""
    return snapshot(*(topic(f"topic-{each:04}", *((each * 7 + number) % 13 for number in range(partitions))) for each in range(topics)))


@dataclass
class MadeUpAirflow:
    """Knows people by a header: `X-Person: name:role`, with the roles viewer, editor, and none. It keeps the notes of its audit log."""

    views: Mapping[str, AirflowView] = field(default_factory=dict)
    notes: list[tuple[str, str, str, dict[str, Any]]] = field(default_factory=list)
    hidden: frozenset[str] = frozenset()
    runs: dict[tuple[str, str], CopyRun] = field(default_factory=dict)
    of_one_team: set[str] = field(default_factory=set)

    async def identify(self, request: Request) -> Person:
        given = request.headers.get("x-person")
        if given is None:
            raise HTTPException(401, "Not authenticated")
        name, _, role = given.partition(":")
        return Person(name, role)

    def may(self, person: Person, method: str, flow: FlowName) -> bool:
        return flow.name not in self.hidden and person.user in {"GET": ("viewer", "editor"), "PUT": ("editor",)}[method]

    def sees_all_teams(self, person: Person) -> bool:
        return person.name not in self.of_one_team

    def read_view(self, person: Person, flow: FlowName) -> AirflowView:
        return self.views.get(flow.name, HEALTHY)

    def read_copy_run(self, person: Person, flow: FlowName, run_id: str) -> CopyRun | None:
        return self.runs.get((flow.name, run_id))

    def note(self, person: Person, event: str, flow: FlowName, facts: Mapping[str, Any]) -> None:
        self.notes.append((person.name, event, flow.name, dict(facts)))

    def make_login_url(self, back_to: str) -> str:
        return f"/auth/login?next={back_to}"


@dataclass
class MadeUpCache:
    """Gives what a test put into it."""

    snapshots: Snapshots
    refreshed: list[str] = field(default_factory=list)

    def get(self) -> Snapshots:
        return self.snapshots

    def refresh(self, flow: str) -> None:
        self.refreshed.append(flow)


@dataclass
class MadeUp:
    """The application over made-up parts, and clients of it."""

    airflow: MadeUpAirflow
    cache: MadeUpCache
    site: Site

    def client(self, role: str | None = "editor", name: str = "ada") -> TestClient:
        """A browser in which this person is logged in; None: nobody."""
        headers = {"Accept": "text/html", "Sec-Fetch-Site": "same-origin"}
        if role is not None:
            headers["X-Person"] = f"{name}:{role}"
        return TestClient(create_app(self.site), headers=headers, raise_server_exceptions=False)

    def page(self, path: str = "/flows/east-to-west", role: str = "editor") -> str:
        """What a page says."""
        answer = self.client(role).get(path)
        assert answer.status_code == 200, answer.text
        return answer.text


def made_up(
    *snapshots: FlowSnapshot,
    view: AirflowView = HEALTHY,
    errors: tuple[ErrorReport, ...] = (),
    take: Callable[..., list[DecisionWithEffect]] | None = None,
    seconds: float = 5.0,
) -> MadeUp:
    """The application over these snapshots, taken just now. `take` stands in for the function that asks the clusters and writes."""
    snapshots = tuple(_of_now(each) for each in snapshots)
    airflow = MadeUpAirflow({each.flow: view for each in snapshots})
    cache = MadeUpCache(Snapshots(snapshots, errors))
    decider = Decider(seconds=seconds) if take is None else Decider(take, seconds)
    return MadeUp(airflow, cache, Site(airflow, cache, decider))


def _of_now(snapshot: FlowSnapshot) -> FlowSnapshot:
    """As it is, but with its age since this module was imported taken away: tests of a long run come late."""
    return replace(snapshot, taken=snapshot.taken and snapshot.taken + (datetime.now(UTC) - NOW))


def stuck(code: str = "SourceGap", number: int | None = 2, next_step: str = "", **fields: Any) -> ErrorReport:
    """An error of a partition of `orders`."""
    remedies = () if next_step else (Remedy("accept-gap", "orders", number),)
    command = next_step or f"{remedies[0]}".replace("<flow>", FLOW)
    given = {
        "topic": "orders",
        "partition": number,
        "next": f"If that is right: {command}",
        "remedies": remedies,
        "commands": (command,),
        **fields,
    }
    return ErrorReport(code, f"orders-{number}@300: offsets are gone.", **given)


def with_gap(base: FlowSnapshot = BUSY) -> FlowSnapshot:
    """The flow with a gap in orders-2."""
    error = stuck()
    topics = tuple(
        replace(
            one, partitions=tuple(_gap(each, error) if (each.topic, each.partition) == ("orders", 2) else each for each in one.partitions)
        )
        for one in base.topics
    )
    return replace(snapshot(*topics, errors=(error,)), groups=base.groups)


def _gap(each: PartitionSnapshot, error: ErrorReport) -> PartitionSnapshot:
    return replace(each, status=replace(each.status, state="gap", error=error))
