"""Errors of talking to a cluster, of the topics that MirrorMaker 2 and this mirror write for each other, and of consumer groups."""

from collections.abc import Collection, Sequence

from mirror.errors.base import MirrorError, Runbook
from mirror.errors.display import show
from mirror.errors.next_step import Command, Part


class ClusterUnreachable(MirrorError):
    """Raised when no broker of a cluster answered within the deadline."""

    retriable = True
    runbook = Runbook(
        "No broker of a cluster answered within `admin.timeout.ms`.",
        "No, records are only late.",
        "Check the brokers, the network, and the addresses that the brokers advertise.",
    )

    def __init__(self, cluster: str, bootstrap: str, seconds: float, detail: str = "") -> None:
        super().__init__(
            f"Cluster '{cluster}' did not answer at {bootstrap} within {seconds:g} s{': ' + detail if detail else ''}.",
            next="Check that the brokers run and that this host reaches the addresses they advertise; the next run goes on by itself.",
        )
        self.cluster = cluster
        self.bootstrap = bootstrap


class ClusterTooOld(MirrorError):
    """Raised for a source older than Kafka 2.1 and a target older than Kafka 2.8."""

    runbook = Runbook(
        "A broker is of an older Kafka than the mirror copies from (2.1) or to (2.8).",
        "No, nothing was copied.",
        "Upgrade the cluster's brokers, or name another cluster.",
        more="The message names the request by which that is known: the version that the broker takes, and the one that is needed.",
    )

    def __init__(self, cluster: str, broker: str, oldest: str, request: str, newest: int | None, needed: int) -> None:
        """`request`: what the broker takes up to the version `newest` (None: not at all), of which `needed` is the least."""
        super().__init__(
            f"Cluster '{cluster}' is older than Kafka {oldest}, the oldest that is copied {'to' if oldest == '2.8' else 'from'}: its "
            f"broker {broker} takes {request} {'not at all' if newest is None else f'up to version {newest}'}, and {needed} is needed. "
            "Nothing was copied.",
            next="Upgrade the cluster's brokers; the next run goes on where the ledger ends.",
        )
        self.cluster = cluster
        self.broker = broker
        self.oldest = oldest
        self.request = request
        self.newest = newest
        self.needed = needed


class AuthenticationFailed(MirrorError):
    """Raised when a cluster refuses our credentials, or its certificate cannot be trusted."""

    runbook = Runbook(
        "The password or the mechanism is wrong; or a certificate (the broker's or ours) is expired, unknown, missing or for another host.",
        "No, records are only late.",
        "Correct what the message names: `<alias>.sasl.*`, `ssl.truststore.*`, `ssl.keystore.*`, or the broker.",
        more="The message says which and whose.",
    )

    def __init__(self, cluster: str, bootstrap: str, detail: str) -> None:
        super().__init__(
            f"Cluster '{cluster}' at {bootstrap} refused the connection: {detail}.",
            next=f"Check {cluster}.security.protocol, {cluster}.sasl.* and {cluster}.ssl.*; the next run goes on where the ledger ends.",
        )
        self.cluster = cluster


class TokenUnavailable(MirrorError):
    """Raised when there is no token to log in to a cluster with."""

    retriable = True
    runbook = Runbook(
        "Whoever gives the tokens for a login did not: the identity provider, a cloud's credentials, or a file.",
        "No, records are only late.",
        "Correct what the message names: `<alias>.sasl.*`, the credentials of this host, or the identity provider.",
        more="Nothing was asked of the cluster.",
    )

    def __init__(self, cluster: str, reason: str) -> None:
        super().__init__(
            f"Cluster '{cluster}': there is no token to log in with: {reason}.",
            next=f"Check {cluster}.sasl.* and the credentials that it leads to on this host; the next run goes on where the ledger ends.",
        )
        self.cluster = cluster
        self.reason = reason


class AuthorizationRefused(MirrorError):
    """Raised when the cluster knows us but does not let us do this."""

    runbook = Runbook(
        "An ACL is missing.",
        "No, records are only late.",
        "Grant the operation to the mirror's principal. The page on permissions has the whole list.",
        more="The message names operation and resource.",
    )

    def __init__(self, cluster: str, operation: str, resource: str, *, topic: str | None = None) -> None:
        super().__init__(
            f"Cluster '{cluster}' refuses {operation} on {resource}.",
            topic=topic,
            next=f"Grant the mirror's principal {operation} on {resource} of '{cluster}'; the next run goes on where the ledger ends.",
        )
        self.cluster = cluster
        self.operation = operation
        self.resource = resource


class DeadlineExceeded(MirrorError):
    """Raised when a step did not end in the time it may take."""

    retriable = True
    runbook = Runbook(
        "A step did not end in its time; or a flow's own heartbeat lies too far back to be looked for.",
        "No, records are only late.",
        "If it stays, look at the brokers' load and the network; for heartbeats, at their DAG.",
    )


class KafkaFailure(MirrorError):
    """Raised when a broker or the client failed in a way that a new attempt may mend. `reason` is Kafka's name for it, if it has one."""

    retriable = True
    runbook = Runbook(
        "A broker or the client failed in another way.",
        "No, records are only late.",
        "If it stays it is not temporary: look up Kafka's name for it.",
        more="The reason is Kafka's own name for it.",
    )

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


class InternalRecordDamaged(MirrorError):
    """Raised, or only reported, for a record among offset syncs, checkpoints or heartbeats that is none."""

    runbook = Runbook(
        "A topic of offset syncs, checkpoints or heartbeats holds a record that is none of these.",
        "No.",
        "Find out who else writes to the topic: MirrorMaker 2's own readers may fail at the record.",
        more="The mirror passes over it.",
    )

    def __init__(self, topic: str, offset: int, detail: str) -> None:
        super().__init__(
            f"The record at {topic}-0@{offset} cannot be read: {detail}. The mirror left it out; MirrorMaker 2's own readers may fail at "
            "it.",
            topic=topic,
            partition=0,
            offset=offset,
            next=f"Find out who else writes to {topic}. kafka-delete-records.sh removes the record, with all that is older.",
        )


class CheckpointUnwritable(MirrorError):
    """Raised when MirrorMaker 2's record has no room for what a group committed."""

    runbook = Runbook(
        "A group committed more metadata than MirrorMaker 2's record has room for.",
        "No. That checkpoint is not written; the others are.",
        "Let the group commit less metadata, or put it into `groups.exclude`.",
    )

    def __init__(self, group: str, topic: str, partition: int, offset: int, detail: str) -> None:
        super().__init__(
            f"The checkpoint of the group {group} at {topic}-{partition}@{offset} cannot be written: {detail}. The others are.",
            topic=topic,
            partition=partition,
            offset=offset,
            next="Let the group commit less metadata, or put it into groups.exclude.",
        )
        self.group = group


class GroupOffsetsRefused(MirrorError):
    """Raised when the target refuses a translated offset of an idle group, and not because the group came to life."""

    runbook = Runbook(
        "The target refuses a translated offset of an idle group.",
        "No. That partition of the group is not committed.",
        "Do what the message says. Most often the target has a smaller `offset.metadata.max.bytes`.",
    )

    def __init__(self, group: str, topic: str, partition: int, reason: str) -> None:
        super().__init__(
            f"The target refuses the offset of the group {group} in {topic}-{partition}: {reason}. Its other partitions were committed.",
            topic=topic,
            partition=partition,
            next="For OFFSET_METADATA_TOO_LARGE raise the target's offset.metadata.max.bytes; otherwise look at the target's brokers.",
        )
        self.group = group
        self.reason = reason


class GroupRunUnknown(MirrorError):
    """Raised when a run of `group-offsets` is to be taken back of which the control topic keeps nothing."""

    runbook = Runbook(
        "`group-offsets --undo` names a run that the control topic does not keep: it keeps the newest five that committed for a group, and "
        "none from before somebody else moved the group.",
        "No, nothing was changed.",
        "Name one of the runs that the message lists. To put a group elsewhere, use `kafka-consumer-groups.sh --reset-offsets`.",
    )

    def __init__(self, run: str, target: str, runs: Collection[str]) -> None:
        most = 10
        listed = "".join(f"\n- {name}" for name in [*runs][:most]) + (f"\n… and {len(runs) - most} more" if len(runs) > most else "")
        kept_runs = f"These are kept:{listed}" if runs else "None is."
        super().__init__(
            f"Nothing is kept of a run of group-offsets '{run}' on {target}. Nothing was changed. {kept_runs}",
            next="Name a run as group-offsets told it when it committed.",
        )
        self.run = run
        self.runs = tuple(runs)


class GroupUndoFailed(MirrorError):
    """Raised when a group does not stand where it stood before a run of `group-offsets`, though that was to be put back."""

    retriable = True
    runbook = Runbook(
        "The target refused a position that `group-offsets --undo` puts back, or a consumer of the group moved it in that moment.",
        "No. What was there before is still noted.",
        "Do what the message says, and run the same command again.",
    )

    def __init__(self, group: str, target: str, reason: str) -> None:
        super().__init__(
            f"The group {show(group)} was not taken back on {target}, or not in all its partitions: {reason}",
            next="Stop its consumers on the target, look at the target's brokers and at the mirror's rights on the group (READ, DELETE), "
            "and run the same command again.",
        )
        self.group = group
        self.reason = reason


class NoGroupOffsets(MirrorError):
    """Raised when a group that was asked for has committed nothing on the source."""

    runbook = Runbook(
        "`translate` was asked about a group that has committed nothing on the source.",
        "No.",
        "Check the group's name.",
    )

    def __init__(self, group: str, cluster: str) -> None:
        super().__init__(
            f"The group {show(group)} has committed nothing on '{cluster}'.",
            next=("Look for its name: ", Command(f"kafka-consumer-groups.sh --bootstrap-server <{cluster}> --list"), "."),
        )
        self.group = group
        self.cluster = cluster
