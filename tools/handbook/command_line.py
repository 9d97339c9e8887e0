"""The reference of the command line, from its own parser."""

import argparse
from collections.abc import Collection, Iterator

from kafka_mirror.cli.options import Parser
from kafka_mirror.cli.parser import parser

_COMMON = ("--config", "--json", "--verbose", "--flow", "--dry-run")


def markdown_commands() -> str:
    """A table of all commands and of the options that they share, then a section for each command that has arguments of its own, with a
    table of its own commands."""
    commands = _commands(parser())
    shared = {action.option_strings[-1]: action for _, command in reversed(commands.values()) for action in _list_options(command)}
    lines = ["| command | what it does | `--flow` | `--dry-run` |", "|---|---|---|---|"]
    for name, (summary, command) in commands.items():
        marks = {action.option_strings[-1]: "yes" for action in _list_options(command)} | dict.fromkeys(_list_required(command), "needed")
        linked = f"[`{name}`](#{name})" if list(_list_own(command)) or _commands(command) else f"`{name}`"
        lines.append(f"| {linked} | {_cell(summary)} | {marks.get('--flow', '')} | {marks.get('--dry-run', '')} |")
    lines += ["", "Options of every command, or of those that the table marks:", "", *_table(shared[name] for name in _COMMON)]
    for name, (_, command) in commands.items():
        if list(_list_own(command)):
            lines += ["", f"### `{name}`", "", *_table(_list_own(command), _list_required(command))]
        elif inner := _commands(command):
            lines += ["", f"### `{name}`", "", *_inner_table(name, inner)]
    return "\n".join(lines) + "\n"


def _inner_table(before: str, commands: dict[str, tuple[str, Parser]]) -> list[str]:
    """The commands of a command with the names of their options, and once what each option is."""
    options: dict[str, argparse.Action] = {}
    lines = [f"| `{before} …` | what it does | options of its own |", "|---|---|---|"]
    for name, (summary, command) in commands.items():
        own = {action.option_strings[-1]: action for action in _list_own(command)}
        options |= own
        words = [f"`{option}`" + (" (needed)" if option in _list_required(command) else "") for option in own]
        lines.append(f"| `{name}` | {_cell(summary)} | {', '.join(words)} |")
    return [*lines, "", *_table(iter(options.values()))]


def _commands(top: Parser) -> dict[str, tuple[str, Parser]]:
    """Every command with its summary, in the order of `--help`."""
    return {name: (command.summary, command) for name, command in top.commands.items()}


def _list_options(command: Parser) -> Iterator[argparse.Action]:
    return (action for action in command.arguments if action.option_strings and action.dest != "help" and action.help != argparse.SUPPRESS)


def _list_own(command: Parser) -> Iterator[argparse.Action]:
    """The arguments that only this command has."""
    for action in command.arguments:
        name = action.option_strings[-1] if action.option_strings else action.dest
        if name not in (*_COMMON, "--help") and action.help != argparse.SUPPRESS:
            yield action


def _list_required(command: Parser) -> list[str]:
    """The options without which the command does nothing."""
    return [option for _, option in command.get_default("needs") or ()]


def _table(actions: Iterator[argparse.Action], required: Collection[str] = ()) -> list[str]:
    lines = ["| option | meaning |", "|---|---|"]
    for action in actions:
        names = ", ".join(f"`{name}`" for name in _names(action))
        mark = " (needed)" if set(action.option_strings) & set(required) else ""
        lines.append(f"| {names}{mark} | {_cell(action.help or '')}{_choices(action)} |")
    return lines


def _names(action: argparse.Action) -> list[str]:
    """How the argument is written, with what it takes."""
    takes = f" {action.metavar}" if isinstance(action.metavar, str) and action.option_strings else ""
    takes = f" [{takes.strip()}]" if takes and action.nargs == "?" else takes
    return [f"{name}{takes}" for name in action.option_strings] or [str(action.metavar or action.dest)]


def _choices(action: argparse.Action) -> str:
    return f" ({', '.join(f'`{choice}`' for choice in action.choices)})" if action.choices else ""


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;")
