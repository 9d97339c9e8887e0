"""The JSON Schema: what the mirror takes fits it, and what it refuses for its name, its type or its limits does not."""

import json
import re
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from mirror.__main__ import main
from mirror.config.catalogue import CATALOGUE
from mirror.config.json_schema import json_schema
from mirror.config.properties import parse, parse_bytes
from tests.unit.cli.command_line import VALID

ROOT = Path(__file__).parents[3]
EXAMPLES = {
    "include/mm2.properties": parse_bytes((ROOT / "include" / "mm2.properties").read_bytes()),
    **{
        str(page.relative_to(ROOT)): parse(example)
        for page in sorted((ROOT / "docs").rglob("*.md"))
        for example in re.findall(r"```properties\n(.*?)```", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    },
}
VALIDATOR = Draft202012Validator(json_schema())


def complaints(**keys):
    return [error.message for error in VALIDATOR.iter_errors({**parse(VALID), **keys})]


def test_it_is_a_schema():
    Draft202012Validator.check_schema(json_schema())


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_examples_fit(name):
    assert [error.message for error in VALIDATOR.iter_errors(EXAMPLES[name])] == []


@pytest.mark.parametrize(
    "keys",
    [
        {"mirror.lanes": 16},
        {"mirror.lanes": " 16 "},
        {"mirror.lanes": "${env:LANES}"},
        {"east->west.mirror.lanes": "16"},
        {"mirror.strict": True, "east->west.mirror.strict": "TRUE"},
        {"mirror.on.gap": "audit.*=skip-and-record, fail"},
        {"east.consumer.fetch.max.bytes": 1000, "west.sasl.jaas.config": "${file:/run/secrets:jaas}"},
        {"east->west.producer.override.linger.ms": "5", "config.providers.vault.class": "EnvVarConfigProvider"},
        {"something.of.mirrormaker": "that nobody here reads"},
        {"errors.tolerance": "all"},
    ],
)
def test_what_the_mirror_takes_fits(keys):
    assert complaints(**keys) == []


@pytest.mark.parametrize(
    "keys",
    [
        {"mirror.lanes": 300},
        {"mirror.lanes": "many"},
        {"mirror.lane": 3},
        {"east->west.mirror.lane": 3},
        {"east->west.mirror.lanes": [16]},
        {"east->west.mirror.lanes": "many"},
        {"mirror.strict": "yes"},
        {"errors.tolerance": "some"},
        {"mirror.copy.interval.seconds": 9},
        {"east.consumer.fetch.max.bytes": {"value": 1}},
        {"clusters": None},
    ],
)
def test_what_the_mirror_refuses_does_not(keys):
    assert complaints(**keys) != []


def test_clusters_are_required():
    assert [error.message for error in VALIDATOR.iter_errors({})] == ["'clusters' is a required property"]


def test_every_property_fits_with_its_default_and_says_what_it_is_for():
    schema = json_schema()
    assert {name: schema["$defs"][name]["description"].startswith(known.doc) for name, known in CATALOGUE.items()} == dict.fromkeys(
        CATALOGUE, True
    )
    defaults = {f"east->west.{name}": schema["$defs"][name]["default"] for name in CATALOGUE if "default" in schema["$defs"][name]}
    assert len(defaults) > 80
    assert complaints(**defaults) == []


def test_config_prints_it_without_a_configuration(capsys, monkeypatch):
    monkeypatch.setenv("MIRROR_CONFIG", "/nowhere/at/all")
    assert main(["config", "--schema"]) == 0
    assert json.loads(capsys.readouterr().out) == json_schema()
