"""A configuration that cannot be used: all of it in one sentence, which names what is allowed."""

import pytest

from kafka_mirror.__main__ import main
from tests.unit.cli.command_line import THREE_FLOWS, VALID, only_flow


def test_a_file_that_is_not_there_is_named(tmp_path, capsys):
    assert main(["--config", str(tmp_path / "nowhere.properties"), "plan"]) == 2
    assert "nowhere.properties" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("mirror.lane = 3", ["mirror.lane", "is not a property of the mirror", "mirror.lanes"]),
        ("mirror.lanes = many", ["mirror.lanes", "'many'"]),
        ("mirror.lanes = 300", ["mirror.lanes", "256", "'300'"]),
        ("east->west.bootstrap = x\nmirror.strict = true", ["east->west.bootstrap", "has no effect"]),
        ("east.security.protocol = SASL_SSL", ["east.sasl.mechanism", "is missing"]),
        ("east->west.mirror.start = yesterday", ["east->west.mirror.start", "'yesterday'"]),
    ],
)
def test_a_mistake_in_the_configuration_is_one_sentence_that_names_property_value_and_what_is_allowed(run, line, says):
    code, _, words = run("plan", config=f"{VALID}{line}\n")
    assert code == 2
    assert all(word in words for word in says), words
    assert "nothing was written" in words
    assert len(words.splitlines()) == 1


def test_a_cluster_without_brokers_is_named(run):
    code, _, words = run("copy", config=VALID.replace("west.bootstrap.servers", "wset.bootstrap.servers"))
    assert code == 2
    assert "west.bootstrap.servers: is missing" in words


def test_all_mistakes_come_at_once(run):
    _, output, _ = run("plan", "--json", config=VALID + "mirror.lanes = many\nmirror.lane = 3\nmirror.run.max.seconds = 0\n")
    message = only_flow(output)["errors"][0]["message"]
    assert all(name in message for name in ("mirror.lanes", "mirror.lane:", "mirror.run.max.seconds"))


def test_a_file_without_an_enabled_flow_says_how_to_enable_one(run):
    code, _, words = run("plan", config=VALID.replace("enabled = true", "enabled = false"))
    assert code == 2
    assert ".enabled=true" in words


def test_an_unknown_flow_names_the_nearest(run):
    code, output, words = run("plan", "--flow", "esat->west", "--json")
    assert code == 2
    assert only_flow(output)["flow"] == "esat->west"
    assert "There is no enabled flow 'esat->west'. Next: Did you mean 'east->west'?" in words


def test_an_invalid_flow_that_is_asked_for_says_what_is_wrong_with_it(run):
    code, output, _ = run("plan", "--flow", "west->east", "--json", config=THREE_FLOWS)
    assert code == 2
    assert "mirror.lane" in only_flow(output)["errors"][0]["message"]
