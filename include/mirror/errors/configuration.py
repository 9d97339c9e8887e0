"""Errors of the configuration and of the command line."""

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
    """Raised when the command line asks for something that does not exist, such as an unknown flow."""
