"""Which topics of its source a flow mirrors, and under which names."""

import re
from collections import deque
from collections.abc import Collection, Container, Iterable
from dataclasses import dataclass, replace

from kafka_mirror.errors import RemoteNameUnusable, TopicGoesRound
from kafka_mirror.errors.words import first_few
from kafka_mirror.policy.filters import LONGEST, DefaultTopicFilter, IdleMembers, TopicFilter, idle_members
from kafka_mirror.policy.rename import RenameRefused
from kafka_mirror.policy.replication import ReplicationPolicy, is_ledger_or_control_topic

_ILLEGAL = re.compile(r"[^A-Za-z0-9._-]")


def unusable(name: str) -> str:
    """Why Kafka would not take this as a topic's name; empty if it would."""
    if len(name) > LONGEST:
        return f"has {len(name)} characters, and Kafka takes {LONGEST} at most"
    illegal = sorted(set(_ILLEGAL.findall(name)))
    if illegal:
        characters = ", ".join(repr(character) for character in illegal)
        return f"contains {characters}, and Kafka takes letters, digits, '.', '_' and '-' only"
    return "cannot be a topic's name" if name in ("", ".", "..") else ""


@dataclass(frozen=True)
class TopicSelection:
    """The filter, the policy and the rules about internal topics and circles together.

    People who create topics choose their names, and a policy may be the user's own. So a topic whose remote name Kafka would not take, or
    at which the policy fails, is sorted out here, once for all callers: no such name reaches a client.
    """

    source: str
    target: str
    policy: ReplicationPolicy
    topic_filter: TopicFilter
    heartbeats: bool = True
    """`heartbeats.replication.enabled` (KIP-1089): heartbeats are mirrored even if the filter leaves them out."""
    moved: frozenset[str] = frozenset()
    """Topics that are written on the target since a cutover: nothing more of them is mirrored."""
    is_one_cluster: bool = False
    """`mirror.one.cluster`: the source may hold what the flow itself made; that is not mirrored once more."""
    returned: frozenset[str] | None = None
    """Of a way back (mirror.way.back): the topics that a cutover moved to its source, and heartbeats, are all that is mirrored."""
    leading_back: "tuple[TopicSelection, ...]" = ()
    """Those of the flows by which copies may come back to the source where no name tells that they came from there."""

    def should_replicate(self, topic: str) -> bool:
        """Whether the flow mirrors this topic of its source: it is meant, and it can have a remote topic."""
        return self._judge(topic) is True

    def refusal(self, topic: str) -> RemoteNameUnusable | TopicGoesRound | None:
        """Why a topic that is meant cannot be mirrored; None if it can, and for every topic that is not meant."""
        judged = self._judge(topic)
        return None if isinstance(judged, bool) else judged

    def takes(self, topic: str) -> bool:
        """Whether the topic is meant, whatever its remote name is (MM2's `shouldReplicateTopic`)."""
        return self._judge(topic) is not False

    def remote(self, topic: str) -> str:
        """The name of a source topic on the target. Raises RemoteNameUnusable where it has none that Kafka takes."""
        named = self._name(topic)
        if isinstance(named, RemoteNameUnusable):
            raise named
        return named

    def with_shared_remote_name(self, topics: Iterable[str], in_ledger: Container[str] = ()) -> dict[str, RemoteNameUnusable]:
        """Those of the mirrored `topics` whose remote name another one has too: what they hold must not be mixed. A topic that is
        `in_ledger`, for it was mirrored before, goes on."""
        named: dict[str, list[str]] = {}
        for topic in sorted(topics):
            named.setdefault(self.remote(topic), []).append(topic)
        return {
            topic: RemoteNameUnusable(topic, remote, f"is the remote name of {first_few(others, most=3)} too")
            for remote, sharing in named.items()
            if len(sharing) > 1
            for topic in sharing
            if topic not in in_ledger
            for others in [[f"'{other}'" for other in sharing if other != topic]]
        }

    def display_name(self, topic: str) -> str:
        """The name on the target as people see it: also one that Kafka would not take. Empty where the policy fails."""
        named = self._name(topic)
        return named.remote if isinstance(named, RemoteNameUnusable) else named

    def upstream(self, remote: str) -> str | None:
        """The topic of the source that a topic of the target is the mirror of, by its name; None if this flow would not write it.

        Where a policy keeps the name, nothing on the target says that a topic came from the source.
        """
        upstream = self._find_source(self.source, remote)
        if upstream is None or is_ledger_or_control_topic(remote) or self.policy.is_internal_topic(remote):
            return None
        return upstream if self.should_replicate(upstream) and self.remote(upstream) == remote else None

    def idle_members(self, names: Collection[str]) -> IdleMembers | None:
        """The members of `topics` that take none of these topics of the source; what cutovers moved counts as taken. None if each
        takes one, and for a way back, which takes nothing before a cutover."""
        if self.returned is not None:
            return None
        takes = replace(self, moved=frozenset()).takes
        name = "topics" if isinstance(self.topic_filter, DefaultTopicFilter) else "topic.filter.class"
        return idle_members(name, self.topic_filter.members, "topic", self.source, names, takes)

    def from_target(self, topic: str) -> str | None:
        """The name on the target of a topic that the source has from there (KIP-1098); None for every other topic."""
        return self._find_source(self.target, topic)

    def _judge(self, topic: str) -> bool | RemoteNameUnusable | TopicGoesRound:
        """Whether the topic is mirrored; the error of one that is meant and cannot be."""
        try:
            meant = self._is_meant(topic)
        except Exception as failure:  # noqa: BLE001 — a class of the user's, which may fail at names that it did not expect
            return _report_failure(topic, failure) if self._is_possible_for_filter(topic) else False
        named = self._name(topic) if meant else ""
        if self.is_one_cluster and named == topic:
            return RemoteNameUnusable(topic, topic, "is that of the topic itself: source and target are one cluster")
        if isinstance(named, RemoteNameUnusable):
            return named
        way = self._find_way_round(named) if meant and self.leading_back else ()
        return TopicGoesRound(topic, way) if way else meant

    def _find_way_round(self, remote: str) -> tuple[str, ...]:
        """The clusters of the shortest way by which the copy of a topic is brought back to the source; empty if there is none."""
        waiting: deque[tuple[tuple[str, ...], str]] = deque([((self.source, self.target), remote)])
        places = {(self.target, remote)}
        while waiting:
            way, name = waiting.popleft()
            for flow in self.leading_back:
                if flow.source != way[-1] or not flow.should_replicate(name):
                    continue
                if flow.target == self.source:
                    return (*way, flow.target)
                place = flow.target, flow.remote(name)
                if place not in places:
                    places.add(place)
                    waiting.append(((*way, flow.target), place[1]))
        return ()

    def _is_meant(self, topic: str) -> bool:
        if self.policy.is_internal_topic(topic) or is_ledger_or_control_topic(topic) or self._is_from_target(topic):
            return False
        if topic in self.moved or (self.is_one_cluster and self._is_own_remote(topic)):
            return False
        if self.returned is not None and topic not in self.returned and not self.policy.is_heartbeats_topic(topic):
            return False
        return self._is_wanted(topic)

    def _is_wanted(self, topic: str) -> bool:
        return self.topic_filter.should_replicate(topic) or (self.heartbeats and self.policy.is_heartbeats_topic(topic))

    def _is_own_remote(self, topic: str) -> bool:
        """Whether the flow makes this topic, as the remote topic of another one that is wanted."""
        upstream = self._find_source(self.source, topic)
        return upstream is not None and upstream != topic and self._is_wanted(upstream) and self._name(upstream) == topic

    def _is_possible_for_filter(self, topic: str) -> bool:
        try:
            return self.topic_filter.should_replicate(topic)
        except Exception:  # noqa: BLE001 — a user's class may raise anything; it does not say no
            return True

    def _name(self, topic: str) -> str | RemoteNameUnusable:
        try:
            name = self.policy.format_remote_topic(self.source, topic)
            complaint = unusable(name)
        except RenameRefused as refused:
            return RemoteNameUnusable(topic, refused.remote, str(refused))
        except Exception as failure:  # noqa: BLE001 — a user's class may raise anything
            return _report_failure(topic, failure)
        return RemoteNameUnusable(topic, name, complaint) if complaint else name

    def _find_source(self, alias: str, topic: str) -> str | None:
        """The upstream name of a topic that came from the cluster `alias` directly. One at which the policy fails did not, nor one whose
        upstream could not exist."""
        try:
            upstream = self.policy.upstream_topic(topic) if self.policy.topic_source(topic) == alias else None
        except Exception:  # noqa: BLE001 — a user's class may raise anything
            return None
        return None if upstream is None or unusable(upstream) else upstream

    def _is_from_target(self, topic: str) -> bool:
        """Whether the target is one of the clusters that the topic came through: mirroring it would close a circle."""
        names: set[str] = set()
        current: str | None = topic
        while current is not None and current not in names:
            alias = self.policy.topic_source(current)
            if alias is None:
                return False
            if alias == self.target:
                return True
            names.add(current)
            current = self.policy.upstream_topic(current)
        return False


def _report_failure(topic: str, failure: Exception) -> RemoteNameUnusable:
    return RemoteNameUnusable(topic, "", f"is unknown: the policy or filter failed at it ({type(failure).__name__}: {failure})")
