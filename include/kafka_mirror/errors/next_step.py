"""What a person does about an error: sentences, and the commands in them as data.

An error gives the parts of its next step. The sentence, the typeface of the commands and the page's buttons are made from the same parts.
"""

import os
import shlex
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import PurePath

from kafka_mirror.errors.words import visible

FLOW = "<flow>"
"""Stands for the flow's name in an error that does not know it; `ErrorReport.with_flow` puts the name in."""

TIMES = "--from … --to …"
"""Stands for the times of a backfill in an error that does not know them; `ErrorReport.with_times` puts them in."""

MODULE, SCRIPT = "python -m kafka_mirror", "kafka-mirror"
"""The two ways to start the command line: from a checkout, and as the script that the package installs."""

_STARTED_AS = "MIRROR_STARTED_AS"


def note_program(program: str) -> None:
    """Notes the program's path (`sys.argv[0]`), so that all commands in errors and notices begin as the user's own did.

    The note stands in the environment: the processes of a Spark job on this host inherit it.
    """
    if PurePath(program).name == SCRIPT:
        os.environ[_STARTED_AS] = SCRIPT


def program() -> str:
    """What every command of the mirror begins with."""
    return os.environ.get(_STARTED_AS) or MODULE


@dataclass(frozen=True)
class Command:
    """A line to type. As text it is that line."""

    line: str

    def __str__(self) -> str:
        return self.line


@dataclass(frozen=True)
class Remedy:
    """A decision of a person that answers an error. As text it is the command line that takes it; the status page makes a button of it."""

    decision: str
    topic: str | None = None
    partition: int | None = None
    alias: str | None = None

    def line(self, program: str) -> str:
        """The command line that takes the decision."""
        options = {"topic": self.topic, "partition": self.partition, "alias": self.alias}
        arguments = "".join(f" --{name} {shlex.quote(str(value))}" for name, value in options.items() if value is not None)
        return f"{program} decide {self.decision} --flow '{FLOW}'{arguments} --reason \"…\""

    def __str__(self) -> str:
        return self.line(program())


Part = str | Command | Remedy
"""A piece of a next step: words, or something to type."""


@dataclass(frozen=True)
class NextStep:
    """What to do next: the sentences, and what in them is typed as it stands there."""

    text: str = ""
    commands: tuple[str, ...] = ()

    @classmethod
    def of(cls, *parts: Part) -> "NextStep":
        """The parts, one after the other. Names in a command may be any text: it is for shells, and the sentence shows it in one line."""
        text = "".join(visible(part) if isinstance(part, str) else _one_line(str(part)) for part in parts)
        return cls(text, tuple(str(part) for part in parts if not isinstance(part, str)))

    @property
    def pieces(self) -> list[tuple[str, bool]]:
        """The text in its order, cut at its commands; each piece with whether it is a command."""
        pieces, rest = [], self.text
        for command in self.commands:
            before, is_there, behind = rest.partition(_one_line(command))
            if is_there:
                pieces += [(before, False), (_one_line(command), True)]
                rest = behind
        return [(text, typed) for text, typed in (*pieces, (rest, False)) if text]

    def with_flow(self, flow: str) -> "NextStep":
        """This step with the flow's name."""
        return self._with(FLOW, flow)

    def with_times(self, start: str, end: str) -> "NextStep":
        """This step with the times of a backfill."""
        return self._with(TIMES, f"--from {start} --to {end}")

    def _with(self, placeholder: str, value: str) -> "NextStep":
        commands = tuple(command.replace(placeholder, value, 1) for command in self.commands)
        return replace(self, text=self.text.replace(placeholder, value), commands=commands)

    def __bool__(self) -> bool:
        return bool(self.text)

    def __str__(self) -> str:
        return self.text


def _one_line(command: str) -> str:
    return visible(command, keep="")


NOTHING = NextStep()
"""No next step."""


def mirror_command(arguments: str) -> Command:
    """A command of the mirror: `own("status")`."""
    return Command(f"{program()} {arguments}")


def flow_command(arguments: str, options: str = "") -> Command:
    """A command of the mirror about the flow that the error is of."""
    return mirror_command(f"{arguments} --flow '{FLOW}'{f' {options}' if options else ''}")


def wave_command(part: str, wave: str, options: str = "") -> Command:
    """A command of `cutover` about a wave of the flow that the error is of."""
    return flow_command(f"cutover {part}", f"--wave {shlex.quote(wave)}{f' {options}' if options else ''}")


def the_plan() -> tuple[Part, ...]:
    """Where a person sees what the next copy has to do, and what keeps it from doing it."""
    return flow_command("plan"), " (in Airflow: trigger the DAG copy with dry_run)"


def backfill_again(topic: str, options: str, parameters: str) -> tuple[Part, ...]:
    """The backfill of a topic with other options, by the command line and by the parameters of the DAG."""
    in_airflow = f' (in Airflow, the parameters of the DAG backfill: topics = ["{topic}"], {parameters})'
    return flow_command("backfill", f"--topics {shlex.quote(topic)} {TIMES} {options}"), in_airflow


def remedies(parts: Iterable[Part]) -> tuple[Remedy, ...]:
    """The decisions among the parts of a next step."""
    return tuple(part for part in parts if isinstance(part, Remedy))
