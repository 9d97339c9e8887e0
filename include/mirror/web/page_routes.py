"""The routes of the pages: all flows, one flow, and the files that they need."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

from fastapi import APIRouter, Depends, HTTPException, Request
from fastapi.responses import FileResponse, HTMLResponse, RedirectResponse, Response

from mirror.web.access import Signed, person, require
from mirror.web.page import flow_page, summaries
from mirror.web.site import Site, name_of, site_of, snapshot_by_id
from mirror.web.state import is_old
from mirror.web.templating import REFRESH_SECONDS, WAITING_SECONDS, html

router = APIRouter(dependencies=[Depends(person)])

_STATIC = Path(__file__).parent / "static"
_FILES = {path.name: path for path in _STATIC.iterdir() if path.is_file()}

OfSite = Annotated[Site, Depends(site_of)]


@router.get("/", response_class=HTMLResponse)
def overview(request: Request, site: OfSite, who: Signed) -> Response:
    """All flows that the person may read; where there is only one, that one."""
    flows = summaries(site, who)
    found = site.snapshots()
    if len(flows) == 1 and not found.errors:
        return RedirectResponse(f"{request.scope.get('root_path', '').rstrip('/')}/flows/{flows[0].id}", 307)
    now = datetime.now(UTC)
    taken = [each.snapshot.taken for each in flows if each.snapshot.taken is not None]
    waiting = len(taken) < len(flows) or any(is_old(each.snapshot, now) for each in flows)
    return html(
        request,
        "overview.html",
        flows=flows,
        errors=found.errors,
        hidden=len(found.flows) - len(flows),
        who=who,
        now=now,
        oldest=min(taken, default=None),
        refresh=WAITING_SECONDS if waiting else REFRESH_SECONDS,
    )


@router.get("/flows/{flow_id}", response_class=HTMLResponse)
def flow(request: Request, flow_id: str, site: OfSite, who: Signed) -> Response:
    """One flow."""
    snapshot = snapshot_by_id(site.snapshots(), flow_id)
    require(site.airflow, who, "GET", name_of(snapshot))
    page, now = flow_page(site, who, snapshot, request.query_params), datetime.now(UTC)
    return html(
        request,
        "flow.html",
        page=page,
        flow=page.flow,
        flows=summaries(site, who),
        who=who,
        now=now,
        refresh=REFRESH_SECONDS if snapshot.is_taken and not is_old(snapshot, now) else WAITING_SECONDS,
    )


@router.get("/static/{name}")
def static(name: str) -> Response:
    """A style or a script of the pages."""
    if name not in _FILES:
        raise HTTPException(404, "There is no such file.")
    return FileResponse(_FILES[name])
