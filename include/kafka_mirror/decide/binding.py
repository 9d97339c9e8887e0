"""Binds a person's decision to how things stand: what is asked and what was seen go in, decisions with their effects come out. Pure.

`bind` is for decisions about partitions. The other functions are for those about a flow as a whole: its clusters, its ledger, its control
topic, its rate.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from kafka_mirror.copy.plan.ranges import SourceOffsets
from kafka_mirror.decide.request import DecisionRequest
from kafka_mirror.errors import NothingToDecide, TargetLostRecords, UsageError
from kafka_mirror.formats.documents import moment_text
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.ledger.apply_decisions import PartitionFacts
from kafka_mirror.ledger.checks import is_foreign
from kafka_mirror.ledger.control_records import ACCEPT_GAP, ACCEPT_RECORDS, LEDGER, RESTART, SKIP_RECORD, UNLIMITED, Decision
from kafka_mirror.ledger.record import LedgerRecord, loss_note


@dataclass(frozen=True)
class PartitionState:
    """One source partition with its ledger record and its remote partition, as far as each exists."""

    tp: TopicPartition
    record: LedgerRecord | None
    source: SourceOffsets | None
    remote: str
    remote_id: str | None = None
    remote_end: int | None = None
    remote_stable: int | None = None
    """The last stable offset of the remote partition."""
    unexplained: bool = False
    """Whether the remote partition holds records that neither the ledger nor an earlier decision accounts for."""

    @property
    def facts(self) -> PartitionFacts:
        """Returns the facts that decisions about the partition are held against."""
        source = self.source
        if source is None:
            return PartitionFacts("", None, self.remote, self.remote_id)
        return PartitionFacts(source.topic_id, source.log_start, self.remote, self.remote_id, source.leader_epoch)


@dataclass(frozen=True)
class DecisionWithEffect:
    """A decision and what the next run does with it, in words."""

    decision: Decision
    effect: str


_SHOWN = 5


def bind(request: DecisionRequest, states: Iterable[PartitionState], when: datetime) -> list[DecisionWithEffect]:
    """The decisions for those of the partitions that need one. Raises NothingToDecide, with how they stand, if none does."""
    listed = list(states)
    effects = [effect for effect in (_BINDERS[request.decision](request, state, when) for state in listed) if effect is not None]
    if not effects:
        described = " ".join(_describe(state) for state in listed[:_SHOWN])
        raise NothingToDecide(request.decision, described, topic=request.topic, partition=request.partition)
    return effects


def _build_decision(request: DecisionRequest, state: PartitionState, when: datetime, **facts: object) -> Decision:
    return Decision(request.decision, request.who, when, request.why, state.tp.topic, state.tp.partition, **facts)  # type: ignore[arg-type]


def _accept_gap(request: DecisionRequest, state: PartitionState, when: datetime) -> DecisionWithEffect | None:
    record, source = state.record, state.source
    if record is None or source is None or not record.is_of(source.topic_id) or record.watermark >= source.log_start:
        return None
    effect = f"source offsets [{record.watermark}, {source.log_start}) are passed over and kept in the ledger as skipped"
    return DecisionWithEffect(_build_decision(request, state, when, watermark=record.watermark), effect)


def _skip_record(request: DecisionRequest, state: PartitionState, when: datetime) -> DecisionWithEffect | None:
    record = state.record
    if record is None or record.blocked is None or record.blocked.offset != record.watermark or loss_note(record) is not None:
        return None
    effect = f"the record at source offset {record.watermark} is passed over and kept in the ledger as skipped"
    return DecisionWithEffect(_build_decision(request, state, when, offset=record.watermark), effect)


def _accept_records(request: DecisionRequest, state: PartitionState, when: datetime) -> DecisionWithEffect | None:
    if not state.unexplained or state.remote_end is None:
        return None
    effect = f"what stands in {state.remote}-{state.tp.partition} below {state.remote_end} stays, and the copy goes on after it"
    facts = {"target_topic": state.remote, "target_topic_id": state.remote_id, "target_end": state.remote_end}
    return DecisionWithEffect(_build_decision(request, state, when, **facts), effect)


def _restart(request: DecisionRequest, state: PartitionState, when: datetime) -> DecisionWithEffect | None:
    record, source = state.record, state.source
    if record is None or source is None:
        return None
    starts = _find_needed_starts(state, record, source)
    asked_for = request.start is not None and request.partition is not None
    if not starts and not asked_for:
        return None
    start = min(starts) if request.start is None else _find_start(request, source)
    facts = {
        "watermark": record.watermark,
        "offset": start,
        "source_topic_id": source.topic_id,
        "target_topic": state.remote,
        "target_topic_id": state.remote_id,
        "target_end": _find_left_on_target(state, record),
    }
    return DecisionWithEffect(_build_decision(request, state, when, **facts), _describe_effect(start, record, source))


def _find_needed_starts(state: PartitionState, record: LedgerRecord, source: SourceOffsets) -> list[int]:
    """Where the copy would have to go on for each thing that is wrong; the earliest of them loses nothing."""
    if not record.is_of(source.topic_id, source.leader_epoch) or (record.target_topic, record.target_topic_id) != (
        state.remote,
        state.remote_id,
    ):
        return [source.log_start]
    departed = source.end if source.epoch_end is None or record.leader_epoch is None else min(source.epoch_end, source.end)
    starts = [departed] if departed < record.watermark else []
    if record.blocked is not None and record.blocked.code == TargetLostRecords.__name__:
        starts.append(record.blocked.offset)
    remaining = _find_left_on_target(state, record)
    if remaining is not None:
        lost = record.offset_map.source_of(remaining)
        starts.append(record.watermark if lost is None else lost)
    return starts


def _find_left_on_target(state: PartitionState, record: LedgerRecord) -> int | None:
    """The end of what can be read of ours in the remote partition, if it lost records. A commit marker that was lost hides what is left in
    front of it, so the last stable offset counts."""
    if (record.target_topic, record.target_topic_id) != (state.remote, state.remote_id) or state.remote_end is None:
        return None
    if state.remote_end >= record.target_next:
        return None
    return state.remote_end if state.remote_stable is None else min(state.remote_end, state.remote_stable)


def _find_start(request: DecisionRequest, source: SourceOffsets) -> int:
    if request.start == "earliest":
        return source.log_start
    if request.start == "latest":
        return source.readable_end
    start = int(request.start or 0)
    if not source.log_start <= start <= source.end:
        raise UsageError(
            f"{source.tp} has the offsets [{source.log_start}, {source.end}) on the source; --to-offset {start} lies outside.",
            next="Name an offset that exists, or --to-earliest, or --to-latest.",
        )
    return start


def _describe_effect(start: int, record: LedgerRecord, source: SourceOffsets) -> str:
    effect = f"the copy goes on at source offset {start}"
    if not record.is_of(source.topic_id, source.leader_epoch):
        return f"{effect} of the new topic; what was copied from the old one stays on the target"
    if start < record.watermark:
        return f"{effect}; source offsets [{start}, {record.watermark}), as far as they exist, are copied once more"
    if start > record.watermark:
        return f"{effect}; source offsets [{record.watermark}, {start}) are passed over and kept in the ledger as skipped"
    return effect


def _describe(state: PartitionState) -> str:
    """How a partition stands, in one sentence."""
    record, source = state.record, state.source
    where = f"the source has [{source.log_start}, {source.end})" if source else "the source does not show it"
    if record is None:
        return f"{state.tp} is not in the ledger, {where}."
    stuck = f", stuck at {record.blocked.offset}" if record.blocked else ""
    target = "does not exist" if state.remote_end is None else f"ends at {state.remote_end}"
    return f"{state.tp}: copied up to {record.watermark}{stuck}, {where}; {state.remote}-{state.tp.partition} {target}."


_BINDERS: Mapping[str, Callable[[DecisionRequest, PartitionState, datetime], DecisionWithEffect | None]] = {
    ACCEPT_GAP: _accept_gap,
    SKIP_RECORD: _skip_record,
    RESTART: _restart,
    ACCEPT_RECORDS: _accept_records,
}


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
    others = [record.writer for record in records if is_foreign(record, installation, interval_seconds, now)]
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
