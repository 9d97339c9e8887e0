"""`refresh-topics`: finds topics, creates remote topics and partitions."""

import argparse
from collections.abc import Iterator

from mirror.commands.answer import DONE, FAILED, Answer
from mirror.config import Flow
from mirror.kafka.connect import clusters
from mirror.sync.topics import TopicsRefreshed, refresh_topics


def run(flow: Flow, options: argparse.Namespace) -> Answer:
    """One refresh; with `--dry-run` the target's brokers only check what would be asked of them."""
    with clusters(flow) as (source, target):
        done = refresh_topics(flow, source, target, options.dry_run)
    result = {"created": dict(done.created), "extended": dict(done.extended), "deleted_at_source": list(done.deleted_at_source)}
    return Answer(FAILED if done.errors else DONE, result, done.errors, "\n".join(_lines(done, options.dry_run)))


def _lines(done: TopicsRefreshed, dry_run: bool) -> Iterator[str]:
    verb = "would be " if dry_run else ""
    for name, count in sorted(done.created.items()):
        yield f"{name}: {verb}created with {_partitions(count)}"
    for name, count in sorted(done.extended.items()):
        yield f"{name}: {verb}extended to {_partitions(count)}"
    for name in done.deleted_at_source:
        yield f"{name}: its topic no longer exists on the source; it stays as it is"
    if not done.created and not done.extended:
        yield f"Nothing to create; {len(done.unchanged)} remote topics are as they should be."


def _partitions(count: int) -> str:
    return f"{count} partition{'' if count == 1 else 's'}"
