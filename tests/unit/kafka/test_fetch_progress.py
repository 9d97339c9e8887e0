"""A consumer that gets on is told from one that stands still by its statistics alone."""

import json

from mirror.kafka.consumer_settings import FetchProgress


def told(progress, **offsets):
    """What the client says: topics with one partition each; whether the progress took it for a move."""
    before, progress.moved_at = progress.moved_at, -1.0
    topics = {name: {"partitions": {"0": {"next_offset": offset}}} for name, offset in offsets.items()}
    progress(json.dumps({"topics": topics}))
    moved = progress.moved_at > 0
    progress.moved_at = max(before, progress.moved_at)
    return moved


def test_only_a_partition_that_is_further_than_before_counts():
    progress = FetchProgress()
    assert not told(progress, orders=5, pay=3), "nobody knows yet whether that is far"
    assert told(progress, orders=6, pay=3)
    assert not told(progress, orders=6, pay=3)
    assert not told(progress, orders=2), "it was assigned anew, and the other one is done"
    assert told(progress, orders=3, more=9)
