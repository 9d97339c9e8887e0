"""A replication policy whose topics have other names by rule: callers of the policy get the new name, and from it the old one."""

from collections.abc import Iterable, Mapping

from kafka_mirror.policy.lineage import sources
from kafka_mirror.policy.rename_rule import Renames
from kafka_mirror.policy.replication import ReplicationPolicy, is_ledger_or_control_topic


class RenameRefused(ValueError):
    """Raised for a topic that no rule may give its new name; the text completes "its remote name …"."""

    def __init__(self, remote: str, detail: str) -> None:
        super().__init__(detail)
        self.remote = remote


class RenamingPolicy(ReplicationPolicy):
    """Another policy, with new names in the place of the topics' own.

        topic of the source ── rules ──► new name ── policy ──► remote topic

    Heartbeats and internal topics keep their names. A new name belongs to one topic alone, by the rules and whatever topics there are;
    every other topic that would come to it is refused.
    """

    def __init__(self, policy: ReplicationPolicy, renames: Mapping[str, Renames], aliases: Iterable[str] = ()) -> None:
        """`renames`: the rules by which topics of a cluster are mirrored, by its alias; `aliases`: the clusters that there are."""
        self._policy = policy
        self._renames = renames
        self._aliases = frozenset(aliases)
        self._remotes: dict[tuple[str, str], str] = {}  # a plan asks several times for each topic
        self.internal_separator = policy.internal_separator

    def format_remote_topic(self, alias: str, topic: str) -> str:
        """The policy's, of the new name. Raises RenameRefused."""
        renames = self._renames.get(alias)
        if renames is None or self._is_kept_as_it_is(topic):
            return self._policy.format_remote_topic(alias, topic)
        if (alias, topic) not in self._remotes:
            name = renames.renamed(topic)
            remote = self._policy.format_remote_topic(alias, name)
            self._check(renames, topic, name, remote)
            self._remotes[alias, topic] = remote
        return self._remotes[alias, topic]

    @property
    def without_rules(self) -> ReplicationPolicy:
        """The policy by which topics would be called if there were no rules."""
        return self._policy

    def topic_source(self, topic: str) -> str | None:
        """The policy's."""
        return self._policy.topic_source(topic)

    def upstream_topic(self, topic: str) -> str | None:
        """The old name, where the rules give the new one."""
        upstream, source = self._policy.upstream_topic(topic), self._policy.topic_source(topic)
        renames = self._renames.get(source) if source is not None else None
        if upstream is None or renames is None or self._is_kept_as_it_is(upstream):
            return upstream
        return renames.original(upstream) or upstream

    def heartbeats_topic(self) -> str:
        """The policy's."""
        return self._policy.heartbeats_topic()

    def offset_syncs_topic(self, alias: str) -> str:
        """The policy's."""
        return self._policy.offset_syncs_topic(alias)

    def checkpoints_topic(self, alias: str) -> str:
        """The policy's."""
        return self._policy.checkpoints_topic(alias)

    def ledger_topic(self, alias: str) -> str:
        """The policy's."""
        return self._policy.ledger_topic(alias)

    def control_topic(self, alias: str) -> str:
        """The policy's."""
        return self._policy.control_topic(alias)

    def is_heartbeats_topic(self, topic: str) -> bool:
        """The policy's."""
        return self._policy.is_heartbeats_topic(topic)

    def is_checkpoints_topic(self, topic: str) -> bool:
        """The policy's."""
        return self._policy.is_checkpoints_topic(topic)

    def is_mm2_internal_topic(self, topic: str) -> bool:
        """The policy's."""
        return self._policy.is_mm2_internal_topic(topic)

    def is_internal_topic(self, topic: str) -> bool:
        """The policy's."""
        return self._policy.is_internal_topic(topic)

    def _is_kept_as_it_is(self, topic: str) -> bool:
        policy = self._policy
        return policy.is_heartbeats_topic(topic) or policy.is_internal_topic(topic) or is_ledger_or_control_topic(topic)

    def _check(self, renames: Renames, topic: str, name: str, remote: str) -> None:
        if not name:
            raise RenameRefused(remote, "is empty after the prefix by mirror.rename, and no policy reads such a name back")
        original = renames.original(name)
        if original is None:
            raise RenameRefused(remote, f"cannot be renamed back by mirror.rename: no rule says that '{name}' was '{topic}'")
        if original != topic:
            raise RenameRefused(remote, f"is by mirror.rename that of '{original}', whether there is such a topic or not")
        if name != topic and self._is_kept_as_it_is(name):
            raise RenameRefused(remote, f"would be one of the mirror's own: '{name}' by mirror.rename")
        if self._trace(name) != self._trace(topic):
            raise RenameRefused(remote, "would not tell any more which clusters the topic came through, and it might come back to them")

    def _trace(self, topic: str) -> tuple[str, ...]:
        return tuple(alias for alias in sources(self._policy, topic) if alias in self._aliases)
