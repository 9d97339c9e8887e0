import re

import pytest

from kafka_mirror.config.catalogue import CATALOGUE, TOP_LEVEL
from tools.handbook.properties import markdown_client_table, markdown_table


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
