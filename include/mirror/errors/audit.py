"""Errors of an audit."""

from collections.abc import Collection

from mirror.errors.base import MirrorError
from mirror.errors.next_step import FLOW, PLAN


class AuditDifferent(MirrorError):
    """Raised when source and target are not the same where the ledger says that one is the copy of the other."""

    def __init__(self, what: str, topic: str, partition: int, offset: int | None) -> None:
        super().__init__(
            f"{what}. The audit changed nothing, and the copy goes on.",
            topic=topic,
            partition=partition,
            offset=offset,
            next="Look at both records (the audit's result shows them; their contents: python -m mirror audit "
            f"--flow '{FLOW}' --topics {topic} --show-payload), and find out who wrote to the target. If the source's record shall stand "
            "there: delete the remote topic, run refresh-topics, and copy it again with decide restart.",
        )


class LogMoved(MirrorError):
    """Raised when retention deletes records while they are being read."""

    retriable = True

    def __init__(self, cluster: str, topic: str, partition: int, detail: str) -> None:
        super().__init__(
            f"Cluster '{cluster}': {topic}-{partition} no longer has what was being read: {detail}.",
            topic=topic,
            partition=partition,
            next="Run it again: it begins where the log starts now.",
        )
        self.cluster = cluster


class RecordUnreadable(MirrorError):
    """Raised when the client cannot read a record, so that nothing can be said of its partition."""

    def __init__(self, cluster: str, topic: str, partition: int, offset: int) -> None:
        super().__init__(
            f"Cluster '{cluster}': {topic}-{partition}@{offset} has a header key that is not UTF-8, which the client cannot read. "
            "Its partition was not compared.",
            topic=topic,
            partition=partition,
            offset=offset,
            next="Audit what lies in front of it and behind it: --from and --to, in Airflow the parameters from and to of the DAG audit.",
        )
        self.cluster = cluster


class NothingAudited(MirrorError):
    """Raised when topics that were asked for by name were never copied: an audit of them would prove nothing."""

    def __init__(self, topics: Collection[str]) -> None:
        super().__init__(
            f"Nothing was ever copied of {', '.join(topics)}, so nothing of it was audited. What else was asked for was.",
            next=f"Look at the names, which are those of the source, and at what the flow takes: {PLAN}.",
        )
        self.topics = tuple(topics)
