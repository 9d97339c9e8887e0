"""Which config entries a remote topic is to have, and what a person writes to leave out one that the target does not take. Asks no cluster.

What is carried is what MirrorMaker 2 carries (`MirrorSourceConnector.targetConfig`). It sends every entry in every round; only what differs
is sent here, and the outcome is the same: an entry that is set already keeps its value, and one that is not set cannot be taken away.

The advice is a whole line, for a list that is set takes the place of all default members.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kafka_mirror.config.policies import config_property_filter
from kafka_mirror.config.references import has_reference
from kafka_mirror.kafka.model import ConfigEntry
from kafka_mirror.policy import ConfigPropertyFilter
from kafka_mirror.policy.filters import DefaultConfigPropertyFilter

if TYPE_CHECKING:
    from kafka_mirror.config import Flow

MIN_INSYNC = "min.insync.replicas"
EXCLUDE = "config.properties.exclude"
_TIERED = "tiered storage"
_OF_TIERED = ("remote.", "local.")
_LOG_FORMAT = "message.format.version"
"""How the source's brokers store a log. Kafka 4 does not know it, and an older target would store the remote topic in a format that takes
no transaction."""
_STATIC = "STATIC_BROKER_CONFIG"
_OVERRIDE = "DYNAMIC_TOPIC_CONFIG"

Entries = Mapping[str, ConfigEntry]


@dataclass(frozen=True)
class ConfigChange:
    """One entry of a remote topic: the value in force before, and the one to set; None takes the topic's own value away."""

    entry: str
    old: str | None
    new: str | None

    def __str__(self) -> str:
        return f"{self.entry} {self.old} -> {'the default' if self.new is None else self.new}"


@dataclass(frozen=True)
class KeptOverride:
    """A value that was set for the remote topic itself, differs from the source's, and is none of the sync's business."""

    entry: str
    target: str | None
    source: str | None
    why: str

    def __str__(self) -> str:
        return f"{self.entry}={self.target} (source: {self.source}; {self.why})"


def select_configs_to_create(source: Entries, config_filter: ConfigPropertyFilter) -> dict[str, str]:
    """The configs that a new remote topic gets: what was set for the source topic, or dynamically on its brokers.

    As in MirrorMaker 2, what stands in the source brokers' own files is not carried, and defaults only with `use.defaults.from=source`.
    """
    return {name: value for name, value in sorted(select_configs_to_sync(source, config_filter).items()) if value is not None}


def select_configs_to_sync(source: Entries, config_filter: ConfigPropertyFilter) -> dict[str, str | None]:
    """What an existing remote topic is to have: the same, and None for every entry at its default, which is then the target's."""
    return {
        name: None if entry.is_default and not config_filter.use_defaults_from_source else entry.value
        for name, entry in source.items()
        if not _explain_left_alone(name, source, config_filter) and (entry.value is not None or entry.is_default)
    }


def compare_configs(wanted: Mapping[str, str | None], target: Entries) -> tuple[ConfigChange, ...]:
    """Where the remote topic's own values are not as wanted. A value that is in force for another reason is set all the same."""
    changes = []
    for name, value in sorted(wanted.items()):
        there = target.get(name)
        is_override = there is not None and there.source == _OVERRIDE
        before = None if there is None else there.value
        if is_override if value is None else not is_override or before != value:
            changes.append(ConfigChange(name, before, value))
    return tuple(changes)


def find_kept_overrides(source: Entries, target: Entries, config_filter: ConfigPropertyFilter) -> tuple[KeptOverride, ...]:
    """The remote topic's own values that no sync touches and that differ from the source's, with the reason."""
    overrides = []
    for name, entry in sorted(target.items()):
        why = _explain_left_alone(name, source, config_filter)
        there = source.get(name)
        if entry.source == _OVERRIDE and why and (there is None or there.value != entry.value):
            overrides.append(KeptOverride(name, entry.value, None if there is None else there.value, why))
    return tuple(overrides)


def _explain_left_alone(name: str, source: Entries, config_filter: ConfigPropertyFilter) -> str:
    """Why an entry is not carried; empty if it is."""
    entry = source.get(name)
    if entry is None:
        return "unknown to the source"
    if not config_filter.should_replicate(name):
        return "excluded"
    if name == _LOG_FORMAT:
        return "how the source's brokers store the log"
    if entry.source == _STATIC:
        return "from the source brokers' own files"
    return "cannot be set" if entry.read_only or entry.sensitive else ""


def advise_exclusion(flow: "Flow", carried: Iterable[str], complaint: str) -> str:
    """The next step after a broker's complaint about the configs that were `carried` to it: the line that leaves out what it names."""
    names = _find_in_the_way(carried, complaint)
    what = ", ".join(names) if names else "the config that it names"
    or_else = f"Or correct {what} on the source topic."
    setting = flow.connector.get(EXCLUDE)
    if not isinstance(config_property_filter(flow), DefaultConfigPropertyFilter):
        return f"Let config.property.filter.class leave out {what}. {or_else}"
    if setting is not None and has_reference(setting.text):
        return f"Add {what} to the list that {setting.origin} refers to. {or_else}"
    members = [*flow.value(EXCLUDE), *(names or ["<the config>"])]
    # In a properties file a backslash is written twice.
    key = setting.origin if setting is not None and setting.origin in flow.lines else f"{flow.name}.{EXCLUDE}"
    line = f"{key} = {', '.join(dict.fromkeys(members))}".replace("\\", "\\\\")
    return f"To leave out {what}, write this whole line, which has what is left out now too: {line}\n{or_else}"


def _find_in_the_way(carried: Iterable[str], complaint: str) -> list[str]:
    """The configs that a complaint is about. One about tiered storage names none of them."""
    names = sorted(set(carried))
    named = [name for name in names if re.search(rf"(?<![\w.]){re.escape(name)}(?!\w|\.\w)", complaint)]
    tiered = [name for name in names if name.startswith(_OF_TIERED)] if _TIERED in complaint.lower() else []
    return named or tiered
