"""A command line that cannot be used, and what `--help` says."""

import json

import pytest

from kafka_mirror import __version__
from kafka_mirror.__main__ import main
from tests.unit.cli.command_line import VALID, only_flow


@pytest.mark.parametrize(
    "arguments", [["cpoy"], ["plan", "--flwo", "east->west"], ["plan", "--dry-run"], ["pools", "--flow", "east->west"]]
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


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["plann"], "there is no command 'plann'. Next: Did you mean plan? See python -m kafka_mirror --help."),
        (["frobnicate"], "there is no command 'frobnicate'. Next: Possible are: status, plan, translate, "),
        (["plan", "--flwo", "x"], "plan has no option --flwo. Next: Did you mean --flow? See python -m kafka_mirror plan --help."),
        (["--conifg", "x", "plan"], "there is no option --conifg. Next: Did you mean --config? See python -m kafka_mirror --help."),
        (["plan", "x"], "plan has no argument 'x'. Next: See python -m kafka_mirror plan --help."),
        (["decide", "restrat"], "there is no decision 'restrat'. Next: Did you mean restart? See python -m kafka_mirror decide --help."),
        (["decide", "restart", "--alias", "x"], "decide restart has no option --alias. "),
        (["decide"], "decide needs to know what to decide. Next: Possible are: accept-gap, "),
        (["backfill", "--order", "tmie"], "--order cannot be 'tmie'. Next: Did you mean time? "),
        (["backfill"], "backfill needs --from and --to. "),
        (["translate"], "translate needs --group. "),
        (["decide", "throttle", "--bytes-per-second", "fast"], "--bytes-per-second: 'fast' is no rate; write bytes a second, such as "),
        (["decide", "pause", "--partition", "-1"], "--partition: '-1' is no whole number from 0 on. "),
    ],
)
def test_a_wrong_command_line_says_what_was_meant_and_where_to_look(arguments, says, capsys):
    assert main(arguments) == 2
    assert f"UsageError: The command line cannot be used: {says}" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["decide restart", "decide pause", "take-over", "hand-back"])
def test_a_forgotten_flow_names_the_flows_and_all_else_that_is_forgotten(run, command):
    code, output, words = run(*command.split())
    assert (code, output) == (2, "")
    needed = "--flow, --topic and --reason" if command.startswith("decide") else "--flow"
    assert f"UsageError: The command line cannot be used: {command} needs {needed}. Next: The flows are: east->west. See " in words


def test_what_is_forgotten_is_told_before_any_configuration_is_read(monkeypatch, capsys):
    monkeypatch.setenv("MIRROR_CONFIG", "/nonexistent")
    assert main(["decide", "adopt-cluster", "--flow", "east->west"]) == 2
    assert "decide adopt-cluster needs --alias and --reason. " in capsys.readouterr().err
    assert main(["decide", "begin-ledger"]) == 2
    assert "decide begin-ledger needs --flow and --reason. Next: See " in capsys.readouterr().err


def test_alone_it_prints_the_help(capsys):
    assert main([]) == 0
    output, words = capsys.readouterr()
    assert output.startswith("usage: python -m kafka_mirror")
    assert words == ""


def test_it_says_its_version(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"airflow-kafka-mirror {__version__}\n"


def test_it_says_how_often_the_versions_here_are_tested(capsys):
    assert main(["--version", "--check"]) == 0
    _, *lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == ["Airflow", "Python", "PySpark"]
    assert lines[2].endswith(": tested every time.")


def test_help_of_a_decision_has_its_own_options_alone_and_shows_what_is_needed(capsys):
    with pytest.raises(SystemExit):
        main(["decide", "restart", "--help"])
    output = capsys.readouterr().out
    usage = " ".join(output.partition("\n\n")[0].split())
    assert "--to-earliest" in output
    assert "--alias" not in output
    assert "--bytes-per-second" not in output
    assert "--topic T [--partition P]" in usage
    assert "[--topic" not in usage


@pytest.mark.parametrize("arguments", [["--help"], ["copy", "--help"], ["decide", "throttle", "--help"]])
def test_help_goes_to_standard_output_and_is_no_error(arguments, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "140")
    with pytest.raises(SystemExit) as left:
        main(arguments)
    assert left.value.code == 0
    output, words = capsys.readouterr()
    assert words == ""
    assert output.startswith("usage: python -m kafka_mirror")
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
