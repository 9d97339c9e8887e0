"""Every command with its arguments and texts, the exit codes, and the configuration as JSON."""

import json
from pathlib import Path

import pytest

from kafka_mirror.__main__ import EXIT_CODES, INTERRUPTED, main
from kafka_mirror.cli.options import Parser
from kafka_mirror.cli.parser import parser
from tests.unit.surface.snapshots import expect

EXAMPLE = Path(__file__).parents[3] / "include" / "mm2.properties"


def described(name: str, command: Parser) -> list[str]:
    """What `--help` says, argument by argument: how it lays that out depends on the version of Python."""
    lines = [f"## {name}", command.description or ""]
    if needs := command.get_default("needs"):
        lines.append(f"needs {', '.join(option for _, option in needs)}")
    for action in command.arguments:
        names = ", ".join(action.option_strings) or action.dest
        takes = {"metavar": action.metavar, "nargs": action.nargs, "choices": action.choices and list(action.choices)}
        takes |= {"default": action.default, "required": action.required}
        lines.append(f"{names} {' '.join(f'{key}={value!r}' for key, value in takes.items() if value is not None)}".rstrip())
        lines.append(f"    {action.help}")
    return [*lines, ""]


def commands_of(parent: Parser, before: str = "") -> list[str]:
    """The commands of a parser in short, then each with its arguments; its own commands follow it."""
    lines = []
    if parent.commands:
        lines += [*(f"{before}{name}: {command.summary}" for name, command in parent.commands.items()), ""]
    for name, command in parent.commands.items():
        lines += [*described(before + name, command), *commands_of(command, f"{before}{name} ")]
    return lines


def test_commands_and_their_arguments() -> None:
    top = parser()
    lines = [*described(top.prog, top), *(top.epilog or "").splitlines(), ""]
    lines += commands_of(top)
    lines += [f"exit code of {state}: {code}" for state, code in EXIT_CODES.items()]
    expect("command_line", "\n".join([*lines, f"exit code of an interrupt: {INTERRUPTED}"]))


def test_configuration_of_the_example_as_json(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EAST_KAFKA_PORT", "9001")
    monkeypatch.setenv("WEST_KAFKA_PORT", "9002")
    assert main(["--config", str(EXAMPLE), "config", "--json"]) == 0
    document = json.loads(capsys.readouterr().out.replace(str(EXAMPLE.parent), "include"))
    expect("configuration", json.dumps(document, indent=1))
