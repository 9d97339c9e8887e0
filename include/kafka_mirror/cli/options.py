"""How a command line is read, and completed by the shell. A wrong one is an error like any other, which says all that is missing."""

import argparse
import getpass
import os
import re
import socket
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import takewhile
from typing import Any, NoReturn

from kafka_mirror.cli.answer import FAILED, Answer
from kafka_mirror.cli.terminal import is_terminal
from kafka_mirror.config import Configuration, load
from kafka_mirror.config.load import paths_of
from kafka_mirror.config.unknown_keys import nearest
from kafka_mirror.config.validate import with_unreadable
from kafka_mirror.decide.request import join_with_and
from kafka_mirror.errors import ConfigurationError, NothingSelected, UsageError
from kafka_mirror.errors.next_step import Command, mirror_command, program

FLOW = "--flow"
_NO_CHOICE = re.compile(r"(?:argument (?P<argument>\S+): )?invalid choice: '(?P<value>.*)' \(choose from .*", re.DOTALL)
"""What argparse says of a value that is none of an argument's choices."""


class Parser(argparse.ArgumentParser):
    """Raises UsageError instead of leaving the program.

    What a command needs is not checked while the words are read, but by `check`, so that everything that is missing is named at once.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        self.arguments: list[argparse.Action] = []
        self.commands: dict[str, Parser] = {}
        """Its own commands by name."""
        self.summary = ""
        self._needed: tuple[argparse.Action, ...] = ()
        self._steps: Any = None
        super().__init__(*args, **options)

    def add_argument(self, *names: Any, **how: Any) -> argparse.Action:
        """Adds an argument, and remembers it."""
        action = super().add_argument(*names, **how)
        self.arguments.append(action)
        return action

    def add_one_of(self, *options: tuple[str, Mapping[str, Any]]) -> None:
        """Adds options of which one may be given."""
        group = self.add_mutually_exclusive_group()
        self.arguments += [group.add_argument(name, **how) for name, how in options]

    def add_commands(self, dest: str, **how: Any) -> None:
        """Lets the parser have commands of its own."""
        self._steps = self.add_subparsers(dest=dest, metavar=dest, **how)

    def add_command(self, name: str, summary: str, description: str = "", **how: Any) -> "Parser":
        """Adds a command. Its description is the summary as a sentence, if there is no other one."""
        described = description or f"{summary[0].upper()}{summary[1:]}."
        command: Parser = self._steps.add_parser(name, help=summary, description=described, **how)
        command.summary = summary
        self.commands[name] = command
        return command

    def need(self, *options: str) -> None:
        """Declares options without which the command does nothing."""
        self._needed = tuple(action for option in options for action in self.arguments if option in action.option_strings)
        for action in self._needed:
            action.help = (action.help or "").partition(" (default: ")[0]
        needs = tuple((action.dest, action.option_strings[-1]) for action in self._needed)
        self.set_defaults(needs=needs, prog=self.prog)

    def format_help(self) -> str:
        """The help; it shows as needed the options without which the command does nothing."""
        with self._show_as_needed():
            return super().format_help()

    def format_usage(self) -> str:
        """The usage, without brackets around those options."""
        with self._show_as_needed():
            return super().format_usage()

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """As argparse's, but a command itself names what it does not know, which knows its options."""
        words = sys.argv[1:] if args is None else list(args)
        # In front of a command argparse would take the value of an option that it does not know for the command.
        first = takewhile(lambda word: word.startswith("--"), words)
        names = [name for action in self.arguments for name in action.option_strings]
        self._refuse_unknown([word for word in first if not any(name.startswith(word.partition("=")[0]) for name in names)])
        options, unknown = super().parse_known_args(words, namespace)
        self._refuse_unknown(unknown)
        return options, unknown

    def _refuse_unknown(self, unknown: Sequence[str]) -> None:
        if not unknown:
            return
        options = [word.partition("=")[0] for word in unknown if word.startswith("-")]
        names = [name for action in self.arguments for name in action.option_strings if action.help != argparse.SUPPRESS]
        what = f"option {options[0]}" if options else f"argument {unknown[0]!r}"
        words = _command(self.prog)
        self._refuse(f"{words} has no {what}" if words else f"there is no {what}", options[0] if options else "", names)

    def error(self, message: str) -> NoReturn:
        """What argparse calls for everything else that it does not understand."""
        wrong = _NO_CHOICE.fullmatch(message)
        if wrong is None:
            self._refuse(message.removeprefix("argument "))
        argument, value = wrong["argument"] or "", wrong["value"]
        allowed = next((action.choices for action in self.arguments if argument in ("/".join(action.option_strings), action.dest)), None)
        choices = list(self.commands if allowed is None else map(str, allowed))
        what = f"there is no {argument} {value!r}" if allowed is None else f"{argument} cannot be {value!r}"
        self._refuse(what, value, choices, f"Possible are: {', '.join(choices)}. ")

    def _refuse(self, what: str, meant: str = "", candidates: Iterable[str] = (), possible: str = "") -> NoReturn:
        near = nearest(meant, candidates)
        hint = f"Did you mean {near}? " if near else possible
        raise UsageError(f"The command line cannot be used: {what}.", next=(hint, "See ", Command(f"{self.prog} --help"), "."))

    @contextmanager
    def _show_as_needed(self) -> Iterator[None]:
        for action in self._needed:
            action.required = True
        try:
            yield
        finally:
            for action in self._needed:
                action.required = False


def _command(prog: str) -> str:
    """The words of the command; none for the program alone."""
    return prog.removeprefix(program()).strip()


def read_as(reader: Callable[[str], Any]) -> Callable[[str], Any]:
    """The reader for argparse, which tells the reader's own sentence when it raises ValueError."""

    def read(text: str) -> Any:
        try:
            return reader(text)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from None

    return read


def check(options: argparse.Namespace) -> None:
    """Raises UsageError with every option that is missing. Only to name the flows it looks into the configuration."""
    if options.command is None:
        raise UsageError("The command line cannot be used: it names no command.", next=("See ", mirror_command("--help"), "."))
    missing = [option for dest, option in getattr(options, "needs", ()) if getattr(options, dest, None) is None]
    if missing:
        raise needs(options.prog, missing, flow_names(options) if FLOW in missing else ())
    if getattr(options, "check", None) is not None:
        options.check(options)


def check_watch(options: argparse.Namespace) -> None:
    """Raises UsageError for `status --watch` where there is no terminal to redraw."""
    if options.watch is not None and (options.json or not is_terminal(sys.stdout)):
        raise UsageError(
            f"The command line cannot be used: {options.command} --watch redraws a terminal, and the output goes somewhere else.",
            next=("Call it as often as you like: ", mirror_command(f"{options.command} --json"), "."),
        )


def needs(prog: str, missing: Sequence[str], flows: Sequence[str] = ()) -> UsageError:
    """The error that a command lacks these options; `flows` are those that there are."""
    hint = f"The flows are: {', '.join(flows)}. " if flows else ""
    return UsageError(
        f"The command line cannot be used: {_command(prog)} needs {join_with_and(missing)}.",
        next=(hint, "See ", Command(f"{prog} --help"), "."),
    )


def load_configured(options: argparse.Namespace) -> Configuration:
    """The configuration that the command line asks for. Raises ConfigurationError."""
    return with_unreadable(load(paths_of(options.config) if options.config else None))


def flow_names(options: argparse.Namespace) -> list[str]:
    """The enabled flows; none if the configuration cannot be read, which is not what is wrong first."""
    try:
        configuration = load(paths_of(options.config) if options.config else None)
    except ConfigurationError:
        return []
    return [flow.name for flow in (*configuration.flows, *configuration.invalid)]


def add_common(command: argparse.ArgumentParser, **defaults: Any) -> None:
    """Adds what may stand before a command and after it; only the parser before it sets the defaults."""

    def default(name: str) -> Any:
        return defaults.get(name, argparse.SUPPRESS)

    command.add_argument(
        "--config",
        metavar="FILE",
        default=default("config"),
        help="your mm2.properties, several separated by commas (default: those that MIRROR_CONFIG names)",
    )
    command.add_argument("--json", action="store_true", default=default("json"), help="print one JSON document")
    command.add_argument("-v", "--verbose", action="store_true", default=default("verbose"), help="log to standard error")


def add_common_of_a_flow(command: argparse.ArgumentParser, writes: bool) -> None:
    """Adds what every command for flows takes, one that writes or one that only looks."""
    add_common(command)
    flow = command.add_argument(FLOW, metavar="'A->B'", help="one flow, such as 'east->west' (default: all enabled flows)")
    flow.completer = lambda parsed_args, **_: flow_names(parsed_args)  # type: ignore[attr-defined]
    if writes:
        command.add_argument("--dry-run", action="store_true", help="say what would be done and write nothing")


def complete(top: argparse.ArgumentParser) -> None:
    """Answers the shell and leaves the program, if it is the shell that asks."""
    if "_ARGCOMPLETE" in os.environ:
        import argcomplete

        argcomplete.autocomplete(top)


TOPICS, TOPIC, GROUP = "topics", "topic", "group"
_OPTIONS = {"audit": TOPICS, "backfill": TOPICS, "status": TOPIC, "translate": GROUP}
"""The option by which each command is asked for something by name. The other commands with such an option need `--flow`."""


def list_asked_names(options: argparse.Namespace) -> frozenset[str]:
    """The names; none if the command was not asked for any."""
    option = _OPTIONS.get(options.command)
    given = getattr(options, option, None) if option is not None else None
    if not given:
        return frozenset()
    return frozenset(split_names(given)) if option == TOPICS else frozenset((given,))


def split_names(text: str | None) -> tuple[str, ...]:
    """Names that are separated by commas."""
    return tuple(filter(None, (name.strip() for name in (text or "").split(","))))


def user_at_host() -> str:
    """Who runs the command: `user@host`."""
    try:
        user = getpass.getuser()
    except (KeyError, OSError):  # a container's user without a name
        user = "somebody"
    return f"{user}@{socket.gethostname()}"


def unknown_names_notice(options: argparse.Namespace, known_names: Iterable[str]) -> Answer | None:
    """Returns the notice about names that no flow knew; None if every name was known."""
    missing = sorted(list_asked_names(options).difference(known_names))
    return Answer(FAILED, errors=(NothingSelected(options.command, missing).report(),)) if missing else None
