"""Errors of a remote topic or partition."""

from mirror.errors.base import TOPIC, MirrorError, Runbook
from mirror.errors.next_step import Command, Remedy, of_the_flow


class UnexplainedTarget(MirrorError):
    """Raised when the remote partition holds records that the ledger does not account for."""

    runbook = Runbook(
        "The remote partition holds records that the ledger does not know.",
        "No, nothing was written.",
        "Find the writer. If the records may stay in front of the copy, accept them. If this flow wrote them and the ledger lost track of "
        "them (unclean leader election), first restart with `--to-offset`, behind the last of them. If MirrorMaker 2 mirrored the topic "
        "before, run `take-over` instead.",
        (Remedy("accept-records", TOPIC),),
        more="Somebody else writes there, or MirrorMaker 2 did.",
    )

    def __init__(self, topic: str, partition: int, remote: str, first: int, end: int, in_ledger: bool) -> None:
        what = "records beyond what this mirror wrote" if in_ledger else "records, and the ledger knows nothing of this partition"
        # A ledger partition that lost its end by an unclean election leaves our own records unexplained: merely accepted, they would be
        # copied a second time.
        lost_track = (" If this flow wrote them and the ledger lost track of them, run `decide restart --to-offset N` first.",)
        advice = lost_track if in_ledger else (" If MirrorMaker 2 mirrored the topic before: ", of_the_flow("take-over"))
        super().__init__(
            f"{topic}-{partition}: the remote partition {remote}-{partition}@{first} holds {what} (it ends at {end}). "
            "Nothing was written to it.",
            topic=topic,
            partition=partition,
            offset=first,
            next=(
                f"Find out who writes to {remote}, and stop it or give this flow another remote name. If the records may stay in front of "
                "the copy: ",
                Remedy("accept-records", topic, partition),
                *advice,
            ),
        )
        self.remote = remote


class TargetRecreated(MirrorError):
    """Raised when the remote topic is another one than the ledger was written for."""

    runbook = Runbook(
        "Somebody deleted the remote topic and created it again, or the policy gives it another name now.",
        "The new remote topic lacks what was copied to the old one.",
        "If the policy was changed by mistake, change it back. Else restart: the copy begins again at the source's beginning.",
        (Remedy("restart", TOPIC),),
    )

    def __init__(self, topic: str, partition: int, remote: str, expected: str, actual: str) -> None:
        super().__init__(
            f"{topic}-{partition}: the remote topic {remote} is not the one that was written before ({expected} became {actual}); "
            "what was copied into the old one is not in it. Nothing was written to it.",
            topic=topic,
            partition=partition,
            next=(
                "If the policy was changed by mistake, change it back. To copy the source's records again from the beginning: ",
                Remedy("restart", topic, partition),
            ),
        )
        self.remote = remote
        self.expected = expected
        self.actual = actual


class TargetLostRecords(MirrorError):
    """Raised when the remote partition ends before what the ledger says was written."""

    runbook = Runbook(
        "The remote partition ends before what was committed, or holds aborted records in the place of committed ones.",
        "Yes, on the target.",
        "Find out why the target lost records (unclean leader election, a restored disk). Then restart: the copy writes what was lost "
        "again, behind what is left. Reset the groups that had read the lost records on the target, or had been moved behind them: nothing "
        "moves a group back.",
        (Remedy("restart", TOPIC),),
    )

    def __init__(self, topic: str, partition: int, remote: str, target_next: int, end: int) -> None:
        super().__init__(
            f"{topic}-{partition}: the remote partition {remote}-{partition} ends at {end}, but {target_next} had been reached: "
            f"the target lost what was committed in [{end}, {target_next}). Nothing was written to it.",
            topic=topic,
            partition=partition,
            offset=end,
            next=(
                "Find out why the target lost committed records (unclean leader election?). Then copy again what was lost: ",
                Remedy("restart", topic, partition),
            ),
        )
        self.remote = remote
        self.target_next = target_next
        self.end = end


class TargetMissing(MirrorError):
    """Raised when the remote topic or partition does not exist (yet)."""

    retriable = True
    runbook = Runbook(
        "The remote topic or partition does not exist.",
        "No, records are only late.",
        "Run `refresh-topics`, which creates it. If it was deleted on purpose, exclude the topic. If it had been written before, restart "
        "it once it is there.",
        (Remedy("restart", TOPIC),),
    )

    def __init__(self, topic: str, partition: int, remote: str) -> None:
        super().__init__(
            f"{topic}-{partition}: the remote partition {remote}-{partition} does not exist on the target. Nothing was written to it.",
            topic=topic,
            partition=partition,
            next=(
                "Run refresh-topics, which creates it. If it was deleted on purpose, exclude the topic. If it had been written before, the "
                "copy then waits for: ",
                Remedy("restart", topic, partition),
            ),
        )
        self.remote = remote


class TargetUnavailable(MirrorError):
    """Raised when a remote partition has no leader or too few in-sync replicas: a commit marker to it would block the whole lane."""

    retriable = True
    runbook = Runbook(
        "A remote partition has no leader or too few in-sync replicas.",
        "No, records are only late.",
        "Bring the target's brokers back.",
        more="Its lane went on without it.",
    )

    def __init__(self, topic: str, partition: int, remote: str, detail: str) -> None:
        super().__init__(
            f"{topic}-{partition}: the remote partition {remote}-{partition} cannot be written: {detail}. Its lane went on without it.",
            topic=topic,
            partition=partition,
            next="Bring the target's brokers back; the next run goes on by itself.",
        )
        self.remote = remote


class TargetHidden(MirrorError):
    """Raised when records that the mirror committed stand behind the first record of a transaction that is open.

    The mirror has none open then. So it is somebody else's, or our own one whose end the target lost: writing on would decide it by chance.
    """

    retriable = True
    runbook = Runbook(
        "An open transaction on the target hides records that were copied.",
        "Not while the transaction is open.",
        "If it is somebody else's, end it or wait for its end. If it is the mirror's own, do not abort it: that would lose the records. "
        "Delete the remote topic, run `refresh-topics`, and restart.",
        (Remedy("restart", TOPIC),),
        more="It is somebody else's, or the mirror's own whose end the target lost in an unclean leader election.",
    )

    def __init__(self, topic: str, partition: int, remote: str, last_stable: int, target_next: int) -> None:
        find = f"kafka-transactions.sh --bootstrap-server <target> find-hanging --topic {remote} --partition {partition}"
        super().__init__(
            f"{topic}-{partition}: what was copied to {remote}-{partition} in [{last_stable}, {target_next}) cannot be read: a transaction "
            "stands open there. Nothing was written to it, and its lane went on without it.",
            topic=topic,
            partition=partition,
            offset=last_stable,
            next=(
                "If it lasts, find out whose transaction it is: ",
                Command(find),
                ". If it is the mirror's own (an unclean leader election lost its end), aborting it would lose these records: delete "
                f"{remote}, run refresh-topics, and copy it again: ",
                Remedy("restart", topic, partition),
            ),
        )
        self.remote = remote
        self.last_stable = last_stable
        self.target_next = target_next


class RemoteNameUnusable(MirrorError):
    """Raised when a topic's remote name is one that Kafka does not take, that another topic has too, or that the policy cannot tell."""

    runbook = Runbook(
        "A remote name is too long, has characters that Kafka does not take, or belongs to two topics; each is named with the "
        "other, and one that was mirrored before goes on, with new partitions and configs.",
        "No. The topic is left out everywhere, and every run names it.",
        "Take another policy, a rule of `mirror.rename` or a shorter alias, or exclude the topic.",
        more="Or the policy, a class of your own, fails at the topic.",
    )

    def __init__(self, topic: str, remote: str, detail: str) -> None:
        named = f" '{remote}'" if remote else ""
        super().__init__(
            f"{topic}: its remote name{named} {detail}. The topic is not mirrored; the others are.",
            topic=topic,
            next="Name remote topics in another way (replication.policy.*, mirror.rename, or a shorter alias), or put the topic into "
            "topics.exclude.",
        )
        self.remote = remote


class TopicGoesRound(MirrorError):
    """Raised when flows would bring a topic's copy back to the cluster that it came from, and no name tells that it was there."""

    runbook = Runbook(
        "Enabled flows lead a topic back to its source under a name that does not tell where it came from: its records would go round for "
        "ever. Each topic is judged by its own name; a new one is judged when it appears.",
        "No. The topic is left out of each flow that the message names, and every run names it.",
        "Let one of these flows leave it out (`topics`, `topics.exclude`), or use the DefaultReplicationPolicy in all of them, with a "
        "separator that no alias contains.",
        more="Every member of `topics` is a pattern, in which a dot is any character. Of two opposite flows one may be the way back of a "
        "cutover (`mirror.way.back`).",
    )

    def __init__(self, topic: str, way: tuple[str, ...]) -> None:
        super().__init__(
            f"{topic}: enabled flows bring it back to {way[0]} ({' -> '.join(way)}), and its name there does not tell where it came from: "
            "its records would go round for ever. The topic is not mirrored; the others are.",
            topic=topic,
            next="Let one of these flows leave the topic out (topics, topics.exclude), or use the DefaultReplicationPolicy in all of them, "
            "with a separator that no alias contains.",
        )
        self.way = way


class RemoteTopicRefused(MirrorError):
    """Raised when the target refuses to create or extend a remote topic, and would refuse it again."""

    runbook = Runbook(
        "The target refuses to create or extend a remote topic. Every plan asks it again, without writing anything, and names the refusal "
        "for as long as it stands.",
        "No, as long as the source keeps the records: they wait, and count as lag like all others.",
        "Do what the message says: it names the replication factor, the config or the target's policy that is in the way. Then run "
        "`refresh-topics`, or wait for its next run.",
    )

    def __init__(self, topic: str, remote: str, detail: str, next: str) -> None:
        super().__init__(f"{topic}: the target refuses its remote topic. {detail} Nothing was changed.", topic=topic, next=next)
        self.remote = remote


class RemoteConfigRefused(MirrorError):
    """Raised when the target refuses a topic's configs and would refuse them again, or when one of them would stop all writing there."""

    runbook = Runbook(
        "The target does not take a topic's configs; or `min.insync.replicas` is more than the remote topic has replicas.",
        "No.",
        "Do what the message says: correct the config on the source, exclude it, or give the remote topic more replicas.",
        more="In the second case that entry stays as it is, and the topic's other entries are carried.",
    )

    def __init__(self, topic: str, remote: str, detail: str, next: str) -> None:
        super().__init__(f"{topic}: the configs of {remote} cannot be the source's. {detail}", topic=topic, next=next)
        self.remote = remote
