"""Errors of a remote topic or partition."""

from collections.abc import Sequence

from kafka_mirror.errors.base import TOPIC, DeclaredError, PartitionError
from kafka_mirror.errors.next_step import Part, Remedy, flow_command


class UnexplainedTarget(DeclaredError):
    """The remote partition holds records that the ledger does not know.

    `offset` is the first of them, `end` the partition's end.
    """

    topic: str
    partition: int
    remote: str
    offset: int
    end: int
    in_ledger: bool
    partition_state = "unexplained target"
    answered_by = Remedy("accept-records", TOPIC)
    lost = "No, nothing was written."
    do = (
        "Find the writer. If the records may stay before the copy, accept them. If this flow wrote them and the ledger lost track of them "
        "(unclean leader election), first restart with `--to-offset`, after the last of them. After MirrorMaker 2 run `take-over` "
        "instead."
    )
    more = "Somebody else writes there, or MirrorMaker 2 did."

    def _describe(self) -> str:
        what = "records beyond what this mirror wrote" if self.in_ledger else "records, and the ledger knows nothing of this partition"
        return (
            f"{self.topic}-{self.partition}: the remote partition {self.remote}-{self.partition}@{self.offset} holds {what} (it ends at "
            f"{self.end}). Nothing was written to it."
        )

    def _advise(self) -> Sequence[Part]:
        stop = f"Find out who writes to {self.remote}, and stop it or give this flow another remote name."
        accept = " If the records may stay in front of the copy: ", self.remedy
        if not self.in_ledger:
            return stop, *accept, " If MirrorMaker 2 mirrored the topic before: ", flow_command("take-over")
        # A ledger partition that lost its end by an unclean election leaves our own records unexplained: merely accepted, they would be
        # copied a second time.
        lost_track = " If this flow wrote them and the ledger lost track of them, run `decide restart --to-offset N` first."
        return stop, *accept, lost_track


class TargetRecreated(PartitionError):
    """Somebody deleted the remote topic and created it again, or the policy gives it another name now."""

    remote: str
    expected: str
    actual: str
    partition_state = "target recreated"
    means_loss = True
    answered_by = Remedy("restart", TOPIC)
    text = (
        "{topic}-{partition}: the remote topic {remote} is not the one that was written before ({expected} became {actual}); what was "
        "copied into the old one is not in it. Nothing was written to it."
    )
    next_text = "If the policy was changed by mistake, change it back. To copy the source's records again from the beginning: {remedy}"
    lost = "The new remote topic lacks what was copied to the old one."
    do = "If the policy was changed by mistake, change it back. Else restart: the copy begins again at the source's beginning."


class TargetLostRecords(DeclaredError):
    """The remote partition ends before what was committed, or holds aborted records in the place of committed ones.

    `offset` is the partition's end.
    """

    topic: str
    partition: int
    remote: str
    target_next: int
    offset: int
    partition_state = "target lost records"
    means_loss = True
    answered_by = Remedy("restart", TOPIC)
    text = (
        "{topic}-{partition}: the remote partition {remote}-{partition} ends at {offset}, but {target_next} had been reached: the target "
        "lost what was committed in [{offset}, {target_next}). Nothing was written to it."
    )
    next_text = "Find out why the target lost committed records (unclean leader election?). Then copy again what was lost: {remedy}"
    lost = "Yes, on the target."
    do = (
        "Find out why the target lost records (unclean leader election, a restored disk). Then restart: the copy writes what was lost "
        "again. Reset the groups that stand after the lost records on the target: nothing moves a group back."
    )


class TargetMissing(PartitionError):
    """The remote topic or partition does not exist."""

    remote: str
    retriable = True
    partition_state = "no remote partition"
    answered_by = Remedy("restart", TOPIC)
    text = "{topic}-{partition}: the remote partition {remote}-{partition} does not exist on the target. Nothing was written to it."
    next_text = (
        "Run refresh-topics, which creates it. If it was deleted on purpose, exclude the topic. If it had been written before, the "
        "copy then waits for: {remedy}"
    )
    lost = "No, records are only late."
    do = (
        "Run `refresh-topics`, which creates it. If it was deleted on purpose, exclude the topic. If it had been written before, restart "
        "it once it is there."
    )


class TargetUnavailable(PartitionError):
    """A remote partition has no leader or too few in-sync replicas.

    A commit marker to it would block the whole lane.
    """

    remote: str
    detail: str
    retriable = True
    partition_state = "target unavailable"
    text = "{topic}-{partition}: the remote partition {remote}-{partition} cannot be written: {detail}. Its lane went on without it."
    next_text = "Bring the target's brokers back; the next run goes on by itself."
    lost = "No, records are only late."
    more = "Its lane went on without it."


class TargetHidden(DeclaredError):
    """An open transaction on the target hides copied records.

    The mirror has no transaction open then. So it is somebody else's, or our own one whose end the target lost: writing on would decide it
    by chance. `offset` is the last stable one.
    """

    topic: str
    partition: int
    remote: str
    offset: int
    target_next: int
    retriable = True
    answered_by = Remedy("restart", TOPIC)
    text = (
        "{topic}-{partition}: what was copied to {remote}-{partition} in [{offset}, {target_next}) cannot be read: a transaction stands "
        "open there. Nothing was written to it, and its lane went on without it."
    )
    next_text = (
        "If it lasts, find out whose transaction it is: "
        "{shell:kafka-transactions.sh --bootstrap-server <target> find-hanging --topic {remote} --partition {partition}}. If it is the "
        "mirror's own (an unclean leader election lost its end), aborting it would lose these records: delete {remote}, run "
        "refresh-topics, and copy it again: {remedy}"
    )
    lost = "Not while the transaction is open."
    do = (
        "End somebody else's, or wait for its end. Do not abort the mirror's own: that would lose the records. Delete the remote topic, "
        "run `refresh-topics`, and restart."
    )
    more = "It is somebody else's, or the mirror's own whose end an unclean leader election lost."


class RemoteNameUnusable(DeclaredError):
    """A remote name is too long, has characters that Kafka does not take, or belongs to two topics, of which one that was mirrored
    before goes on.
    """

    topic: str
    remote: str
    detail: str
    next_text = (
        "Name remote topics in another way (`replication.policy.*`, `mirror.rename`, or a shorter alias), or put the topic into "
        "`topics.exclude`."
    )
    lost = "No. The topic is left out everywhere, and every run names it."
    more = "Or the policy, a class of your own, fails at the topic."

    def _describe(self) -> str:
        named = f" '{self.remote}'" if self.remote else ""
        return f"{self.topic}: its remote name{named} {self.detail}. The topic is not mirrored; the others are."


class TopicGoesRound(DeclaredError):
    """Enabled flows lead a topic back to its source under a name that does not tell where it came from: its records would go round for
    ever.

    `way` has the clusters on the way, from the source on.
    """

    topic: str
    way: tuple[str, ...]
    next_text = (
        "Let one of these flows leave the topic out (`topics`, `topics.exclude`), or use the DefaultReplicationPolicy in all of them, with "
        "a separator that no alias contains."
    )
    lost = "No. The topic is left out of each flow that the message names, and every run names it."
    more = (
        "Every member of `topics` is a pattern, in which a dot is any character. Of two opposite flows one may be the way back of a "
        "cutover (`mirror.way.back`)."
    )

    def _describe(self) -> str:
        return (
            f"{self.topic}: enabled flows bring it back to {self.way[0]} ({' -> '.join(self.way)}), and its name there does not tell "
            "where it came from: its records would go round for ever. The topic is not mirrored; the others are."
        )


class RemoteTopicRefused(DeclaredError):
    """The target refuses to create or extend a remote topic. Every plan names the refusal for as long as it stands."""

    topic: str
    remote: str
    detail: str
    advice: str
    partition_state = "no remote partition"
    text = "{topic}: the target refuses its remote topic. {detail} Nothing was changed."
    next_text = "{advice}"
    lost = "No, as long as the source keeps the records: they wait, and count as lag like all others."
    do = (
        "Do what the message says about the replication factor, the config or the target's policy. Then run `refresh-topics`, or wait for "
        "its next run."
    )


class RemoteConfigRefused(DeclaredError):
    """The target does not take a topic's configs; or `min.insync.replicas` is more than the remote topic has replicas."""

    topic: str
    remote: str
    detail: str
    advice: str
    text = "{topic}: the configs of {remote} cannot be the source's. {detail}"
    next_text = "{advice}"
    do = "Do what the message says: correct the config on the source, exclude it, or give the remote topic more replicas."
    more = "In the second case that entry alone stays as it is."
