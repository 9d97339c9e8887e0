"""The command line without any broker: what it prints where, in which shape, and its exit codes."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from mirror.__main__ import main
from mirror.commands import parser
from mirror.commands.answer import Answer
from mirror.errors import ClusterUnreachable, ConfigurationError, Problem

ROOT = Path(__file__).parents[2]
VALID = """
clusters = east, west
east.bootstrap.servers = 127.0.0.1:9001
west.bootstrap.servers = 127.0.0.1:9002
east->west.enabled = true
"""
THREE_FLOWS = VALID + "west->east.enabled = true\nwest->east.mirror.lane = 3\nnorth.bootstrap.servers = 127.0.0.1:9003\n"
THREE_FLOWS = THREE_FLOWS.replace("east, west", "east, west, north") + "east->north.enabled = true\n"


@pytest.fixture
def run(tmp_path, capsys, monkeypatch):
    """`run("plan", "--json", config=VALID)` gives exit code, standard output and standard error."""
    monkeypatch.delenv("MIRROR_CONFIG", raising=False)

    def call(*arguments, config=VALID):
        file = tmp_path / "mm2.properties"
        file.write_text(config)
        code = main(["--config", str(file), *arguments])
        return code, *capsys.readouterr()

    return call


@pytest.fixture
def answer(monkeypatch):
    """Makes `plan` answer as told: `answer(lambda flow: ...)`; what it raises is raised."""

    def set_answer(function):
        monkeypatch.setattr(parser.plan, "run", lambda flow, _options: function(flow))

    return set_answer


def only_flow(output):
    """The one entry of the one JSON document on standard output."""
    (flow,) = json.loads(output)["flows"]
    return flow


# ---------------------------------------------------------------- a wrong command line


@pytest.mark.parametrize(
    "arguments", [[], ["cpoy"], ["plan", "--flwo", "east->west"], ["plan", "--dry-run"], ["pools", "--flow", "east->west"]]
)
def test_a_wrong_command_line_is_one_sentence_and_exit_code_2(run, arguments):
    code, output, words = run(*arguments)
    assert (code, output) == (2, "")
    assert words.startswith("UsageError: The command line cannot be used: ")
    assert words.count("\n") == 1
    assert "--help" in words


def test_a_wrong_command_line_is_answered_in_json_too(run):
    code, output, words = run("cpoy", "--json")
    assert code == 2
    document = json.loads(output)
    assert set(document) == {"command", "flows"}
    (flow,) = document["flows"]
    assert (flow["flow"], flow["state"], flow["result"]) == (None, "unusable", None)
    assert flow["errors"][0]["code"] == "UsageError"
    assert "cpoy" in words


@pytest.mark.parametrize("arguments", [["--help"], ["copy", "--help"]])
def test_help_goes_to_standard_output_and_is_no_error(arguments, capsys):
    with pytest.raises(SystemExit) as left:
        main(arguments)
    assert left.value.code == 0
    output, words = capsys.readouterr()
    assert words == ""
    assert output.startswith("usage: python -m mirror")
    assert max(len(line) for line in output.splitlines()) <= 140


def test_help_says_what_exit_codes_mean(capsys):
    with pytest.raises(SystemExit):
        main(["--help"])
    output = capsys.readouterr().out
    for line in ("0  done", "1  something failed", "2  the command line or the configuration"):
        assert line in output


@pytest.mark.parametrize("before", [True, False])
def test_common_options_may_stand_on_either_side_of_the_command(tmp_path, capsys, before):
    file = tmp_path / "mm2.properties"
    file.write_text(VALID)
    common = ["--config", str(file), "--json"]
    assert main([*common, "pools"] if before else ["pools", *common]) == 0
    assert only_flow(capsys.readouterr().out)["state"] == "done"


# ---------------------------------------------------------------- the configuration


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
        ("east.security.protocol = SASL_PLAINTEXT", ["east.sasl.mechanism", "is missing"]),
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


# ---------------------------------------------------------------- an unreadable secret

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


# ---------------------------------------------------------------- several flows


def test_without_a_flow_all_are_run_and_one_that_cannot_does_not_stop_the_others(run, answer):
    answer(lambda flow: Answer("done", flow.name))
    code, output, words = run("plan", "--json", config=THREE_FLOWS)
    states = {flow["flow"]: flow["state"] for flow in json.loads(output)["flows"]}
    assert states == {"east->west": "done", "east->north": "done", "west->east": "unusable"}
    assert code == 2
    assert "west->east: ConfigurationError" in words


def test_the_highest_exit_code_counts(run, answer):
    def fails_to_the_north(flow):
        if flow.target == "north":
            raise ClusterUnreachable("north", "127.0.0.1:9003", 5)
        return Answer("done")

    answer(fails_to_the_north)
    assert run("plan", config=THREE_FLOWS)[0] == 2
    code, output, words = run("plan", config=THREE_FLOWS.replace("west->east.mirror.lane = 3", ""))
    assert code == 1
    assert output.splitlines() == ["east->west: done", "east->north: failed", "west->east: done"]
    assert words.splitlines()[-1].startswith("east->north: ClusterUnreachable: Cluster 'north' did not answer at 127.0.0.1:9003")


def test_a_file_that_cannot_be_read_fails_the_command_and_leaves_the_flows_of_other_files_alone(run, answer, tmp_path, capsys):
    answer(lambda flow: Answer("done", flow.name))
    (tmp_path / "good").write_text(VALID)
    files = f"{tmp_path}/none,{tmp_path}/good"
    assert main(["--config", files, "plan"]) == 2
    output, words = capsys.readouterr()
    assert output == "east->west: done\n"
    assert words.count("ConfigurationError") == 1
    assert f"in {tmp_path}/none cannot be used: MIRROR_CONFIG: the file cannot be read" in words
    assert main(["--config", files, "plan", "--flow", "east->west"]) == 0
    assert main(["--config", files, "plan", "--flow", "north->east"]) == 2
    assert "the file cannot be read" in capsys.readouterr().err


def test_flows_are_told_as_they_end(run, answer, capsys):
    told_before = []

    def look(flow):
        told_before.append(capsys.readouterr().out)
        return Answer("done")

    answer(look)
    run("plan", config=THREE_FLOWS)
    assert told_before == ["", "east->west: done\n"]


def test_nothing_to_do_is_success(run, answer):
    answer(lambda _flow: Answer("nothing to do"))
    assert run("plan")[0] == 0


# ---------------------------------------------------------------- errors of a flow


def test_an_error_in_json_has_exactly_the_fields_of_the_contract(run, answer):
    def fail(_flow):
        raise ClusterUnreachable("east", "127.0.0.1:9001", 5, "Connection refused")

    answer(fail)
    code, output, _ = run("plan", "--json")
    assert code == 1
    (error,) = only_flow(output)["errors"]
    assert set(error) == {"code", "message", "topic", "partition", "offset", "retriable", "next"}
    assert (error["code"], error["retriable"]) == ("ClusterUnreachable", True)


def test_a_configuration_that_fails_while_running_is_unusable(run, answer):
    def fail(flow):
        raise ConfigurationError([Problem("east.bootstrap.servers", "is missing")], flow=flow.name)

    answer(fail)
    assert run("plan")[0] == 2


def test_what_nobody_foresaw_is_an_answer_too_and_leaves_its_traces(run, answer, caplog):
    def fail(flow):
        if flow.target == "west":
            raise ZeroDivisionError("division by zero")
        return Answer("done")

    answer(fail)
    code, output, words = run("plan", "--json", config=THREE_FLOWS)
    flows = {flow["flow"]: flow for flow in json.loads(output)["flows"]}
    assert flows["east->west"]["errors"][0]["code"] == "Unexpected"
    assert "ZeroDivisionError: division by zero" in words
    assert flows["east->north"]["state"] == "done"
    assert "fail(flow)" not in output
    assert "Traceback" in caplog.text
    assert code == 2, "the third flow is invalid"


def test_an_interruption_ends_with_one_sentence(run, answer):
    def interrupt(_flow):
        raise KeyboardInterrupt

    answer(interrupt)
    code, output, words = run("plan")
    assert (code, output) == (130, "")
    assert words == "Interrupted. What was committed stays, and the next run goes on behind it.\n"


# ---------------------------------------------------------------- pools


def test_pools_are_printed_as_airflow_imports_them(run):
    code, output, _ = run("pools")
    assert code == 0
    assert set(json.loads(output)) == {"mirror_spark", "mirror_copy_east-to-west"}


def test_an_invalid_flow_has_its_pool_because_its_tasks_have_to_start_to_fail(run):
    code, output, _ = run("pools", "--json", config=THREE_FLOWS)
    assert code == 0
    assert "mirror_copy_west-to-east" in only_flow(output)["result"]


# ---------------------------------------------------------------- as a process


def process(*arguments, **environment):
    """`python -m mirror` as a user runs it."""
    variables = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT / "include"), **environment}
    return subprocess.run([sys.executable, "-m", "mirror", *arguments], env=variables, capture_output=True, text=True, timeout=60)


def test_as_a_process_it_answers_and_leaves_with_its_code(tmp_path):
    file = tmp_path / "mm2.properties"
    file.write_text(VALID)
    done = process("pools", "--json", MIRROR_CONFIG=str(file))
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["command"] == "pools"
    assert process("plan", "--flow", "west->east", MIRROR_CONFIG=str(file)).returncode == 2


def test_a_reader_that_goes_away_is_no_crash(tmp_path):
    file = tmp_path / "mm2.properties"
    file.write_text(VALID)
    piped = f"{sys.executable} -m mirror --config {file} config | true"
    done = subprocess.run(
        ["bash", "-c", piped], env={**os.environ, "PYTHONPATH": str(ROOT / "include")}, capture_output=True, text=True, timeout=60
    )
    assert "Traceback" not in done.stderr
