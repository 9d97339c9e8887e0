"""What a flow's properties name: its replication policy, its filters, its selection of topics; classes of MirrorMaker 2, and Python
classes of the user.
"""

import importlib
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from kafka_mirror.errors import ConfigurationError, Problem
from kafka_mirror.policy.filters import (
    ConfigPropertyFilter,
    DefaultConfigPropertyFilter,
    DefaultGroupFilter,
    DefaultTopicFilter,
    GroupFilter,
    TopicFilter,
)
from kafka_mirror.policy.rename import Renames, RenamingPolicy
from kafka_mirror.policy.replication import DefaultReplicationPolicy, IdentityReplicationPolicy, ReplicationPolicy
from kafka_mirror.policy.selection import TopicSelection

if TYPE_CHECKING:
    from kafka_mirror.config import Flow

_Made = TypeVar("_Made")

MIRROR_CLASSES = "org.apache.kafka.connect.mirror."


def java_name(kind: type) -> str:
    """The name of MirrorMaker 2's class that one of ours stands for."""
    return MIRROR_CLASSES + kind.__name__


def custom_class(name: str, named: str, base: type) -> type:
    """The class that the property `name` names as `package.module.Class` or `package.module:Class`.

    Raises ConfigurationError if there is no such Python class, or if it does not derive from `base`.
    """
    module_name, _, class_name = named.replace(":", ".").strip().rpartition(".")
    try:
        loaded: Any = getattr(importlib.import_module(module_name), class_name)
    except (ModuleNotFoundError, AttributeError, ValueError) as error:
        how = (
            f"Write it as a Python class that derives from {_name_publicly(base)} and takes a dict of properties in its constructor, "
            "put its module on the PYTHONPATH of scheduler and workers, and name it package.module.Class"
        )
        raise _refuse(name, named, f"{_explain_missing(error, module_name, class_name)}. {how}") from error
    except Exception as error:
        raise _refuse(name, named, f"the Python module '{module_name}' cannot be imported: {type(error).__name__}: {error}") from error
    if not (isinstance(loaded, type) and issubclass(loaded, base)):
        raise _refuse(name, named, f"is no class that derives from {_name_publicly(base)}")
    return loaded


def construct(name: str, named: str, kind: type, properties: dict[str, str]) -> Any:
    """Makes an object of a user's class with the flow's properties. Raises ConfigurationError for whatever goes wrong in there."""
    try:
        return kind(properties)
    except ConfigurationError:
        raise
    except Exception as error:
        raise _refuse(name, named, f"cannot be constructed: {type(error).__name__}: {error}") from error


def _explain_missing(error: Exception, module_name: str, class_name: str) -> str:
    if isinstance(error, AttributeError):
        return f"the Python module '{module_name}' has no class '{class_name}'"
    if not module_name:
        return f"'{class_name}' says no module"
    missing = getattr(error, "name", None)
    if missing and not module_name.startswith(missing):
        return f"the Python module '{module_name}' needs the module '{missing}', which is not installed"
    return f"there is no Python module '{module_name}', and Java classes cannot be loaded here"


def _name_publicly(base: type) -> str:
    """As users import it: from the package."""
    return ".".join((*base.__module__.split(".")[:2], base.__name__))


def _refuse(name: str, named: str, message: str) -> ConfigurationError:
    return ConfigurationError([Problem(name, message, named)])


_BASES: Mapping[str, type] = {
    "replication.policy.class": ReplicationPolicy,
    "topic.filter.class": TopicFilter,
    "group.filter.class": GroupFilter,
    "config.property.filter.class": ConfigPropertyFilter,
}
_POLICY_PROPERTIES = ("replication.policy.separator", "replication.policy.internal.topic.separator.enabled")


def replication_policy(flow: "Flow") -> ReplicationPolicy:
    """The flow's replication policy. Raises ConfigurationError, as all of these do, for a class that cannot be used."""
    properties = {**flow.properties, "source.cluster.alias": flow.source, "target.cluster.alias": flow.target}
    properties |= {name: flow.text(name) for name in _POLICY_PROPERTIES if name in properties}
    factories = {java_name(kind): lambda kind=kind: kind(properties) for kind in (DefaultReplicationPolicy, IdentityReplicationPolicy)}
    policy: ReplicationPolicy = _make(flow, "replication.policy.class", factories)
    both = [flow, *([flow.opposite] if flow.opposite else [])]
    renames = {renaming.source: Renames.parse(rules) for renaming in both if (rules := renaming.value("mirror.rename"))}
    return RenamingPolicy(policy, renames, flow.clusters) if renames else policy


def policy_of(properties: Mapping[str, str]) -> ReplicationPolicy:
    """The policy that the properties of a client name, without any flow; `source.cluster.alias` may be among them. Raises as
    `replication_policy`."""
    name = "replication.policy.class"
    named = properties.get(name) or java_name(DefaultReplicationPolicy)
    for kind in (DefaultReplicationPolicy, IdentityReplicationPolicy):
        if named == java_name(kind):
            return kind(properties)
    policy: ReplicationPolicy = construct(name, named, custom_class(name, named, ReplicationPolicy), dict(properties))
    return policy


def topic_filter(flow: "Flow") -> TopicFilter:
    """By `topic.filter.class`."""
    factories = {java_name(DefaultTopicFilter): lambda: DefaultTopicFilter(flow.value("topics"), flow.value("topics.exclude"))}
    return _make(flow, "topic.filter.class", factories)


def group_filter(flow: "Flow") -> GroupFilter:
    """By `group.filter.class`."""
    factories = {java_name(DefaultGroupFilter): lambda: DefaultGroupFilter(flow.value("groups"), flow.value("groups.exclude"))}
    return _make(flow, "group.filter.class", factories)


def config_property_filter(flow: "Flow") -> ConfigPropertyFilter:
    """By `config.property.filter.class`."""
    factories = {
        java_name(DefaultConfigPropertyFilter): lambda: DefaultConfigPropertyFilter(
            flow.value("config.properties.exclude"), flow.value("use.defaults.from")
        )
    }
    return _make(flow, "config.property.filter.class", factories)


def topic_selection(flow: "Flow") -> TopicSelection:
    """The topics that the flow mirrors, and their remote names."""
    return TopicSelection(
        source=flow.source,
        target=flow.target,
        policy=replication_policy(flow),
        topic_filter=topic_filter(flow),
        heartbeats=flow.value("heartbeats.replication.enabled"),
        is_one_cluster=flow.value("mirror.one.cluster"),
        leading_back=tuple(map(topic_selection, flow.leading_back)),
    )


def check_class(name: str, named: str) -> None:
    """Raises ConfigurationError if the property `name` cannot name this class; nothing is constructed."""
    base = _BASES[name]
    ours = (DefaultReplicationPolicy, IdentityReplicationPolicy, DefaultTopicFilter, DefaultGroupFilter, DefaultConfigPropertyFilter)
    if named not in {java_name(kind) for kind in ours if issubclass(kind, base)}:
        custom_class(name, named, base)


def _make(flow: "Flow", name: str, factories: Mapping[str, Callable[[], _Made]]) -> _Made:
    """What the class of a property makes of the flow: MirrorMaker 2's one, or a Python class of the user."""
    named = flow.value(name)
    try:
        if named in factories:
            return factories[named]()
        custom: _Made = construct(name, named, custom_class(name, named, _BASES[name]), dict(flow.properties))
        return custom
    except ConfigurationError as error:
        raise flow.unusable(error.problems) from error
