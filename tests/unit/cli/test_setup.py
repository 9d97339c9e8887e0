"""The command `config`, which shows every value but secrets, secrets that cannot be read, and `pools`."""

import json
from pathlib import Path

import pytest

from tests.unit.cli.command_line import VALID, only_flow

EXAMPLE = Path(__file__).parents[3] / "include" / "mm2.properties"
SASL = """
east.security.protocol = SASL_PLAINTEXT
east.sasl.mechanism = PLAIN
east.sasl.jaas.config = org.apache.kafka.common.security.plain.PlainLoginModule required username="mirror" password="{}";
"""


@pytest.mark.parametrize(
    ("reference", "says"),
    [
        ("${{env:NO_SUCH_VARIABLE}}", "the environment variable NO_SUCH_VARIABLE is not set"),
        ("${{file:{0}/none.properties:password}}", "No such file or directory"),
        ("${{file:{0}/secrets.properties:other}}", "has no property 'other'"),
        ("${{dir:{0}:none}}", "No such file or directory"),
        ("${{dir:{0}:../passwd}}", "is not the name of a file in"),
    ],
)
@pytest.mark.parametrize("command", [["config"], ["plan"], ["copy", "--without-spark"], ["copy"], ["refresh-topics"]])
def test_an_unreadable_secret_is_said_before_any_broker_is_asked(run, tmp_path, command, reference, says):
    (tmp_path / "secrets.properties").write_text("password = hunter2\n")
    code, output, words = run(*command, config=VALID + SASL.format(reference.format(tmp_path)))
    assert code == 2
    assert "east.sasl.jaas.config: the reference ${" in words
    assert says in words
    assert "hunter2" not in output + words


def test_config_shows_no_secret_that_it_can_read(run, tmp_path, monkeypatch):
    monkeypatch.setenv("EAST_PASSWORD", "hunter2")
    for password in ("${env:EAST_PASSWORD}", "hunter2"):
        for json_wanted in ([], ["--json"]):
            code, output, words = run("config", *json_wanted, config=VALID + SASL.format(password))
            assert code == 0
            assert "sasl.password" in output
            assert "hunter2" not in output + words


def test_config_tells_every_value_and_where_it_is_from(run):
    _, output, _ = run("config", "--json", config=VALID + "mirror.lanes = 4\n")
    result = only_flow(output)["result"]
    assert result["file"].endswith("/mm2.properties")
    assert result["properties"]["mirror.lanes"] == {"value": 4, "from": "mirror.lanes", "read_by": []}
    all_three = ["source", "checkpoint", "heartbeat"]
    assert result["properties"]["admin.timeout.ms"] == {"value": 60_000, "from": "default", "read_by": all_three}
    assert result["properties"]["offset-syncs.topic.location"]["read_by"] == ["source", "checkpoint"]
    assert result["clients"]["target producer"]["compression.type"] == {"value": "lz4", "from": "default"}
    assert result["clients"]["source admin"]["bootstrap.servers"] == {"value": "127.0.0.1:9001", "from": "east.bootstrap.servers"}


def test_config_tells_the_same_to_people(run):
    code, output, _ = run("config", config=VALID + "east->west.offset.lag.max = 5\nwest.producer.compression.type = zstd\n")
    rows = [line.split() for line in output.splitlines()]
    assert code == 0
    assert ["offset.lag.max", "source", "east->west.offset.lag.max", "5"] in rows
    assert ["groups", "checkpoint", "default", ".*"] in rows
    assert ["compression.type", "west.producer.compression.type", "zstd"] in rows
    assert any(row[:1] == ["file:"] and row[1].endswith("/mm2.properties") for row in rows)


def test_config_shows_limits_and_start_that_nobody_set(run):
    lines = "mirror.copy.interval.seconds = 3600\nemit.heartbeats.interval.seconds = 7200\neast.consumer.auto.offset.reset = latest\n"
    properties = only_flow(run("config", "--json", config=VALID + lines)[1])["result"]["properties"]
    values = {name: properties[f"mirror.deadline.{name}.seconds"]["value"] for name in ("lag", "progress", "copy", "heartbeats")}
    assert values == {"lag": 10_800, "progress": 10_800, "copy": 10_800, "heartbeats": 21_600}
    assert properties["mirror.deadline.lag.seconds"]["from"] == "default: mirror.copy.interval.seconds"
    assert properties["mirror.start"] == {"value": ["latest"], "from": "default: east.consumer.auto.offset.reset", "read_by": []}


@pytest.mark.parametrize(
    ("arguments", "shown"),
    [
        (["deadline.lag"], {"mirror.deadline.lag.seconds", "mirror.deadline.lag.records"}),
        (["MIRROR.DEADLINE.lag.S*"], {"mirror.deadline.lag.seconds"}),
        (["mirror.lanes", "mirror.start"], {"mirror.lanes", "mirror.start"}),
        (["task.index", "offset.lag"], {"offset.lag.max"}),
        (["--changed"], {"enabled", "mirror.lanes"}),
        (["--changed", "mirror.*"], {"mirror.lanes"}),
        (["--changed", "mirror.run.*"], set()),
    ],
)
@pytest.mark.parametrize("json_wanted", [True, False])
def test_config_shows_the_part_that_is_asked_for(run, arguments, shown, json_wanted):
    lines = "mirror.lanes = 4\nmirror.run.max.seconds = 300\n"
    code, output, _ = run("config", *arguments, *(["--json"] if json_wanted else []), config=VALID + lines)
    assert code == 0
    if json_wanted:
        assert set(only_flow(output)["result"]["properties"]) == shown
    else:
        assert {line.split()[0] for line in output.splitlines() if line} >= shown
        assert ("mirror.lanes" in output) == ("mirror.lanes" in shown)
        assert ("Nothing that matches differs" in output) == (not shown)


def test_a_part_may_be_asked_for_by_the_key_in_the_file_and_is_shown_of_clients_too(run):
    _, output, _ = run("config", "east.consumer", "--json", config=VALID + "east.consumer.fetch.max.bytes = 1000000\n")
    result = only_flow(output)["result"]
    assert result["properties"] == {}
    assert {client: set(settings) for client, settings in result["clients"].items() if settings} == {"source consumer": {"fetch.max.bytes"}}


def test_a_part_that_nothing_has_is_an_error_that_names_the_nearest_property(run):
    code, output, words = run("config", "--flow", "east->west", "mirror.lnaes")
    assert (code, output) == (2, "")
    assert "No property or client setting of east->west matches 'mirror.lnaes'. Next: Did you mean 'mirror.lanes'? All of them: " in words
    assert "config --flow 'east->west'." in words


def test_the_example_is_printed_whatever_is_configured(run, tmp_path):
    code, output, _ = run("config", "--example", "--config", str(tmp_path / "none.properties"))
    assert (code, output) == (0, EXAMPLE.read_text(encoding="utf-8"))


def test_pools_are_printed_as_airflow_imports_them(run):
    code, output, _ = run("pools", config=f"{VALID}\nmirror.copy.pool = copies\n")
    assert code == 0
    assert json.loads(output) == {"copies": {"slots": 4, "description": "Copies of east->west", "include_deferred": False}}
