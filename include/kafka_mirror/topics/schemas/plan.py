"""What a schema registry holds, what the target's one lacks of it, and in which order it gets that. Pure.

context   subject          version   id
.         orders-value     1         100001     an id names one schema in its context,
.         orders-value     2         100007     whatever subjects have it
.prod     orders-value     1         100001     another context, another schema

References come first, then ids in their order. A version that cannot have the same id on the target is a conflict, and nothing that refers
to it is registered. Nothing is deleted on the target, ever.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from kafka_mirror.policy import IdleMembers

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

    def resolve(self, context: str) -> SubjectName:
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

    @property
    def subjects(self) -> list[SubjectName]:
        """The subjects that have versions, in order."""
        return sorted({name for name, _ in self.versions})


IMPORT = "IMPORT"
"""The mode in which a subject takes versions with the ids that are asked for."""


@dataclass(frozen=True)
class Contexts:
    """By which context of the target each context of the source is known; those that are not named keep their names."""

    renamed: Mapping[str, str]

    def rename_context(self, context: str) -> str:
        """A context of the source, on the target."""
        return self.renamed.get(context, context)

    def move(self, version: SchemaVersion) -> SchemaVersion:
        """A version as the target is to have it."""
        references = tuple(
            replace(reference, subject=str(self.rename(SubjectName.parse(reference.subject))))
            if reference.subject.startswith(":")
            else reference
            for reference in version.references
        )
        return replace(version, name=self.rename(version.name), references=references)

    def rename(self, name: SubjectName) -> SubjectName:
        """A subject of the source, on the target."""
        return replace(name, context=self.rename_context(name.context))


@dataclass(frozen=True)
class SettingsChange:
    """A subject's compatibility or mode on the target that is not the source's."""

    name: SubjectName
    what: str
    there: str
    wanted: str


@dataclass(frozen=True)
class Conflict:
    """A version that the target cannot have as the source has it, and why."""

    version: SchemaVersion
    why: str

    def __str__(self) -> str:
        return f"{self.version}: {self.why}"


@dataclass(frozen=True)
class SchemaPlan:
    """`register` in this order; `present` are there already; `extra` is on the target alone; `deleted` was deleted on the source, and
    stays on the target."""

    register: tuple[SchemaVersion, ...] = ()
    present: int = 0
    conflicts: tuple[Conflict, ...] = ()
    settings: tuple[SettingsChange, ...] = ()
    extra: tuple[SchemaVersion, ...] = ()
    deleted: tuple[SchemaVersion, ...] = ()
    idle: IdleMembers | None = None
    """The members of `mirror.schemas.subjects` that take none of the source's subjects."""

    @property
    def is_equal(self) -> bool:
        """Whether the target has all that the source has, with the same ids and settings."""
        return not (self.register or self.conflicts or self.settings)


def plan(source: RegistryContent, target: RegistryContent, contexts: Contexts, takes: Callable[[SubjectName], bool]) -> SchemaPlan:
    """What there is to do. `takes` chooses subjects of the source; what their schemas refer to is taken too."""
    chosen = _find_references(source, takes)
    wanted = {(moved.name, moved.version): moved for moved in (contexts.move(source.versions[key]) for key in chosen)}
    by_id = {(name.context, version.id): version for (name, _), version in target.versions.items()}
    register: list[SchemaVersion] = []
    conflicts: list[Conflict] = []
    present = 0
    refused: set[tuple[SubjectName, int]] = set()
    for key in _sort(wanted):
        version, there = wanted[key], target.versions.get(key)
        why = _explain_conflict(version, there, by_id, refused)
        if why:
            conflicts.append(Conflict(version, why))
            refused.add(key)
        elif there is not None:
            present += 1
        else:
            register.append(version)
            by_id[version.name.context, version.id] = version
    ours = {name.context for name, _ in wanted} or {contexts.rename_context(DEFAULT_CONTEXT)}
    others = [version for key, version in sorted(target.versions.items()) if key not in wanted and version.name.context in ours]
    gone = {(contexts.rename(name), version) for name, version in source.deleted}
    return SchemaPlan(
        tuple(register),
        present,
        tuple(conflicts),
        tuple(_compare_settings(source, target, contexts, {name for name, _ in chosen})),
        extra=tuple(version for version in others if (version.name, version.version) not in gone),
        deleted=tuple(version for version in others if (version.name, version.version) in gone),
    )


def _find_references(source: RegistryContent, takes: Callable[[SubjectName], bool]) -> list[tuple[SubjectName, int]]:
    chosen = {key for key in source.versions if takes(key[0])}
    waiting = list(chosen)
    while waiting:
        version = source.versions[waiting.pop()]
        for reference in version.references:
            key = (reference.resolve(version.name.context), reference.version)
            if key in source.versions and key not in chosen:
                chosen.add(key)
                waiting.append(key)
    return sorted(chosen)


def _sort(wanted: Mapping[tuple[SubjectName, int], SchemaVersion]) -> Iterator[tuple[SubjectName, int]]:
    """What is referred to before what refers to it; else by id and version, as they came to be."""
    given: set[tuple[SubjectName, int]] = set()
    for first in sorted(wanted, key=lambda key: (wanted[key].id, wanted[key].version, key)):
        stack = [first]
        while stack:
            key = stack[-1]
            ahead = [
                other
                for reference in wanted[key].references
                if (other := (reference.resolve(key[0].context), reference.version)) in wanted and other not in given and other not in stack
            ]
            if ahead:
                stack.extend(reversed(ahead))
                continue
            stack.pop()
            if key not in given:
                given.add(key)
                yield key


def _explain_conflict(
    version: SchemaVersion,
    there: SchemaVersion | None,
    by_id: Mapping[tuple[str, int], SchemaVersion],
    refused: set[tuple[SubjectName, int]],
) -> str:
    """Why the target cannot have a version as it is; empty if it can."""
    for reference in version.references:
        if (reference.resolve(version.name.context), reference.version) in refused:
            return f"it refers to {reference.subject} version {reference.version}, which cannot be had either"
    holder = by_id.get((version.name.context, version.id))
    if there is not None and there.meaning != version.meaning:
        return f"the target has another schema as this version (id {there.id})"
    if there is not None and there.id != version.id:
        return f"the target has the same schema with the id {there.id}"
    if holder is not None and holder.meaning != version.meaning:
        return f"on the target the id {version.id} is another schema: {holder.name} version {holder.version}"
    return ""


def _compare_settings(
    source: RegistryContent, target: RegistryContent, contexts: Contexts, names: set[SubjectName]
) -> Iterator[SettingsChange]:
    """What differs of the chosen subjects. Of one that the target does not have yet nothing is known, so it is asked for afterwards."""
    for name in sorted(names):
        remote = contexts.rename(name)
        wanted, there = source.settings.get(name, SubjectSettings()), target.settings.get(remote, SubjectSettings())
        if there.compatibility != wanted.compatibility:
            yield SettingsChange(remote, "compatibility", there.compatibility, wanted.compatibility)
        if there.mode != wanted.mode and wanted.mode != IMPORT:
            yield SettingsChange(remote, "mode", there.mode, wanted.mode)
