"""Commands that run more than one flow: states, exit codes, and which flow is told when."""

import json

from kafka_mirror.__main__ import main
from kafka_mirror.cli import copy
from kafka_mirror.cli.answer import Answer
from kafka_mirror.errors import ClusterUnreachable
from tests.unit.cli.command_line import THREE_FLOWS, VALID


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
    assert output.splitlines() == ["east->west:", "east->north: failed", "west->east:"]
    assert words.splitlines()[-1].startswith("east->north: ClusterUnreachable: Cluster 'north' did not answer at 127.0.0.1:9003")


def test_a_file_that_cannot_be_read_fails_the_command_and_leaves_the_flows_of_other_files_alone(run, answer, tmp_path, capsys):
    answer(lambda flow: Answer("done", flow.name))
    (tmp_path / "good").write_text(VALID)
    files = f"{tmp_path}/none,{tmp_path}/good"
    assert main(["--config", files, "plan"]) == 2
    output, words = capsys.readouterr()
    assert output == "east->west:\n"
    assert words.count("ConfigurationError") == 1
    assert f"in {tmp_path}/none cannot be used: --config: the file cannot be read" in words
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
    assert told_before == ["", "east->west:\n"]


def test_only_a_command_that_does_something_says_done(run, monkeypatch):
    for name in ("show_plan", "run"):
        monkeypatch.setattr(copy, name, lambda _flow, _options: Answer("done"))
    assert run("plan")[1] == "east->west:\n"
    assert run("copy", "--dry-run")[1] == "east->west:\n"
    assert run("copy")[1] == "east->west: done\n"


def test_what_is_wrong_for_all_flows_alike_is_told_once(run):
    code, _, words = run("plan", config=THREE_FLOWS.replace("west->east.mirror.lane", "mirror.lane"))
    assert code == 2
    first, *others = words.splitlines()
    assert first.startswith("east->west: ConfigurationError: The configuration for east->west cannot be used: ")
    assert others == [
        f"{flow}: ConfigurationError: The configuration cannot be used, for reasons that stand above."
        for flow in ("east->north", "west->east")
    ]


def test_nothing_to_do_is_success(run, answer):
    answer(lambda _flow: Answer("nothing to do"))
    assert run("plan")[0] == 0
