"""Which topics, groups and topic configs the filters take, from the text of the properties on, as MirrorMaker 2's filters."""

from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_mirror.config.catalogue import CATALOGUE
from kafka_mirror.config.catalogue.values import parse_value
from kafka_mirror.errors import ConfigurationError
from kafka_mirror.policy.filters import DefaultConfigPropertyFilter, DefaultGroupFilter, DefaultTopicFilter
from tests.compat.differences import refused_here_alone
from tests.compat.peer import Peer, Refused, compared
from tests.compat.strategies import filter_properties, filtered_names


def taken(properties: Mapping[str, str], names: Sequence[str]) -> list[list[bool]]:
    """What the mirror's filters say of each name."""
    value = {
        name: parse_value(CATALOGUE[name].type, properties[name]) if name in properties else CATALOGUE[name].default
        for name in ("topics", "topics.exclude", "groups", "groups.exclude", "config.properties.exclude", "use.defaults.from")
    }
    topics = DefaultTopicFilter(value["topics"], value["topics.exclude"])
    groups = DefaultGroupFilter(value["groups"], value["groups.exclude"])
    configs = DefaultConfigPropertyFilter(value["config.properties.exclude"], value["use.defaults.from"])
    return [
        [topics.should_replicate(name), groups.should_replicate(name), configs.should_replicate(name), configs.use_defaults_from_source]
        for name in names
    ]


@compared(400)
@given(filter_properties(), st.lists(filtered_names(), min_size=6, max_size=20))
def test_filters_take_what_mirrormaker_2_takes_or_are_refused_by_both(peer: Peer, properties: dict[str, str], names: Sequence[str]) -> None:
    peer.cases["names against filters"] += len(names)
    try:
        found = taken(properties, names)
    except (ValueError, ConfigurationError) as refusal:
        if not refused_here_alone(str(refusal)):
            with pytest.raises(Refused, match=r"ConfigException|PatternSyntaxException"):
                peer.ask("filters", properties=properties, names=names)
        return
    assert found == peer.ask("filters", properties=properties, names=names)
