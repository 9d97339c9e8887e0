"""Every command with its arguments and texts, the exit codes, and the configuration as JSON."""

import argparse
import json
from pathlib import Path

import pytest

from mirror.__main__ import EXIT_CODES, INTERRUPTED, main
from mirror.commands.parser import parser
from tests.unit.surface.snapshots import expect

EXAMPLE = Path(__file__).parents[3] / "include" / "mm2.properties"


def described(name: str, command: argparse.ArgumentParser) -> list[str]:
    """What `--help` says, argument by argument: how it lays that out depends on the version of Python."""
    lines = [f"## {name}", command.description or ""]
    for action in command._actions:
        if isinstance(action, argparse._SubParsersAction):
            continue
        names = ", ".join(action.option_strings) or action.dest
        takes = {"metavar": action.metavar, "nargs": action.nargs, "choices": action.choices and list(action.choices)}
        takes |= {"default": action.default, "required": action.required}
        lines.append(f"{names} {' '.join(f'{key}={value!r}' for key, value in takes.items() if value is not None)}".rstrip())
        lines.append(f"    {action.help}")
    return [*lines, ""]


def test_commands_and_their_arguments() -> None:
    top = parser()
    lines = [*described(top.prog, top), *(top.epilog or "").splitlines(), ""]
    (commands,) = [action for action in top._actions if isinstance(action, argparse._SubParsersAction)]
    for summary in commands._choices_actions:
        lines += [f"{summary.dest}: {summary.help}"]
    lines.append("")
    for name, command in commands.choices.items():
        lines += described(name, command)
    lines += [f"exit code of {state}: {code}" for state, code in EXIT_CODES.items()]
    expect("command_line", "\n".join([*lines, f"exit code of an interrupt: {INTERRUPTED}"]))


def test_configuration_of_the_example_as_json(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EAST_KAFKA_PORT", "9001")
    monkeypatch.setenv("WEST_KAFKA_PORT", "9002")
    assert main(["--config", str(EXAMPLE), "config", "--json"]) == 0
    document = json.loads(capsys.readouterr().out.replace(str(EXAMPLE.parent), "include"))
    expect("configuration", json.dumps(document, indent=1))


def test_pools_of_the_example(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--config", str(EXAMPLE), "pools"]) == 0
    expect("pools", capsys.readouterr().out)
