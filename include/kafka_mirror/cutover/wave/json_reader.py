"""Reads a JSON object field by field, and names the place of what is not as it has to be. Pure."""

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from kafka_mirror.formats.fields import count, string


@dataclass(frozen=True)
class JsonObject:
    """An object and its place in the document: `steps.fence`. Every method raises ValueError that begins with the place."""

    fields: Mapping[str, Any]
    place: str = ""

    def number(self, name: str) -> int:
        """A whole number from 0 up."""
        return count({self._at(name): self._field(name)}, self._at(name))

    def number_or_none(self, name: str) -> int | None:
        """The same, or null."""
        return None if self._field(name) is None else self.number(name)

    def string(self, name: str) -> str:
        """A string that can be written again."""
        return string({self._at(name): self._field(name)}, self._at(name))

    def word(self, name: str, words: Collection[str]) -> str:
        """One of these words."""
        word = self.string(name)
        if word not in words:
            raise ValueError(f"{self._at(name)} is {word!r}, not one of {', '.join(words)}")
        return word

    def texts(self, name: str) -> tuple[str, ...]:
        """A list of strings."""
        items = self._field(name)
        if not isinstance(items, list):
            raise ValueError(f"{self._at(name)} is no list")
        members = JsonObject({str(place): item for place, item in enumerate(items)}, self._at(name))
        return tuple(members.string(place) for place in members.fields)

    def object(self, name: str) -> "JsonObject":
        """An object within."""
        fields = self._field(name)
        if not isinstance(fields, dict):
            raise ValueError(f"{self._at(name)} is no object")
        return JsonObject(fields, self._at(name))

    def only(self, names: Collection[str]) -> None:
        """Refuses a field of another name."""
        for name in self.fields:
            if name not in names:
                raise ValueError(f"{self._at(name)} is not known")

    def _field(self, name: str) -> Any:
        if name not in self.fields:
            raise ValueError(f"{self._at(name)} is missing")
        return self.fields[name]

    def _at(self, name: str) -> str:
        return f"{self.place}.{name}" if self.place else name


def read_object(document: str, version: int) -> JsonObject:
    """The object of a document whose field `v` is this version. Raises ValueError."""
    fields = json.loads(document)
    if not isinstance(fields, dict):
        raise ValueError("it is no object")
    whole = JsonObject(fields)
    if whole.number("v") != version:
        raise ValueError(f"v is {fields['v']}, and this mirror knows version {version}")
    return whole
