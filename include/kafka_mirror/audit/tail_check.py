"""Records after the copy: unexplained, unless a run that goes on has written them since the ledger was read.

A run commits its records and the ledger's together. So when a record can be seen, the ledger's own one stands in its partition at least,
and can be read as soon as no transaction is open there any more.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from kafka_mirror.audit.context import AuditContext
from kafka_mirror.audit.model import FOREIGN, OPEN, UNREAD, Difference, RecordText, text_of_record
from kafka_mirror.audit.prepare import PreparedAudit
from kafka_mirror.audit.range import Outcome
from kafka_mirror.errors import DeadlineExceeded, LedgerHidden, MirrorError
from kafka_mirror.formats.offsets.intervals import Interval
from kafka_mirror.formats.offsets.partition import TopicPartition, lane_of
from kafka_mirror.formats.record import Message, UnreadableHeaders, record_of
from kafka_mirror.kafka.reader import BoundedReader
from kafka_mirror.ledger.record import LedgerRecord
from kafka_mirror.ledger.topic import Ledger


def with_foreign_tails(ledger: Ledger, context: AuditContext, prepared: PreparedAudit, outcomes: Sequence[Outcome]) -> list[Outcome]:
    """The outcomes; those that are equal, with the foreign record that stands after the copy, if there is one, or the error that keeps
    it from being read. Raises what keeps the target from being read."""
    wrong = {outcome.stretch.source for outcome in outcomes if outcome.difference is not None or outcome.error is not None}
    after = {TopicPartition(prepared.records[tp].target_topic, tp.partition): tp for tp in prepared.tails if tp not in wrong}
    if not after:
        return list(outcomes)
    reader = BoundedReader(context.target, context.clients.target_consumer)
    tails = {remote: prepared.tails[tp] for remote, tp in after.items()}
    visible, refused, late = _find_visible(reader, tails, context.seconds)
    now = _read_newer(ledger, after, visible)
    findings: dict[TopicPartition, Difference | MirrorError | str] = {}
    findings |= {remote: UNREAD for remote in tails if late and remote not in visible}
    findings |= {remote: refused[remote.topic] for remote in tails if remote.topic in refused}
    for remote, message in visible.items():
        tp, offset = after[remote], message.offset()
        current = now.get(tp)
        if current is None:
            findings[remote] = OPEN
        elif current.target_next <= offset:
            findings[remote] = Difference(FOREIGN, *tp, remote.topic, None, offset, None, _describe_record(message, context.show_payload))
    return _add_findings(outcomes, findings)


def _find_visible(
    reader: BoundedReader, tails: Mapping[TopicPartition, Interval], seconds: float
) -> tuple[dict[TopicPartition, Message], dict[str, MirrorError], bool]:
    """The first record of each tail that has one, the topics that may not be read, and whether there was no time for all."""
    visible: dict[TopicPartition, Message] = {}
    refused: dict[str, MirrorError] = {}

    def noted(message: Any) -> bool:
        visible.setdefault(TopicPartition(message.topic(), message.partition()), message)
        return True

    try:
        reader.first_visible(tails, seconds, refused, accept=noted)
    except DeadlineExceeded:
        return visible, refused, True
    return visible, refused, False


def _describe_record(message: Message, payload: bool) -> RecordText | None:
    try:
        return text_of_record(record_of(message), payload)
    except UnreadableHeaders:
        return None


def _read_newer(
    ledger: Ledger, after: Mapping[TopicPartition, TopicPartition], visible: Iterable[TopicPartition]
) -> dict[TopicPartition, LedgerRecord]:
    """What the ledger says of these partitions after their records were seen; nothing of a lane that is being written."""
    lanes = {lane_of(*after[remote], ledger.lanes) for remote in visible}
    records: dict[TopicPartition, LedgerRecord] = {}
    for lane in sorted(lanes):
        try:
            records |= ledger.read_lane(lane)
        except LedgerHidden:
            continue  # a copy is at work: what it wrote is for the next audit, and is no finding
    return records


def _add_findings(outcomes: Sequence[Outcome], findings: Mapping[TopicPartition, Difference | MirrorError | str]) -> list[Outcome]:
    last = {outcome_of.stretch.remote: number for number, outcome_of in enumerate(outcomes)}
    amended = list(outcomes)
    for remote, what in findings.items():
        if remote in last:
            outcome = amended[last[remote]]
            if isinstance(what, str):
                outcome = replace(outcome, notes=(*outcome.notes, what))
            elif isinstance(what, MirrorError):
                outcome = replace(outcome, error=replace(what.report(), topic=outcome.stretch.source.topic))
            else:
                outcome = replace(outcome, difference=what)
            amended[last[remote]] = outcome
    return amended
