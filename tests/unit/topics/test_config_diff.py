"""Which config entries a remote topic is to have, and the line that leaves one out."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_mirror.config import load
from kafka_mirror.config.catalogue import CATALOGUE
from kafka_mirror.kafka.model import ConfigEntry
from kafka_mirror.policy.filters import DefaultConfigPropertyFilter
from kafka_mirror.topics.config_diff import (
    ConfigChange,
    KeptOverride,
    advise_exclusion,
    compare_configs,
    find_kept_overrides,
    select_configs_to_create,
    select_configs_to_sync,
)

OWN, DEFAULT, STATIC = "DYNAMIC_TOPIC_CONFIG", "DEFAULT_CONFIG", "STATIC_BROKER_CONFIG"
FILTER = DefaultConfigPropertyFilter(("min.insync.replicas",))
SOURCE_DEFAULTS = DefaultConfigPropertyFilter(("min.insync.replicas",), "source")


def entries(*rows):
    """From (name, value, source of the value)."""
    return {name: ConfigEntry(name, value, source, False, False) for name, value, source in rows}


ENTRIES = entries(
    ("retention.ms", "1000", OWN),
    ("segment.ms", "2000", "DYNAMIC_DEFAULT_BROKER_CONFIG"),
    ("segment.bytes", "3000", "DYNAMIC_BROKER_CONFIG"),
    ("max.message.bytes", "4000", STATIC),
    ("cleanup.policy", "delete", DEFAULT),
    ("min.insync.replicas", "2", OWN),
    ("unset", None, OWN),
) | {
    "read.only": ConfigEntry("read.only", "x", OWN, True, False),
    "secret": ConfigEntry("secret", None, OWN, False, True),
}


def test_a_new_topic_gets_what_was_set_and_is_not_excluded():
    assert select_configs_to_create(ENTRIES, FILTER) == {"retention.ms": "1000", "segment.ms": "2000", "segment.bytes": "3000"}


def test_a_new_topic_gets_defaults_of_the_source_on_request():
    configs = select_configs_to_create(ENTRIES, SOURCE_DEFAULTS)
    assert configs == {"retention.ms": "1000", "segment.ms": "2000", "segment.bytes": "3000", "cleanup.policy": "delete"}


def test_how_the_sources_brokers_store_a_log_is_not_carried():
    """Kafka 4 does not know the config, and an older target would store the remote topic in a format that takes no transaction."""
    source = entries(("message.format.version", "0.10.2", OWN), ("retention.ms", "1000", OWN))
    for chosen in (FILTER, SOURCE_DEFAULTS):
        assert select_configs_to_create(source, chosen) == {"retention.ms": "1000"}
        assert select_configs_to_sync(source, chosen) == {"retention.ms": "1000"}


def test_an_existing_topic_goes_back_to_the_targets_default_where_the_source_is_at_its_own():
    wanted = {"retention.ms": "1000", "segment.ms": "2000", "segment.bytes": "3000", "cleanup.policy": None}
    assert select_configs_to_sync(ENTRIES, FILTER) == wanted
    assert select_configs_to_sync(ENTRIES, SOURCE_DEFAULTS) == wanted | {"cleanup.policy": "delete"}


@pytest.mark.parametrize(
    ("value", "there", "new"),
    [
        ("1", ("1", OWN), "same"),
        ("1", ("2", OWN), "1"),
        ("1", ("1", DEFAULT), "1"),  # a default may change, what was set may not
        ("1", ("1", STATIC), "1"),
        ("1", ("1", "DYNAMIC_DEFAULT_BROKER_CONFIG"), "1"),
        ("1", None, "1"),
        (None, ("1", OWN), None),
        (None, ("1", DEFAULT), "same"),
        (None, ("1", STATIC), "same"),
        (None, None, "same"),
    ],
)
def test_only_what_differs_is_changed(value, there, new):
    target = entries(("retention.ms", *there)) if there else {}
    expected = () if new == "same" else (ConfigChange("retention.ms", there[0] if there else None, new),)
    assert compare_configs({"retention.ms": value}, target) == expected


def test_a_change_shows_the_old_value_and_the_new():
    assert str(ConfigChange("retention.ms", "7", "1")) == "retention.ms 7 -> 1"
    assert str(ConfigChange("retention.ms", "7", None)) == "retention.ms 7 -> the default"


def test_what_the_sync_leaves_alone_is_reported_where_it_differs():
    target = entries(
        ("min.insync.replicas", "3", OWN),
        ("max.message.bytes", "5000", OWN),
        ("of.a.newer.kafka", "x", OWN),
        ("retention.ms", "7", OWN),  # to be synced
        ("segment.ms", "9", DEFAULT),
    )
    assert find_kept_overrides(ENTRIES, target, FILTER) == (
        KeptOverride("max.message.bytes", "5000", "4000", "from the source brokers' own files"),
        KeptOverride("min.insync.replicas", "3", "2", "excluded"),
        KeptOverride("of.a.newer.kafka", "x", None, "unknown to the source"),
    )


def test_an_excluded_override_that_equals_the_source_is_no_drift():
    target = entries(("min.insync.replicas", "2", OWN), ("max.message.bytes", "4000", OWN))
    assert find_kept_overrides(ENTRIES, target, FILTER) == ()


NAMES = ("cleanup.policy", "retention.ms", "min.insync.replicas", "segment.ms")
VALUES = st.sampled_from(("1", "2"))
SIDES = st.dictionaries(st.sampled_from(NAMES), st.tuples(VALUES, st.sampled_from((OWN, DEFAULT, STATIC, "DYNAMIC_BROKER_CONFIG"))))


def overrides(side):
    return {name: value for name, (value, source) in side.items() if source == OWN}


def as_mirror_maker(source, target, defaults_from_source):
    """What the remote topic has of its own after MirrorMaker 2 has sent each entry of the source, changed or not."""
    there = overrides(target)
    for name, (value, origin) in source.items():
        if name == "min.insync.replicas" or origin == STATIC:
            continue
        if origin == DEFAULT and not defaults_from_source:
            there.pop(name, None)
        else:
            there[name] = value
    return there


@given(SIDES, SIDES, st.booleans())
def test_what_is_left_after_sending_only_differences_is_what_mirror_maker_leaves(source, target, defaults_from_source):
    chosen = SOURCE_DEFAULTS if defaults_from_source else FILTER
    there = overrides(target)
    wanted = select_configs_to_sync(entries(*((name, *of) for name, of in source.items())), chosen)
    for change in compare_configs(wanted, entries(*((name, *of) for name, of in target.items()))):
        if change.new is None:
            del there[change.entry]
        else:
            assert there.get(change.entry) != change.new, "sent for nothing"
            there[change.entry] = change.new
    assert there == as_mirror_maker(source, target, defaults_from_source)


HEAD = "clusters=east,west\neast.bootstrap.servers=a:1\nwest.bootstrap.servers=b:1\neast->west.enabled=true\n"
CARRIED = ["cleanup.policy", "local.retention.ms", "remote.storage.enable", "segment.bytes", "retention.bytes"]
EXCLUDED = CATALOGUE["config.properties.exclude"].default


@pytest.fixture
def made(tmp_path):
    """`made(lines)`: the flow of a file with these lines more, and the file."""

    def make(lines="", environ=None):
        file = tmp_path / "mm2.properties"
        file.write_text(HEAD + lines)
        return load([file], environ or {}).flow("east->west")

    return make


def followed(made, lines, advice):
    """The list of the flow once the line of the advice stands in the file, in place of the one with its key."""
    line = re.search(r"too: (.+)", advice)[1]
    key = line.partition(" = ")[0]
    kept = "".join(f"{each}\n" for each in lines.splitlines() if not each.startswith(key))
    return made(kept + line + "\n").value("config.properties.exclude")


@pytest.mark.parametrize(
    "lines",
    [
        "",
        "config.properties.exclude = a\\\\..*, min.*\n",
        "east->west.config.properties.exclude = x{1}\\\\d\n",
        "config.properties.exclude =\n",
        "config.properties.exclude = a\neast->west.config.properties.exclude = b\n",
    ],
)
def test_the_line_has_what_was_left_out_before_and_what_is_in_the_way(made, lines):
    before = made(lines).value("config.properties.exclude")
    advice = advise_exclusion(made(lines), CARRIED, "Invalid value 100000 for configuration segment.bytes: Value must be at least 1048576")
    assert followed(made, lines, advice) == (*before, "segment.bytes")


def test_a_refusal_of_tiered_storage_is_known_to_be_about_the_configs_of_tiering(made):
    complaint = "Tiered Storage functionality is disabled in the broker. Topic cannot be configured with remote log storage."
    advice = advise_exclusion(made(), CARRIED, complaint)
    assert followed(made, "", advice) == (*EXCLUDED, "local.retention.ms", "remote.storage.enable")


@pytest.mark.parametrize(
    ("complaint", "what"),
    [
        ("Unknown topic config name: segment.bytes.", "To leave out segment.bytes, "),
        ("Unknown topic config name: log.segment.bytes", "the config that it names"),
        ("segment.bytes.max is wrong", "the config that it names"),
        ("retention.bytes must not be above segment.bytes", "retention.bytes, segment.bytes"),
    ],
)
def test_what_is_named_is_told_from_what_looks_like_it(made, complaint, what):
    assert what in advise_exclusion(made(), CARRIED, complaint)


def test_a_list_by_reference_is_not_shown(made):
    advice = advise_exclusion(made("config.properties.exclude = ${env:X}\n", {"X": "secret.*"}), CARRIED, "segment.bytes")
    assert advice.startswith("Add segment.bytes to the list that config.properties.exclude refers to.") and "secret" not in advice
