"""Errors of single consumer groups."""

from mirror.errors.base import MirrorError


class CheckpointUnwritable(MirrorError):
    """Raised when MirrorMaker 2's record has no room for what a group committed."""

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

    def __init__(self, group: str, topic: str, partition: int, reason: str) -> None:
        super().__init__(
            f"The target refuses the offset of the group {group} in {topic}-{partition}: {reason}. Its other partitions were committed.",
            topic=topic,
            partition=partition,
            next="For OFFSET_METADATA_TOO_LARGE raise the target's offset.metadata.max.bytes; otherwise look at the target's brokers.",
        )
        self.group = group
        self.reason = reason


class NoGroupOffsets(MirrorError):
    """Raised when a group that was asked for has committed nothing on the source."""

    def __init__(self, group: str, cluster: str) -> None:
        super().__init__(
            f"The group {group} has committed nothing on '{cluster}'.",
            next=f"Look for its name: kafka-consumer-groups.sh --bootstrap-server <{cluster}> --list.",
        )
        self.group = group
        self.cluster = cluster
