"""Binding a decision about partitions to how they stand. Pure: what is asked and what was seen go in, decisions come out."""

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime

from kafka_mirror.copy.plan.ranges import SourceOffsets
from kafka_mirror.decide.model import DecisionWithEffect, PartitionState
from kafka_mirror.decide.request import DecisionRequest
from kafka_mirror.errors import NothingToDecide, TargetLostRecords, UsageError
from kafka_mirror.ledger.control_records import ACCEPT_GAP, ACCEPT_RECORDS, RESTART, SKIP_RECORD, Decision
from kafka_mirror.ledger.record import LedgerRecord, loss_note

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
