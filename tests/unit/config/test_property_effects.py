"""Every property of the catalogue is read somewhere, or refused, or says why it has no effect: by the syntax trees of the code."""

import ast
from pathlib import Path

import pytest

from kafka_mirror.config.catalogue import CATALOGUE

ROOT = Path(__file__).resolve().parents[3]
READERS = {"value", "per_topic", "text"}
"""The methods of a flow that read a property; limits are read by `read_limit`."""

KEYWORDS = {"every", "enabled"}
"""How a DAG names the property of its interval, and the one that says whether it exists."""

READ_OTHERWISE = {
    "mirror.strict": "by the validation, before there is a valid flow",
    "enabled": "which flows there are depends on it, before there is one",
    "source.cluster.alias": "the flow's own name; any other is refused",
    "target.cluster.alias": "likewise",
    "replication.policy.internal.topic.separator.enabled": "policies get the text unparsed, as in MirrorMaker 2",
    "topic.filter.class": "by what makes the object that it names",
    "group.filter.class": "likewise",
    "config.property.filter.class": "likewise",
    "heartbeats.topic.replication.factor": "by a constant, which the error of a factor names too",
    "offset-syncs.topic.replication.factor": "likewise",
}


def _asked_by(node: ast.AST) -> set[str]:
    """What a call asks of a flow by name."""
    if not isinstance(node, ast.Call):
        return set()
    given = [each.value for each in node.keywords if each.arg in KEYWORDS]
    if isinstance(node.func, ast.Attribute) and node.func.attr in READERS:
        given += node.args[:1]
    if isinstance(node.func, ast.Name) and node.func.id == "read_limit":
        given += node.args[1:2]
    return {each.value for each in given if isinstance(each, ast.Constant) and isinstance(each.value, str)}


def read_code() -> tuple[set[str], set[str]]:
    """Every text that is asked of a flow by name, and every text of the code, but for the catalogue."""
    asked, texts = set[str](), set[str]()
    for folder in ("include/kafka_mirror", "dags", "jobs", "plugins"):
        for path in (ROOT / folder).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if "catalogue" not in path.parts else ():
                asked |= _asked_by(node)
                if isinstance(node, ast.Constant) and isinstance(node.value, str):
                    texts.add(node.value)
    return asked, texts


HONOURED = {name for name, each in CATALOGUE.items() if not each.effect and not each.refused}


def test_every_property_that_is_honoured_is_read_and_no_other() -> None:
    asked, texts = read_code()
    assert HONOURED - asked == set(READ_OTHERWISE)
    assert asked & (set(CATALOGUE) - HONOURED) == set()
    assert set(READ_OTHERWISE) <= texts


@pytest.mark.parametrize("name", [name for name, each in CATALOGUE.items() if each.refused])
def test_what_is_refused_takes_its_default_alone_and_says_why(name: str) -> None:
    definition = CATALOGUE[name]
    default = ", ".join(definition.default) if isinstance(definition.default, tuple) else definition.default
    assert definition.parse(default) == definition.default
    with pytest.raises(ValueError, match=definition.refused.split(":")[0]):
        definition.parse("org.example.Other")
