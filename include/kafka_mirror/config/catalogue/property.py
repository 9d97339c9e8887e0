"""What the catalogue says of one property."""

from dataclasses import dataclass
from typing import Any

from kafka_mirror.config.catalogue.values import Type, Valid, parse_value


@dataclass(frozen=True)
class Property:
    """One property: defined here once, for parsing, validation and the handbook's table alike."""

    name: str
    type: Type
    default: Any
    """The typed default; None: there is none, or it is taken from `default_from`."""
    doc: str
    group: str
    valid: Valid | None = None
    default_from: str = ""
    """The property whose value stands in if this one is not set."""
    top_level: bool = True
    """Whether the top level of the file reaches it; otherwise only `S->T.<name>` does."""
    effect: str = ""
    """Why the property has no meaning in a batch mirror; empty: it has one."""
    refused: str = ""
    """Why every value but the default is refused; empty: `valid` says what is possible."""

    def parse(self, text: str) -> Any:
        """The typed, valid value of a text. Raises ValueError that says what is allowed."""
        value = parse_value(self.type, text)
        complaint = self.valid.check(value) if self.valid else None
        if self.refused and value != self.default:
            complaint = self.refused
        if complaint:
            raise ValueError(complaint)
        return value
