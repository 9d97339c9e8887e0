"""Errors of what is shared with MirrorMaker 2: its checkpoints, a flow that is taken over from it, or handed back to it."""

from dataclasses import field

from kafka_mirror.errors.base import DeclaredError, OffsetError, PartitionError
from kafka_mirror.errors.words import first_few, show


class CheckpointsMissing(DeclaredError):
    """Offsets of that cluster were not translated here.

    The topic with the checkpoints of the source cluster does not exist.
    """

    topic: str
    source: str
    text = "There is no topic {topic}: offsets of the cluster '{source}' were not translated here."
    next_text = (
        "Check whether the alias, the separator and the cluster are the right ones (upstream_clusters() names the aliases), and whether "
        "checkpoints are emitted (`emit.checkpoints.enabled`)."
    )


class MirrorMakerRunning(DeclaredError):
    """Workers of MirrorMaker 2 are members of the flow's worker group, so the flow is neither taken over nor handed back.

    They may write at any moment.
    """

    group: str
    state: str
    members: tuple[str, ...]
    next_text = (
        "Stop every worker of this flow. One that was killed leaves the group after `session.timeout.ms` (10 s by default). Then run the "
        "command again."
    )
    lost = "No, nothing was written."

    def _describe(self) -> str:
        hosts = ", ".join(self.members[:5]) or "no member is named"
        return f"The worker group {show(self.group)} of MirrorMaker 2 on the target is {self.state} ({hosts}). Nothing was written."


class ConnectOffsetsMissing(DeclaredError):
    """Kafka Connect has no offset of that connector and cluster in that topic."""

    topic: str
    connector: str
    cluster: str
    connectors: tuple[str, ...]
    next_text = (
        "Name the connector (`--connector-name`) and the topic (`--offsets-topic`) as they are on the Connect cluster. A flow that was "
        "never mirrored needs no take-over: start its copy."
    )
    lost = "No, nothing was written."

    def _describe(self) -> str:
        others = f"it has offsets of {', '.join(self.connectors)}" if self.connectors else "there are none in it, or it does not exist"
        return (
            f"The offsets topic {self.topic} has no offset of the connector '{self.connector}' for the cluster '{self.cluster}': {others}. "
            "Nothing was taken over."
        )


class ConnectOffsetsUnreadable(OffsetError):
    """A record of Kafka Connect's offsets is damaged, or an open transaction hides it."""

    detail: str
    text = "Kafka Connect's offsets at {topic}-{partition}@{offset} cannot be read: {detail}. Nothing was written."
    next_text = "Look at the record with any console consumer, or at open transactions with `kafka-transactions.sh find-hanging`."
    lost = "No, nothing was written."


class TakeOverRefused(PartitionError):
    """A partition is not as MirrorMaker 2 left it: gone, recreated, shorter, or written to meanwhile."""

    detail: str
    advice: str
    text = "{topic}-{partition}: {detail} It was not taken over."
    next_text = "{advice}"
    lost = "No. The others are taken over."
    do = "Do what the message says."


class TailInDoubt(PartitionError):
    """The end of a remote partition does not say how far MirrorMaker 2 came.

    Source offsets `source` (from, to) may be there or not; `target` is the range of the remote partition that explains none of it.
    """

    remote: str
    source: tuple[int, int]
    target: tuple[int, int]
    stored: int | None
    detail: str
    next_text = (
        "Look at both ranges. To go on as MirrorMaker 2 itself would, after the offset that it kept, copying a second time what it had "
        "copied since: {mirror:take-over --flow '<flow>' --topic {topic} --at-stored-offsets}"
    )
    lost = "No. The others are taken over."
    more = "The message names both ranges."

    def _place(self) -> tuple[str, int, int]:
        return self.topic, self.partition, self.source[0]

    def _describe(self) -> str:
        (start, end), (first, last) = self.source, self.target
        stored = "no offset" if self.stored is None else f"the offset {self.stored}"
        return (
            f"{self.topic}-{self.partition}: the records in {self.remote}-{self.partition}@[{first}, {last}) do not tell which of the "
            f"source offsets [{start}, {end}) MirrorMaker 2 had mirrored: {self.detail} Kafka Connect kept {stored}. The partition was not "
            "taken over."
        )


class HandedBack(DeclaredError):
    """Somebody handed the flow, or a partition of it, back to MirrorMaker 2.

    What both of them copied would stand there twice.
    """

    who: str
    when: str
    topic: str | None = field(default=None, kw_only=True)
    partition: int | None = field(default=None, kw_only=True)
    next_text = "Leave it to MirrorMaker 2, or stop that and take the flow over: {mirror:take-over --flow '<flow>'}"
    lost = "No, nothing was copied."

    def _describe(self) -> str:
        handed = "The flow" if self.topic is None else f"{self.topic}-{self.partition}"
        return f"{handed} was handed back to MirrorMaker 2 by {self.who} at {self.when}. Nothing was copied."


class TopicMoved(PartitionError):
    """A run that was planned before a cutover moved the topic to the target wanted to copy more of it."""

    who: str
    when: str
    retriable = True
    text = "{topic}-{partition} was moved to the target by {who} at {when}. Nothing was copied of what this run planned before."
    next_text = "The next plan leaves the topic out. What producers write to it on the source after the move is not copied."
    lost = "No, nothing was copied."
    do = "Nothing: the next plan leaves the topic out. If it goes on, look at who writes to the topic on the source."


class WrittenOnSource(OffsetError):
    """Records were written to a topic on the source after a cutover moved it to the target, or while the wave opened."""

    end: int
    means_loss = True
    text = "{topic}-{partition} was written on the source since the topic moved to the target: [{offset}, {end}), not copied."
    next_text = (
        "Stop who writes there, and read them: {shell:kafka-console-consumer.sh --topic {topic} --partition {partition} --offset {offset} "
        "--isolation-level read_committed}. Produce on the target what is wanted of them, then delete them on the source up to {end} "
        "(kafka-delete-records.sh)."
    )
    lost = "The named records stand on the source alone; nothing on the target is wrong."
    do = (
        "Stop who writes there. Produce on the target what is wanted of the records. Then delete them on the source with "
        "`kafka-delete-records.sh` up to the end of the range."
    )
    more = "`status` and `audit` name them for as long as the topic is moved."


class MovedTopicsNotExcluded(DeclaredError):
    """Cutovers moved topics of a flow that is to be handed back, and MirrorMaker 2 would copy them again."""

    flow: str
    excluded: str
    topics: tuple[str, ...]
    next_text = (
        "Set {flow}.topics.exclude={excluded} in MirrorMaker 2's configuration and in this one, then hand the flow back. When such a topic "
        "moves back, take it out again."
    )
    lost = "No. Nothing was written for MirrorMaker 2."
    do = "Put the topics that the message names into the flow's `topics.exclude`, for both mirrors. Run `hand-back` again."

    def _describe(self) -> str:
        return (
            f"Cutovers moved {len(self.topics)} topics of {self.flow} to its target ({', '.join(self.topics)}). MirrorMaker 2 does not "
            "know that and would copy them again. Nothing was handed back."
        )


class WayBackHandedBack(DeclaredError):
    """A flow that copies moved topics alone (`mirror.way.back`) is to be handed back to MirrorMaker 2, which has nothing like it."""

    flow: str
    text = (
        "{flow} is a way back (mirror.way.back=true). MirrorMaker 2 would copy all of its topics, and they would go round for ever. "
        "Nothing was handed back."
    )
    next_text = "Move its topics back by a wave of this flow first; then hand back the flow of the other direction."
    lost = "No. Nothing was written for MirrorMaker 2."


class RenamedTopicsHandedBack(DeclaredError):
    """MirrorMaker 2 would go on with topics of a flow under other names than the mirror wrote: `mirror.rename` gives or gave them
    these, or the replication policy is another one since.
    """

    flow: str
    topics: tuple[str, ...]
    remotes: tuple[str, ...]
    next_text = "Keep them in a flow of the mirror, and hand back a flow without them (`topics`, `topics.exclude`)."
    lost = "No. Nothing was written for MirrorMaker 2."

    def _describe(self) -> str:
        names = first_few((f"{topic} (in {remote})" for topic, remote in zip(self.topics, self.remotes, strict=False)), most=3)
        return (
            f"{self.flow} wrote topics under other names than MirrorMaker 2 would: {names}. MirrorMaker 2 would go on with them in "
            "the middle, in topics of other names. Nothing was handed back."
        )


class CopyUnderWay(OffsetError):
    """A flow is to be handed back while a run of its copy has a transaction open.

    `offset` is the last stable one.
    """

    end: int
    text = (
        "A transaction is open in {topic}-{partition}@[{offset}, {end}): a run of the copy is writing, or was just killed. Kafka Connect's "
        "offsets were not written."
    )
    next_text = (
        "Pause the flow's copy. Wait for its run to end (or, if it was killed, for `mirror.transaction.timeout.ms`). Then again: "
        "{mirror:hand-back --flow '<flow>'}"
    )
    lost = "No. Nothing was written for MirrorMaker 2."


class NothingToHandBack(DeclaredError):
    """The mirror has copied nothing of the flow."""

    flow: str
    text = "The mirror has copied nothing of the flow {flow}: MirrorMaker 2 finds its own offsets as it left them. Nothing was written."
    next_text = "Start MirrorMaker 2."
