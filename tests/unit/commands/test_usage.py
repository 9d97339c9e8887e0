"""A command line that cannot be used, and what `--help` says."""

import json

import pytest

from mirror.__main__ import main
from tests.unit.commands.command_line import VALID, only_flow


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
