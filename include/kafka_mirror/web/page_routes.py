"""The routes of the pages: all flows, one flow, and the files that they need."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

from fastapi import APIRouter, Depends, HTTPException, Request
from fastapi.responses import FileResponse, HTMLResponse, RedirectResponse, Response

from kafka_mirror.errors.runbook import sections
from kafka_mirror.status.airflow_view import COPY
from kafka_mirror.web.auth import Signed, person, require
from kafka_mirror.web.context import Site, name_of, site_of, snapshot_by_id
from kafka_mirror.web.page import flow_page, summaries
from kafka_mirror.web.rendering import REFRESH_SECONDS, WAITING_SECONDS, html
from kafka_mirror.web.run_page import run_page
from kafka_mirror.web.state import is_old

router = APIRouter(dependencies=[Depends(person)])

_STATIC = Path(__file__).parent / "static"
_FILES = {path.name: path for path in _STATIC.iterdir() if path.is_file()}

OfSite = Annotated[Site, Depends(site_of)]


@router.get("/", response_class=HTMLResponse)
def overview(request: Request, site: OfSite, user: Signed) -> Response:
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
def flow(request: Request, flow_id: str, site: OfSite, user: Signed) -> Response:
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
def run(request: Request, dag_id: str, run_id: str, site: OfSite, user: Signed) -> Response:
    """The verdict of one run of a copy DAG: a tab on that run's page in Airflow."""
    name = next((each for each in map(name_of, site.snapshots().flows) if each.dag_id(COPY) == dag_id), None)
    if name is None:
        raise HTTPException(404, f"Runs of copy DAGs of the mirror have a verdict here; {dag_id} is none of them.")
    require(site.airflow, user, "GET", name)
    found = site.airflow.copy_run(user, name, run_id)
    if found is None:
        raise HTTPException(404, f"The DAG {dag_id} has no run {run_id!r}.")
    return html(
        request, "run.html", flow=name, page=run_page(found), now=datetime.now(UTC), refresh=0 if found.run.ended else REFRESH_SECONDS
    )


@router.get("/runbook", response_class=HTMLResponse)
def runbook(request: Request, site: OfSite, who: Signed) -> Response:
    """What each error and each alert means, and what to do about it; `#sourcegap` leads to one."""
    return html(request, "runbook.html", flows=summaries(site, who), entries=sections(), who=who, now=datetime.now(UTC))


@router.get("/static/{name}")
def static(name: str) -> Response:
    """A style or a script of the pages."""
    if name not in _FILES:
        raise HTTPException(404, "There is no such file.")
    return FileResponse(_FILES[name])
