"""Errors of talking to a cluster, of the topics that MirrorMaker 2 and this mirror write for each other, and of consumer groups."""

from collections.abc import Collection, Sequence
from dataclasses import field

from kafka_mirror.errors.base import DeclaredError, MirrorError
from kafka_mirror.errors.next_step import Part
from kafka_mirror.errors.words import first_lines


class ClusterUnreachable(DeclaredError):
    """No broker of a cluster answered within `admin.timeout.ms`."""

    cluster: str
    bootstrap: str
    seconds: float
    detail: str = ""
    retriable = True
    next_text = "Check that the brokers run and that this host reaches the addresses they advertise; the next run goes on by itself."
    lost = "No, records are only late."

    def _describe(self) -> str:
        because = f": {self.detail}" if self.detail else ""
        return f"Cluster '{self.cluster}' did not answer at {self.bootstrap} within {self.seconds:g} s{because}."


class ClusterTooOld(DeclaredError):
    """A broker is of an older Kafka than the mirror copies from (2.1) or to (2.8).

    A broker takes a `request` up to the version `newest` (None: not at all), of which `needed` is the least.
    """

    cluster: str
    broker: str
    oldest: str
    request: str
    newest: int | None
    needed: int
    next_text = "Upgrade the cluster's brokers; the next run goes on where the ledger ends."
    lost = "No, nothing was copied."
    more = "The message names the request, the version that the broker takes, and the one that is needed."

    def _describe(self) -> str:
        direction = "to" if self.oldest == "2.8" else "from"
        takes = "not at all" if self.newest is None else f"up to version {self.newest}"
        return (
            f"Cluster '{self.cluster}' is older than Kafka {self.oldest}, the oldest that is copied {direction}: its broker {self.broker} "
            f"takes {self.request} {takes}, and {self.needed} is needed. Nothing was copied."
        )


class AuthenticationFailed(DeclaredError):
    """The password or the mechanism is wrong; or a certificate (the broker's or ours) is expired, unknown, missing or for another host."""

    cluster: str
    bootstrap: str
    detail: str
    text = "Cluster '{cluster}' at {bootstrap} refused the connection: {detail}."
    next_text = "Check {cluster}.security.protocol, {cluster}.sasl.* and {cluster}.ssl.*; the next run goes on where the ledger ends."
    lost = "No, records are only late."
    do = "Correct what the message names: `<alias>.sasl.*`, `ssl.truststore.*`, `ssl.keystore.*`, or the broker."
    more = "The message says which and whose."


class TokenUnavailable(DeclaredError):
    """The source of the tokens for a login gave none: the identity provider, a cloud's credentials, or a file."""

    cluster: str
    reason: str
    retriable = True
    text = "Cluster '{cluster}': there is no token to log in with: {reason}."
    next_text = "Check `{cluster}.sasl.*` and the credentials that it leads to on this host; the next run goes on where the ledger ends."
    lost = "No, records are only late."
    more = "Nothing was asked of the cluster."


class AuthorizationRefused(DeclaredError):
    """An ACL is missing."""

    cluster: str
    operation: str
    resource: str
    topic: str | None = field(default=None, kw_only=True)
    partition_state = "not allowed"
    text = "Cluster '{cluster}' refuses {operation} on {resource}."
    next_text = "Grant the mirror's principal {operation} on {resource} of '{cluster}'; the next run goes on where the ledger ends."
    lost = "No, records are only late."
    do = "Grant the operation to the mirror's principal. The page on permissions has the whole list."
    more = "The message names operation and resource."


class DeadlineExceeded(MirrorError):
    """A step did not end in its time; or a flow's own heartbeat lies too far back to be looked for."""

    retriable = True
    lost = "No, records are only late."
    do = "If it stays, look at the brokers' load and the network; for heartbeats, at their DAG."


class KafkaFailure(MirrorError):
    """A broker or the client failed in another way.

    A new attempt may mend it. `reason` is Kafka's name for it, if it has one.
    """

    retriable = True
    lost = "No, records are only late."
    do = "If it stays it is not temporary: look up Kafka's name for it, which is the reason."

    def __init__(
        self,
        message: str,
        *,
        reason: str = "",
        topic: str | None = None,
        partition: int | None = None,
        offset: int | None = None,
        next: str | Sequence[Part] = "",
    ) -> None:
        super().__init__(message, topic=topic, partition=partition, offset=offset, next=next)
        self.reason = reason


class TooFewBrokers(DeclaredError):
    """Topics of the mirror's own are to have more replicas than the cluster has brokers. `settings` are the properties that say so."""

    cluster: str
    settings: Sequence[str]
    text = "Cluster '{cluster}' has fewer brokers than replicas are asked for: {settings}. Nothing was created there."
    next_text = "Set what is named to no more than the number of the cluster's brokers (1 for a trial on one), or to -1 for their default."
    more = (
        "`mirror.ledger.replication.factor` follows `offset-syncs.topic.replication.factor`. If brokers are down, wait until they are back."
    )


class InternalRecordDamaged(DeclaredError):
    """A topic of offset syncs, checkpoints or heartbeats holds a record that is none of these."""

    topic: str
    offset: int
    detail: str
    partition = 0
    text = (
        "The record at {topic}-{partition}@{offset} cannot be read: {detail}. The mirror left it out; MirrorMaker 2's own readers may fail "
        "at it."
    )
    next_text = "Find out who else writes to {topic}. kafka-delete-records.sh removes the record, with all that is older."
    do = "Find out who else writes to the topic: MirrorMaker 2's own readers may fail at the record."
    more = "The mirror passes over it."


class CheckpointUnwritable(DeclaredError):
    """A group committed more metadata than MirrorMaker 2's record has room for."""

    group: str
    topic: str
    partition: int
    offset: int
    detail: str
    text = "The checkpoint of the group {group} at {topic}-{partition}@{offset} cannot be written: {detail}. The others are."
    lost = "No. That checkpoint is not written; the others are."
    next_text = "Let the group commit less metadata, or put it into `groups.exclude`."


class GroupOffsetsRefused(DeclaredError):
    """The target refuses a translated offset of an idle group."""

    group: str
    topic: str
    partition: int
    reason: str
    text = "The target refuses the offset of the group {group} in {topic}-{partition}: {reason}. Its other partitions were committed."
    next_text = "For OFFSET_METADATA_TOO_LARGE raise the target's offset.metadata.max.bytes; otherwise look at the target's brokers."
    lost = "No. That partition of the group is not committed."
    do = "Do what the message says. Most often the target has a smaller `offset.metadata.max.bytes`."


class GroupRunUnknown(DeclaredError):
    """`group-offsets --undo` names a run that the control topic does not keep: it keeps the newest five that committed for a group, and
    none from before somebody else moved the group."""

    run: str
    target: str
    runs: Collection[str]
    next_text = "Name a run by the name that group-offsets printed when it committed."
    lost = "No, nothing was changed."
    do = "Name one of the runs that the message lists. To put a group elsewhere, use `kafka-consumer-groups.sh --reset-offsets`."

    def _describe(self) -> str:
        kept_runs = "\n".join(["These are kept:", *first_lines((f"- {name}" for name in self.runs), most=10)]) if self.runs else "None is."
        return f"Nothing is kept of a run of group-offsets '{self.run}' on {self.target}. Nothing was changed. {kept_runs}"


class GroupUndoFailed(DeclaredError):
    """The target refused a position that `group-offsets --undo` puts back, or a consumer of the group moved it in that moment."""

    group: str
    target: str
    reason: str
    retriable = True
    text = "The group {group!r} was not taken back on {target}, or not in all its partitions: {reason}"
    next_text = (
        "Stop its consumers on the target, look at the target's brokers and at the mirror's rights on the group (READ, DELETE), and run "
        "the same command again."
    )
    lost = "No. What was there before is still noted."


class NoGroupOffsets(DeclaredError):
    """`translate` was asked about a group that has committed nothing on the source."""

    group: str
    cluster: str
    text = "The group {group!r} has committed nothing on '{cluster}'."
    next_text = "Look for its name: {shell:kafka-consumer-groups.sh --bootstrap-server <{cluster}> --list}."
    do = "Check the group's name."
