"""Which topics of the source are found, what has to change on the target, and refreshing them, against clusters that live in memory."""

from collections.abc import Iterable, Mapping, MutableMapping
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from kafka_mirror.config import Flow, load
from kafka_mirror.errors import AuthorizationRefused, KafkaFailure, MirrorError
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.kafka.cluster import TopicListing
from kafka_mirror.kafka.model import ConfigEntry, NewTopic, Partition, Topic
from kafka_mirror.policy import DefaultReplicationPolicy, IdentityReplicationPolicy, ReplicationPolicy, TopicSelection
from kafka_mirror.policy.filters import DefaultTopicFilter
from kafka_mirror.policy.selection import unusable
from kafka_mirror.topics import topics as module
from kafka_mirror.topics.topics import RefreshTopicsResult, TopicChange, TopicDiff, discover, find_orphans, plan_topics, refresh_topics


class MemoryCluster:
    """The part of Cluster that a refresh uses. `hidden` topics are not listed and not described; `refusals` are what creating meets."""

    def __init__(self, alias: str, **partitions: int) -> None:
        self.alias = alias
        self.partitions = {name.replace("__", "."): count for name, count in partitions.items()}
        self.settings: dict[str, dict[str, str]] = {}
        self.factors: dict[str, int] = {}
        self.hidden: set[str] = set()
        self.unreadable_configs: set[str] = set()
        self.refusals: dict[str, str] = {}
        self.made_by_others: dict[str, int] = {}
        self.writes = 0
        self.unled_for = 0
        self.only_checks = True

    def find_led(self, partitions: Iterable[TopicPartition]) -> set[TopicPartition]:
        self.unled_for -= 1
        return set() if self.unled_for >= 0 else set(partitions)

    def names(self) -> list[str]:
        return sorted(set(self.partitions) - self.hidden)

    def listing(self) -> TopicListing:
        return TopicListing(frozenset(self.names()), {})

    def find_listed_topics(self, names: Iterable[str], errors: MutableMapping[str, MirrorError] | None = None) -> dict[str, Topic]:
        return self.topics(names, errors)

    def topics(self, names: Iterable[str], errors: MutableMapping[str, MirrorError] | None = None) -> dict[str, Topic]:
        found = {}
        for name in names:
            if name in self.hidden:
                errors[name] = AuthorizationRefused(self.alias, "DESCRIBE", f"topic {name}", topic=name)
            elif name in self.partitions:
                found[name] = Topic(name, name, tuple(Partition(n, 1, (1,), (1,)) for n in range(self.partitions[name])))
        return found

    def configs(self, names: Iterable[str], errors: MutableMapping[str, MirrorError]) -> dict[str, dict[str, ConfigEntry]]:
        found = {}
        for name in names:
            if name in self.unreadable_configs:
                errors[name] = AuthorizationRefused(self.alias, "DESCRIBE_CONFIGS", f"topic {name}", topic=name)
            else:
                settings = self.settings.get(name, {})
                found[name] = {k: ConfigEntry(k, v, "DYNAMIC_TOPIC_CONFIG", False, False) for k, v in settings.items()}
        return found

    def create_topics(self, topics: Iterable[NewTopic], dry_run: bool) -> dict[str, MirrorError | None]:
        outcomes: dict[str, MirrorError | None] = {}
        for new in topics:
            self.partitions |= {name: count for name, count in self.made_by_others.items() if name == new.name}
            outcomes[new.name] = self._refusal(new.name, "TOPIC_ALREADY_EXISTS" if new.name in self.partitions else "")
            if outcomes[new.name] is None and not dry_run:
                self.partitions[new.name] = new.partitions
                self.settings[new.name] = dict(new.configs)
                self.factors[new.name] = new.replication_factor
                self.writes += 1
        return outcomes

    def create_partitions(self, counts: Mapping[str, int], dry_run: bool) -> dict[str, MirrorError | None]:
        outcomes: dict[str, MirrorError | None] = {}
        for name, count in counts.items():
            self.partitions |= {other: made for other, made in self.made_by_others.items() if other == name}
            outcomes[name] = self._refusal(name, "INVALID_PARTITIONS" if self.partitions[name] >= count else "")
            if outcomes[name] is None and not dry_run:
                self.partitions[name] = count
                self.writes += 1
        return outcomes

    def _refusal(self, name: str, otherwise: str) -> MirrorError | None:
        reason = self.refusals.get(name, otherwise)
        return (
            KafkaFailure(f"Cluster '{self.alias}': creating the topic {name} failed: {reason}.", reason=reason, topic=name)
            if reason
            else None
        )


@pytest.fixture
def flow(tmp_path: Path) -> Any:
    def make(**extra: str) -> Flow:
        lines = [f"{name.replace('_', '.')}={value}" for name, value in extra.items()]
        clusters = ["clusters=east,west", "east.bootstrap.servers=localhost:1", "west.bootstrap.servers=localhost:2"]
        file = tmp_path / "mm2.properties"
        file.write_text("\n".join([*clusters, "east->west.enabled=true", "replication.factor=1", *lines]))
        return load([file], {}).flow("east->west")

    return make


def refreshed(flow: Flow, source: Any, target: Any, dry_run: bool = False) -> RefreshTopicsResult:
    return refresh_topics(flow, source, target, dry_run)


def test_missing_topics_are_created_with_configs_and_replication_factor(flow: Any) -> None:
    source, target = MemoryCluster("east", orders=3, pay=1), MemoryCluster("west")
    source.settings["orders"] = {"cleanup.policy": "compact", "min.insync.replicas": "2"}
    result = refreshed(flow(), source, target)
    assert result == RefreshTopicsResult({"east.orders": 3, "east.pay": 1}, {}, (), (), ())
    assert target.settings["east.orders"] == {"cleanup.policy": "compact"}
    assert target.factors == {"east.orders": 1, "east.pay": 1}


def test_grown_topics_are_extended_and_a_second_run_changes_nothing(flow: Any) -> None:
    source, target = MemoryCluster("east", orders=3, pay=1), MemoryCluster("west", east__orders=2)
    assert refreshed(flow(), source, target) == RefreshTopicsResult({"east.pay": 1}, {"east.orders": 3}, (), (), ())
    assert refreshed(flow(), source, target) == RefreshTopicsResult({}, {}, (), ("east.orders", "east.pay"), ())
    assert target.writes == 2


def test_a_dry_run_gives_the_same_answer_and_writes_nothing(flow: Any) -> None:
    def clusters() -> tuple[MemoryCluster, MemoryCluster]:
        source, target = MemoryCluster("east", orders=3, pay=1, bad=1), MemoryCluster("west", east__orders=2, east__gone=1)
        target.refusals = {"east.bad": "INVALID_REPLICATION_FACTOR"}
        return source, target

    source, target = clusters()
    result = refreshed(flow(), source, target, dry_run=True)
    assert (target.writes, target.partitions) == (0, {"east.orders": 2, "east.gone": 1})
    assert result == refreshed(flow(), *clusters())


def test_what_the_filters_and_the_policy_leave_out_is_not_touched(flow: Any) -> None:
    names = {"west__orders": 1, "mm2-ledger__west__internal": 1, "other": 1, "orders": 1, "heartbeats": 1}
    source, target = MemoryCluster("east", **names), MemoryCluster("west")
    assert set(refreshed(flow(topics=".*orders"), source, target).created) == {"east.orders", "east.heartbeats"}


def test_one_refused_topic_does_not_stop_the_others(flow: Any) -> None:
    source, target = MemoryCluster("east", a=1, b=1, c=1, d=2, e=1), MemoryCluster("west", east__d=1)
    source.unreadable_configs = {"c"}
    target.refusals = {"east.a": "INVALID_CONFIG", "east.b": "NOT_CONTROLLER", "east.d": "INVALID_REPLICATION_FACTOR"}
    result = refreshed(flow(), source, target)
    assert result.created == {"east.e": 1}
    assert [(error.topic, error.code, error.retriable) for error in result.errors] == [
        ("a", "RemoteTopicRefused", False),
        ("b", "KafkaFailure", True),
        ("c", "AuthorizationRefused", False),
        ("d", "RemoteTopicRefused", False),
    ]
    assert "config.properties.exclude" in result.errors[0].next
    assert all("east." in error.message or "topic c" in error.message for error in result.errors if error.topic != "b")


def test_topics_spelled_out_in_the_configuration_but_hidden_are_errors(flow: Any) -> None:
    source, target = MemoryCluster("east", orders=1, pay=1), MemoryCluster("west")
    source.hidden = {"orders"}
    result = refreshed(flow(topics="orders, pay"), source, target)
    assert result.created == {"east.pay": 1}
    (error,) = result.errors
    assert (error.topic, error.code) == ("orders", "AuthorizationRefused")


def test_a_remote_topic_that_the_target_hides_is_not_created_again(flow: Any) -> None:
    source, target = MemoryCluster("east", orders=1), MemoryCluster("west", east__orders=1)
    target.hidden = {"east.orders"}
    (error,) = refreshed(flow(), source, target).errors
    assert (error.topic, error.code, target.writes) == ("orders", "AuthorizationRefused", 0)
    assert "topic east.orders" in error.message


def test_a_topic_that_another_run_creates_at_the_same_time_is_no_error(flow: Any) -> None:
    source, target = MemoryCluster("east", orders=3, pay=2), MemoryCluster("west", east__pay=1)
    target.made_by_others = {"east.orders": 3, "east.pay": 2}
    assert refreshed(flow(), source, target) == RefreshTopicsResult({}, {}, (), ("east.orders", "east.pay"), ())


def test_a_topic_that_appeared_with_too_few_partitions_is_tried_again_later(flow: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kafka_mirror.topics.topics._VISIBLE_WITHIN_SECONDS", 0.0)
    source, target = MemoryCluster("east", orders=3), MemoryCluster("west")
    target.made_by_others = {"east.orders": 1}
    (error,) = refreshed(flow(), source, target).errors
    assert (error.topic, error.code, error.retriable) == ("orders", "KafkaFailure", True)
    target.made_by_others = {}
    assert refreshed(flow(), source, target).extended == {"east.orders": 3}


def test_the_more_partitions_another_run_creates_the_longer_they_are_waited_for(flow: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    patience: dict[int, float] = {}
    monkeypatch.setattr("kafka_mirror.topics.topics.poll_until", lambda check, seconds, every: patience.setdefault(partitions, seconds))
    for partitions in (10, 10_000):
        target = MemoryCluster("west")
        target.made_by_others = {"east.orders": partitions}
        refreshed(flow(), MemoryCluster("east", orders=partitions), target)
    assert patience[10] < 10
    assert patience[10_000] > 60


def test_topics_deleted_at_the_source_are_reported_and_left(flow: Any) -> None:
    source, target = MemoryCluster("east", there=1), MemoryCluster("west", east__there=1, east__gone=1, own=1)
    assert refreshed(flow(), source, target).deleted_at_source == ("east.gone",)
    assert "east.gone" in target.partitions


def test_a_topic_that_the_source_hides_is_not_called_deleted(flow: Any) -> None:
    source, target = MemoryCluster("east", orders=1), MemoryCluster("west", east__orders=1)
    source.hidden = {"orders"}
    result = refreshed(flow(), source, target)
    assert result.deleted_at_source == ()
    assert [(error.topic, error.code) for error in result.errors] == [("orders", "AuthorizationRefused")]


def test_identity_policy_extends_same_named_topics_and_reports_no_deletions(flow: Any) -> None:
    source, target = MemoryCluster("east", orders=2, new=1), MemoryCluster("west", orders=1, own=1)
    identity = flow(replication_policy_class="org.apache.kafka.connect.mirror.IdentityReplicationPolicy")
    assert refreshed(identity, source, target) == RefreshTopicsResult({"new": 1}, {"orders": 2}, (), (), ())


def test_a_remote_name_that_is_too_long_is_an_error_of_that_topic(flow: Any) -> None:
    source, target = MemoryCluster("east", **{"x" * 245: 1, "y": 1}), MemoryCluster("west")
    result = refreshed(flow(), source, target)
    assert result.created == {"east.y": 1}
    assert "has 250 characters" in result.errors[0].message


def test_new_partitions_are_waited_for_until_a_broker_leads_them(flow: Any) -> None:
    source, target = MemoryCluster("east", a=2), MemoryCluster("west")
    target.unled_for = 3
    assert refreshed(flow(), source, target).created == {"east.a": 2}
    assert target.unled_for == -1


def test_members_that_take_no_topic_are_named_and_the_others_are_created(flow: Any) -> None:
    result = refreshed(flow(topics="ordres,pay"), MemoryCluster("east", orders=3, pay=1), MemoryCluster("west"))
    assert result.created == {"east.pay": 1}
    assert result.idle is not None and (result.idle.members, result.idle.is_whole_list) == (("ordres",), False)


@pytest.mark.parametrize(("topics", "is_amiss"), [("ordres", True), (".*", False)])
def test_a_refresh_of_a_flow_that_takes_nothing_has_nothing_to_do_and_says_so(
    flow: Any, monkeypatch: pytest.MonkeyPatch, topics: str, is_amiss: bool
) -> None:
    source = MemoryCluster("east", **({"orders": 1} if is_amiss else {}))
    monkeypatch.setattr(module, "clusters_of_step", lambda _: nullcontext((source, MemoryCluster("west"))))
    done = module.step(flow(topics=topics))
    assert (done.is_idle, done.result["idle"], done.errors) == (True, [topics], ())
    [line] = done.lines
    assert ("No topic of east is taken" if is_amiss else "the first one that comes is taken") in line


def test_a_dry_run_beside_brokers_that_would_create_what_they_are_to_check_says_that_nobody_asked_them(
    flow: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, target = MemoryCluster("east", orders=1), MemoryCluster("west")
    target.only_checks = False
    monkeypatch.setattr(module, "clusters_of_step", lambda _: nullcontext((source, target)))
    assert "brokers of 'west' were not asked" in module.step(flow(), dry_run=True).lines[-1]
    assert not any("were not asked" in line for line in module.step(flow()).lines)


class Listing:
    """A source that lists `visible` and knows of `hidden`."""

    def __init__(self, visible: set[str], hidden: set[str]) -> None:
        self.visible = visible
        self.hidden = hidden
        self.asked: set[str] = set()

    def listing(self) -> TopicListing:
        return TopicListing(frozenset(self.visible), {})

    def find_listed_topics(self, names: Iterable[str], errors: MutableMapping[str, MirrorError]) -> dict[str, Topic]:
        return self.topics(names, errors)

    def topics(self, names: Iterable[str], errors: MutableMapping[str, MirrorError]) -> dict[str, Topic]:
        self.asked = set(names)
        errors |= {name: AuthorizationRefused("east", "DESCRIBE", name) for name in self.asked & self.hidden}
        return {name: Topic(name, name, ()) for name in self.asked & self.visible}


def selection(*topics: str) -> TopicSelection:
    return TopicSelection("east", "west", DefaultReplicationPolicy({}), DefaultTopicFilter(topics, ("left-out",)))


def found(source: Any, *topics: str) -> Any:
    return discover(selection(*topics), source)


def test_only_selected_topics_are_described() -> None:
    source = Listing({"orders", "left-out", "west.orders", "mm2-x.internal"}, set())
    assert set(found(source, ".*").topics) == {"orders"}
    assert source.asked == {"orders"}


def test_all_visible_names_are_kept_to_tell_what_was_deleted() -> None:
    assert found(Listing({"orders", "left-out"}, set()), ".*").names == {"orders", "left-out"}


def test_a_topic_spelled_out_but_hidden_is_an_error_and_one_that_does_not_exist_is_none() -> None:
    result = found(Listing({"orders"}, {"pay"}), "orders", "pay", "planned", "left-out")
    assert (set(result.topics), set(result.errors)) == ({"orders"}, {"pay"})


DEFAULT = DefaultReplicationPolicy({"source.cluster.alias": "east"})
IDENTITY = IdentityReplicationPolicy({"source.cluster.alias": "east"})


def topic(name: str, partitions: int) -> Topic:
    return Topic(name, f"id of {name}", tuple(Partition(number, 1, (1,), (1,)) for number in range(partitions)))


def topics(**partitions: int) -> dict[str, Topic]:
    return {name: topic(name, count) for name, count in partitions.items()}


def selection_by(policy: ReplicationPolicy, *exclude: str) -> TopicSelection:
    return TopicSelection("east", "west", policy, DefaultTopicFilter((".*",), exclude))


def planned(source: dict[str, Topic], target: dict[str, Topic], **remote_names: str) -> TopicDiff:
    return plan_topics(source, target, {name: f"east.{name}" for name in source} | remote_names)


def test_missing_remote_topics_get_the_partitions_of_their_source() -> None:
    changes = planned(topics(b=2, a=3), {})
    assert changes.create == (TopicChange("a", "east.a", 3), TopicChange("b", "east.b", 2))
    assert (changes.extend, changes.unchanged, changes.errors) == ((), (), {})


def test_partitions_are_added_and_never_taken_away() -> None:
    target = {name: topic(name, 2) for name in ("east.more", "east.same", "east.fewer")}
    changes = planned(topics(more=3, same=2, fewer=1), target)
    assert changes.extend == (TopicChange("more", "east.more", 3),)
    assert changes.unchanged == ("east.fewer", "east.same")
    assert changes.create == ()


def test_an_unusable_remote_name_is_an_error_of_that_topic_alone() -> None:
    changes = planned(topics(a=1, b=1, c=1), {}, a="us east.a", b="x" * 250)
    assert [change.topic for change in changes.create] == ["c"]
    assert "a: its remote name 'us east.a' contains ' '" in str(changes.errors["a"])
    assert "has 250 characters, and Kafka takes 249 at most" in str(changes.errors["b"])


@pytest.mark.parametrize("name", ["a", "A-1_.x", "x" * 249])
def test_kafkas_own_names_are_usable(name: str) -> None:
    assert unusable(name) == ""


@pytest.mark.parametrize("name", ["", ".", "..", "a b", "é", "a/b", "a:b", "x" * 250])
def test_other_names_are_not(name: str) -> None:
    assert unusable(name)


def test_remote_topics_without_upstream_are_found() -> None:
    target = ["east.gone", "east.there", "own", "north.other", "east.north.gone"]
    found = find_orphans(selection_by(DEFAULT), {"there"}, target)
    assert found == {"east.gone": "gone", "east.north.gone": "north.gone"}


def test_internal_and_excluded_remote_topics_are_not_called_orphans() -> None:
    target = ["east.checkpoints.internal", "east.mm2-ledger.x.internal", "east.left-out", "mm2-ledger.east.internal", "east.west.x"]
    assert find_orphans(selection_by(DEFAULT, "left-out"), set(), target) == {}


def test_under_the_identity_policy_topics_of_the_target_alone_are_not_called_orphans() -> None:
    assert find_orphans(selection_by(IDENTITY), {"there"}, ["own", "there", "heartbeats", "east.x"]) == {}
    assert find_orphans(selection_by(IDENTITY), {"there"}, ["east.heartbeats"]) == {"east.heartbeats": "heartbeats"}
