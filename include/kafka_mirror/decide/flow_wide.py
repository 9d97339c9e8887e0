"""Decisions about a flow as a whole, bound to how its clusters and its ledger stand."""

from collections.abc import Iterable
from datetime import datetime

from kafka_mirror.decide.model import DecisionWithEffect
from kafka_mirror.decide.request import DecisionRequest
from kafka_mirror.errors import NothingToDecide, UsageError
from kafka_mirror.formats.fields import moment_text
from kafka_mirror.ledger.checks import foreign
from kafka_mirror.ledger.control_records import LEDGER, UNLIMITED, Decision
from kafka_mirror.ledger.record import LedgerRecord


def adopt_cluster(
    request: DecisionRequest, ids: Iterable[tuple[str, str, str]], records: Iterable[LedgerRecord], when: datetime
) -> list[DecisionWithEffect]:
    """Records of another cluster id count for the cluster that the alias leads to now. `ids` are alias, id now, and which side it is
    (source or target)."""
    listed = list(records)
    for alias, present_id, side in ids:
        if alias != request.alias:
            continue
        former_ids = sorted({getattr(record, f"{side}_cluster_id") for record in listed} - {present_id})
        if not former_ids:
            raise NothingToDecide(request.decision, f"the ledger was written for cluster {present_id}, to which '{alias}' leads.")
        decision = Decision(request.decision, request.who, when, request.why, alias=alias, cluster_id=present_id)
        effect = f"ledger records of cluster {', '.join(former_ids)} count for cluster {present_id}, to which '{alias}' leads now"
        return [DecisionWithEffect(decision, effect)]
    aliases = " or ".join(alias for alias, _, _ in ids)
    raise UsageError(f"This flow has no cluster '{request.alias}'.", next=f"Name one of its two: --alias {aliases}")


def take_ownership(
    request: DecisionRequest, installation: str, records: Iterable[LedgerRecord], interval_seconds: float, now: datetime, when: datetime
) -> list[DecisionWithEffect]:
    """What another installation wrote until now keeps ours out no longer."""
    if not installation:
        raise NothingToDecide(
            request.decision,
            "mirror.installation is not set, so installations cannot be distinguished.",
            next="Set mirror.installation, to another name in each installation, to keep two from writing the same flow.",
        )
    others = [record.writer for record in records if foreign(record, installation, interval_seconds, now)]
    if not others:
        raise NothingToDecide(request.decision, f"no other installation than '{installation}' has written to the ledger just now.")
    until = max(when, *(writer.time for writer in others))
    names = ", ".join(sorted({f"'{writer.installation}' on {writer.host}" for writer in others}))
    decision = Decision(request.decision, request.who, when, request.why, installation=installation, until=until)
    return [DecisionWithEffect(decision, f"'{installation}' writes on after what {names} wrote until {moment_text(until)}")]


def begin_control(request: DecisionRequest, noted_id: str | None, present_id: str | None, when: datetime) -> list[DecisionWithEffect]:
    """The control topic, of which decisions were lost, is whole as it is now."""
    if noted_id is not None or present_id is None:
        state = "the control topic names the flow's ledger." if noted_id else "the flow has no ledger yet; the first plan begins both."
        raise NothingToDecide(request.decision, state)
    decision = Decision(LEDGER, request.who, when, request.why, ledger_id=present_id)
    return [DecisionWithEffect(decision, "what the control topic says now is all that was decided")]


def begin_ledger(
    request: DecisionRequest, ledger: str, noted_id: str | None, present_id: str | None, when: datetime
) -> list[DecisionWithEffect]:
    """A new ledger takes the place of the one that is gone."""
    if noted_id is None or noted_id == present_id:
        state = f"the ledger {ledger} is the flow's." if noted_id else "no ledger of this flow was ever begun; the first plan does it."
        raise NothingToDecide(request.decision, state)
    what = f"the topic {ledger} that stands there now (topic id {present_id})" if present_id else f"a new topic {ledger}"
    decision = Decision(request.decision, request.who, when, request.why, ledger_id=noted_id, found_id=present_id)
    return [
        DecisionWithEffect(
            decision, f"{what} becomes the flow's ledger; every remote partition that holds records waits for accept-records"
        )
    ]


def throttle(request: DecisionRequest, before: Decision | None, configured: int, when: datetime) -> list[DecisionWithEffect]:
    """Another rate than before. `before`: the decision in force; `configured`: what the properties say (mirror.max.bytes.per.second)."""
    rate_asked = request.bytes_per_second
    if rate_asked is None and before is None:
        raise NothingToDecide(request.decision, f"no decision says how fast the flow copies; the properties say {_write_rate(configured)}.")
    decision = Decision(request.decision, request.who, when, request.why, bytes_per_second=rate_asked)
    rate = _write_rate(configured if rate_asked is None else rate_asked)
    whose = ", as the properties say" if rate_asked is None else ""
    return [DecisionWithEffect(decision, f"the flow copies {rate}{whose}; a run that is under way does so from its next transaction on")]


def _write_rate(bytes_per_second: int) -> str:
    return "as fast as it can" if bytes_per_second == UNLIMITED else f"at most {bytes_per_second:,} bytes a second"
