"""An upgrade while Airflow works: what the version before left in XCom, in Airflow's database and on the clusters is read as it was meant.

The code of that version wrote version_before.json: runs without an end, a queued deadline, a running heartbeat trigger, what the freshness
DAG remembers, ledger and control topic.
"""

import json
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from mirror.airflow import backfill, backfill_runs, backfill_xcom, copy_xcom
from mirror.airflow.heartbeat_trigger import HeartbeatTrigger
from mirror.airflow.tasks import from_xcom
from mirror.alerts import state as alert_state
from mirror.alerts.audits import Audits
from mirror.audit.model import AuditResult
from mirror.backfill.intervals import OffsetInterval, TimeInterval
from mirror.backfill.model import BackfillPart, Resolution
from mirror.copy.model import LaneResult, SkippedRecords, Watermark
from mirror.errors import ErrorReport, LedgerTooNew
from mirror.formats import control
from mirror.formats.documents import from_document, to_document
from mirror.formats.ledger import Decided, LedgerRecord, Writer
from mirror.formats.ledger_codec import decode, decode_key, encode, encode_key
from mirror.formats.skips import Skipped
from mirror.offsets.map import OffsetMap, Run
from mirror.offsets.partition import TopicPartition
from mirror.plan.model import Plan, Range
from mirror.sync.groups.find import known_groups
from tests.unit.decision_records import decision

BEFORE = json.loads((Path(__file__).parent / "version_before.json").read_text(encoding="utf-8"))
AT = datetime(2026, 11, 21, 8, 0, 0, 123000, tzinfo=UTC)
GAP = ErrorReport(
    "SourceGap",
    "orders-1: the source's log starts at 500, and the watermark is 100",
    "orders",
    1,
    500,
    next="python -m mirror decide accept-gap --flow 'east->west' --topic orders --partition 1 --reason \"…\"",
)
FENCED = ErrorReport("LaneFenced", "Lane 3 was taken over", retriable=True, next="Nothing: the next run goes on.")
PLAN = Plan(
    "east->west",
    (
        Range("orders", 0, "AAAA", 100, 250, "behind", leader_epoch=3, records=90, bytes=900),
        Range("orders", 2, "AAAA", 0, 0, "first sight", decisions=(decision("restart", partition=2),)),
        Range("pay.ments", 7, "EEEE", 5, 9, "gap", skip_to=7),
    ),
    (GAP,),
    ("a notice",),
    "hash",
    "CCCC",
    "DDDD",
    "LLLL",
    (decision("adopt-cluster"),),
    time=AT,
    by_person=True,
)
RESULTS = [
    LaneResult(
        0,
        (Watermark("orders", 0, 250, 240, 140, 1400),),
        transactions=2,
        seconds=1.5,
        skipped=(SkippedRecords("pay.ments", 7, 5, 2, "gap"),),
        ledger_end=77,
    ),
    LaneResult(3, errors=(FENCED,), seconds=0.5),
]
RESOLUTION = Resolution(
    "east->west",
    TimeInterval(1_700_000_000_000, 1_700_086_400_000),
    (OffsetInterval("orders", 0, 10, 40, 5, 40), OffsetInterval("orders", 1, 0, 7, 0, 90)),
    (GAP,),
    ("a notice",),
    ("orders-2: expired",),
)
PART = BackfillPart(60, 30, 300, 30, (GAP,), ("a notice",), ("orders-2: expired",), {"orders": "east.orders.history"})

as_it_is_or_packed = pytest.mark.parametrize("form", ["xcom", "packed"])


@as_it_is_or_packed
def test_the_copy_goes_on_by_the_plan_of_the_version_before(form: str) -> None:
    flow: Any = None
    assert copy_xcom.plan_from_xcom(flow, BEFORE[form]["plan"]) == PLAN


@as_it_is_or_packed
def test_publish_reads_the_results_of_the_version_before(form: str) -> None:
    found = copy_xcom.results_from_xcom(BEFORE[form]["results"])
    assert [mark for result in found for mark in result.watermarks] == [mark for result in RESULTS for mark in result.watermarks]
    assert [error for result in found for error in result.errors] == [FENCED]
    assert [skip for result in found for skip in result.skipped] == [skip for result in RESULTS for skip in result.skipped]


@as_it_is_or_packed
def test_the_verdict_judges_the_run_of_the_version_before(form: str) -> None:
    verdict = copy_xcom.verdict_from_xcom(BEFORE[form]["plan"], BEFORE[form]["results"], BEFORE[form]["published"])
    assert verdict.state == "failed"
    assert set(verdict.errors) >= {GAP, FENCED}
    assert (verdict.records, verdict.bytes) == (142, 1420)
    assert {"lane 3 said otherwise", "a sync notice"} <= set(verdict.notices)


def test_the_verdict_takes_the_copys_own_where_the_version_before_kept_totals() -> None:
    totals = BEFORE["totals"]
    verdict = copy_xcom.verdict_from_xcom(totals["plan"], {**totals["results"], "verdict": BEFORE["verdict"]}, totals["published"])
    assert verdict.errors == (GAP, FENCED)
    assert (verdict.state, verdict.records, verdict.bytes, verdict.owed, verdict.skipped) == ("failed", 142, 1420, 4, 2)


@as_it_is_or_packed
def test_a_backfill_goes_on_where_the_version_before_left_it(monkeypatch: pytest.MonkeyPatch, form: str) -> None:
    monkeypatch.setattr(backfill_xcom, "pull", {"resolve": BEFORE[form]["resolution"]}.get)
    flow: Any = None
    assert backfill_xcom.resolution_of(flow) == RESOLUTION
    assert backfill_xcom.part_from_xcom(BEFORE[form]["part"]) == PART


def test_figures_of_a_backfills_slices_add_up_over_the_upgrade() -> None:
    store = {"slices": {"cleared": 0, "part": BEFORE["totals"]["part"]}}
    context: Any = {"task_state_store": store, "dag_run": SimpleNamespace(clear_number=0)}
    earlier = backfill.FillOperator(task_id="live", flow="east->west", part="live")._previous_part(context)
    assert (earlier.offsets, earlier.records, earlier.bytes, earlier.owed) == (60, 30, 300, 30)


def test_the_last_run_of_a_backfill_tells_of_runs_of_the_version_before(monkeypatch: pytest.MonkeyPatch) -> None:
    task = SimpleNamespace(xcom_pull=lambda **_: BEFORE["summary"])
    monkeypatch.setattr(backfill_runs, "get_current_context", lambda: {"ti": task})
    run = SimpleNamespace(dag_id="east-to-west.backfill", run_id="one", clear_number=0, state="failed")
    summary = backfill_runs._summary_of(run, "east->west")
    assert summary is not None
    assert (summary.state, summary.records, summary.owed, summary.errors) == ("failed", 40, 20, (GAP,))


def test_the_list_of_groups_of_the_version_before_is_used() -> None:
    found = known_groups(BEFORE["groups"], "hash", AT, 60)
    assert found is not None
    assert (found.names, found.partitions) == (("g", "h"), 7)


def test_an_alert_that_the_version_before_told_is_not_told_again() -> None:
    state = alert_state.state_of(BEFORE["alert_state"])
    [tracked] = state.tracking.values()
    assert (tracked.alert.key, tracked.is_open, tracked.notified) == ("east->west/SourceGap/orders", True, ("pager",))
    assert [(each.connection, each.again) for each in state.outbox] == [("slack", "worse")]
    assert state.memory is not None
    assert state.memory[TopicPartition("orders", 0)].seconds(1_700_000_060.0) == 60
    document = state.as_document()
    for alert in (entry["alert"] for entry in (*document["tracking"], *document["outbox"])):
        assert alert.pop("commands") == []  # the version before did not tell them apart
    assert document == BEFORE["alert_state"]


def test_what_audits_of_the_version_before_found_stands() -> None:
    assert to_document(from_document(Audits, BEFORE["audits"])) == BEFORE["audits"]
    document = from_xcom(BEFORE["audit"])
    assert document is not None
    assert AuditResult.from_document(document).totals["state"] == document["total_state"]


def test_a_running_heartbeat_trigger_goes_on() -> None:
    path, options = BEFORE["trigger"]
    module, _, name = path.rpartition(".")
    trigger = getattr(import_module(module), name)(**options)
    assert isinstance(trigger, HeartbeatTrigger)
    assert list(trigger.serialize()) == BEFORE["trigger"]


def test_a_queued_deadline_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    from airflow.sdk.definitions.callback import SyncCallback

    sent = []
    monkeypatch.setattr("mirror.airflow.deadlines.send_by", lambda connections, alert: sent.append((connections, alert)) or {})
    callback = SyncCallback.deserialize(dict(BEFORE["deadline"]), 0)
    module, _, name = callback.path.rpartition(".")
    run = {"dag_id": "east-to-west.copy", "dag_run_id": "scheduled__1", "state": "running"}
    getattr(import_module(module), name)(**callback.kwargs, context={"dag_run": run})
    [(connections, alert)] = sent
    assert connections == ["pager"]
    assert alert.flow == "east->west"


def test_the_ledger_of_the_version_before_is_read() -> None:
    writer = Writer("prod", "host-1", "scheduled__1", AT)
    plain = LedgerRecord(
        *(102, 3, "AAAA", "east.orders", "BBBB", 101, "CCCC", "DDDD", 16, OffsetMap((Run(0, 0, 100),)), writer),
        *(((0, 102),), (Skipped(5, 7, "gap"),), ((0, 1),), 100, 1000),
    )
    found = {name: decode(value.encode(), "here") for name, (_, value) in BEFORE["ledger"].items()}
    assert found["plain"] == plain
    assert found["handed back"].handed_back == Decided("handed-back", "ana@ops", AT, "back")
    assert found["everything"].offset_map.runs == (Run(0, 0, 40, thinned=True), Run(45, 40, 57))
    older = found["everything"].older
    assert older is not None
    assert older.offset_map == OffsetMap((Run(0, 0, 50),), True)
    assert found["many runs"].offset_map.translate(2900).target == 2610
    assert all(decode_key(key.encode(), "here") == TopicPartition("orders", 3) for key, _ in BEFORE["ledger"].values())


@pytest.mark.parametrize("name", BEFORE["ledger"])
def test_a_ledger_record_that_nothing_changes_keeps_its_bytes(name: str) -> None:
    key, value = BEFORE["ledger"][name]
    assert encode(decode(value.encode(), "here")) == value.encode()
    assert encode_key(decode_key(key.encode(), "here")) == key.encode()


@pytest.mark.parametrize("word", BEFORE["control"])
def test_a_decision_of_the_version_before_is_in_force(word: str) -> None:
    key, value = BEFORE["control"][word]
    found = control.decode(value.encode(), "here")
    assert found == decision(word)
    assert (control.encode_key(found), control.encode(found)) == (key.encode(), value.encode())


def test_a_ledger_of_a_newer_version_is_refused_with_a_sentence() -> None:
    _, value = BEFORE["ledger"]["plain"]
    newer = value.replace('"v":1', '"v":2')
    with pytest.raises(LedgerTooNew, match="version 2") as refused:
        decode(newer.encode(), "mirror-ledger-0@5")
    assert "mirror-ledger-0@5" in str(refused.value)
    assert refused.value.next
