"""Errors of what is shared with MirrorMaker 2: its checkpoints, a flow that is taken over from it, or handed back to it."""

from mirror.errors.base import MirrorError
from mirror.errors.next_step import FLOW

_TAKE_OVER = f"python -m mirror take-over --flow '{FLOW}'"
_HAND_BACK = f"python -m mirror hand-back --flow '{FLOW}'"


class CheckpointsMissing(MirrorError):
    """Raised when the topic with the checkpoints of a source cluster does not exist, so that no offset can be translated."""

    def __init__(self, topic: str, source: str) -> None:
        super().__init__(
            f"There is no topic {topic}: nobody has translated offsets of the cluster '{source}' here.",
            topic=topic,
            next="Look whether the alias, the separator and the cluster are the right ones (upstream_clusters() names the aliases), and "
            "whether checkpoints are emitted (emit.checkpoints.enabled).",
        )
        self.source = source


class MirrorMakerRunning(MirrorError):
    """Raised when workers of MirrorMaker 2 are members of the flow's worker group: it may write at any moment."""

    def __init__(self, group: str, state: str, members: tuple[str, ...]) -> None:
        hosts = ", ".join(members[:5]) or "no member is named"
        super().__init__(
            f"The worker group {group} of MirrorMaker 2 on the target is {state} ({hosts}). Nothing was written.",
            next="Stop every worker of this flow. One that was killed leaves the group after session.timeout.ms (10 s by default). Then "
            "run the command again.",
        )
        self.group = group
        self.state = state
        self.members = members


class ConnectOffsetsMissing(MirrorError):
    """Raised when Kafka Connect's offsets of this flow are not where they were looked for."""

    def __init__(self, topic: str, connector: str, cluster: str, found: tuple[str, ...]) -> None:
        instead = f"it has offsets of {', '.join(found)}" if found else "there are none in it, or it does not exist"
        super().__init__(
            f"The offsets topic {topic} has no offset of the connector '{connector}' for the cluster '{cluster}': {instead}. "
            "Nothing was taken over.",
            topic=topic,
            next="Name the connector (--connector-name) and the topic (--offsets-topic) as they are on the Connect cluster. A flow "
            "that was never mirrored needs no take-over: start its copy.",
        )
        self.connector = connector
        self.cluster = cluster


class ConnectOffsetsUnreadable(MirrorError):
    """Raised when a record of Kafka Connect's offsets is none, or a transaction stands open in front of some."""

    def __init__(self, topic: str, partition: int, offset: int, detail: str) -> None:
        super().__init__(
            f"Kafka Connect's offsets at {topic}-{partition}@{offset} cannot be read: {detail}. Nothing was written.",
            topic=topic,
            partition=partition,
            offset=offset,
            next="Look at the record with any console consumer, or at open transactions with kafka-transactions.sh find-hanging.",
        )


class TakeOverRefused(MirrorError):
    """Raised when a partition is not as MirrorMaker 2 left it, so that it cannot be taken over."""

    def __init__(self, topic: str, partition: int, detail: str, next: str) -> None:
        super().__init__(f"{topic}-{partition}: {detail} It was not taken over.", topic=topic, partition=partition, next=next)


class TailInDoubt(MirrorError):
    """Raised when the end of a remote partition does not say how far MirrorMaker 2 came on the source.

    Source offsets `source` (from, to) may be there or not; `target` is the range of the remote partition that explains none of it.
    """

    def __init__(
        self, topic: str, partition: int, remote: str, source: tuple[int, int], target: tuple[int, int], stored: int | None, detail: str
    ) -> None:
        kept = "Kafka Connect kept no offset" if stored is None else f"Kafka Connect kept the offset {stored}"
        super().__init__(
            f"{topic}-{partition}: what stands in {remote}-{partition}@[{target[0]}, {target[1]}) does not say which of the source offsets "
            f"[{source[0]}, {source[1]}) were mirrored: {detail} {kept}. It was not taken over.",
            topic=topic,
            partition=partition,
            offset=source[0],
            next=f"Look at both ranges. To go on as MirrorMaker 2 itself would, behind the offset that it kept, copying a second time what "
            f"it had copied since: {_TAKE_OVER} --topic {topic} --at-stored-offsets",
        )
        self.remote = remote
        self.source = source
        self.target = target
        self.stored = stored


class HandedBack(MirrorError):
    """Raised when a flow, or one partition of it, was handed back to MirrorMaker 2: what both of them copied would stand there twice."""

    def __init__(self, who: str, when: str, *, topic: str | None = None, partition: int | None = None) -> None:
        what = "The flow" if topic is None else f"{topic}-{partition}"
        super().__init__(
            f"{what} was handed back to MirrorMaker 2 by {who} at {when}. Nothing was copied.",
            topic=topic,
            partition=partition,
            next=f"Leave it to MirrorMaker 2, or stop that and take the flow over: {_TAKE_OVER}",
        )


class CopyUnderWay(MirrorError):
    """Raised when a flow is to be handed back while a run of its copy has a transaction open."""

    def __init__(self, topic: str, partition: int, last_stable: int, end: int) -> None:
        super().__init__(
            f"A transaction is open in {topic}-{partition}@[{last_stable}, {end}): a run of the copy is writing, or was just killed. "
            "Kafka Connect's offsets were not written.",
            topic=topic,
            partition=partition,
            offset=last_stable,
            next=f"Pause the flow's copy, wait for its run to end (or, if it was killed, for mirror.transaction.timeout.ms), then again: "
            f"{_HAND_BACK}",
        )


class NothingToHandBack(MirrorError):
    """Raised when the ledger knows no partition of the flow, so that there is nothing to tell MirrorMaker 2."""

    def __init__(self, flow: str) -> None:
        super().__init__(
            f"The mirror has copied nothing of the flow {flow}: MirrorMaker 2 finds its own offsets as it left them. Nothing was written.",
            next="Start MirrorMaker 2.",
        )
