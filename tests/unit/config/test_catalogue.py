"""Every property has a valid default and its place in the handbook, and every setting of Java's clients is in one of three lists."""

import re
from pathlib import Path

import pytest

from kafka_mirror.config.catalogue import CATALOGUE, TOP_LEVEL
from kafka_mirror.config.clients.catalogue import CLIENT_PROPERTIES, SASL_KEYS, SECURITY_PROPERTIES, SSL_KEYS
from kafka_mirror.config.clients.mapping import is_known
from tools.handbook.properties import markdown_client_table, markdown_table

OURS = (*CLIENT_PROPERTIES.values(), *SECURITY_PROPERTIES.values())
ROLES = ("admin", "consumer", "producer")


def of_java() -> dict[str, set[str]]:
    """Kind (a client, `ssl` or `sasl`) -> names, as Kafka 4.3.1's own classes list them."""
    found: dict[str, set[str]] = {}
    for line in Path(__file__).with_name("java_client_settings.txt").read_text().splitlines():
        if not line.startswith("#"):
            kind, name = line.split()
            found.setdefault(kind, set()).add(name)
    return found


@pytest.mark.parametrize("role", ROLES)
def test_every_setting_of_a_client_is_known_and_no_other(role):
    known = {each.name for each in CLIENT_PROPERTIES.values() if role in each.roles}
    assert known | {"bootstrap.servers", "security.protocol"} == of_java()[role]


def test_every_security_setting_is_known_and_no_other():
    java = of_java()
    assert set(SECURITY_PROPERTIES) == {"security.protocol"} | java["ssl"] | java["sasl"]
    assert (set(SSL_KEYS), set(SASL_KEYS)) == (java["ssl"], java["sasl"])


@pytest.mark.parametrize("setting", OURS, ids=lambda each: each.name)
def test_every_setting_is_in_exactly_one_list(setting):
    assert [bool(setting.librdkafka), setting.refuse is not None, bool(setting.effect)].count(True) == 1
    listed = [line.split("|")[1] for line in markdown_client_table().splitlines() if line.startswith("|")]
    assert "".join(listed).count(f"`{setting.name}`") == 1
    assert not set(CLIENT_PROPERTIES) & set(SECURITY_PROPERTIES)


def test_a_setting_of_another_client_is_not_known():
    assert is_known("acks", "producer") and not is_known("acks", "consumer")
    assert is_known("sasl.mechanism", "consumer") and is_known("bootstrap.servers", "admin")


@pytest.mark.parametrize("definition", CATALOGUE.values(), ids=list(CATALOGUE))
def test_every_default_is_a_valid_value_of_its_type(definition):
    if definition.default is None:
        return
    text = ", ".join(definition.default) if isinstance(definition.default, tuple) else str(definition.default)
    assert definition.parse(text) == definition.default


@pytest.mark.parametrize("definition", CATALOGUE.values(), ids=list(CATALOGUE))
def test_every_property_says_what_it_is_for(definition):
    assert definition.doc.endswith(".")
    assert definition.group
    assert not definition.default_from or definition.default_from in CATALOGUE


def test_the_table_has_every_property_once():
    table = markdown_table()
    for name in CATALOGUE:
        assert len(re.findall(f'(?:^\\| |, )(?:<a id="{re.escape(name)}"></a>)?`{re.escape(name)}`', table, re.MULTILINE)) == 1


def test_the_tables_rows_are_whole_and_hold_no_html_but_the_anchors_of_properties():
    for line in re.sub(r'<a id="[\w.-]+"></a>', "", markdown_table() + markdown_client_table()).splitlines():
        if line.startswith("|"):
            assert len(re.findall(r"(?<!\\)\|", line)) in (3, 4, 5)
            assert "<" not in line


def test_what_needs_the_flows_prefix_is_not_read_at_the_top_level():
    assert {"use.defaults.from", "exactly.once.support", "topic.creation.groups"}.isdisjoint(TOP_LEVEL)
    assert {"topics", "mirror.lanes", "tasks.max", "ssl.key.password", "config.providers"} <= TOP_LEVEL
