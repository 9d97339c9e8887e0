"""Gives the remote topics of a flow the ACLs of their source topics, but for all that is about writing (`topic-acls`).

A principal that may read a topic may read its mirror, and only the mirror itself may write there (KIP-382). So neither an ALLOW nor a DENY
of writing is carried: a denial says who must not write to the source, as a write fence's does, and on the target it would stop the mirror.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from kafka_mirror.errors import AuthorizationRefused, ErrorReport, MirrorError
from kafka_mirror.errors.words import count_text
from kafka_mirror.formats.documents import columns
from kafka_mirror.kafka.acls import create_acls, pattern_acls, topic_acls
from kafka_mirror.kafka.model import LITERAL, PREFIXED, Acl, PatternAcl
from kafka_mirror.kafka.polling import poll_until
from kafka_mirror.ledger.clusters import clusters_of_step, current_selection, renamed_topics
from kafka_mirror.ledger.step import StepResult
from kafka_mirror.policy import TopicSelection
from kafka_mirror.policy.selection import unusable

if TYPE_CHECKING:
    from kafka_mirror.config import Flow
    from kafka_mirror.kafka.cluster import Cluster


_VISIBLE_WITHIN_SECONDS = 5.0
_WITHOUT_WRITING = ("READ", "CREATE", "DELETE", "ALTER", "DESCRIBE_CONFIGS", "ALTER_CONFIGS")
_CARRIED: Mapping[tuple[str, str], tuple[str, ...]] = {
    ("ALLOW", "WRITE"): (),
    ("ALLOW", "ALL"): ("READ",),
    ("DENY", "WRITE"): (),
    ("DENY", "DESCRIBE"): ("READ",),  # who may not describe a topic can neither read it nor write to it
    ("DENY", "ALL"): _WITHOUT_WRITING,
}
"""Permission and operation on the source -> the operations on the target; what is not here keeps its operation."""
Seen = Callable[[], frozenset[Acl] | None]
"""Gives the target's bindings as they are now."""


def remote_acls(acls: Iterable[PatternAcl], selection: TopicSelection) -> dict[Acl, str]:
    """The bindings that the remote topics are to have, each with the source topic it comes from.

    As MirrorMaker 2's (of those of single topics ALLOW WRITE is left out and ALLOW ALL becomes ALLOW READ) but for denials: none keeps the
    mirror from writing, and those of many topics are carried to each topic to which an ALLOW is.
    """
    acls = list(acls)
    of_topics = [binding.acl for binding in acls if binding.pattern == LITERAL]
    left_out = find_unusable_names(acls, selection)
    chosen = [acl for acl in of_topics if selection.takes(acl.topic) and acl.topic not in left_out]
    allowed = {acl.topic for acl in chosen if acl.permission == "ALLOW" and acl.operation != "WRITE"}
    denied = [
        binding.acl._replace(topic=topic)
        for binding in acls
        if binding.is_of_many and binding.acl.permission == "DENY"
        for topic in allowed
        if binding.takes(topic)
    ]
    return {
        acl._replace(topic=selection.display_name(acl.topic), operation=operation): acl.topic
        for acl in (*chosen, *denied)
        for operation in _CARRIED.get((acl.permission, acl.operation), (acl.operation,))
    }


def find_unusable_names(acls: Iterable[PatternAcl], selection: TopicSelection) -> dict[str, MirrorError]:
    """The topics whose ACLs cannot be carried, for they have no remote topic. What no topic can be called, such as `*`, is none of them."""
    names = sorted({binding.acl.topic for binding in acls if binding.pattern == LITERAL})
    return {name: error for name in names if not unusable(name) and (error := selection.refusal(name)) is not None}


def count_prefixed(acls: Iterable[PatternAcl], topics: Iterable[str]) -> int:
    """How many ALLOWs by a prefix are about any of these topics: they are not carried."""
    prefixes = Counter(binding.acl.topic for binding in acls if binding.pattern == PREFIXED and binding.acl.permission == "ALLOW")
    names = sorted(topics)
    places = {prefix: bisect_left(names, prefix) for prefix in prefixes}  # of the first name that may begin so
    return sum(prefixes[prefix] for prefix, place in places.items() if any(name.startswith(prefix) for name in names[place : place + 1]))


def find_drifted_acls(there: Iterable[Acl], wanted: Collection[Acl], source_names: Collection[str], selection: TopicSelection) -> list[Acl]:
    """Bindings of remote topics that do not come from the source: taken away there, or set on the target alone.

    Those by which somebody may write are not meant for the source's principals in the first place, so they are not listed. Under a policy
    that keeps names only topics that the source has are remote topics.
    """

    def is_drift(acl: Acl) -> bool:
        allows_writes = acl.permission == "ALLOW" and acl.operation in ("WRITE", "ALL")
        upstream = selection.upstream(acl.topic)
        return not allows_writes and upstream is not None and (upstream != acl.topic or upstream in source_names)

    return sorted(acl for acl in there if acl not in wanted and is_drift(acl))


@dataclass(frozen=True)
class TopicAclsResult:
    """What was done on the target (or would be, in a dry run)."""

    created: tuple[Acl, ...] = ()
    present: int = 0
    """How many of the wanted bindings were there."""
    drift: tuple[Acl, ...] = ()
    """Bindings of remote topics that do not come from the source. They are only reported: nothing is ever deleted."""
    prefixed: int = 0
    """How many ALLOWs of the source by a prefix are about mirrored topics, and left out: only those of single topics are carried."""
    skipped: str = ""
    """Why there was nothing to do at all."""
    notice: str = ""
    errors: tuple[ErrorReport, ...] = ()


def step(flow: "Flow", dry_run: bool = False) -> StepResult:
    """`topic-acls` as a step. Raises as `sync_topic_acls`."""
    with clusters_of_step(flow) as (source, target):
        done = sync_topic_acls(flow, source, target, dry_run)
    result = {
        "created": columns(Acl._fields, done.created),
        "present": done.present,
        "drift": columns(Acl._fields, done.drift),
        "prefixed": done.prefixed,
        "skipped": done.skipped,
    }
    totals = {**result, "created": len(done.created), "drift": len(done.drift)}
    return StepResult(result, totals, tuple(_write_lines(done, dry_run)), done.errors)


def sync_topic_acls(flow: "Flow", source: "Cluster", target: "Cluster", dry_run: bool = False) -> TopicAclsResult:
    """Creates the bindings that the remote topics lack; what concerns one of them is in `errors` and does not stop the others.

    Raises what concerns a whole cluster: AuthorizationRefused without the right to DESCRIBE the source's cluster or to ALTER the target's.
    """
    selection = current_selection(flow, target)
    read_acls = partial(topic_acls, target)
    source_acls = pattern_acls(source)
    if source_acls is None:
        return TopicAclsResult(skipped=f"the source '{source.alias}' has no authorizer, so its topics have no ACLs")
    there, notice = _read_target(target, read_acls)
    if there is None:
        return TopicAclsResult(skipped=f"the target '{target.alias}' has no authorizer, so ACLs would mean nothing there")
    wanted, names = remote_acls(source_acls, selection), source.names()
    renamed = renamed_topics(flow, target, {wanted[acl]: acl.topic for acl in set(wanted) - there})
    missing = sorted(acl for acl in set(wanted) - there if wanted[acl] not in renamed)
    outcomes = {} if dry_run else _create(target, missing)
    created = tuple(acl for acl in missing if outcomes.get(acl) is None)
    if created and not dry_run and not notice:
        # The answer came from the controller, which brokers follow.
        poll_until(lambda: set(created) <= (read_acls() or set()), _VISIBLE_WITHIN_SECONDS, every=0.05)
    return TopicAclsResult(
        created=created,
        present=len(there & set(wanted)),
        drift=tuple(find_drifted_acls(there, wanted, names, selection)),
        prefixed=count_prefixed(source_acls, filter(selection.should_replicate, names)),
        notice=notice,
        errors=(
            *(replace(error.report(), topic=wanted[acl]) for acl, error in outcomes.items() if error is not None),
            *(error.report() for error in (*find_unusable_names(source_acls, selection).values(), *renamed.values())),
        ),
    )


def _read_target(target: "Cluster", read_acls: Seen) -> tuple[frozenset[Acl] | None, str]:
    """The target's bindings. Who may not see them takes none to be there: to create one again changes nothing."""
    try:
        return read_acls(), ""
    except AuthorizationRefused:
        return frozenset(), (
            f"The target '{target.alias}' does not let the mirror see its ACLs (DESCRIBE on the cluster). So all of them are created each "
            "time, which does no harm, and what the source no longer has is not noticed."
        )


def _create(target: "Cluster", acls: Collection[Acl]) -> Mapping[Acl, MirrorError | None]:
    """What came of each binding. A right that we lack is lacking for all of them, and said once."""
    outcomes = create_acls(target, acls)
    refused = [error for error in outcomes.values() if isinstance(error, AuthorizationRefused)]
    if refused:
        raise refused[0]
    return outcomes


def _write_lines(done: TopicAclsResult, dry_run: bool) -> Iterator[str]:
    if done.skipped:
        yield f"Skipped: {done.skipped}."
        return
    if done.notice:
        yield done.notice
    for acl in done.created:
        yield f"{acl.topic}: {acl} {'would be ' if dry_run else ''}created"
    for acl in done.drift:
        yield f"{acl.topic}: {acl} does not come from the source; it stays as it is"
    if done.prefixed:
        count = count_text(done.prefixed, "ACL")
        yield f"Left out: {count} of the source by a prefix (PREFIXED) about mirrored topics; only those of single topics are carried."
    if not done.created:
        yield f"Nothing to create; {done.present} ACLs are as they should be."
