"""Rules about the ledger that planning and every lane apply alike: whose it is, and who may write to it."""

from collections.abc import Iterable
from datetime import datetime

from kafka_mirror.errors import (
    ErrorReport,
    FlowClosed,
    ForeignWriter,
    HandedBack,
    LedgerMissing,
    OtherCluster,
    PlanMismatch,
    Remedy,
    TopicMoved,
)
from kafka_mirror.formats.documents import moment_text
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.ledger.control_records import CLOSED
from kafka_mirror.ledger.decisions import NO_DECISIONS, Decisions
from kafka_mirror.ledger.record import LedgerRecord, loss_note

FOREIGN_WRITER_INTERVALS = 10
"""For how many copy intervals a record by another installation keeps a lane from being written."""


def check_ledger(ledger: str, planned_id: str, topic_id: str | None) -> None:
    """Raises LedgerMissing if the ledger (its topic id now, None: it does not exist) is not the one that was planned with ('': none was):
    one that is new says that nothing was copied."""
    if planned_id and topic_id != planned_id:
        raise LedgerMissing(ledger, planned_id, topic_id)


def check_clusters(
    records: Iterable[LedgerRecord], source: str, source_id: str, target: str, target_id: str, decisions: Decisions = NO_DECISIONS
) -> None:
    """Raises OtherCluster if the ledger was written for other clusters than the aliases `source` and `target` lead to now, and no person
    decided that they are to be taken for the same."""
    source_adopted, target_adopted = decisions.find_adoption(source, source_id), decisions.find_adoption(target, target_id)
    for record in records:
        if record.source_cluster_id != source_id and source_adopted is None:
            raise OtherCluster(source, record.source_cluster_id, source_id)
        if record.target_cluster_id != target_id and target_adopted is None:
            raise OtherCluster(target, record.target_cluster_id, target_id)


def check_handed_back(decisions: Decisions) -> None:
    """Raises HandedBack if MirrorMaker 2 mirrors the flow again."""
    decision = decisions.handed_back
    if decision is not None:
        raise HandedBack(decision.who, moment_text(decision.when))


def find_handed_back(tp: TopicPartition, record: LedgerRecord) -> HandedBack | None:
    """Why a lane leaves a partition alone that MirrorMaker 2 mirrors again. The ledger says so itself: an old plan may be copied late."""
    decided = record.handed_back
    if decided is None:
        return None
    return HandedBack(decided.who, moment_text(decided.when), topic=tp.topic, partition=tp.partition)


def find_moved(tp: TopicPartition, record: LedgerRecord) -> TopicMoved | None:
    """Why a lane leaves a partition alone that a cutover moved to the target. The ledger says so itself: an old plan may be copied late."""
    decided = record.moved
    return None if decided is None else TopicMoved(*tp, decided.who, moment_text(decided.when))


def check_closed(decisions: Decisions) -> None:
    """Raises FlowClosed after a failover: neither the copy nor another step goes by a source that came back."""
    decision = decisions.closed
    if decision is not None:
        raise FlowClosed(decision.who, moment_text(decision.when), decision.why)


def check_lane_open(note: LedgerRecord | None) -> None:
    """Raises FlowClosed if the lane's note says so: a plan from before the failover may be copied after it."""
    decided = note.decided if note is not None else None
    if decided is not None and decided.decision == CLOSED:
        raise FlowClosed(decided.who, moment_text(decided.when), decided.why)


def find_lost(tp: TopicPartition, record: LedgerRecord) -> ErrorReport | None:
    """Why a partition is left alone whose remote partition was seen to have lost records."""
    noted = loss_note(record)
    if noted is None:
        return None
    report = ErrorReport(noted.code, f"{noted.message} Seen at {noted.since:%Y-%m-%d %H:%M:%S} UTC.", *tp, noted.offset)
    return report.with_next(Remedy("restart", *tp))


def check_writer(
    records: Iterable[LedgerRecord],
    ledger: str,
    lane: int,
    installation: str,
    interval_seconds: float,
    now: datetime,
    decisions: Decisions = NO_DECISIONS,
) -> None:
    """Raises ForeignWriter if another installation wrote to the lane within the last ten copy intervals, and no decision lets this one
    write after it.

    Two installations would fence each other for ever. Without `mirror.installation` on either side they cannot be distinguished.
    """
    if not installation:
        return
    for record in records:
        if not is_foreign(record, installation, interval_seconds, now) or decisions.find_ownership_after(record, installation) is not None:
            continue
        age = (now - record.writer.time).total_seconds()
        raise ForeignWriter(ledger, lane, record.writer.installation, record.writer.host, age)


def is_foreign(record: LedgerRecord, installation: str, interval_seconds: float, now: datetime) -> bool:
    """Whether a record was written by another installation just now."""
    age = (now - record.writer.time).total_seconds()
    return record.writer.installation not in ("", installation) and age < FOREIGN_WRITER_INTERVALS * interval_seconds


def check_configuration(planned: str, configured: str) -> None:
    """Raises PlanMismatch if the job has another configuration than its submitter."""
    if planned != configured:
        raise PlanMismatch(planned, configured)
