"""The one route that changes something: a decision of a person, shown first, then taken."""

import logging
from typing import Annotated, Any

from fastapi import APIRouter, Depends
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field

from mirror.config.names import FlowName
from mirror.errors import ErrorReport, MirrorError
from mirror.web.access import Person, Signed, person, require
from mirror.web.answers import title
from mirror.web.deciding import Asked, Changed, Shown, status_of
from mirror.web.guard import same_origin
from mirror.web.site import Site, name_of, site_of, snapshot_by_id

router = APIRouter(dependencies=[Depends(person), Depends(same_origin)])

EVENT, FAILED_EVENT = "mirror_decide", "mirror_decide_failed"
"""What stands in Airflow's audit log: before a decision is written, and again if that fails."""

log = logging.getLogger(__name__)


class Form(BaseModel):
    """A decision as the page sends it. Without `seen` it is only shown what would happen; with what was shown then, it is taken."""

    model_config = ConfigDict(extra="forbid")

    decision: str = Field(max_length=60)
    reason: str = Field(max_length=1000)
    topic: str | None = Field(default=None, max_length=249)
    partition: int | None = Field(default=None, ge=0)
    alias: str | None = Field(default=None, max_length=249)
    start: int | str | None = None
    bytes_per_second: int | str | None = None
    seen: str | None = Field(default=None, max_length=64)

    def asked(self, flow: FlowName, who: Person) -> Asked:
        """The same about a flow, by a person."""
        return Asked(flow.name, who.name, why=self.reason, **self.model_dump(exclude={"reason", "seen"}))


@router.post("/flows/{flow_id}/decisions")
async def decide(flow_id: str, form: Form, site: Annotated[Site, Depends(site_of)], who: Signed) -> JSONResponse:
    """Shows what a decision would do, or takes it. Errors of ours are answered with their message and the next step."""
    flow = name_of(snapshot_by_id(site.cache.get(), flow_id))
    await run_in_threadpool(require, site.airflow, who, "GET", flow)
    await run_in_threadpool(require, site.airflow, who, "PUT", flow)
    asked = form.asked(flow, who)
    try:
        if form.seen is None:
            return _answer("would", await site.decider.show(asked), asked)
        return await _decided(site, who, flow, asked, form.seen)
    except Changed as changed:
        return JSONResponse({"message": str(changed), "next": "", "would": changed.shown.effects, "seen": changed.shown.seen}, 409)
    except MirrorError as error:
        return JSONResponse(_told(error.report().of_flow(flow.name)), status_of(error))


async def _decided(site: Site, who: Person, flow: FlowName, asked: Asked, seen: str) -> JSONResponse:
    """Nothing is decided that the audit log does not have: its entry comes first."""
    facts = {name: value for name, value in vars(asked).items() if value is not None and name != "who"}
    await run_in_threadpool(site.airflow.note, who, EVENT, flow, facts)
    try:
        shown = await site.decider.decide(asked, seen)
    except (MirrorError, Changed) as error:
        await run_in_threadpool(site.airflow.note, who, FAILED_EVENT, flow, {**facts, "error": str(error)})
        raise
    log.info("%s decided about %s: %s", who.name, flow.name, "; ".join(shown.effects))
    site.cache.refresh(flow.name)
    return _answer("decided", shown, asked)


def _answer(word: str, shown: Shown, asked: Asked) -> JSONResponse:
    return JSONResponse({word: shown.effects, "seen": shown.seen, "title": title(asked.decision)})


def _told(report: ErrorReport) -> dict[str, Any]:
    return {"code": report.code, "message": report.message, "next": report.next}
