"""What is found out about those who write to a wave: before its fence, at the fence, since then, and when the wave is opened."""

from collections.abc import Sequence
from dataclasses import field

from kafka_mirror.errors.base import DeclaredError, OffsetError, PartitionError, TopicError
from kafka_mirror.errors.next_step import Command, Part
from kafka_mirror.errors.source import TRANSACTION_ENDS_LATE


class ActiveProducers(TopicError):
    """Producers write to a topic of a wave, or did so in the last ten minutes."""

    producers: str
    text = "{topic}: {producers}."
    next_text = "Stop them at the write fence."
    do = "Stop them at the write fence, or let `--by acl` hold them off."


class TopicGrows(TopicError):
    """The ends of a topic of a wave moved while the preflight looked."""

    offsets: int
    seconds: float
    partitions: str
    text = "{topic}: it grew by {offsets:,} offsets in {seconds:.1f} s, in partitions {partitions}."
    next_text = "Stop its producers at the write fence."
    do = "Stop its producers at the write fence. Of a producer that is not idempotent Kafka knows no id."


class WritersUntold(DeclaredError):
    """Leaders older than Kafka 2.8 do not say who writes to their partitions."""

    partitions: str
    text = (
        "It is unknown who writes to {partitions}: their leaders are older than Kafka 2.8. The write fence goes by ends that stand still "
        "and transactions that are over: it does not see a producer that is silent meanwhile."
    )
    next_text = "Make sure by yourself that all producers are stopped, or let `--quiet-seconds` be longer than any of them is silent."


class TransactionOpen(OffsetError):
    """A transaction is open in a partition of a wave. What comes after it is not copied while it is open."""

    owner: str = ""
    is_told: bool = True
    text = "{topic}-{partition}: a transaction is open from offset {offset} on{owner}."
    do = (
        "Let its producer commit or abort it, which a DENY of WRITE does not hinder. If the producer is gone, end it by the "
        "`kafka-transactions.sh` command of the message."
    )
    more = "The preflight warns of it, and the fence stops. `cutover compare` says it of a source that came back."

    def _advise(self) -> Sequence[Part]:
        end_it = transaction_commands(self.topic, self.partition, self.offset) if self.is_told else (TRANSACTION_ENDS_LATE,)
        return "Let its producer commit or abort it, which a DENY of WRITE does not hinder. If the producer is gone, ", *end_it


class TopicWithoutAcls(DeclaredError):
    """No ACL is about topics that are to be fenced by ACL, so a DENY would stop no writer, or readers too."""

    topics: str
    text = (
        "No ACL is about {topics}, so a DENY would stop no writer (if all are super users), or readers too (with "
        "allow.everyone.if.no.acl.found=true); nothing was changed."
    )
    next_text = "Give readers and producers ACLs first, or stop the producers and fence with `--by hand`."


class NoAuthorizer(DeclaredError):
    """A wave is to be fenced by ACL, and its source has no authorizer."""

    cluster: str
    text = "{cluster} has no authorizer, so no ACL can keep producers from its topics; nothing was changed."
    next_text = "Stop the producers, and fence with `--by hand`."


class StillWritten(TopicError):
    """A topic of a wave grows although the wave is fenced."""

    offsets: int
    seconds: float
    partitions: str
    writers: str
    is_denied: bool
    text = "{topic}: it grew by {offsets:,} offsets in {seconds:.1f} s, in partitions {partitions}, by {writers}."
    do = "Stop the producer that the message names. A DENY does not hold off a super user."

    def _advise(self) -> Sequence[Part]:
        stop = "Stop the producer itself: a DENY does not hold off a super user." if self.is_denied else "Stop the producer."
        return (f"{stop} Kafka tells no producer's address: the brokers' request log, or their connection metrics by client id, does.",)


class NotFenced(DeclaredError):
    """A step was to run that needs the write fence, and the wave has none."""

    name: str
    text = "The wave has no write fence: the step {name} never came to its end."
    next_text = "Run the step first: {mirror:cutover run --flow '<flow>'}"


class WrittenSinceFence(DeclaredError):
    """Partitions of a wave do not end where they did when its fence was proved, or have other records there."""

    what: str
    text = "{what}."
    next_text = "Stop who writes there, and run the wave again: it is fenced again. {mirror:cutover run --flow '<flow>'}"


class ClusterContradictsItself(DeclaredError):
    """The bootstrap servers of a cluster contradict each other: one of them leads to a broker that is cut off from its cluster."""

    cluster: str
    what: str
    group: str | None = field(default=None, kw_only=True)
    text = "The bootstrap servers of {cluster} contradict each other about {what}."
    next_text = (
        "A broker that is cut off from its cluster goes on answering as the leader that it was. Connect it again, stop it, or take it out "
        "of `bootstrap.servers`. Then run the wave again: {mirror:cutover run --flow '<flow>'}"
    )
    more = "It is asked for ends with their leader epochs, and for a group that was moved."


class ServerSilent(DeclaredError):
    """A bootstrap server does not answer; the others gave all that the wave goes by."""

    cluster: str
    servers: str
    why: str
    text = "{servers} of the bootstrap servers of {cluster} do not answer: {why}"
    next_text = "Nothing, if its broker is down: the others gave all that the wave goes by."


class AuditOutdated(TopicError):
    """The audit of a wave does not speak for a topic any more, or not for all of it."""

    why: str
    text = "{topic}: {why}."
    next_text = "Look who writes; then run the wave again: it is audited again."


class AuditOpen(PartitionError):
    """What follows the copy on the target was not looked at: a copy was writing, or the target was slow."""

    note: str
    text = "{topic}-{partition}: {note}."
    next_text = "Run the wave again once nothing copies."


class AuditTolerated(PartitionError):
    """Records stand on the target that are no copies, and that may stand there: the flow appends, or a person decided so."""

    remote: str
    records: int
    text = "{remote}-{partition}: {records:,} records on the target are no copies, or copies made once more."
    next_text = "mirror.on.unexplained.target=append or a person's decision lets them stand there; what reads the topic reads them too."
    do = "Nothing, if applications may read them too."


class AuditLeftOut(TopicError):
    """The audit of a wave says nothing of some offsets: retention took them, a person skipped them, or MirrorMaker 2 copied them."""

    partitions: str
    reason: str
    text = "{topic}: offsets that the audit says nothing of, in partitions {partitions}: {reason}."
    next_text = "Nothing, if they are not needed on the target."


class NothingToOpen(DeclaredError):
    """A wave is to be opened that has no partitions that the flow knows."""

    flow: str
    text = "The wave has no partitions that {flow} knows."
    next_text = "{mirror:cutover plan --flow '<flow>'} says what its patterns match."


class CopiedMeanwhile(DeclaredError):
    """A copy went on while a wave was opened, so somebody writes to the source. The wave was not opened."""

    partitions: str
    text = "A copy went on while the wave was opened, in {partitions}."
    next_text = "See who writes to the source, and run the wave again."


class TargetWritten(DeclaredError):
    """Records of somebody else, or an open transaction, follow what was copied to the target. The wave was not opened."""

    what: str
    topic: str | None = field(default=None, kw_only=True)
    text = "{what}. Somebody writes to the target before the wave is open."
    next_text = "Stop who writes there until the wave is open. Delete the records that are no copies, or copy the topic again."


class WayBackDenied(DeclaredError):
    """The way back cannot write to a topic that keeps its name, and the DENY for everybody stays."""

    why: str
    principal: str
    topic: str | None = field(default=None, kw_only=True)
    text = "{why}, so the way back cannot write to it; the DENY for everybody stays."
    do = "Give its principal WRITE by an ALLOW of its own, and each producer a DENY by its own name; or make it a super user."

    def _advise(self) -> Sequence[Part]:
        by_name = "with an ALLOW and a DENY of each producer's principal instead of User:*"
        allow = f"Give {self.principal} WRITE, {by_name}; or make it a super user."
        look = Command(f"kafka-acls.sh --bootstrap-server <source> --list --topic {self.topic}")
        return (allow, " Look at the topic's ACLs with: ", look) if self.topic else (allow,)


class WayBackTooOld(DeclaredError):
    """The flow of the other direction would write to a cluster older than Kafka 2.8, which the mirror cannot."""

    flow: str
    cluster: str
    text = "The way back {flow} would write to {cluster}, which is older than Kafka 2.8: the mirror writes to no such cluster."
    next_text = "Upgrade {cluster} first; or set `{flow}.enabled=false`, and the wave moves without a way back."


class WayBackOfMergedTopic(TopicError):
    """A topic that keeps its name is merged with records of others, so it is unknown what would flow back."""

    flow: str
    way_back: str
    text = "{topic}: {flow} merges it with records of others (mirror.on.unexplained.target=append), so it is unknown what would flow back."
    next_text = "Leave it out of {way_back}, or take append away, and plan the wave again: {mirror:cutover plan --flow '<flow>'}"
    do = "Leave the topic out of the flow of the other direction, or take `mirror.on.unexplained.target=append` away."


class FenceOfEarlierWave(DeclaredError):
    """ACLs that a wave of the opposite flow left on the target keep producers from a topic, or may do so."""

    topics: str
    cluster: str
    why: str
    text = "ACLs of an earlier wave keep producers from {topics} on {cluster}: {why}."
    next_text = (
        "Give the mirror's principal ALTER on {cluster}, or remove each DENY of WRITE by hand before producers start: "
        "{shell:kafka-acls.sh --bootstrap-server <target> --list}"
    )
    do = "Give the mirror's principal ALTER on the target, or remove the ACLs that the message names before producers start."
    more = "It is a warning where the mirror may not see them. A failover removes none: the message has the commands."


class FenceOfAnotherFlow(DeclaredError):
    """ACLs of an earlier wave keep producers from topics, and a wave of another flow relies on them."""

    topics: str
    cluster: str
    acls: str
    text = "A wave of another flow from {cluster} relies on ACLs of an earlier wave. They keep producers from {topics}: {acls}."
    next_text = "End that wave or roll it back, then run this one again."


def transaction_commands(topic: str, partition: int, start: int) -> tuple[Part, ...]:
    """How a person looks at a transaction of the source that stays open, and ends it; `start` is its first offset."""
    tool, place = "kafka-transactions.sh --bootstrap-server <source>", f"--topic {topic} --partition {partition}"
    look, abort = Command(f"{tool} find-hanging {place}"), Command(f"{tool} abort {place} --start-offset {start}")
    return "look at it with: ", look, ", and end it with: ", abort
