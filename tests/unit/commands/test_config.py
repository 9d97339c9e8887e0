"""The command `config`, which shows every value but secrets, and secrets that cannot be read."""

import pytest

from tests.unit.commands.command_line import VALID, only_flow

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
    assert result["clients"]["target producer"]["acks"] == {"value": "all", "from": "default"}
    assert result["clients"]["source admin"]["bootstrap.servers"] == {"value": "127.0.0.1:9001", "from": "east.bootstrap.servers"}


def test_config_tells_the_same_to_people(run):
    code, output, _ = run("config", config=VALID + "east->west.offset.lag.max = 5\nwest.producer.linger.ms = 7\n")
    rows = [line.split() for line in output.splitlines()]
    assert code == 0
    assert ["offset.lag.max", "source", "east->west.offset.lag.max", "5"] in rows
    assert ["groups", "checkpoint", "default", ".*"] in rows
    assert ["linger.ms", "west.producer.linger.ms", "7"] in rows
    assert any(row[:1] == ["file:"] and row[1].endswith("/mm2.properties") for row in rows)
