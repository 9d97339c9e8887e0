"""Errors of what is shared with MirrorMaker 2: its checkpoints, a flow that is taken over from it, or handed back to it."""

from mirror.errors.base import MirrorError, Runbook
from mirror.errors.display import show
from mirror.errors.next_step import Command, of_the_flow


class CheckpointsMissing(MirrorError):
    """Raised when the topic with the checkpoints of a source cluster does not exist, so that no offset can be translated."""

    runbook = Runbook(
        "Nobody has translated offsets of that cluster here.",
        "No.",
        "Check the alias, the separator and the cluster, and switch checkpoints on (`emit.checkpoints.enabled`).",
    )

    def __init__(self, topic: str, source: str) -> None:
        super().__init__(
            f"There is no topic {topic}: nobody has translated offsets of the cluster '{source}' here.",
            topic=topic,
            next="Check whether the alias, the separator and the cluster are the right ones (upstream_clusters() names the aliases), and "
            "whether checkpoints are emitted (emit.checkpoints.enabled).",
        )
        self.source = source


class MirrorMakerRunning(MirrorError):
    """Raised when workers of MirrorMaker 2 are members of the flow's worker group: it may write at any moment."""

    runbook = Runbook(
        "Workers of MirrorMaker 2 are members of the flow's worker group, so the flow is neither taken over nor handed back.",
        "No, nothing was written.",
        "Stop them, and wait until a killed one has left the group (`session.timeout.ms`, 10 s by default). Run the command again.",
    )

    def __init__(self, group: str, state: str, members: tuple[str, ...]) -> None:
        hosts = ", ".join(members[:5]) or "no member is named"
        super().__init__(
            f"The worker group {show(group)} of MirrorMaker 2 on the target is {state} ({hosts}). Nothing was written.",
            next="Stop every worker of this flow. One that was killed leaves the group after session.timeout.ms (10 s by default). Then "
            "run the command again.",
        )
        self.group = group
        self.state = state
        self.members = members


class ConnectOffsetsMissing(MirrorError):
    """Raised when Kafka Connect's offsets of this flow are not where they were looked for."""

    runbook = Runbook(
        "Kafka Connect has no offset of that connector and cluster in that topic.",
        "No, nothing was written.",
        "Name the connector (`--connector-name`) and the topic (`--offsets-topic`). A flow that was never mirrored needs no take-over.",
    )

    def __init__(self, topic: str, connector: str, cluster: str, connectors: tuple[str, ...]) -> None:
        instead = f"it has offsets of {', '.join(connectors)}" if connectors else "there are none in it, or it does not exist"
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

    runbook = Runbook(
        "A record of Kafka Connect's offsets is damaged, or an open transaction hides it.",
        "No, nothing was written.",
        "Look at the record with a console consumer, or end the transaction.",
    )

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

    runbook = Runbook(
        "A partition is not as MirrorMaker 2 left it: gone, created anew, shorter, or written to meanwhile.",
        "No. The others are taken over.",
        "Do what the message says.",
    )

    def __init__(self, topic: str, partition: int, detail: str, next: str) -> None:
        super().__init__(f"{topic}-{partition}: {detail} It was not taken over.", topic=topic, partition=partition, next=next)


class TailInDoubt(MirrorError):
    """Raised when the end of a remote partition does not say how far MirrorMaker 2 came on the source.

    Source offsets `source` (from, to) may be there or not; `target` is the range of the remote partition that explains none of it.
    """

    runbook = Runbook(
        "The end of a remote partition does not say how far MirrorMaker 2 came.",
        "No. The others are taken over.",
        "Look at both ranges. Or go on at the offset that MirrorMaker 2 kept (`--at-stored-offsets`), as it would itself: what it had "
        "copied since comes twice.",
        more="The message names both ranges.",
    )

    def __init__(
        self, topic: str, partition: int, remote: str, source: tuple[int, int], target: tuple[int, int], stored: int | None, detail: str
    ) -> None:
        offset_text = "Kafka Connect kept no offset" if stored is None else f"Kafka Connect kept the offset {stored}"
        super().__init__(
            f"{topic}-{partition}: the records in {remote}-{partition}@[{target[0]}, {target[1]}) do not tell which of the source offsets "
            f"[{source[0]}, {source[1]}) MirrorMaker 2 had mirrored: {detail} {offset_text}. The partition was not taken over.",
            topic=topic,
            partition=partition,
            offset=source[0],
            next=(
                "Look at both ranges. To go on as MirrorMaker 2 itself would, behind the offset that it kept, copying a second time what "
                "it had copied since: ",
                of_the_flow("take-over", f"--topic {topic} --at-stored-offsets"),
            ),
        )
        self.remote = remote
        self.source = source
        self.target = target
        self.stored = stored


class HandedBack(MirrorError):
    """Raised when a flow, or one partition of it, was handed back to MirrorMaker 2: what both of them copied would stand there twice."""

    runbook = Runbook(
        "Somebody handed the flow, or a partition of it, back to MirrorMaker 2.",
        "No, nothing was copied.",
        "Leave it to MirrorMaker 2. Or stop that, and run `take-over`.",
    )

    def __init__(self, who: str, when: str, *, topic: str | None = None, partition: int | None = None) -> None:
        what = "The flow" if topic is None else f"{topic}-{partition}"
        super().__init__(
            f"{what} was handed back to MirrorMaker 2 by {who} at {when}. Nothing was copied.",
            topic=topic,
            partition=partition,
            next=("Leave it to MirrorMaker 2, or stop that and take the flow over: ", of_the_flow("take-over")),
        )


class TopicMoved(MirrorError):
    """Raised when a plan from before a cutover is copied after it: the partition is written on the target since, and nothing more comes."""

    retriable = True
    runbook = Runbook(
        "A cutover moved the topic to the target, and a run that was planned before that wanted to copy more of it.",
        "No, nothing was copied.",
        "Nothing: the next plan leaves the topic out. If it goes on, look at `status`, and at who writes to the topic on the source.",
    )

    def __init__(self, topic: str, partition: int, who: str, when: str) -> None:
        super().__init__(
            f"{topic}-{partition} was moved to the target by {who} at {when}. Nothing was copied of what this run planned before.",
            topic=topic,
            partition=partition,
            next="The next plan leaves the topic out. What producers write to it on the source after the move is copied by nobody.",
        )


class WrittenOnSource(MirrorError):
    """Said of records on the source that nobody copies: their topic moved to the target before the copy had them."""

    runbook = Runbook(
        "A cutover moved the topic to the target, and records were written to it on the source afterwards, or while the wave opened.",
        "The named records stand on the source alone; nothing on the target is wrong.",
        "Stop who writes there. Read the records by partition and offset, and produce on the target what is wanted of them. Then delete "
        "them on the source with `kafka-delete-records.sh` up to the end of the range: the error ends with that.",
        more="`status` and `audit` compare the source with what was copied for as long as the topic is moved.",
    )

    def __init__(self, topic: str, partition: int, start: int, end: int) -> None:
        super().__init__(
            f"{topic}-{partition} was written on the source since the topic moved to the target: [{start}, {end}). Nobody copies these "
            "records.",
            topic=topic,
            partition=partition,
            offset=start,
            next=(
                "Stop who writes there, and read them: ",
                Command(
                    f"kafka-console-consumer.sh --topic {topic} --partition {partition} --offset {start} --isolation-level read_committed"
                ),
                f". Produce on the target what is wanted of them, then delete them on the source up to {end} (kafka-delete-records.sh).",
            ),
        )
        self.start = start
        self.end = end


class MovedTopicsNotExcluded(MirrorError):
    """Raised when a flow is to be handed back and MirrorMaker 2 would copy topics that a cutover moved: it knows nothing of that."""

    runbook = Runbook(
        "A flow is to be handed back to MirrorMaker 2, and cutovers moved topics of it that MirrorMaker 2 would copy again.",
        "No. MirrorMaker 2 was told nothing.",
        "Put the topics that the message names into the flow's `topics.exclude`, for both mirrors. Run `hand-back` again.",
    )

    def __init__(self, flow: str, excluded: str, topics: tuple[str, ...]) -> None:
        named = ", ".join(topics)
        super().__init__(
            f"Cutovers moved {len(topics)} topics of {flow} to its target ({named}). MirrorMaker 2 does not know that and would copy them "
            "again. Nothing was handed back.",
            next=f"Set {flow}.topics.exclude={excluded} in MirrorMaker 2's configuration and in this one, then hand the flow back. When "
            "such a topic moves back, take it out again.",
        )
        self.topics = topics


class WayBackHandedBack(MirrorError):
    """Raised when a way back (mirror.way.back) is to be handed back: MirrorMaker 2 would copy everything, and records would go round."""

    runbook = Runbook(
        "A flow that copies moved topics alone (`mirror.way.back`) is to be handed back to MirrorMaker 2, which has nothing like it.",
        "No. MirrorMaker 2 was told nothing.",
        "Move the topics back by a wave in the other direction, then hand back the flow that copies them since.",
    )

    def __init__(self, flow: str) -> None:
        super().__init__(
            f"{flow} is a way back (mirror.way.back=true). MirrorMaker 2 would copy all of its topics, and they would go round for ever. "
            "Nothing was handed back.",
            next="Move its topics back by a wave of this flow first; then hand back the flow of the other direction.",
        )


class RenamedTopicsHandedBack(MirrorError):
    """Raised when a flow is to be handed back that wrote topics under other names than MirrorMaker 2 would, which goes on under its own."""

    runbook = Runbook(
        "A flow is to be handed back to MirrorMaker 2 that wrote topics under other names than MirrorMaker 2 would: `mirror.rename` gives "
        "them these names, or gave them, or the replication policy is another one since.",
        "No. MirrorMaker 2 was told nothing.",
        "Keep the mirror for these topics, in a flow of its own; hand back the others.",
        more="MirrorMaker 2 would go on in the middle, in other topics than those that consumers read.",
    )

    def __init__(self, flow: str, topics: tuple[str, ...], remotes: tuple[str, ...]) -> None:
        some = ", ".join(f"{topic} (in {remote})" for topic, remote in list(zip(topics, remotes, strict=False))[:3])
        more = f" and {len(topics) - 3} more" if len(topics) > 3 else ""
        super().__init__(
            f"{flow} wrote topics under other names than MirrorMaker 2 would: {some}{more}. MirrorMaker 2 would go on with them in the "
            "middle, in topics of other names. Nothing was handed back.",
            next="Keep them in a flow of the mirror, and hand back a flow without them (topics, topics.exclude).",
        )
        self.topics = topics
        self.remotes = remotes


class CopyUnderWay(MirrorError):
    """Raised when a flow is to be handed back while a run of its copy has a transaction open."""

    runbook = Runbook(
        "A flow is to be handed back while a run of its copy has a transaction open.",
        "No. MirrorMaker 2 was told nothing.",
        "Pause the DAG `copy`, wait for the end of its run, and run the command again.",
    )

    def __init__(self, topic: str, partition: int, last_stable: int, end: int) -> None:
        super().__init__(
            f"A transaction is open in {topic}-{partition}@[{last_stable}, {end}): a run of the copy is writing, or was just killed. "
            "Kafka Connect's offsets were not written.",
            topic=topic,
            partition=partition,
            offset=last_stable,
            next=(
                "Pause the flow's copy. Wait for its run to end (or, if it was killed, for mirror.transaction.timeout.ms). Then again: ",
                of_the_flow("hand-back"),
            ),
        )


class NothingToHandBack(MirrorError):
    """Raised when the ledger knows no partition of the flow, so that there is nothing to tell MirrorMaker 2."""

    runbook = Runbook("The mirror has copied nothing of the flow.", "No.", "Start MirrorMaker 2: it finds its own offsets as it left them.")

    def __init__(self, flow: str) -> None:
        super().__init__(
            f"The mirror has copied nothing of the flow {flow}: MirrorMaker 2 finds its own offsets as it left them. Nothing was written.",
            next="Start MirrorMaker 2.",
        )
