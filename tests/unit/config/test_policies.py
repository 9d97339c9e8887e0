"""Policies and filters by the names that stand in a configuration."""

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from kafka_mirror.config import Configuration, load
from kafka_mirror.config.policies import config_property_filter, group_filter, replication_policy, topic_selection
from kafka_mirror.errors import ConfigurationError, Problem
from kafka_mirror.policy import DefaultReplicationPolicy, IdentityReplicationPolicy

CLASSES = "org.apache.kafka.connect.mirror."
DEFAULTS: Mapping[str, Any] = {
    "replication.policy.class": CLASSES + "DefaultReplicationPolicy",
    "topic.filter.class": CLASSES + "DefaultTopicFilter",
    "group.filter.class": CLASSES + "DefaultGroupFilter",
    "config.property.filter.class": CLASSES + "DefaultConfigPropertyFilter",
    "topics": (".*",),
    "topics.exclude": ("__.*",),
    "groups": (".*",),
    "groups.exclude": ("connect-.*",),
    "config.properties.exclude": ("min.insync.replicas",),
    "use.defaults.from": "target",
    "heartbeats.replication.enabled": True,
}
CUSTOM = """
from kafka_mirror.policy import GroupFilter, ReplicationPolicy

class Backwards(ReplicationPolicy):
    def __init__(self, properties):
        self.mark = properties["my.mark"]
    def format_remote_topic(self, alias, topic):
        return topic + self.mark + alias
    def topic_source(self, topic):
        return topic.partition(self.mark)[2] or None
    def upstream_topic(self, topic):
        return topic.partition(self.mark)[0] if self.mark in topic else None

class Short(GroupFilter):
    def __init__(self, properties):
        pass
    def should_replicate(self, group):
        return len(group) < 4

class Unrelated:
    pass
"""


class FakeFlow:
    """What the factories ask of a flow."""

    source, target, name = "east", "west", "east->west"
    clusters, opposite, leading_back = ("east", "west"), None, ()

    def __init__(self, properties: Mapping[str, str]) -> None:
        self.properties = properties

    def value(self, name: str) -> Any:
        return self.properties.get(name, DEFAULTS.get(name, ()))

    def text(self, name: str) -> str:
        return self.properties[name]

    def unusable(self, problems: Iterable[Problem]) -> ConfigurationError:
        return ConfigurationError(list(problems), flow=self.name)


@pytest.fixture
def flow() -> Callable[..., Any]:
    return lambda **properties: FakeFlow({name.replace("_", "."): value for name, value in properties.items()})


@pytest.fixture
def custom(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    (tmp_path / "acme_naming.py").write_text(CUSTOM)
    (tmp_path / "acme_broken.py").write_text("import no_such_module_at_all")
    monkeypatch.syspath_prepend(str(tmp_path))
    yield "acme_naming"
    sys.modules.pop("acme_naming", None)


def test_the_java_names_of_the_policies_give_ours(flow: Callable[..., Any]) -> None:
    assert type(replication_policy(flow())) is DefaultReplicationPolicy
    identity = replication_policy(flow(replication_policy_class=CLASSES + "IdentityReplicationPolicy"))
    assert type(identity) is IdentityReplicationPolicy
    assert identity.topic_source("orders") == "east"


def test_the_separator_of_the_flow_reaches_its_policy(flow: Callable[..., Any]) -> None:
    assert replication_policy(flow(replication_policy_separator="_")).ledger_topic("east") == "mm2-ledger_east_internal"


@pytest.mark.parametrize("path", ["{}.Backwards", "{}:Backwards"])
def test_a_python_class_is_constructed_with_the_flows_properties(flow: Callable[..., Any], custom: str, path: str) -> None:
    policy = replication_policy(flow(replication_policy_class=path.format(custom), my_mark="@"))
    assert policy.format_remote_topic("east", "orders") == "orders@east"
    assert policy.original_topic("orders@east") == "orders"
    assert policy.ledger_topic("east") == "mm2-ledger.east.internal"


def test_filters_may_be_python_classes_too(flow: Callable[..., Any], custom: str) -> None:
    assert [g for g in ("abc", "abcd") if group_filter(flow(group_filter_class=f"{custom}.Short")).should_replicate(g)] == ["abc"]
    assert group_filter(flow()).should_replicate("abcd")
    assert not group_filter(flow()).should_replicate("connect-x")
    assert not config_property_filter(flow()).should_replicate("min.insync.replicas")


@pytest.mark.parametrize(
    ("named", "words"),
    [
        ("com.acme.NamingPolicy", "Java classes cannot be loaded"),
        (CLASSES + "LegacyReplicationPolicy", "Java classes cannot be loaded"),
        ("Backwards", "says no module"),
        ("acme_naming.Sideways", "has no class 'Sideways'"),
        ("acme_naming.Unrelated", "derives from kafka_mirror.policy.ReplicationPolicy"),
        ("acme_naming.Backwards", "cannot be constructed: KeyError"),
        ("acme_broken.Backwards", "needs the module 'no_such_module_at_all'"),
    ],
)
@pytest.mark.usefixtures("custom")
def test_a_class_that_cannot_be_used_is_refused_with_the_way_on(flow: Callable[..., Any], named: str, words: str) -> None:
    with pytest.raises(ConfigurationError) as refusal:
        replication_policy(flow(replication_policy_class=named))
    (problem,) = refusal.value.problems
    assert (problem.property, problem.value) == ("replication.policy.class", named)
    assert words in problem.message
    assert "east->west" in str(refusal.value)


def test_an_unknown_java_class_is_told_how_to_be_written_in_python(flow: Callable[..., Any]) -> None:
    with pytest.raises(
        ConfigurationError, match=r"Python class that derives from kafka_mirror\.policy\.ReplicationPolicy .* package\.module\.Class"
    ):
        replication_policy(flow(replication_policy_class="com.acme.NamingPolicy"))


def test_the_selection_joins_policy_filter_and_aliases(flow: Callable[..., Any]) -> None:
    selection = topic_selection(flow())
    assert selection.remote("orders") == "east.orders"
    assert [t for t in ("orders", "west.orders", "__x", "mm2-ledger.east.internal") if selection.should_replicate(t)] == ["orders"]


@pytest.fixture
def load_with(tmp_path: Path) -> Callable[[str], Configuration]:
    def load_it(line: str) -> Configuration:
        file = tmp_path / "mm2.properties"
        file.write_text(f"clusters=a,b\na.bootstrap.servers=h:1\nb.bootstrap.servers=h:2\na->b.enabled=true\nmy.mark=@\n{line}\n")
        return load([file], {})

    return load_it


def test_a_configuration_may_name_a_python_class(load_with: Callable[[str], Configuration], custom: str) -> None:
    (loaded,) = load_with(f"group.filter.class={custom}.Short").flows
    assert group_filter(loaded).should_replicate("abc")


@pytest.mark.usefixtures("custom")
def test_a_class_that_cannot_be_used_makes_the_flow_invalid_when_it_is_loaded(load_with: Callable[[str], Configuration]) -> None:
    (invalid,) = load_with("topic.filter.class=com.acme.OurTopics").invalid
    assert "derives from kafka_mirror.policy.TopicFilter" in str(invalid.error)
    (wrong_kind,) = load_with(f"topic.filter.class={CLASSES}DefaultGroupFilter").invalid
    assert "Java classes cannot be loaded here" in str(wrong_kind.error)


def test_a_policy_gets_the_switch_with_its_blanks_which_switch_it_off_as_in_mirrormaker_2(
    load_with: Callable[[str], Configuration],
) -> None:
    lines = "replication.policy.separator=_\nreplication.policy.internal.topic.separator.enabled=true"
    (kept,) = load_with(lines).flows
    (switched_off,) = load_with(lines + " ").flows
    assert replication_policy(kept).checkpoints_topic("a") == "a_checkpoints_internal"
    assert replication_policy(switched_off).checkpoints_topic("a") == "a.checkpoints.internal"
