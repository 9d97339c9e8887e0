"""The one sentence: which of several things that are wrong it tells, and what it says to do."""

import math
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from kafka_mirror.audit.model import DIFFERENT, EQUAL, UNPROVEN, AuditResult, Difference, PartitionAudit
from kafka_mirror.errors import ErrorReport
from kafka_mirror.policy import IdleMembers
from kafka_mirror.status.airflow_view import AirflowView, Dag, DagRun
from kafka_mirror.status.snapshot import FlowSnapshot, GroupsSnapshot
from kafka_mirror.status.snapshot_cache import CHECK_OLD_SECONDS
from kafka_mirror.status.throughput import UNKNOWN_LAG, CatchUp
from kafka_mirror.web.airflow_health import airflow_issues, alerts_of
from kafka_mirror.web.page import last_audit
from kafka_mirror.web.state import TOO_OLD_SECONDS, state_of
from tests.unit.web.made_up import BUSY, FLOW, HEALTHY, NOW, judged, partition, snapshot, stuck, topic, topic_of, with_gap

FLOW_WIDE = ErrorReport("OtherCluster", "The alias 'east' leads to another cluster.", next="Adopt it.")
GROUPS_REFUSED = ErrorReport("AuthorizationRefused", "Groups may not be listed.", next="Grant it.")
LEDGER_GONE = ErrorReport("LedgerMissing", "The ledger is gone.", "mm2-ledger.east.internal", next="Restore it.")
ALERT: dict[str, Any] = {
    "key": "k",
    "kind": "HeartbeatsStopped",
    "summary": "No heartbeat came for 5 min.",
    "detail": "",
    "next": "Look at the DAG.",
    "since": (NOW - timedelta(minutes=5)).isoformat(),
    "flow": FLOW,
    "severity": "warning",
}


def paused(what: str = "copy") -> AirflowView:
    dags = tuple(replace(dag, paused=dag.what == what) for dag in HEALTHY.dags)
    return replace(HEALTHY, dags=dags)


def with_alert(**fields: Any) -> AirflowView:
    return replace(HEALTHY, freshness={"time": NOW.isoformat(), "open": [{**ALERT, **fields}]})


@pytest.mark.parametrize(
    "flow, view, level, verdict, said",
    [
        (snapshot(topic("a", 0, 0)), HEALTHY, "fine", "Fine", "everything is copied, in all 2 partitions."),
        (
            snapshot(topic("a", 4), catch_up=CatchUp(0.0, "")),
            HEALTHY,
            "fine",
            "Fine",
            "keeps up with the source; at most 4 records are behind",
        ),
        (BUSY, HEALTHY, "behind", "Behind, and catching up", "done in about 2 min, at "),
        (
            replace(BUSY, catch_up=CatchUp(math.inf, "the source grows faster")),
            HEALTHY,
            "behind",
            "Behind, and not catching up",
            "grows faster.",
        ),
        (replace(BUSY, catch_up=CatchUp()), HEALTHY, "behind", "Behind", "when it will have caught up is not measured yet."),
        (snapshot(), HEALTHY, "fine", "Nothing to mirror", "no topic"),
        (snapshot(topic("a", None)), HEALTHY, "unknown", "Not known", "could not be seen"),
        (
            snapshot(topic("a", 0, 0), topic_of("b", [partition("b", 0, None, state="first sight")]), catch_up=CatchUp(None, UNKNOWN_LAG)),
            HEALTHY,
            *("unknown", "Not known", "how far it is behind could not be seen in 1 of 3 partitions."),
        ),
        (
            snapshot(
                topic_of("a", [partition("a", 0, 0, state="paused"), partition("a", 1, None, state="first sight")]),
                catch_up=CatchUp(None, UNKNOWN_LAG),
            ),
            HEALTHY,
            *("unknown", "Not known", "in 1 of 2 partitions."),
        ),
        (
            snapshot(topic_of("b", [partition("b", 0, 7), partition("b", 1, None, state="decided")]), catch_up=CatchUp(None, UNKNOWN_LAG)),
            HEALTHY,
            *("behind", "Behind", "7 records are behind (70 B), the oldest 7 s old; when it will have caught up is unknown, as is"),
        ),
        (
            snapshot(topic_of("b", [partition("b", 0, 0), partition("b", 1, None, state="no leader")])),
            paused(),
            *("stuck", "Not running", "is paused. Nothing is known to be behind."),
        ),
        (
            with_gap(snapshot(topic("orders", 0, 0, 5), topic_of("b", [partition("b", 0, None, state="no leader")]))),
            HEALTHY,
            *("stuck", "Stuck in part", "offsets are gone. The rest is not known to be behind."),
        ),
        (
            snapshot(topic("a", 0), topic_of("b", [partition("b", 0, 9, state="paused")])),
            HEALTHY,
            *("fine", "Fine, but for 1 partition", "paused; 9 records are behind there. Everything is copied in the other 1."),
        ),
        (
            snapshot(topic("a", 0, 0), topic_of("b", [partition("b", 0, None, state="no remote partition")])),
            HEALTHY,
            *("behind", "Fine, but for 1 partition", "no remote partition. Everything is copied in the other 2."),
        ),
        (snapshot(topic_of("b", [partition("b", 0, 0, state="paused")])), HEALTHY, "fine", "Fine, but for 1 partition", "paused."),
        (
            snapshot(topic("a", 5), topic_of("b", [partition("b", 0, 9, state="paused")])),
            HEALTHY,
            *("behind", "Behind, and catching up", "at most 14 records are behind"),
        ),
        (FlowSnapshot(FLOW), HEALTHY, "unknown", "Being looked at", "first time"),
        (
            with_gap(),
            HEALTHY,
            "stuck",
            "Stuck in part",
            "1 of 6 partitions: orders-2@300: offsets are gone. The rest is behind by at most 35",
        ),
        (snapshot(topic("a", 4), errors=(stuck(), FLOW_WIDE)), HEALTHY, "stuck", "Stuck", "leads to another cluster."),
        (
            snapshot(topic("a", 4)),
            paused(),
            "stuck",
            "Not running",
            "the DAG east-to-west.copy is paused. At most 4 records are behind (40 B)",
        ),
        (snapshot(topic("a", 0)), paused(), "stuck", "Not running", "is paused. Nothing is behind."),
        (snapshot(topic("a", 0)), paused("checkpoints"), "fine", "Fine", "everything"),
        (with_gap(), paused(), "stuck", "Not running", "is paused."),
        (snapshot(topic("a", 0)), AirflowView(), "stuck", "Not running", "no DAG that copies east->west"),
        (snapshot(topic("a", 0)), replace(HEALTHY, pools={}), "stuck", "Not running", "never start"),
        (
            replace(snapshot(topic("a", 0)), slots=4),
            replace(HEALTHY, pools={"default_pool": 1}),
            *("behind", "Needs a look", "The pool default_pool of its copies has 1 slot, and they need 4"),
        ),
        (replace(snapshot(topic("a", 0)), slots=4), HEALTHY, "fine", "Fine", "everything"),
        (replace(snapshot(topic("a", 0)), slots=4), replace(HEALTHY, pools={"default_pool": -1}), "fine", "Fine", "everything"),
        (snapshot(topic("a", 0)), replace(HEALTHY, silent=("scheduler",)), "stuck", "Not running", "scheduler gives no sign of life"),
        (snapshot(topic("a", 0)), replace(HEALTHY, silent=("dag-processor",)), "fine", "Fine", "everything"),
        (snapshot(topic("a", 0)), with_alert(), "behind", "Needs a look", "No heartbeat came for 5 min. Since"),
        (
            replace(snapshot(topic("a", 0)), taken=NOW - timedelta(seconds=TOO_OLD_SECONDS + 1)),
            HEALTHY,
            *("unknown", "Being looked at again", "what was seen last is 5 min 1 s old"),
        ),
        (
            snapshot(topic("a", 0), groups=GroupsSnapshot(errors=(GROUPS_REFUSED,))),
            HEALTHY,
            *("behind", "Needs a look", "Groups may not be listed. Records are copied: nothing is behind."),
        ),
        (snapshot(topic("a", 4), partial=(GROUPS_REFUSED,)), HEALTHY, "behind", "Needs a look", "copied: at most 4 records are behind"),
        (snapshot(errors=(LEDGER_GONE,), comparable=False), HEALTHY, "stuck", "Stuck", "The ledger is gone."),
    ],
)
def test_sentence_tells_what_has_to_be_mended_first(flow: FlowSnapshot, view: AirflowView, level: str, verdict: str, said: str) -> None:
    found = state_of(flow, view, NOW)
    assert (found.level, found.verdict) == (level, verdict)
    assert said in found.because


def test_what_is_wrong_always_says_what_to_do() -> None:
    waiting = [
        snapshot(topic("a", 0), topic_of("b", [partition("b", 0, None, state=state)]))
        for state in ("no remote partition", "open transaction")
    ]
    for flow, view in (
        *((flow, HEALTHY) for flow in waiting),
        (with_gap(), HEALTHY),
        (BUSY, paused()),
        (BUSY, with_alert()),
        (replace(BUSY, slots=4), replace(HEALTHY, pools={"default_pool": 1})),
        (BUSY, replace(HEALTHY, silent=("scheduler",))),
    ):
        assert state_of(flow, view, NOW).next


def test_error_that_a_person_has_to_answer_is_told_before_one_that_mends_itself() -> None:
    mends = stuck("SourceUnreadable", 0, retriable=True)
    assert "orders-2@300" in state_of(snapshot(topic("orders", 1, 1, 1), errors=(mends, stuck())), HEALTHY, NOW).because


def test_causes_name_pauses_that_matter_and_a_missing_pool_those_that_stop_the_copy_first() -> None:
    dags = (*HEALTHY.dags, Dag("east-to-west.freshness", "freshness"))
    view = AirflowView(tuple(replace(dag, paused=True) for dag in dags), pools={}, silent=("scheduler",))
    found = [(issue.stops, issue.dag_id) for issue in airflow_issues(snapshot(), view, NOW)]
    assert found == [(True, "east-to-west.copy"), (True, ""), (True, ""), (False, "east-to-west.freshness")]


def test_alerts_are_the_newest_runs_and_damaged_ones_hide_no_other() -> None:
    view = replace(HEALTHY, freshness=looked(1, open=[{"key": 1}, None, "x", {**ALERT, "kind": "Behind"}]))
    assert [alert.kind for alert in alerts_of(view, NOW)] == ["Behind"]
    assert alerts_of(replace(HEALTHY, freshness=looked(0, open=5)), NOW) == []


def looked(minutes_ago: float, **fields: Any) -> dict[str, Any]:
    return {"time": (NOW - timedelta(minutes=minutes_ago)).isoformat(), **fields}


def watched(freshness: dict[str, Any] | None = None, state: str = "success") -> AirflowView:
    """With a freshness DAG whose newest run ended so, and what it left."""
    return replace(
        HEALTHY, dags=(*HEALTHY.dags, Dag("east-to-west.freshness", "freshness", newest=DagRun("r", state))), freshness=freshness
    )


@pytest.mark.parametrize(
    ("view", "said"),
    [
        (watched(looked(1)), None),
        (watched(looked(1), state="running"), None),
        (watched(state="running"), None),
        (watched(state="failed"), "has not looked yet: its newest run failed; no alert is sent"),
        (watched(looked(CHECK_OLD_SECONDS / 60 + 1), state="failed"), "has not looked for 16 min; no alert is sent"),
        (watched(looked(600)), "has not looked for 10 h; no alert is sent"),
        (watched(looked(1, unsent=3), state="failed"), "3 messages to people on call could not be delivered."),
        (watched({"time": "nonsense"}, state="failed"), "has not looked yet"),
    ],
)
def test_that_no_alert_is_sent_is_said_on_the_page_though_nothing_is_paused(view: AirflowView, said: str | None) -> None:
    found = airflow_issues(snapshot(), view, NOW)
    assert [(cause.stops, cause.dag_id, bool(cause.next)) for cause in found] == [(False, "east-to-west.freshness", True)] * bool(said)
    assert (said or "") in "".join(cause.what for cause in found)


def test_alerts_of_a_freshness_that_looks_no_more_are_not_shown_as_those_of_now() -> None:
    old = watched(looked(60, open=[ALERT]))
    assert alerts_of(old, NOW) == []
    assert state_of(snapshot(topic("a", 0)), old, NOW).verdict == "Fine"


def test_alert_about_an_error_is_left_to_the_snapshot_which_knows_sooner_that_it_is_over() -> None:
    assert alerts_of(with_alert(kind="SourceGap"), NOW) == []
    assert state_of(snapshot(topic("a", 0)), with_alert(kind="SourceGap"), NOW).verdict == "Fine"


def test_alert_about_an_error_that_only_a_step_can_see_is_shown() -> None:
    view = with_alert(kind="RemoteConfigRefused", summary="Remote config refused: orders.", severity="error")
    shown = replace(view, freshness={**view.freshness, "of_steps": ["RemoteConfigRefused"]})
    assert [alert.kind for alert in alerts_of(shown, NOW)] == ["RemoteConfigRefused"]
    state = state_of(snapshot(topic("a", 0)), shown, NOW)
    assert (state.level, state.verdict) == ("stuck", "Needs a look")
    assert "Remote config refused: orders." in state.because


@pytest.mark.parametrize(
    "partitions, level, words",
    [
        ([EQUAL, EQUAL], "fine", "Equal: 20 records of 2 partitions, record by record on both sides."),
        (
            [EQUAL, UNPROVEN],
            "behind",
            "Equal: 20 records of 2 partitions, record by record on both sides. Of 1 partition nothing could be compared.",
        ),
        ([EQUAL, DIFFERENT], "stuck", "Different in 1 partition of 2; 20 records of the source were read."),
        ([UNPROVEN], "unknown", "Nothing could be compared in 1 partition."),
    ],
)
@pytest.mark.parametrize("whole", [True, False], ids=["whole", "totals alone"])
def test_last_audit_says_in_a_sentence_what_it_found(partitions: list[str], level: str, words: str, whole: bool) -> None:
    difference = Difference("missing record", "orders", 1, "east.orders", 7, 9)
    rows = tuple(
        PartitionAudit("orders", number, "east.orders", state, source_records=10, difference=difference if state == DIFFERENT else None)
        for number, state in enumerate(partitions)
    )
    result = AuditResult(FLOW, NOW, rows)
    document = result.as_document() if whole else result.totals
    found = last_audit(replace(HEALTHY, audit=document, audit_run=("east-to-west.audit", "run")))
    assert found
    assert (found.level, found.words) == (level, words)
    assert found.differences == ((str(difference),) if whole and DIFFERENT in partitions else ())
    assert found.time == (NOW if whole else None)


def test_audit_that_cannot_be_read_is_said_and_breaks_nothing() -> None:
    assert last_audit(HEALTHY) is None
    for document in ({}, {"columns": {}}, {"state": 1}, {"columns": {"topic": ["x"]}, "differences": 1}):
        found = last_audit(replace(HEALTHY, audit=document, audit_run=("d", "r")))
        assert found
        assert (found.level, found.run) == ("unknown", ("d", "r"))


@pytest.mark.parametrize("dag", [Dag("east-to-west.copy", "copy")])
def test_view_finds_a_dag_by_what_it_does(dag: Dag) -> None:
    assert AirflowView(dags=(dag,)).find_dag("copy") == dag
    assert AirflowView(dags=(dag,)).find_dag("audit") is None


@pytest.mark.parametrize(("is_expected", "level", "said"), [(False, "stuck", "'ordres'"), (True, "fine", "the first one that comes")])
def test_a_flow_that_takes_no_topic_is_looked_at_unless_it_waits_for_any_first_one(is_expected: bool, level: str, said: str) -> None:
    taken = snapshot()
    assert taken.status is not None
    idle = IdleMembers("topics", "topic", "east", ("ordres",), True, is_expected)
    state = state_of(judged(replace(taken, status=replace(taken.status, idle=idle))), HEALTHY, NOW)
    assert (state.level, state.verdict) == (level, "Nothing to mirror")
    assert said in state.because
