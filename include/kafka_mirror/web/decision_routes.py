"""The one route that changes something. It shows what a decision would do, and takes it when the person confirms."""

import logging
from typing import Annotated, Any

from fastapi import APIRouter, Depends
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field

from kafka_mirror.config.flow import FlowName
from kafka_mirror.errors import ErrorReport, MirrorError
from kafka_mirror.status.airflow_view import Person
from kafka_mirror.web.auth import Signed, person, require, same_origin
from kafka_mirror.web.context import Site, name_of, site_of, snapshot_by_id
from kafka_mirror.web.decisions import DecisionEffects, DecisionInput, SituationChanged, status_of
from kafka_mirror.web.error_actions import title

router = APIRouter(dependencies=[Depends(person), Depends(same_origin)])

EVENT, FAILED_EVENT = "mirror_decide", "mirror_decide_failed"
"""Events in Airflow's audit log: the first before a decision is written, the second if writing it failed."""

log = logging.getLogger(__name__)


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
    seen: str | None = Field(default=None, max_length=64)

    def to_decision(self, flow: FlowName, user: Person) -> DecisionInput:
        """The decision about a flow, by a person."""
        return DecisionInput(flow.name, user.name, why=self.reason, **self.model_dump(exclude={"reason", "seen"}))


@router.post("/flows/{flow_id}/decisions")
async def decide(flow_id: str, form: Form, site: Annotated[Site, Depends(site_of)], user: Signed) -> JSONResponse:
    """Shows what a decision would do, or takes it. The response to a MirrorError has its message and the next step."""
    flow = name_of(snapshot_by_id(site.cache.get(), flow_id))
    await run_in_threadpool(require, site.airflow, user, "GET", flow)
    await run_in_threadpool(require, site.airflow, user, "PUT", flow)
    decision = form.to_decision(flow, user)
    try:
        if form.seen is None:
            return _answer("would", await site.decider.show(decision), decision)
        return await _take(site, user, flow, decision, form.seen)
    except SituationChanged as changed:
        return JSONResponse({"message": str(changed), "next": "", "would": changed.current.effects, "seen": changed.current.seen}, 409)
    except MirrorError as error:
        return JSONResponse(_error_body(error.report().of_flow(flow.name)), status_of(error))


async def _take(site: Site, user: Person, flow: FlowName, decision: DecisionInput, seen: str) -> JSONResponse:
    """Takes a decision. Its entry in the audit log comes first, so that no decision is without one."""
    facts = {name: value for name, value in vars(decision).items() if value is not None and name != "who"}
    await run_in_threadpool(site.airflow.note, user, EVENT, flow, facts)
    try:
        effects = await site.decider.decide(decision, seen)
    except (MirrorError, SituationChanged) as error:
        await run_in_threadpool(site.airflow.note, user, FAILED_EVENT, flow, {**facts, "error": str(error)})
        raise
    log.info("%s decided about %s: %s", user.name, flow.name, "; ".join(effects.effects))
    site.cache.refresh(flow.name)
    return _answer("decided", effects, decision)


def _answer(key: str, effects: DecisionEffects, decision: DecisionInput) -> JSONResponse:
    return JSONResponse({key: effects.effects, "seen": effects.seen, "title": title(decision.decision)})


def _error_body(report: ErrorReport) -> dict[str, Any]:
    return {"code": report.code, "message": report.message, "next": report.next}
