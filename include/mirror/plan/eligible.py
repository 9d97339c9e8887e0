"""Which source partitions may be copied in this run: those that the filters accept and whose remote partition is there."""

from collections.abc import Collection, Mapping, MutableMapping
from dataclasses import dataclass, field

from mirror.errors import ErrorReport, MirrorError, TargetMissing
from mirror.kafka.cluster import Cluster
from mirror.kafka.model import Topic
from mirror.offsets.partition import TopicPartition
from mirror.policy import TopicSelection


@dataclass
class Eligible:
    """Source topics and their partitions that may be copied; what has to wait is a notice, what is wrong an error."""

    topics: dict[str, Topic] = field(default_factory=dict)
    partitions: list[TopicPartition] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)
    errors: list[ErrorReport] = field(default_factory=list)


def eligible(
    source: Cluster,
    target: Cluster,
    selection: TopicSelection,
    known: Collection[str],
    discover: bool,
    created: Mapping[str, int],
    refused: MutableMapping[str, MirrorError],
) -> Eligible:
    """Looks at both sides. `known` are the topics in the ledger; without `discover` (refresh.topics.enabled=false) there are no others.
    `created` are partition counts of remote topics that a dry run would have created."""
    names = [name for name in (source.names() if discover else known) if selection.should_replicate(name)]
    topics = source.topics(names, refused)
    remote_topics = target.topics({selection.remote(name) for name in topics})
    result = Eligible()
    for name, topic in sorted(topics.items()):
        remote = selection.remote(name)
        there = max(len(remote_topics[remote].partitions) if remote in remote_topics else 0, created.get(remote, 0))
        result.topics[name] = topic
        result.partitions.extend(TopicPartition(name, p.number) for p in topic.partitions if p.number < there and p.leader is not None)
        _report_missing(result, topic, remote, there, name in known)
    return result


def _report_missing(result: Eligible, topic: Topic, remote: str, there: int, known: bool) -> None:
    missing = len(topic.partitions) - there
    if missing > 0 and there == 0 and known:
        result.errors.append(TargetMissing(topic.name, 0, remote).report())
    elif missing > 0:
        result.notices.append(f"{topic.name}: {missing} partitions wait for refresh-topics to create them in {remote}.")
    leaderless = [p.number for p in topic.partitions if p.leader is None]
    if leaderless:
        result.notices.append(f"{topic.name}: partitions {leaderless} of the source have no leader; the next run looks again.")
