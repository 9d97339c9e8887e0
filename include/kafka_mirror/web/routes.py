"""The routes: pages, the same content as JSON for scripts, and the one that changes something, a person's decision."""

import logging
from dataclasses import asdict
from datetime import UTC, datetime
from math import isfinite
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Depends, HTTPException, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import FileResponse, HTMLResponse, JSONResponse, RedirectResponse, Response
from pydantic import BaseModel, ConfigDict, Field

from kafka_mirror.config.flow import FlowName
from kafka_mirror.errors import MirrorError
from kafka_mirror.errors.runbook import sections
from kafka_mirror.formats.documents import to_document
from kafka_mirror.status.airflow_view import COPY, Person
from kafka_mirror.status.snapshot import PartitionSnapshot, TopicSnapshot
from kafka_mirror.web.context import Signed, Site, name_of, person, require, same_origin, site_of, snapshot_by_id
from kafka_mirror.web.decisions import DecisionEffects, DecisionInput, SituationChanged, status_of, title
from kafka_mirror.web.page import FlowSummary, flow_page, run_page, summaries
from kafka_mirror.web.rendering import REFRESH_SECONDS, WAITING_SECONDS, html
from kafka_mirror.web.state import is_old
from kafka_mirror.web.tables import Page, TopicTable, records_of

router = APIRouter(dependencies=[Depends(person), Depends(same_origin)])

_STATIC = Path(__file__).parent / "static"
_FILES = {path.name: path for path in _STATIC.iterdir() if path.is_file()}

OfSite = Annotated[Site, Depends(site_of)]

EVENT, FAILED_EVENT = "mirror_decide", "mirror_decide_failed"
"""Events in Airflow's audit log: the first before a decision is written, the second if writing it failed."""

log = logging.getLogger(__name__)


@router.get("/", response_class=HTMLResponse)
def show_overview(request: Request, site: OfSite, user: Signed) -> Response:
    """All flows that the person may read; where there is only one, that one."""
    flows = summaries(site, user)
    snapshots = site.snapshots()
    errors = snapshots.errors if site.airflow.sees_all_teams(user) else ()
    if len(flows) == 1 and not errors:
        return RedirectResponse(f"{request.scope.get('root_path', '').rstrip('/')}/flows/{flows[0].id}", 307)
    now = datetime.now(UTC)
    times = [summary.snapshot.taken for summary in flows if summary.snapshot.taken is not None]
    waiting = len(times) < len(flows) or any(is_old(summary.snapshot, now) for summary in flows)
    return html(
        request,
        "overview.html",
        flows=flows,
        errors=errors,
        hidden=len(snapshots.flows) - len(flows),
        who=user,
        now=now,
        oldest=min(times, default=None),
        refresh=WAITING_SECONDS if waiting else REFRESH_SECONDS,
    )


@router.get("/flows/{flow_id}", response_class=HTMLResponse)
def show_flow(request: Request, flow_id: str, site: OfSite, user: Signed) -> Response:
    """One flow."""
    snapshot = snapshot_by_id(site.snapshots(), flow_id)
    require(site.airflow, user, "GET", name_of(snapshot))
    page, now = flow_page(site, user, snapshot, request.query_params), datetime.now(UTC)
    return html(
        request,
        "flow.html",
        page=page,
        flow=page.flow,
        flows=summaries(site, user),
        who=user,
        now=now,
        refresh=REFRESH_SECONDS if snapshot.is_taken and not is_old(snapshot, now) else WAITING_SECONDS,
    )


@router.get("/runs/{dag_id}/{run_id:path}", response_class=HTMLResponse)
def show_run(request: Request, dag_id: str, run_id: str, site: OfSite, user: Signed) -> Response:
    """The verdict of one run of a copy DAG: a tab on that run's page in Airflow."""
    name = next((flow for flow in map(name_of, site.snapshots().flows) if flow.dag_id(COPY) == dag_id), None)
    if name is None:
        raise HTTPException(404, f"Runs of copy DAGs of the mirror have a verdict here; {dag_id} is none of them.")
    require(site.airflow, user, "GET", name)
    copy_run = site.airflow.read_copy_run(user, name, run_id)
    if copy_run is None:
        raise HTTPException(404, f"The DAG {dag_id} has no run {run_id!r}.")
    return html(
        request, "run.html", flow=name, page=run_page(copy_run), now=datetime.now(UTC), refresh=0 if copy_run.run.ended else REFRESH_SECONDS
    )


@router.get("/runbook", response_class=HTMLResponse)
def show_runbook(request: Request, site: OfSite, who: Signed) -> Response:
    """What each error and each alert means, and what to do about it; `#sourcegap` leads to one."""
    return html(request, "runbook.html", flows=summaries(site, who), entries=sections(), who=who, now=datetime.now(UTC))


@router.get("/static/{name}")
def get_static(name: str) -> Response:
    """A style or a script of the pages."""
    if name not in _FILES:
        raise HTTPException(404, "There is no such file.")
    return FileResponse(_FILES[name])


@router.get("/api/flows")
def list_flows(site: OfSite, user: Signed) -> dict[str, Any]:
    """Every flow that the person may read, in short."""
    return {"flows": [_summarize(summary) for summary in summaries(site, user)]}


@router.get("/api/flows/{flow_id}")
def describe_flow(request: Request, flow_id: str, site: OfSite, user: Signed) -> dict[str, Any]:
    """One flow; its topics as the page's address asks for them (`t.q`, `t.sort`, `t.page`, `t.open` …)."""
    snapshot = snapshot_by_id(site.snapshots(), flow_id)
    require(site.airflow, user, "GET", name_of(snapshot))
    page = flow_page(site, user, snapshot, request.query_params)
    return {
        **_summarize(page.flow),
        "errors": to_document(snapshot.errors),
        "alerts": to_document(page.alerts),
        "causes": [cause.what for cause in page.causes],
        "copied": page.flow.view.copied or None,
        "groups": _describe_page(page.groups.page, [{**asdict(group), "exact_now": group.is_exact} for group in page.groups.page.rows]),
        "topics": _describe_topics(page.topics),
    }


def _summarize(flow: FlowSummary) -> dict[str, Any]:
    observed, now = flow.figures, datetime.now(UTC)
    seconds = observed.catch_up.seconds
    return {
        "flow": flow.snapshot.flow,
        "state": flow.state.level,
        "sentence": f"{flow.state.verdict}: {flow.state.because}",
        "next": flow.state.next.text,
        "taken": flow.snapshot.taken,
        "age_seconds": flow.snapshot.measure_age(now),
        "lag_records": observed.status.lag if observed.status else None,
        "lag_seconds": observed.status.oldest_seconds if observed.status else None,
        "lag_bytes": observed.bytes_behind,
        "records_per_second": observed.throughput.records,
        "bytes_per_second": observed.throughput.bytes,
        "catch_up_seconds": seconds if seconds is not None and isfinite(seconds) else None,
        "partitions": len(observed.status.partitions) if observed.status else 0,
        "states": observed.status.states if observed.status else {},
    }


def _describe_topics(table: TopicTable) -> dict[str, Any]:
    unfolded = table.partitions
    return {
        **_describe_page(table.page, [_describe_topic(row) for row in table.page.rows]),
        "open": table.listing.open or None,
        "partitions": _describe_page(unfolded, [_describe_partition(row) for row in unfolded.rows]) if unfolded else None,
    }


def _describe_page(page: Page[Any], rows: list[dict[str, Any]]) -> dict[str, Any]:
    return {"rows": rows, "page": page.number, "pages": page.pages, "matched": page.matched, "total": page.total}


def _describe_topic(topic: TopicSnapshot) -> dict[str, Any]:
    return {
        "topic": topic.topic,
        "remote": topic.remote,
        "partitions": len(topic.partitions),
        "states": topic.states,
        "lag": topic.lag,
        "oldest_seconds": topic.oldest_seconds,
        "bytes_behind": topic.bytes_behind,
        "records": records_of(topic),
        "schema_ids": list(topic.schema_ids.ids) if topic.schema_ids else None,
    }


def _describe_partition(partition: PartitionSnapshot) -> dict[str, Any]:
    status = partition.status
    return {
        "partition": partition.partition,
        "state": status.state,
        "lane": partition.lane,
        "watermark": status.watermark,
        "end": status.end,
        "lag": status.lag,
        "oldest_seconds": status.oldest_seconds,
        "error": to_document(status.error),
    }


class Form(BaseModel):
    """A decision as the page sends it. Without `seen` the response says what it would do; with the `seen` of that response it is taken."""

    model_config = ConfigDict(extra="forbid")

    decision: str = Field(max_length=60)
    reason: str = Field(max_length=1000)
    topic: str | None = Field(default=None, max_length=249)
    partition: int | None = Field(default=None, ge=0)
    alias: str | None = Field(default=None, max_length=249)
    start: int | str | None = None
    bytes_per_second: int | str | None = None
    digest: str | None = Field(default=None, alias="seen", max_length=64)
    """Of the facts that the person saw; None asks what would happen."""


@router.post("/flows/{flow_id}/decisions")
async def decide(flow_id: str, form: Form, site: OfSite, user: Signed) -> JSONResponse:
    """Shows what a decision would do, or takes it. The response to a MirrorError has its message and the next step."""
    flow = name_of(snapshot_by_id(site.cache.get(), flow_id))
    await run_in_threadpool(require, site.airflow, user, "GET", flow)
    await run_in_threadpool(require, site.airflow, user, "PUT", flow)
    decision = DecisionInput(flow.name, user.name, why=form.reason, **form.model_dump(exclude={"reason", "digest"}))
    try:
        if form.digest is None:
            return _respond("would", await site.decider.show(decision), decision)
        return await _take(site, user, flow, decision, form.digest)
    except SituationChanged as changed:
        return JSONResponse({"message": str(changed), "next": "", "would": changed.current.effects, "seen": changed.current.digest}, 409)
    except MirrorError as error:
        report = error.report().with_flow(flow.name)
        return JSONResponse({"code": report.code, "message": report.message, "next": report.next}, status_of(error))


async def _take(site: Site, user: Person, flow: FlowName, decision: DecisionInput, digest: str) -> JSONResponse:
    """Takes a decision. Its entry in the audit log comes first, so that no decision is without one."""
    facts = {name: value for name, value in vars(decision).items() if value is not None and name != "who"}
    await run_in_threadpool(site.airflow.note, user, EVENT, flow, facts)
    try:
        effects = await site.decider.decide(decision, digest)
    except (MirrorError, SituationChanged) as error:
        await run_in_threadpool(site.airflow.note, user, FAILED_EVENT, flow, {**facts, "error": str(error)})
        raise
    log.info("%s decided about %s: %s", user.name, flow.name, "; ".join(effects.effects))
    site.cache.refresh(flow.name)
    return _respond("decided", effects, decision)


def _respond(key: str, effects: DecisionEffects, decision: DecisionInput) -> JSONResponse:
    return JSONResponse({key: effects.effects, "seen": effects.digest, "title": title(decision.decision)})
