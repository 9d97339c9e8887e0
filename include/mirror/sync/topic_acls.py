"""Gives the remote topics of a flow the ACLs of their source topics, but for the right to write (`topic-acls`)."""

import time
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from mirror.errors import AuthorizationRefused, ErrorReport, MirrorError
from mirror.kafka.acls import create_acls, topic_acls
from mirror.kafka.connect import clusters
from mirror.kafka.model import Acl
from mirror.policy import topic_selection
from mirror.sync.acl_changes import drifted_acls, remote_acls, unusable_names
from mirror.sync.step import Done

if TYPE_CHECKING:
    from mirror.config import Flow
    from mirror.kafka.cluster import Cluster

_VISIBLE_WITHIN_SECONDS = 5.0
Seen = Callable[[], frozenset[Acl] | None]
"""Gives the target's bindings as they are now."""


@dataclass(frozen=True)
class AclsSynced:
    """What was done on the target (or would be, in a dry run)."""

    created: tuple[Acl, ...] = ()
    present: int = 0
    """How many of the wanted bindings were there."""
    drift: tuple[Acl, ...] = ()
    """Bindings of remote topics that the source does not have. They are only reported: nothing is ever deleted."""
    skipped: str = ""
    """Why there was nothing to do at all."""
    notice: str = ""
    errors: tuple[ErrorReport, ...] = ()


def step(flow: "Flow", dry_run: bool = False) -> Done:
    """`topic-acls` as a step. Raises as `sync_topic_acls`."""
    with clusters(flow) as (source, target):
        done = sync_topic_acls(flow, source, target, dry_run)
    result = {"created": _columns(done.created), "present": done.present, "drift": _columns(done.drift), "skipped": done.skipped}
    totals = {**result, "created": len(done.created), "drift": len(done.drift)}
    return Done(result, totals, tuple(_lines(done, dry_run)), done.errors)


def sync_topic_acls(flow: "Flow", source: "Cluster", target: "Cluster", dry_run: bool = False) -> AclsSynced:
    """Creates the bindings that the remote topics lack; what concerns one of them is in `errors` and does not stop the others.

    Raises what concerns a whole cluster: AuthorizationRefused without the right to DESCRIBE the source's cluster or to ALTER the target's.
    """
    selection = topic_selection(flow)
    seen = partial(topic_acls, target, flow.client("target", "admin"))
    found = topic_acls(source, flow.client("source", "admin"))
    if found is None:
        return AclsSynced(skipped=f"the source '{source.alias}' has no authorizer, so its topics have no ACLs")
    there, notice = _of_target(target, seen)
    if there is None:
        return AclsSynced(skipped=f"the target '{target.alias}' has no authorizer, so ACLs would mean nothing there")
    wanted = remote_acls(found, selection)
    missing = sorted(set(wanted) - there)
    outcomes = {} if dry_run else _created(target, missing)
    created = tuple(acl for acl in missing if outcomes.get(acl) is None)
    if created and not dry_run and not notice:
        _await_visible(seen, created)
    return AclsSynced(
        created=created,
        present=len(wanted) - len(missing),
        drift=tuple(drifted_acls(there, wanted, source.names() if there - set(wanted) else (), selection)),
        notice=notice,
        errors=(
            *(replace(error.report(), topic=wanted[acl]) for acl, error in outcomes.items() if error is not None),
            *(error.report() for error in unusable_names(found, selection).values()),
        ),
    )


def _of_target(target: "Cluster", seen: Seen) -> tuple[frozenset[Acl] | None, str]:
    """The target's bindings. Who may not see them takes none to be there: to create one again changes nothing."""
    try:
        return seen(), ""
    except AuthorizationRefused:
        return frozenset(), (
            f"The target '{target.alias}' does not let the mirror see its ACLs (DESCRIBE on the cluster). So all of them are created each "
            "time, which does no harm, and what the source no longer has is not noticed."
        )


def _created(target: "Cluster", acls: Collection[Acl]) -> Mapping[Acl, MirrorError | None]:
    """What came of each binding. A right that we lack is lacking for all of them, and said once."""
    outcomes = create_acls(target, acls)
    refused = [error for error in outcomes.values() if isinstance(error, AuthorizationRefused)]
    if refused:
        raise refused[0]
    return outcomes


def _await_visible(seen: Seen, acls: Collection[Acl]) -> None:
    """Waits until a broker shows what was created: the answer comes from the controller, which brokers follow."""
    deadline = time.monotonic() + _VISIBLE_WITHIN_SECONDS
    while not set(acls) <= (seen() or set()) and time.monotonic() < deadline:
        time.sleep(0.05)


def _columns(acls: Collection[Acl]) -> dict[str, Any]:
    return {name: [getattr(acl, name) for acl in acls] for name in Acl._fields}


def _lines(done: AclsSynced, dry_run: bool) -> Iterator[str]:
    if done.skipped:
        yield f"Skipped: {done.skipped}."
        return
    if done.notice:
        yield done.notice
    for acl in done.created:
        yield f"{acl.topic}: {acl} {'would be ' if dry_run else ''}created"
    for acl in done.drift:
        yield f"{acl.topic}: {acl} is not on the source; it stays as it is"
    if not done.created:
        yield f"Nothing to create; {done.present} ACLs are as they should be."
