"""What is remembered survives as JSON, and what cannot be read is told apart from what is not there."""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from kafka_mirror.audit.model import DIFFERENT, EQUAL
from kafka_mirror.config import Flow
from kafka_mirror.errors import NotificationFailed
from kafka_mirror.formats.documents import pack
from kafka_mirror.status.alerts.audits import Audits
from kafka_mirror.status.alerts.check import FreshnessCheck, check, deliver_outbox
from kafka_mirror.status.alerts.tracker import AlertState, state_of
from kafka_mirror.status.problems import Alert, report_late_run
from kafka_mirror.status.status import LEDGER_UNREADABLE, NO_LEADER, PartitionStatus
from tests.unit.status.alerts.test_audits import audited
from tests.unit.status.observations import at, error, hidden, partition, seen, written


class Channel:
    """A connection that takes what it is sent, while it is up."""

    def __init__(self) -> None:
        self.is_up = True
        self.got: list[tuple[str, bool]] = []

    def send(self, alert: Alert, cleared: bool) -> None:
        if not self.is_up:
            raise NotificationFailed("mail", "the sink", "it is down")
        self.got.append((alert.kind, cleared))


@pytest.fixture
def flow(make_flow) -> Flow:
    return make_flow("mirror.alert.connections = mail", "mirror.deadline.lag.seconds = 100")


def run(flow: Flow, state: AlertState, channel: Channel, seconds: float, *errors: str) -> tuple[AlertState, FreshnessCheck, list[str]]:
    """One run of the DAG, with what it remembered as JSON."""
    before = state_of(json.loads(json.dumps(state.as_document()))) if state != AlertState() else state
    looked = seen(seconds, partition(0, 9, written=written(seconds)), errors=[error(code, "orders", 0) for code in errors])
    checked = check(flow, looked, before)
    after, failed = deliver_outbox(checked, lambda _connection: channel)
    return after, checked, list(failed)


def test_runs_remember_by_json_alone_and_tell_once_each(flow: Flow) -> None:
    channel, state = Channel(), AlertState()
    for minute in range(5):
        state, _, failed = run(flow, state, channel, 60 * minute, "SourceGap")
        assert failed == []
    assert channel.got == [("SourceGap", False), ("Behind", False)]
    for minute in range(5, 9):
        state, _, _ = run(flow, state, channel, 60 * minute)
    assert channel.got[2:] == [("SourceGap", True)]


def test_what_could_not_be_delivered_is_kept_and_sent_by_a_later_run(flow: Flow) -> None:
    channel, state = Channel(), AlertState()
    channel.is_up = False
    failures = []
    for minute in range(4):
        state, checked, failed = run(flow, state, channel, 60 * minute, "SourceGap")
        failures.append(failed)
    assert failures == [[], ["mail"], ["mail"], ["mail"]]
    assert checked.write_document()["unsent"] == 2
    channel.is_up = True
    state, _, failed = run(flow, state, channel, 240, "SourceGap")
    assert (failed, channel.got, state.outbox) == ([], [("SourceGap", False), ("Behind", False)], ())


def test_a_run_that_was_killed_before_it_sent_is_caught_up_and_one_killed_behind_it_sends_twice(flow: Flow) -> None:
    channel, state = Channel(), AlertState()
    state, _, _ = run(flow, state, channel, 0, "SourceGap")
    _, checked, _ = run(flow, state, Channel(), 60, "SourceGap")
    state = checked.state  # what was kept before anything was sent
    state, _, _ = run(flow, state, channel, 120, "SourceGap")
    assert channel.got[0] == ("SourceGap", False)


def test_run_after_run_that_is_late_is_one_alert_and_what_makes_them_late_is_none_beside_it(flow: Flow) -> None:
    def state_after(state: AlertState, number: int, *runs: str, **fields: Any) -> AlertState:
        late = [report_late_run("east-to-west.copy", run, 900, "running") for run in runs]
        checked = check(flow, seen(60 * number, **fields), state, late_runs=late)
        messages.extend((each.alert.kind, each.cleared) for each in checked.state.outbox)
        return replace(checked.state, outbox=())

    messages: list[tuple[str, bool]] = []
    state = AlertState()
    for number in range(40):
        state = state_after(state, number, f"run {number // 4}")
    for number in range(40, 43):
        state = state_after(state, number)
    assert messages == [("DeadlineMissed", False), ("DeadlineMissed", True)]

    messages.clear()
    silent = error("ClusterUnreachable", retriable=True)
    for number in range(43, 60):
        state = state_after(state, number, "run", comparable=False, beats=None, silent={"east": silent}, errors=[silent])
    assert messages == [("ClusterUnreachable", False)]


def test_audits_and_runs_are_judged_also_while_no_cluster_answers(flow: Flow) -> None:
    silent = error("ClusterUnreachable", retriable=True)
    down = seen(0, comparable=False, beats=None, silent={"east": silent}, errors=[silent])
    run_problem = report_late_run("east-to-west.copy", "run", 900, "running")
    audits = Audits().add_audit("run 1", audited(0, (1, DIFFERENT, (0, 9), 4)))
    well = check(flow, seen(-60), AlertState(), audits, [run_problem])
    first = check(flow, down, well.state, audits, [run_problem])
    then = check(flow, replace(down, status=replace(down.status, time=at(60))), first.state, audits, [run_problem])
    assert {each.kind for each in then.alerts} == {"AuditMismatch", "DeadlineMissed"}
    audits = audits.add_audit("run 2", audited(1, (1, EQUAL, (0, 9), None)))
    for minute in (2, 3):
        then = check(flow, replace(down, status=replace(down.status, time=at(60 * minute))), then.state, audits)
    assert {each.kind for each in then.alerts} == set()


@pytest.mark.parametrize("why", [NO_LEADER, LEDGER_UNREADABLE])
def test_an_alert_about_a_partition_is_not_over_because_that_cannot_be_looked_at(make_flow: Callable[..., Flow], why: str) -> None:
    flow = make_flow("mirror.alert.connections = mail", "mirror.deadline.lag.seconds = 100", "mirror.deadline.progress.seconds = -1")
    state, other = AlertState(), partition(9, 9, 1, written=written(0))
    late, unseen = partition(5, 500, written=written(0)), hidden(state=why)
    told: list[tuple[int, bool, str]] = []

    def minute(number: int, *partitions: PartitionStatus, gap: bool) -> None:
        nonlocal state
        looked = seen(60 * number, *partitions, errors=[error("SourceGap", "orders", 0)] if gap else [])
        checked = check(flow, looked, state_of(json.loads(json.dumps(state.as_document()))))
        told.extend((number, each.cleared, each.alert.kind) for each in checked.state.outbox[len(state.outbox) :])
        state = checked.state

    for number in range(5):
        minute(number, late, replace(other, written=written(60 * number)), gap=True)
    assert told == [(1, False, "SourceGap"), (3, False, "Behind")]
    for number in range(5, 20):
        minute(number, unseen, replace(other, written=written(60 * number)), gap=False)
    assert told[2:] == []
    for number in range(20, 23):
        minute(number, late, replace(other, written=written(60 * number)), gap=True)
    assert told[2:] == [], "they are told once"
    for number in range(23, 25):
        minute(number, partition(500, 500), replace(other, written=written(60 * number)), gap=False)
    assert {each[1:] for each in told[-2:]} == {(True, "SourceGap"), (True, "Behind")}


def test_that_nothing_is_remembered_of_partitions_is_not_the_same_as_that_none_had_work() -> None:
    for memory in (None, {}):
        assert state_of(json.loads(json.dumps(AlertState(memory).as_document()))).memory == memory


def test_the_document_has_the_figures_of_the_curve_and_what_is_open(flow: Flow) -> None:
    channel, state = Channel(), AlertState()
    for seconds in (0, 150, 200):
        state, checked, _ = run(flow, state, channel, seconds)
    document = json.loads(json.dumps(checked.write_document()))
    assert (document["lag_records"], document["lag_seconds"], document["lag_bytes"]) == (9, 200, None)
    assert (document["behind_offsets"], document["oldest_seconds"]) == (9, 1e9)
    assert [each["kind"] for each in document["open"]] == ["Behind"]
    assert document["time"] == "2026-11-21T12:03:20.000Z"
    assert document["paused"] == {"partitions": 0, "first": []}


@pytest.mark.parametrize(
    "damaged",
    [None, 5, "text", [], {}, {"packed": None}, {"packed": "!"}, {"packed": pack([])}, {"packed": pack({"outbox": 5})}],
)
def test_a_damaged_document_is_a_value_error_and_nothing_else(damaged: object) -> None:
    with pytest.raises(ValueError, match=r".+"):
        state_of(damaged)
