"""Errors of the topics that MirrorMaker 2 and this mirror write for each other and for clients."""

from mirror.errors.base import MirrorError


class InternalRecordDamaged(MirrorError):
    """Raised, or only reported, for a record among offset syncs, checkpoints or heartbeats that is none."""

    def __init__(self, topic: str, offset: int, detail: str) -> None:
        super().__init__(
            f"The record at {topic}-0@{offset} cannot be read: {detail}. It was left out; MirrorMaker 2's own readers may fail at it.",
            topic=topic,
            partition=0,
            offset=offset,
            next=f"Find out who else writes to {topic}. kafka-delete-records.sh removes the record, with all that is older.",
        )
