"""What a schema registry holds: subjects in contexts, with versions that have ids, and each subject's compatibility and mode.

context   subject          version   id
.         orders-value     1         100001     an id names one schema in its context,
.         orders-value     2         100007     whatever subjects have it
.prod     orders-value     1         100001     another context, another schema
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

DEFAULT_CONTEXT = "."
_QUALIFIED = re.compile(r":(\.[^:]*):(.*)", re.DOTALL)


@dataclass(frozen=True, order=True)
class SubjectName:
    """A subject in its context."""

    context: str
    subject: str

    @classmethod
    def parse(cls, text: str) -> "SubjectName":
        """The subject of a name as the API writes it: `:.context:subject`, or `subject` in the default context."""
        match = _QUALIFIED.fullmatch(text)
        return cls(match[1], match[2]) if match else cls(DEFAULT_CONTEXT, text)

    def __str__(self) -> str:
        return self.subject if self.context == DEFAULT_CONTEXT else f":{self.context}:{self.subject}"


@dataclass(frozen=True)
class Reference:
    """What a schema names of another one: `name` is what its text calls it."""

    name: str
    subject: str
    version: int

    def of(self, context: str) -> SubjectName:
        """The subject, seen from a schema of a context: a name without a context is of the same one."""
        match = SubjectName.parse(self.subject)
        return match if self.subject.startswith(":") else replace(match, context=context)


@dataclass(frozen=True)
class SchemaVersion:
    """One version of a subject."""

    name: SubjectName
    version: int
    id: int
    text: str = field(repr=False)
    type: str = "AVRO"
    references: tuple[Reference, ...] = ()
    contract: str = field(default="", repr=False)
    """Metadata and rules of a data contract, as JSON with sorted keys; empty: there are none."""

    @property
    def meaning(self) -> tuple[str, str, tuple[Reference, ...], str]:
        """What makes two schemas the same: type, text (as JSON, where it is JSON), references and contract. A registry may write a text
        again."""
        try:
            text = json.dumps(json.loads(self.text), separators=(",", ":"))
        except ValueError:
            text = self.text.strip()
        return self.type, text, self.references, self.contract

    def __str__(self) -> str:
        return f"{self.name} version {self.version} (id {self.id})"


@dataclass(frozen=True)
class SubjectSettings:
    """What counts for a subject, whether it is set there or for the whole registry. `own_mode`: what is set for the subject itself."""

    compatibility: str = "BACKWARD"
    mode: str = "READWRITE"
    own_mode: str | None = None


@dataclass(frozen=True)
class RegistryContent:
    """What a registry holds now. `deleted` are versions that were deleted softly: their ids still resolve."""

    versions: Mapping[tuple[SubjectName, int], SchemaVersion] = field(default_factory=dict)
    settings: Mapping[SubjectName, SubjectSettings] = field(default_factory=dict)
    deleted: frozenset[tuple[SubjectName, int]] = frozenset()

    def subjects(self) -> list[SubjectName]:
        """The subjects that have versions, in order."""
        return sorted({name for name, _ in self.versions})
