"""What is found out about the topics of a wave and their copy. A finding stops the wave, or warns of what a person has to know."""

from dataclasses import field

from kafka_mirror.errors.base import TOPIC, DeclaredError, TopicError
from kafka_mirror.errors.next_step import Part, Remedy, wave_command


class PatternMatchesNothing(DeclaredError):
    """A pattern of a wave takes no topic that the source shows, or no consumer group with a position in a topic of the wave."""

    option: str
    pattern: str
    names: str
    text = "{option} {pattern!r} matches no {names}."
    next_text = (
        "Name topics and groups as the clusters do; a topic on which the mirror has no DESCRIBE is hidden. "
        "{mirror:status --flow '<flow>'} lists the topics that the flow mirrors, {mirror:refresh-groups --flow '<flow>'} its groups."
    )
    do = "Name topics as the source does, and groups as `refresh-groups` lists them; in a failover, as the topic of checkpoints has them."


class TopicNotReplicated(TopicError):
    """A pattern of a wave takes a topic that the flow does not replicate."""

    patterns: str
    text = "{topic} is taken by --topics {patterns!r}, but the flow does not replicate it."
    next_text = "Take it into the flow's property `topics` and let it be copied, or leave it out of the wave."


class WaveBehind(DeclaredError):
    """Partitions of a wave are more records behind than it may be (`--max-lag`)."""

    partitions: str
    limit: int
    lags: str
    topic: str | None = field(default=None, kw_only=True)
    text = "{partitions} are more than {limit:,} records behind: {lags}."
    next_text = (
        "{mirror:status --flow '<flow>'} says what holds them back. Let the copy run on ({mirror:copy --flow '<flow>'}), or raise "
        "`--max-lag`; then run the wave again."
    )


class PartitionsPaused(TopicError):
    """Somebody paused partitions of a wave."""

    partitions: str
    note: str
    answered_by = Remedy("resume", TOPIC)
    text = "{topic}: partitions {partitions} are not copied: {note}."
    next_text = "{remedy}"
    do = "Resume them, or leave the topic out of the wave."


class DecisionPending(TopicError):
    """Somebody decided about partitions of a wave, and no copy has acted on that yet. Once the wave is open none ever would."""

    decided: str
    text = "{topic}: no copy has acted yet on {decided}."
    next_text = "{mirror:copy --flow '<flow>'} acts on it; or decide otherwise. Then run the wave again."
    do = "Let the flow copy once, or take the decision back. The preflight warns of it, and `open` stops."


class NotCopiedYet(DeclaredError):
    """The flow has not begun to copy partitions of a wave."""

    partitions: str
    topic: str | None = field(default=None, kw_only=True)
    text = "Nothing of {partitions} has been copied yet."
    next_text = "{mirror:copy --flow '<flow>'} takes them in; then run the wave again."


class NotCopied(DeclaredError):
    """The flow's copy leaves out partitions of a wave."""

    partitions: str
    why: str
    text = "The copy leaves out {partitions}.{why}"
    next_text = "Look at {mirror:status --flow '<flow>'}, and mend what keeps them out."
    do = "Mend what `status` names: a partition without a leader or without a remote partition, or one that is paused."


class NotCopiedToTheEnd(DeclaredError):
    """Partitions of a wave are not copied to the source's end."""

    late: int
    total: int
    where: str
    topic: str | None = field(default=None, kw_only=True)
    text = "{late} of {total} partitions are not copied to the source's end: {where}."
    next_text = (
        "{mirror:status --flow '<flow>'} says what holds them back, and {mirror:copy --flow '<flow>'} copies. See that nothing is written "
        "to the source, and run the wave again."
    )
    more = "The last copy says it, the audit gate, and `open`."


class NoRemotePartition(TopicError):
    """Partitions of a wave have no partition on the target yet."""

    partitions: str
    text = "{partitions}: no remote partition is there yet."
    next_text = "{mirror:refresh-topics --flow '<flow>'} creates it; then copy."


class LeaderMissing(DeclaredError):
    """No leader says where partitions of a wave begin and end."""

    partitions: str
    cluster: str
    topic: str | None = field(default=None, kw_only=True)
    text = "No leader on {cluster} says where {partitions} begins and ends."
    next_text = "Bring the brokers of {cluster} back, and run the wave again."


class SourcePartitionGone(TopicError):
    """A partition that was copied is not on the source any more, or has no leader there."""

    partitions: str
    copied: str
    text = "{partitions}: gone from the source, or without a leader there; {copied}."
    next_text = "Bring its brokers back, or find out who deleted it. What was copied of it is on the target."


class PartitionStateUnknown(TopicError):
    """How partitions of a wave stand cannot be judged, for something else is wrong."""

    partitions: str
    text = "{partitions}: how it stands cannot be judged."
    next_text = "Mend what is named beside this, and ask again."


class PartitionsDiffer(TopicError):
    """A remote topic has more partitions than its source topic."""

    remote: str
    count: int
    remote_count: int
    text = "{topic} has {count} partitions and {remote} has {remote_count}."
    next_text = (
        "Producers that choose partitions by key will choose others there; add partitions to the source topic first if that matters."
    )


class ConfigsDiffer(TopicError):
    """Configs that the flow keeps equal differ between a topic and its remote topic."""

    remote: str
    differences: str
    text = "{remote}: its configs are not those of {topic}: {differences}."
    next_text = "{mirror:topic-configs --flow '<flow>'}"
    do = "Run `topic-configs`."
    more = "It is a warning with `sync.topic.configs.enabled=false`."


class AclsDiffer(TopicError):
    """Readers of a source topic lack ACLs of the remote topic."""

    acls: str
    text = "{topic}: its remote topic lacks ACLs: {acls}."
    next_text = "{mirror:topic-acls --flow '<flow>'}"
    do = "Run `topic-acls`."
    more = "It is a warning with `sync.topic.acls.enabled=false`."


class ReadersWithoutAcl(TopicError):
    """Principals may read a topic on the source by an ACL of many topics, and may not read the remote topic."""

    source: str
    remote: str
    target: str
    readers: str
    text = "{topic}: these may read it on {source}, and no ACL lets them read {remote} on {target}: {readers}."
    next_text = "Give them READ of {remote} on {target} before consumers move; the flow carries ACLs of single topics alone."


class WritersWithoutAcl(TopicError):
    """Principals may write to a topic on the source, and no ACL lets them write to a topic of that name on the target."""

    source: str
    target: str
    writers: str
    text = "{topic}: these may write to it on {source}, and no ACL lets them write to a topic of that name on {target}: {writers}."
    next_text = "Give them WRITE on {target} before producers move; the flow never carries it."


class RightMissing(DeclaredError):
    """The mirror lacks a right for a later step of a wave."""

    cluster: str
    operation: str
    resource: str
    purpose: str
    instead: str = ""
    text = "Cluster '{cluster}' does not let the mirror {operation} {resource}, which is for {purpose}. Nothing was changed."
    next_text = "Give its principal {operation} on {resource}{instead}."
    do = "Give the mirror's principal the right, or do by hand what it is for, where the message says so."


class StepBefore(DeclaredError):
    """A step of a wave is to run alone, and one before it is not done."""

    name: str
    wave: str
    missing: str
    taken_back_by: str = ""
    do = "Run the earlier step first."

    def _describe(self) -> str:
        why = f"the wave was rolled back, by {self.taken_back_by}" if self.taken_back_by else f"{self.missing} is not done"
        return f"{self.name} cannot begin: {why}."

    def _advise(self) -> tuple[Part, ...]:
        first = "To begin again, run: " if self.taken_back_by else "Run that first: "
        return first, wave_command("run", self.wave, f"--step {self.missing}"), "."
