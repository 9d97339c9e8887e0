"""Brings the schemas of the source's registry to the target's, with the same ids (`schemas`), and names those of topics for the lineage.

A run may be killed anywhere. All that it goes by is what the two registries hold, so the next one finds out again what is left; a subject
that stands in the mode IMPORT since then gets the source's mode.
"""

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import groupby
from typing import TYPE_CHECKING

from kafka_mirror.errors import ErrorReport, MirrorError, RegistryRefused, SchemaConflict, SchemaIdChanged
from kafka_mirror.formats.documents import columns
from kafka_mirror.ledger.clusters import check_answering_clusters
from kafka_mirror.ledger.step import StepResult
from kafka_mirror.policy.filters import idle_members
from kafka_mirror.policy.java_regex import compile_java
from kafka_mirror.policy.rename import parse_contexts
from kafka_mirror.topics.schemas.plan import DEFAULT_CONTEXT, IMPORT, Contexts, SchemaPlan, SchemaVersion, SettingsChange, SubjectName, plan
from kafka_mirror.topics.schemas.registry import Registry, RegistryAccess

if TYPE_CHECKING:
    from kafka_mirror.config import Flow

log = logging.getLogger(__name__)

_PARTS = ("key", "value")

NO_REGISTRY = "the flow names no schema registries (mirror.schemas.source.url), so there are no schemas to bring"
"""Why a run of a flow without registries has nothing to do."""

_OK = 200
_UNPROCESSABLE = 422
_NO_IMPORT_NEXT = (
    "Ids are kept only where a subject can be put into the mode IMPORT: the registry has to allow it (Confluent's: mode.mutability=true), "
    "and this login too. Then run the flow's schemas again."
)


@dataclass(frozen=True)
class SchemasResult:
    """What there was to do, what was done of it, and what failed."""

    planned: SchemaPlan
    registered: tuple[SchemaVersion, ...] = ()
    changed: tuple[SettingsChange, ...] = ()
    errors: tuple[ErrorReport, ...] = ()


def step(flow: "Flow", dry_run: bool = False) -> StepResult:
    """Runs `schemas` as a step. Raises as `sync_schemas`."""
    if not flow.value("mirror.schemas.source.url"):
        return StepResult({"skipped": NO_REGISTRY}, {}, (f"Skipped: {NO_REGISTRY}.",))
    done = sync_schemas(flow, dry_run)
    planned, versions = done.planned, ("subject", "version", "id", "type")
    registered = planned.register if dry_run else done.registered
    changed = planned.settings if dry_run else done.changed
    totals = {
        "registered": len(registered),
        "present": planned.present,
        "settings": len(changed),
        "extra": len(planned.extra),
        "deleted": len(planned.deleted),
        "conflicts": len(planned.conflicts),
    }
    result = {
        "registered": columns(versions, map(_write_row, registered)),
        "present": planned.present,
        "settings": columns(
            ("subject", "what", "old", "new"), ((str(change.name), change.what, change.there, change.wanted) for change in changed)
        ),
        "extra": columns(versions, map(_write_row, planned.extra)),
        "deleted": columns(versions, map(_write_row, planned.deleted)),
        "conflicts": [str(conflict) for conflict in planned.conflicts],
    }
    return StepResult(result, totals, (*_write_lines(done, dry_run), *([str(planned.idle)] if planned.idle else [])), done.errors)


def sync_schemas(flow: "Flow", dry_run: bool = False) -> SchemasResult:
    """Registers what the target lacks, subject by subject; what fails for one of them is in `errors`. Raises RegistryUnreachable, and
    RegistryRefused where a registry cannot be read; SameCluster."""
    check_answering_clusters(flow)
    with source_registry(flow) as source, target_registry(flow) as target:
        planned = difference(flow, source, target)
        errors = tuple(SchemaConflict(str(conflict.version), conflict.why).report() for conflict in planned.conflicts)
        if dry_run:
            return SchemasResult(planned, errors=errors)
        registered, failed = _register(target, planned.register)
        # A subject that is new has the registry's own settings, and one of an earlier run that was killed may be in the mode IMPORT still.
        again = difference(flow, source, target)
        changed, refused = _change(target, again.settings)
    return SchemasResult(planned, tuple(registered), tuple(changed), (*errors, *failed, *refused))


def are_equal(flow: "Flow") -> bool:
    """Whether the target's registry has all that the source's has. Raises as `difference`."""
    with source_registry(flow) as source, target_registry(flow) as target:
        return difference(flow, source, target).is_equal


def difference(flow: "Flow", source: Registry, target: Registry) -> SchemaPlan:
    """What the target lacks now. Raises RegistryUnreachable and RegistryRefused."""
    contexts = Contexts(parse_contexts(flow.value("mirror.schemas.contexts")))
    members = flow.value("mirror.schemas.subjects")
    pattern = compile_java("|".join(members))
    there, here = source.read_content(), target.read_content()
    names = there.subjects
    planned = plan(
        replace(there, settings=source.read_settings(names)),
        replace(here, settings=target.read_settings(map(contexts.rename, names))),
        contexts,
        lambda name: pattern.matches(name.subject),
    )
    subjects = {name.subject for name in names}
    idle = idle_members("mirror.schemas.subjects", members, "subject", f"{flow.source}'s registry", subjects, lambda _: True)
    return replace(planned, idle=idle)


def source_registry(flow: "Flow") -> Registry:
    """The registry of the flow's source."""
    return Registry(
        RegistryAccess(
            "source",
            tuple(flow.value("mirror.schemas.source.url")),
            flow.value("mirror.schemas.source.basic.auth.user.info"),
            flow.value("mirror.schemas.source.bearer.auth.token"),
            flow.value("mirror.schemas.source.ssl.ca.location"),
            flow.value("mirror.schemas.source.ssl.certificate.location"),
            flow.value("mirror.schemas.source.ssl.key.location"),
            flow.request_seconds,
        )
    )


def target_registry(flow: "Flow") -> Registry:
    """The registry of the flow's target."""
    return Registry(
        RegistryAccess(
            "target",
            tuple(flow.value("mirror.schemas.target.url")),
            flow.value("mirror.schemas.target.basic.auth.user.info"),
            flow.value("mirror.schemas.target.bearer.auth.token"),
            flow.value("mirror.schemas.target.ssl.ca.location"),
            flow.value("mirror.schemas.target.ssl.certificate.location"),
            flow.value("mirror.schemas.target.ssl.key.location"),
            flow.request_seconds,
        )
    )


def _register(target: Registry, versions: Sequence[SchemaVersion]) -> tuple[list[SchemaVersion], list[ErrorReport]]:
    """Registers versions in this order. After the first failure of a subject no more of it is tried, nor of one that refers to it: the next
    run goes on there. A registry that gives ids of its own gets nothing more at all."""
    registered: list[SchemaVersion] = []
    errors: list[ErrorReport] = []
    failed: set[SubjectName] = set()
    for name, of_subject in groupby(versions, key=lambda version: version.name):
        try:
            if name not in failed:
                with _enter_import_mode(target, name):
                    for version in of_subject:
                        if not failed.isdisjoint(reference.resolve(name.context) for reference in version.references):
                            failed.add(name)
                            break
                        given = target.register(version)
                        if given != version.id:
                            raise SchemaIdChanged(str(version), given)
                        log.info("%s is registered.", version)
                        registered.append(version)
        except MirrorError as error:
            failed.add(name)
            errors.append(error.report())
            if isinstance(error, SchemaIdChanged):
                break
    return registered, errors


@contextmanager
def _enter_import_mode(target: Registry, name: SubjectName) -> Iterator[None]:
    """The subject takes ids inside the block. Afterwards it has its own mode again, unless that was IMPORT: then a run was killed."""
    before = target.read_settings([name])[name].own_mode
    try:
        target.set_mode(name, IMPORT)
    except RegistryRefused as refused:
        if refused.status != _UNPROCESSABLE:
            raise
        raise RegistryRefused("target", f"put {name} into the mode IMPORT", refused.status, refused.said, _NO_IMPORT_NEXT) from refused
    now = target.read_settings([name])[name].mode
    if now != IMPORT:  # nothing to take back, and a registry without modes refuses to
        raise RegistryRefused("target", f"put {name} into the mode IMPORT", _OK, f"the mode is {now} all the same", _NO_IMPORT_NEXT)
    try:
        yield
    finally:
        target.set_mode(name, None if before == IMPORT else before)


def _change(target: Registry, changes: Sequence[SettingsChange]) -> tuple[list[SettingsChange], list[ErrorReport]]:
    changed, errors = [], []
    for change in changes:
        try:
            if change.what == "compatibility":
                target.set_compatibility(change.name, change.wanted)
            elif change.there == IMPORT and target.read_settings([change.name])[change.name].own_mode == IMPORT:
                target.set_mode(change.name, None)
                if target.read_settings([change.name])[change.name].mode != change.wanted:
                    target.set_mode(change.name, change.wanted)
            else:
                target.set_mode(change.name, change.wanted)
        except MirrorError as error:
            errors.append(error.report())
        else:
            changed.append(change)
    return changed, errors


def _write_row(version: SchemaVersion) -> tuple[str, int, int, str]:
    return str(version.name), version.version, version.id, version.type


def _write_lines(done: SchemasResult, dry_run: bool) -> Iterator[str]:
    planned = done.planned
    would = "would be " if dry_run else ""
    for version in planned.register if dry_run else done.registered:
        yield f"{version}: {would}registered."
    for change in planned.settings if dry_run else done.changed:
        yield f"{change.name}: its {change.what} {would}set to {change.wanted} (it was {change.there})."
    for version in planned.deleted:
        yield f"{version}: deleted on the source, and stays on the target."
    for version in planned.extra:
        yield f"{version}: the source does not have it."
    if planned.is_equal:
        yield f"Both registries are equal: {planned.present} versions with the same ids."
    else:
        count = len(planned.register if dry_run else done.registered)
        yield f"{planned.present} versions were there, {count} {would or 'were '}registered, {len(planned.conflicts)} cannot be had."


def find_newest_schemas(flow: "Flow", topics: Iterable[str]) -> Mapping[str, tuple[SchemaVersion, ...]]:
    """The newest version of the subjects `<topic>-key` and `<topic>-value` in the source's registry, of topics that have any.

    Nothing for a flow without registries, and, with a warning, where the registry does not answer: no record depends on it.
    """
    if not flow.value("mirror.schemas.source.url"):
        return {}
    subjects = {topic: [SubjectName(DEFAULT_CONTEXT, f"{topic}-{part}") for part in _PARTS] for topic in topics}
    try:
        with source_registry(flow) as registry:
            newest = registry.find_newest(name for names in subjects.values() for name in names)
    except MirrorError as error:
        log.warning("%s: the lineage names no schemas: %s", flow.name, error)
        return {}
    by_topic = {topic: tuple(version for name in names if (version := newest[name]) is not None) for topic, names in subjects.items()}
    return {topic: versions for topic, versions in by_topic.items() if versions}


def translate_to_target(flow: "Flow", versions: Iterable[SchemaVersion]) -> tuple[SchemaVersion, ...]:
    """The schemas as the target's registry is to have them: of the same ids, in the contexts that the flow gives them there."""
    contexts = Contexts(parse_contexts(flow.value("mirror.schemas.contexts")))
    return tuple(map(contexts.move, versions))
