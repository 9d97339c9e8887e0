"""Every error of the mirror: one class a situation, its facts as attributes, and what to do next in the message.

`retriable` says whether the same step may simply be run again. Callers ask the error and never parse its text.
"""

from mirror.errors.alerts import AlertConnectionUnusable, NotificationFailed
from mirror.errors.attempts import (
    Overtaken,
    RecordNotCarried,
    RecordRefused,
    StaleAnswer,
    TransactionTimeoutRefused,
    TransactionTooSlow,
    UnexpectedOffset,
)
from mirror.errors.audit import AuditDifferent, LogMoved, NothingAudited, RecordUnreadable
from mirror.errors.backfill import (
    HistoryIntoCompacted,
    HistoryOutOfOrder,
    HistoryTooScattered,
    HistoryTopicRefused,
    HistoryWithoutStart,
    WildTimestamp,
)
from mirror.errors.base import ErrorReport, MirrorError, named_with
from mirror.errors.clusters import AuthenticationFailed, AuthorizationRefused, ClusterUnreachable, DeadlineExceeded, KafkaFailure
from mirror.errors.configuration import ConfigurationError, NothingSelected, Problem, UsageError
from mirror.errors.groups import CheckpointUnwritable, GroupOffsetsRefused, NoGroupOffsets
from mirror.errors.internal_topics import InternalRecordDamaged
from mirror.errors.ledger import (
    ControlMissing,
    ControlUnreadable,
    ForeignWriter,
    LanesChanged,
    LedgerDamaged,
    LedgerHidden,
    LedgerMissing,
    LedgerTooNew,
    LedgerUnsuitable,
    NothingToDecide,
)
from mirror.errors.mirrormaker import (
    CheckpointsMissing,
    ConnectOffsetsMissing,
    ConnectOffsetsUnreadable,
    CopyUnderWay,
    HandedBack,
    MirrorMakerRunning,
    NothingToHandBack,
    TailInDoubt,
    TakeOverRefused,
)
from mirror.errors.run import JobFailed, NothingMoved, PlanMismatch, ReportedError, WorkerUnprepared
from mirror.errors.source import BlockedByOpenTransaction, OtherCluster, SourceGap, SourceRecreated, SourceTruncated, SourceUnreadable
from mirror.errors.target import (
    RemoteConfigRefused,
    RemoteNameUnusable,
    RemoteTopicRefused,
    TargetHidden,
    TargetLostRecords,
    TargetMissing,
    TargetRecreated,
    TargetUnavailable,
    UnexplainedTarget,
)
from mirror.errors.unknown_failure import unexpected

__all__ = [
    "AlertConnectionUnusable",
    "AuditDifferent",
    "AuthenticationFailed",
    "AuthorizationRefused",
    "BlockedByOpenTransaction",
    "CheckpointUnwritable",
    "CheckpointsMissing",
    "ClusterUnreachable",
    "ConfigurationError",
    "ConnectOffsetsMissing",
    "ConnectOffsetsUnreadable",
    "ControlMissing",
    "ControlUnreadable",
    "CopyUnderWay",
    "DeadlineExceeded",
    "ErrorReport",
    "ForeignWriter",
    "GroupOffsetsRefused",
    "HandedBack",
    "HistoryIntoCompacted",
    "HistoryOutOfOrder",
    "HistoryTooScattered",
    "HistoryTopicRefused",
    "HistoryWithoutStart",
    "InternalRecordDamaged",
    "JobFailed",
    "KafkaFailure",
    "LanesChanged",
    "LedgerDamaged",
    "LedgerHidden",
    "LedgerMissing",
    "LedgerTooNew",
    "LedgerUnsuitable",
    "LogMoved",
    "MirrorError",
    "MirrorMakerRunning",
    "NoGroupOffsets",
    "NothingAudited",
    "NothingMoved",
    "NothingSelected",
    "NothingToDecide",
    "NothingToHandBack",
    "NotificationFailed",
    "OtherCluster",
    "Overtaken",
    "PlanMismatch",
    "Problem",
    "RecordNotCarried",
    "RecordRefused",
    "RecordUnreadable",
    "RemoteConfigRefused",
    "RemoteNameUnusable",
    "RemoteTopicRefused",
    "ReportedError",
    "SourceGap",
    "SourceRecreated",
    "SourceTruncated",
    "SourceUnreadable",
    "StaleAnswer",
    "TailInDoubt",
    "TakeOverRefused",
    "TargetHidden",
    "TargetLostRecords",
    "TargetMissing",
    "TargetRecreated",
    "TargetUnavailable",
    "TransactionTimeoutRefused",
    "TransactionTooSlow",
    "UnexpectedOffset",
    "UnexplainedTarget",
    "UsageError",
    "WildTimestamp",
    "WorkerUnprepared",
    "named_with",
    "unexpected",
]
