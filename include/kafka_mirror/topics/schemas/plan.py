"""What a target's registry lacks of the source's, and in which order it gets it. Pure.

References come first, then ids in their order. What cannot have the same id on the target is a conflict, and nothing that refers to it is
registered. Nothing is deleted on the target, ever.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

from kafka_mirror.policy import IdleMembers
from kafka_mirror.topics.schemas.model import DEFAULT_CONTEXT, RegistryContent, SchemaVersion, SubjectName, SubjectSettings

IMPORT = "IMPORT"
"""The mode in which a subject takes versions with the ids that are asked for."""


@dataclass(frozen=True)
class Contexts:
    """By which context of the target each context of the source is known; those that are not named keep their names."""

    renamed: Mapping[str, str]

    def of(self, context: str) -> str:
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
        return replace(name, context=self.of(name.context))


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
    ours = {name.context for name, _ in wanted} or {contexts.of(DEFAULT_CONTEXT)}
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
            key = (reference.of(version.name.context), reference.version)
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
                if (other := (reference.of(key[0].context), reference.version)) in wanted and other not in given and other not in stack
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
        if (reference.of(version.name.context), reference.version) in refused:
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
