"""Sets the ACLs of a write fence on the source, and takes back what it set: nothing else, and again after each kill.

Whatever is going to be created is noted first. So an ACL that is noted may be missing, and one that the mirror set is never unknown.
"""

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from kafka_mirror.cutover.steps.fence_acls import (
    AclChange,
    Acls,
    acl_facts,
    acls_of,
    deny_write,
    fence_change,
    no_right,
    unknown_principal,
    way_back_change,
)
from kafka_mirror.cutover.steps.shared_fence import claimed_beside, noted_beside
from kafka_mirror.cutover.wave.findings import Finding, stop
from kafka_mirror.cutover.wave.move import Move
from kafka_mirror.cutover.wave.ownership import Mended, owning
from kafka_mirror.cutover.wave.step import FENCE, WaveNotes
from kafka_mirror.errors import AuthorizationRefused, MirrorError, NoAuthorizer
from kafka_mirror.kafka.acls import create_acls, delete_acls, pattern_acls, topic_acls
from kafka_mirror.kafka.cluster import Cluster
from kafka_mirror.kafka.model import Acl, PatternAcl
from kafka_mirror.kafka.polling import until

if TYPE_CHECKING:
    from kafka_mirror.config import Flow

_VISIBLE_WITHIN_SECONDS = 5.0
_RIGHT = "ALTER"
"""On the cluster: Kafka asks for it to create and to delete ACLs; it includes DESCRIBE, by which they are seen."""

Facts = Mapping[str, Any]


def plan_fence(move: Move, noted: Facts) -> AclChange:
    """What fencing the wave's topics takes; a stop where it cannot be done. Changes nothing."""
    there = _acls(move)
    if not isinstance(there, frozenset):
        return AclChange(ours=acls_of(noted), findings=(there,))
    change = fence_change(move.topics.names, there, acls_of(noted))
    relied_on = {deny_write(name) for name in move.topics.names} - {*change.ours}
    if change.findings or not relied_on:
        return change
    shared = tuple(sorted(relied_on & noted_beside(move.flow)))
    return replace(change, ours=(*change.ours, *shared), shared=shared)


def set_acls(move: Move, notes: WaveNotes, change: AclChange, facts: Facts) -> dict[str, Any]:
    """Notes what the mirror is going to have set, creates and removes, and waits until a broker shows it. Gives the facts with the ACLs
    that are set now.

    Raises what the source answers to one of them; then the notes name more than there is, and the same call mends that.
    """
    source = move.sides.source
    facts = {**facts, "acls": acl_facts(change.ours)}
    if facts != notes.of_step(FENCE):
        notes.keep(FENCE, facts)
    # Looked at behind the note: from now on the other flow keeps them.
    there = topic_acls(source) or frozenset() if change.shared else frozenset()
    create = (*change.create, *(acl for acl in change.shared if acl not in there))
    changed = (*create, *change.remove)
    if not changed:
        return facts
    with owning(notes, lambda: settle_acls(source, changed, _claimed(move, notes))):
        change_acls(source, create, change.remove)
    return {**facts, "acls": acl_facts(acl for acl in change.ours if acl not in change.remove)}


def take_back(move: Move, notes: WaveNotes) -> tuple[Acls, Acls]:
    """Removes the ACLs that are noted, but for those on which waves of other flows stand, and gives both; one that is not there is none the
    worse for it. Raises what the source answers, and what keeps the other flows' waves from being read."""
    source, acls = move.sides.source, acls_of(notes.of_step(FENCE))
    if not acls:
        return (), ()
    claimed = claimed_beside(move.flow)
    removed = tuple(acl for acl in acls if acl not in claimed)
    with owning(notes, lambda: settle_acls(source, acls, _claimed(move, notes))):
        change_acls(source, remove=removed)
        claimed |= claimed_beside(move.flow)  # one that was noted while they were removed stands again
        change_acls(source, create=tuple(acl for acl in removed if acl in claimed))
    return tuple(acl for acl in removed if acl not in claimed), tuple(acl for acl in acls if acl in claimed)


def _claimed(move: Move, notes: WaveNotes) -> frozenset[Acl]:
    """On which ACLs waves of this flow and of the others from its source stand."""
    return notes.claimed_acls() | claimed_beside(move.flow)


def change_acls(cluster: Cluster, create: Acls = (), remove: Acls = ()) -> None:
    """Creates and removes, and waits until a broker shows it: the answer comes from the controller, which brokers follow. Raises what the
    cluster answers to one of them."""
    for outcomes in (create_acls(cluster, create), delete_acls(cluster, remove)):
        for error in outcomes.values():
            if error is not None:
                raise error

    def is_shown() -> bool:
        """Whether a broker does."""
        there = topic_acls(cluster) or frozenset()
        return there.issuperset(create) and there.isdisjoint(remove)

    if create or remove:
        until(is_shown, _VISIBLE_WITHIN_SECONDS, every=0.05)


def settle_acls(cluster: Cluster, changed: Acls, claimed: Collection[Acl]) -> Mended:
    """Of ACLs that a run changed whose wave is another's by now, creates those that some wave stands on, and removes the others, whether
    a broker shows them or not: it follows the controller. Raises what the cluster answers."""
    create = tuple(acl for acl in changed if acl in claimed)
    remove = tuple(acl for acl in changed if acl not in claimed)
    change_acls(cluster, create, remove)
    return Mended(tuple(f"{acl.topic}: {acl} {done}" for acls, done in ((create, "created"), (remove, "removed")) for acl in acls))


def plan_way_back(move: Move, noted: Facts, way_back: "Flow | None", principal: str | None) -> AclChange:
    """What lets the way back write to the topics that keep their names. A topic to which it may write already, as a super user does, needs
    nothing. Changes nothing.

    `way_back`: the flow in the other direction, None: it logs in to the source as this one does. `principal`: as whom; None: `User:` with
    the name of its login, which is Kafka's own rule for SASL.
    """
    fence = acls_of(noted)
    topics = [name for name in move.topics.names if move.context.selection.remote(name) == name and deny_write(name) in fence]
    if not topics:
        return AclChange(ours=fence)
    settings = way_back.client("target", "producer") if way_back is not None else move.flow.client("source", "admin")
    held_off = _held_off(move, way_back, topics)
    if not held_off:
        return AclChange(ours=fence)
    there = _acls(move)
    if not isinstance(there, frozenset):
        return AclChange(ours=fence, findings=(there,))
    principal = principal or _principal(settings)
    if principal is None:
        return AclChange(ours=fence, findings=(unknown_principal(move.sides.source.alias),))
    return way_back_change(held_off, there, fence, principal)


def _held_off(move: Move, way_back: "Flow | None", topics: Collection[str]) -> list[str]:
    """Those of the topics to which the way back may not write."""
    refused: dict[str, MirrorError] = {}
    if way_back is None:
        move.sides.source.topics(topics, refused, operation="WRITE")
    else:
        with Cluster(way_back.target, way_back.client("target", "admin"), way_back.request_seconds) as source:
            source.topics(topics, refused, operation="WRITE")
    return [name for name in topics if name in refused]


def _principal(settings: Mapping[str, Any]) -> str | None:
    """Whom Kafka takes the client for: PLAIN and SCRAM name it, a certificate or a token is mapped by rules of the brokers' own."""
    name = settings.get("sasl.username")
    return f"User:{name}" if name else None


def _acls(move: Move) -> frozenset[PatternAcl] | Finding:
    """The source's ACLs of topics, or why they cannot be changed."""
    source = move.sides.source
    try:
        there = pattern_acls(source)
    except AuthorizationRefused:
        return no_right(source.alias, _RIGHT)
    if there is None:
        return stop(NoAuthorizer(source.alias))
    return there if _RIGHT in source.operations() else no_right(source.alias, _RIGHT)
