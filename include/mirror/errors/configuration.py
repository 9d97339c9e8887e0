"""Errors of the configuration and of the command line."""

from collections.abc import Collection
from dataclasses import dataclass

from mirror.errors.base import MirrorError


@dataclass(frozen=True)
class Problem:
    """One thing wrong in the configuration: which property, its value (never a secret), and what is allowed."""

    property: str
    message: str
    value: str | None = None

    def __str__(self) -> str:
        return f"{self.property}: {self.message}" + (f" (it is '{self.value}')" if self.value is not None else "")


class ConfigurationError(MirrorError):
    """Raised when the configuration cannot be used; `problems` has all of them at once."""

    def __init__(self, problems: list[Problem], *, file: str = "", flow: str = "") -> None:
        where = " ".join(part for part in (f"in {file}" if file else "", f"for {flow}" if flow else "") if part)
        listed = "; ".join(str(problem) for problem in problems)
        super().__init__(
            f"The configuration {where + ' ' if where else ''}cannot be used: {listed}.",
            next="Correct the named properties and run again; nothing was written.",
        )
        self.problems = tuple(problems)
        self.file = file
        self.flow = flow


class UsageError(MirrorError):
    """Raised when the command line asks for something that does not exist, such as an unknown flow. `names`: topics that a flow does not
    mirror, where it was asked for them."""

    def __init__(self, message: str, *, next: str = "", names: Collection[str] = ()) -> None:
        super().__init__(message, next=next)
        self.names = tuple(names)


class NothingSelected(MirrorError):
    """Raised when a command was asked for something by name that none of the flows knows: what it did says nothing of it."""

    def __init__(self, command: str, names: Collection[str]) -> None:
        super().__init__(
            f"{command} was asked for {', '.join(names)}, and no flow that could be looked at knows it: nothing was done about it.",
            next="Look at the name: topics and groups are called here as on the source. What a flow mirrors: python -m mirror status.",
        )
        self.names = tuple(names)
