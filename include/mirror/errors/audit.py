"""Errors of an audit."""

from collections.abc import Collection

from mirror.errors.base import MirrorError, Runbook
from mirror.errors.next_step import of_the_flow, the_plan


class AuditDifferent(MirrorError):
    """Raised when source and target are not the same where the ledger says that one is the copy of the other."""

    runbook = Runbook(
        "Source and target are not the same where one should be the copy of the other.",
        "It depends on the kind: a `missing record` or a `truncated tail` is.",
        "Look at both records (`audit --show-payload`), and find out who writes to the target. To have the source's records there "
        "again, delete the remote topic, run `refresh-topics`, and copy the topic again (`decide restart`).",
        more="The message names the kind and the offsets.",
    )

    def __init__(self, what: str, topic: str, partition: int, offset: int | None) -> None:
        super().__init__(
            f"{what}. The audit changed nothing, and the copy goes on.",
            topic=topic,
            partition=partition,
            offset=offset,
            next=(
                "Look at both records (the audit's result shows them; their contents: ",
                of_the_flow("audit", f"--topics {topic} --show-payload"),
                "), and find out who wrote to the target. To have the source's records there again, delete the remote topic, run "
                "refresh-topics, and copy it again with decide restart.",
            ),
        )


class AuditIncomplete(MirrorError):
    """Raised when an audit was to prove that everything is copied, and something is not copied yet or could not be compared."""

    runbook = Runbook(
        "An audit was to prove that everything is copied (`--complete`), and something is not copied yet or could not be compared.",
        "No.",
        "Wait until the copy has it; `status` says how far each partition is, and what blocks it. Then audit again.",
        more="What was compared is equal, if no other error says otherwise.",
    )

    def __init__(self, why: str) -> None:
        super().__init__(
            f"The audit was to prove that everything is copied, and cannot. {why}",
            next=("See what waits and what blocks it: ", *the_plan(), ". Then audit again."),
        )


class LogMoved(MirrorError):
    """Raised when retention deletes records while they are being read."""

    retriable = True
    runbook = Runbook(
        "Retention deleted records while an audit read them, three times in a row.",
        "No.",
        "Run the audit again, for fewer topics at once.",
    )

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

    runbook = Runbook(
        "A record has a header key that is not UTF-8, so the audit did not compare its partition.",
        "No.",
        "Audit what lies in front of the record and behind it, with `--from` and `--to`.",
    )

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

    runbook = Runbook(
        "An audit was asked about topics by name, and the flow has never copied them.",
        "No.",
        "Check the names, which are those of the source. The plan of a flow that has not begun to copy a topic says so.",
    )

    def __init__(self, topics: Collection[str]) -> None:
        super().__init__(
            f"Nothing was ever copied of {', '.join(topics)}, so the audit left it out. It audited what else was asked for.",
            next=("Check the names, which are those of the source, and what the flow takes: ", *the_plan(), "."),
        )
        self.topics = tuple(topics)
