"""Errors of a remote topic or partition."""

from mirror.errors.base import MirrorError
from mirror.errors.next_step import FLOW, Remedy

_MIRRORMAKER = f" Did MirrorMaker 2 mirror it before: python -m mirror take-over --flow '{FLOW}'"


class UnexplainedTarget(MirrorError):
    """Raised when the remote partition holds records that the ledger does not account for."""

    def __init__(self, topic: str, partition: int, remote: str, first: int, end: int, known: bool) -> None:
        what = "records beyond what this mirror wrote" if known else "records, and the ledger knows nothing of this partition"
        # A ledger partition that lost its end by an unclean election leaves our own records unexplained: merely accepted, they would be
        # copied a second time.
        own = " Are they this flow's own, and the ledger forgot them, take `decide restart --to-offset` first." if known else _MIRRORMAKER
        remedy = Remedy("accept-records", topic, partition)
        super().__init__(
            f"{topic}-{partition}: the remote partition {remote}-{partition}@{first} holds {what} (it ends at {end}). "
            "Nothing was written to it.",
            topic=topic,
            partition=partition,
            offset=first,
            next=f"Find out who writes to {remote}, and stop it or give this flow another remote name. If the records may stay in front of "
            f"the copy: {remedy}{own}",
            remedies=(remedy,),
        )
        self.remote = remote


class TargetRecreated(MirrorError):
    """Raised when the remote topic is another one than the ledger was written for."""

    def __init__(self, topic: str, partition: int, remote: str, known: str, found: str) -> None:
        remedy = Remedy("restart", topic, partition)
        super().__init__(
            f"{topic}-{partition}: the remote topic {remote} is not the one that was written before ({known} became {found}); "
            "what was copied into the old one is not in it. Nothing was written to it.",
            topic=topic,
            partition=partition,
            next=f"If the policy was changed by mistake, change it back. To copy the source's records again from the beginning: {remedy}",
            remedies=(remedy,),
        )
        self.remote = remote
        self.known = known
        self.found = found


class TargetLostRecords(MirrorError):
    """Raised when the remote partition ends before what the ledger says was written."""

    def __init__(self, topic: str, partition: int, remote: str, target_next: int, end: int) -> None:
        remedy = Remedy("restart", topic, partition)
        super().__init__(
            f"{topic}-{partition}: the remote partition {remote}-{partition} ends at {end}, but {target_next} had been reached: "
            f"the target lost what was committed in [{end}, {target_next}). Nothing was written to it.",
            topic=topic,
            partition=partition,
            offset=end,
            next=f"Find out why the target lost committed records (unclean leader election?). Then copy again what was lost: {remedy}",
            remedies=(remedy,),
        )
        self.remote = remote
        self.target_next = target_next
        self.end = end


class TargetMissing(MirrorError):
    """Raised when the remote topic or partition does not exist (yet)."""

    retriable = True

    def __init__(self, topic: str, partition: int, remote: str) -> None:
        remedy = Remedy("restart", topic, partition)
        super().__init__(
            f"{topic}-{partition}: the remote partition {remote}-{partition} does not exist on the target. Nothing was written to it.",
            topic=topic,
            partition=partition,
            next="Run refresh-topics, which creates it; if it was deleted on purpose, exclude the topic. Where it had been written before, "
            f"the copy then waits for: {remedy}",
            remedies=(remedy,),
        )
        self.remote = remote


class TargetUnavailable(MirrorError):
    """Raised when a remote partition has no leader or too few in-sync replicas: a commit marker to it would block the whole lane."""

    retriable = True

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

    def __init__(self, topic: str, partition: int, remote: str, last_stable: int, target_next: int) -> None:
        remedy = Remedy("restart", topic, partition)
        super().__init__(
            f"{topic}-{partition}: what was copied to {remote}-{partition} in [{last_stable}, {target_next}) cannot be read: a transaction "
            "stands open there. Nothing was written to it, and its lane went on without it.",
            topic=topic,
            partition=partition,
            offset=last_stable,
            next="If it lasts: kafka-transactions.sh --bootstrap-server <target> find-hanging "
            f"--topic {remote} --partition {partition}. If it is the mirror's own (an unclean leader election lost its end), to abort it "
            f"would lose these records: delete {remote}, run refresh-topics, and copy it again: "
            f"{remedy}",
            remedies=(remedy,),
        )
        self.remote = remote
        self.last_stable = last_stable
        self.target_next = target_next


class RemoteNameUnusable(MirrorError):
    """Raised when a topic's remote name is one that Kafka does not take, that another topic has too, or that the policy cannot tell."""

    def __init__(self, topic: str, remote: str, detail: str) -> None:
        named = f" '{remote}'" if remote else ""
        super().__init__(
            f"{topic}: its remote name{named} {detail}. The topic is not mirrored; the others are.",
            topic=topic,
            next="Name remote topics in another way (replication.policy.*, or a shorter alias), or put the topic into topics.exclude.",
        )
        self.remote = remote


class RemoteTopicRefused(MirrorError):
    """Raised when the target refuses to create or extend a remote topic, and would refuse it again."""

    def __init__(self, topic: str, remote: str, detail: str, next: str) -> None:
        super().__init__(f"{topic}: the target refuses its remote topic. {detail} Nothing was changed.", topic=topic, next=next)
        self.remote = remote


class RemoteConfigRefused(MirrorError):
    """Raised when the target refuses a topic's configs and would refuse them again, or when one of them would stop all writing there."""

    def __init__(self, topic: str, remote: str, detail: str, next: str) -> None:
        super().__init__(f"{topic}: the configs of {remote} cannot be the source's. {detail}", topic=topic, next=next)
        self.remote = remote
