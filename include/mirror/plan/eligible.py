"""Which source partitions may be copied in this run: those that the filters accept and whose remote partition is there."""

from collections.abc import Collection, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field, replace

from mirror.errors import ErrorReport, MirrorError, TargetMissing
from mirror.kafka.cluster import Cluster
from mirror.kafka.model import Topic
from mirror.offsets.partition import TopicPartition
from mirror.policy import TopicSelection


@dataclass
class Eligible:
    """Source topics and their partitions that may be copied; what has to wait is a notice, what is wrong an error. `remotes` are the remote
    topics that exist, by source topic."""

    topics: dict[str, Topic] = field(default_factory=dict)
    remotes: dict[str, Topic] = field(default_factory=dict)
    partitions: list[TopicPartition] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)
    errors: list[ErrorReport] = field(default_factory=list)


def eligible(
    source: Cluster,
    target: Cluster,
    selection: TopicSelection,
    known: Collection[TopicPartition],
    discover: bool,
    created: Mapping[str, int],
    refused: MutableMapping[str, MirrorError],
) -> Eligible:
    """Looks at both sides. `known` are the partitions in the ledger; without `discover` (refresh.topics.enabled=false) there are no others.
    `created` are partition counts of remote topics that a dry run would have created.

    Topics in the ledger are asked for by name: a cluster does not list what it hides from us, and a topic that was mirrored must not
    silently be mirrored no more.
    """
    mirrored: dict[str, list[int]] = {}
    for tp in known:
        mirrored.setdefault(tp.topic, []).append(tp.partition)
    names = set(mirrored) | set(source.names() if discover else ())
    refused.update({name: error for name in names if (error := selection.refusal(name)) is not None})
    chosen = [name for name in names if selection.should_replicate(name)]
    shared = selection.sharing(chosen, mirrored)
    refused.update(shared)
    topics = source.topics([name for name in chosen if name not in shared], refused)
    hidden: dict[str, MirrorError] = {}
    remote_topics = target.topics({selection.remote(name) for name in topics}, hidden)
    result = Eligible()
    for name, topic in sorted(topics.items()):
        remote = selection.remote(name)
        if remote in hidden:
            result.errors.append(replace(hidden[remote].report(), topic=name))
            continue
        there = max(len(remote_topics[remote].partitions) if remote in remote_topics else 0, created.get(remote, 0))
        result.topics[name] = topic
        if remote in remote_topics:
            result.remotes[name] = remote_topics[remote]
        result.partitions.extend(TopicPartition(name, p.number) for p in topic.partitions if p.number < there and p.leader is not None)
        lost = sorted(number for number in mirrored.get(name, ()) if number >= there)
        _report_missing(result, topic, remote, there, lost)
    return result


def _report_missing(result: Eligible, topic: Topic, remote: str, there: int, lost: Sequence[int]) -> None:
    """A remote partition that was written before and is gone is an error; one that was never there waits for `refresh-topics`."""
    result.errors.extend(TargetMissing(topic.name, number, remote).report() for number in lost)
    new = len(topic.partitions) - there - len(lost)
    if new > 0:
        result.notices.append(f"{topic.name}: {new} partitions wait for refresh-topics to create them in {remote}.")
    leaderless = [p.number for p in topic.partitions if p.leader is None]
    if leaderless:
        result.notices.append(f"{topic.name}: partitions {leaderless} of the source have no leader; the next run looks again.")
