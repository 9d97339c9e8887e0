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
    shared = {each.option_strings[-1]: each for _, command in reversed(commands.values()) for each in _options(command)}
    lines = ["| command | what it does | `--flow` | `--dry-run` |", "|---|---|---|---|"]
    for name, (summary, command) in commands.items():
        known = {each.option_strings[-1]: "yes" for each in _options(command)} | dict.fromkeys(_needed(command), "needed")
        linked = f"[`{name}`](#{name})" if list(_own(command)) or _commands(command) else f"`{name}`"
        lines.append(f"| {linked} | {_cell(summary)} | {known.get('--flow', '')} | {known.get('--dry-run', '')} |")
    lines += ["", "Options of every command, or of those that the table marks:", "", *_table(shared[name] for name in _COMMON)]
    for name, (_, command) in commands.items():
        if list(_own(command)):
            lines += ["", f"### `{name}`", "", *_table(_own(command), _needed(command))]
        elif inner := _commands(command):
            lines += ["", f"### `{name}`", "", *_inner_table(name, inner)]
    return "\n".join(lines) + "\n"


def _inner_table(before: str, commands: dict[str, tuple[str, Parser]]) -> list[str]:
    """The commands of a command with the names of their options, and once what each option is."""
    options: dict[str, argparse.Action] = {}
    lines = [f"| `{before} …` | what it does | options of its own |", "|---|---|---|"]
    for name, (summary, command) in commands.items():
        own = {each.option_strings[-1]: each for each in _own(command)}
        options |= own
        words = [f"`{option}`" + (" (needed)" if option in _needed(command) else "") for option in own]
        lines.append(f"| `{name}` | {_cell(summary)} | {', '.join(words)} |")
    return [*lines, "", *_table(iter(options.values()))]


def _commands(top: Parser) -> dict[str, tuple[str, Parser]]:
    """Every command with its summary, in the order of `--help`."""
    return {name: (command.summary, command) for name, command in top.commands.items()}


def _options(command: Parser) -> Iterator[argparse.Action]:
    return (each for each in command.arguments if each.option_strings and each.dest != "help" and each.help != argparse.SUPPRESS)


def _own(command: Parser) -> Iterator[argparse.Action]:
    """The arguments that only this command has."""
    for each in command.arguments:
        named = each.option_strings[-1] if each.option_strings else each.dest
        if named not in (*_COMMON, "--help") and each.help != argparse.SUPPRESS:
            yield each


def _needed(command: Parser) -> list[str]:
    """The options without which the command does nothing."""
    return [option for _, option in command.get_default("needs") or ()]


def _table(actions: Iterator[argparse.Action], needed: Collection[str] = ()) -> list[str]:
    lines = ["| option | meaning |", "|---|---|"]
    for each in actions:
        names = ", ".join(f"`{name}`" for name in _names(each))
        mark = " (needed)" if set(each.option_strings) & set(needed) else ""
        lines.append(f"| {names}{mark} | {_cell(each.help or '')}{_choices(each)} |")
    return lines


def _names(action: argparse.Action) -> list[str]:
    """How the argument is written, with what it takes."""
    takes = f" {action.metavar}" if isinstance(action.metavar, str) and action.option_strings else ""
    takes = f" [{takes.strip()}]" if takes and action.nargs == "?" else takes
    return [f"{name}{takes}" for name in action.option_strings] or [str(action.metavar or action.dest)]


def _choices(action: argparse.Action) -> str:
    return f" ({', '.join(f'`{each}`' for each in action.choices)})" if action.choices else ""


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;")
