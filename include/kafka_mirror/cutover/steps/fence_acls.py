"""The ACLs of a write fence: which ones fence a wave, how they are set and taken back, and which ones let the way back write.

A DENY wins over every ALLOW (StandardAuthorizer and AclAuthorizer alike), so a DENY for `User:*` holds off everybody but super users, the
mirror too. Until the wave is open the mirror writes nothing into these topics, so nothing is lost by that. From then on the way back of a
flow that keeps names does: then the DENY for everybody is replaced by one for each other principal that some ALLOW lets write.

The mirror notes an ACL before it creates it. So a noted ACL may be missing, and one that the mirror set is never unknown; a roll back
removes these and no others.

A run changes ACLs only while the wave is its own, and Kafka knows no condition on an ACL. So it looks whose wave it is directly before it
changes them and directly after (`change_owned_acls`). If another run has the wave by then, a roll back perhaps, what was changed is
put to where the newer run has it.

Each flow has its waves in its own control topic. A DENY that another flow's wave set on the same source holds
producers off for this wave as well: both note it, and the last roll back removes it. Flows of another configuration are not known here.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from kafka_mirror.config import load_again
from kafka_mirror.cutover.wave.control_notes import StoredWaves, WaveStore
from kafka_mirror.cutover.wave.move import Move
from kafka_mirror.cutover.wave.record import Acls, WaveNotes, read_acls, write_acls
from kafka_mirror.cutover.wave.step import FENCE, Finding, stop
from kafka_mirror.errors import (
    AuthorizationRefused,
    MirrorError,
    NoAuthorizer,
    RightMissing,
    TopicWithoutAcls,
    WaveRunElsewhere,
    WayBackDenied,
)
from kafka_mirror.errors.words import first_few
from kafka_mirror.kafka.acls import create_acls, delete_acls, pattern_acls, topic_acls
from kafka_mirror.kafka.cluster import Cluster
from kafka_mirror.kafka.model import EVERYBODY, LITERAL, Acl, PatternAcl
from kafka_mirror.kafka.polling import poll_until

if TYPE_CHECKING:
    from kafka_mirror.config import Flow

WRITES = ("WRITE", "ALL")
"""The operations of ACLs that are about writing to a topic."""


def deny_write(topic: str, principal: str = EVERYBODY) -> Acl:
    """The binding that keeps a principal from writing to a topic, from wherever it comes."""
    return Acl(topic, principal, "*", "WRITE", "DENY")


@dataclass(frozen=True)
class AclChange:
    """What is to be done about ACLs. `ours` are those that the wave's notes have to name before anything is created: what the mirror set
    before, and what it is going to set. Bindings that were there without a mirror are never among them."""

    create: Acls = ()
    remove: Acls = ()
    ours: Acls = ()
    findings: tuple[Finding, ...] = ()
    shared: Acls = ()
    """Those of `ours` that are there, for a wave of another flow set them."""


def plan_exceptions(topics: Iterable[str], there: Collection[PatternAcl], noted: Collection[Acl], principal: str) -> AclChange:
    """Lets one principal write to the topics again, and no other that some ALLOW lets write. Only bindings that are `noted` are removed.

    A topic to which everybody may write by an ALLOW for `User:*`, one whose DENY somebody else set, and one to which the principal could
    not write even without the DENY stay as they are, and are stops.
    """
    create: list[Acl] = []
    remove: list[Acl] = []
    findings: list[Finding] = []
    present = {binding.acl for binding in there if binding.pattern == LITERAL}
    for topic in topics:
        allowed, everybody = find_writers(topic, there), deny_write(topic)
        why = ""
        if any(binding.acl == everybody for binding in there) and everybody not in noted:
            why = "somebody else than this wave denies everybody WRITE"
        elif EVERYBODY in allowed:
            why = "an ALLOW lets everybody write to it"
        elif principal not in allowed:
            why = f"no ALLOW lets {principal} write to it"
        if why:
            findings.append(stop(WayBackDenied(f"{topic}: {why}", principal, topic=topic)))
            continue
        create += [acl for other in sorted(allowed - {principal}) if (acl := deny_write(topic, other)) not in present]
        remove += [acl for acl in noted if acl == everybody and acl in present]
    return AclChange(tuple(create), tuple(remove), tuple(dict.fromkeys((*noted, *create))), tuple(findings))


def find_writers(topic: str, there: Iterable[PatternAcl]) -> frozenset[str]:
    """The principals that some ALLOW lets write to a topic."""
    return frozenset(
        binding.acl.principal
        for binding in there
        if binding.takes(topic) and binding.acl.permission == "ALLOW" and binding.acl.operation in WRITES
    )


def find_claimed_beside(flow: "Flow") -> frozenset[Acl]:
    """The ACLs on which waves of the other flows from this source stand. Raises what their targets answer, and ControlUnreadable."""
    return frozenset(acl for stored in _read_beside(flow) for acl in stored.claimed_acls)


def find_noted_beside(flow: "Flow") -> frozenset[Acl]:
    """The ACLs that any wave of the other flows set, one that is being taken back included. Raises what their targets answer, and
    ControlUnreadable."""
    return frozenset(acl for stored in _read_beside(flow) for record in stored.waves.values() for acl in record.fence_acls)


def _read_beside(flow: "Flow") -> Iterator[StoredWaves]:
    for other in list_flows_beside(flow):
        with Cluster(other.target, other.client("target", "admin"), other.request_seconds) as target:
            yield WaveStore(other, target).read()


def list_flows_beside(flow: "Flow") -> "list[Flow]":
    """The other flows from the flow's source, as the configuration is now."""
    configuration = load_again(flow)
    return [other for other in configuration.flows if other.source == flow.source and other.target != flow.target]


_VISIBLE_WITHIN_SECONDS = 5.0
_RIGHT = "ALTER"
"""On the cluster: Kafka asks for it to create and to delete ACLs; it includes DESCRIBE, by which they are seen."""

Facts = Mapping[str, Any]


def plan_fence(move: Move, noted: Facts) -> AclChange:
    """One DENY a topic, for everybody; a stop where it cannot be done. Changes nothing.

    A topic that has no ACL at all is a stop: either all its producers are super users, and no DENY holds them off, or the cluster has
    allow.everyone.if.no.acl.found=true, and the first ACL of the topic would shut its readers out too, the mirror among them.
    """
    topics, ours, there = move.topics.names, read_acls(noted), _acls(move)
    if isinstance(there, Finding):
        return AclChange(ours=ours, findings=(there,))
    open_to_all = [name for name in topics if not any(binding.takes(name) and binding.acl not in ours for binding in there)]
    if open_to_all:
        return AclChange(ours=ours, findings=(stop(TopicWithoutAcls(first_few(open_to_all))),))
    present = {binding.acl for binding in there if binding.pattern == LITERAL}
    create = tuple(acl for acl in map(deny_write, topics) if acl not in present)
    ours = tuple(dict.fromkeys((*ours, *create)))
    relied_on = {*map(deny_write, topics)} - {*ours}
    shared = tuple(sorted(relied_on & find_noted_beside(move.flow))) if relied_on else ()
    return AclChange(create, ours=(*ours, *shared), shared=shared)


def set_acls(move: Move, notes: WaveNotes, change: AclChange, facts: Facts) -> dict[str, Any]:
    """Notes what the mirror is going to have set, creates and removes, and waits until a broker shows it. Gives the facts with the ACLs
    that are set now.

    Raises what the source answers to one of them; then the notes name more than there is, and the same call mends that.
    """
    source = move.sides.source
    facts = {**facts, "acls": write_acls(change.ours)}
    if facts != notes.read_step(FENCE):
        notes.keep(FENCE, facts)
    # Looked at after the note: from now on the other flow keeps them.
    there = topic_acls(source) or frozenset() if change.shared else frozenset()
    create = (*change.create, *(acl for acl in change.shared if acl not in there))
    changed = (*create, *change.remove)
    if not changed:
        return facts
    with change_owned_acls(notes, source, changed, partial(_find_claimed, move, notes)):
        change_acls(source, create, change.remove)
    return {**facts, "acls": write_acls(acl for acl in change.ours if acl not in change.remove)}


def take_back(move: Move, notes: WaveNotes) -> tuple[Acls, Acls]:
    """Removes the ACLs that are noted, but for those on which waves of other flows stand, and gives both; one that is not there is none the
    worse for it. Raises what the source answers, and what keeps the other flows' waves from being read."""
    source, acls = move.sides.source, read_acls(notes.read_step(FENCE))
    if not acls:
        return (), ()
    claimed = find_claimed_beside(move.flow)
    removed = tuple(acl for acl in acls if acl not in claimed)
    with change_owned_acls(notes, source, acls, partial(_find_claimed, move, notes)):
        change_acls(source, remove=removed)
        claimed |= find_claimed_beside(move.flow)  # one that was noted while they were removed stands again
        change_acls(source, create=tuple(acl for acl in removed if acl in claimed))
    return tuple(acl for acl in removed if acl not in claimed), tuple(acl for acl in acls if acl in claimed)


def _find_claimed(move: Move, notes: WaveNotes) -> frozenset[Acl]:
    """On which ACLs waves of this flow and of the others from its source stand."""
    return notes.read_claimed_acls() | find_claimed_beside(move.flow)


def change_acls(cluster: Cluster, create: Sequence[Acl] = (), remove: Sequence[Acl] = ()) -> None:
    """Creates and removes, and waits until a broker shows it: the answer comes from the controller, which brokers follow. Raises what the
    cluster answers to one of them."""
    for outcomes in (create_acls(cluster, create), delete_acls(cluster, remove)):
        for error in outcomes.values():
            if error is not None:
                raise error

    def is_shown() -> bool:
        there = topic_acls(cluster) or frozenset()
        return there.issuperset(create) and there.isdisjoint(remove)

    if create or remove:
        poll_until(is_shown, _VISIBLE_WITHIN_SECONDS, every=0.05)


@contextmanager
def change_owned_acls(notes: WaveNotes, cluster: Cluster, changed: Acls, find_claimed: Callable[[], Collection[Acl]]) -> Iterator[None]:
    """Changes ACLs for a wave. Raises WaveRunElsewhere if another run has the wave: with what was put back and could not be, if it took the
    wave while they were changed. `find_claimed`: on which ACLs waves stand by then.

    It looks also if the change was interrupted: a process that stood still wakes with its time limit over.
    """
    notes.check()
    try:
        yield
    finally:
        try:
            notes.check()
        except WaveRunElsewhere as elsewhere:
            # Those on which some wave stands are created, and the others removed, whether a broker shows them or not: it follows the
            # controller.
            done, unmended = tuple[str, ...](), tuple[str, ...]()
            try:
                claimed = find_claimed()
                change_acls(cluster, [acl for acl in changed if acl in claimed], [acl for acl in changed if acl not in claimed])
                done = tuple(f"{acl.topic}: {acl} {'created' if acl in claimed else 'removed'}" for acl in changed)
            except MirrorError as error:
                unmended = (error.message,)
            raise WaveRunElsewhere(elsewhere.wave, elsewhere.who, done, unmended) from elsewhere


def plan_way_back(move: Move, noted: Facts, way_back: "Flow") -> AclChange:
    """What lets the way back, the flow in the other direction, write to the topics that keep their names. A topic to which it may write
    already, as a super user does, needs nothing. Changes nothing.

    It logs in as `User:` with the name of its login, which is Kafka's own rule for SASL with PLAIN and SCRAM; a certificate or a token is
    mapped by rules of the brokers' own.
    """
    fence = read_acls(noted)
    topics = [name for name in move.topics.names if move.context.selection.remote(name) == name and deny_write(name) in fence]
    refused: dict[str, MirrorError] = {}
    if topics:
        with Cluster(way_back.target, way_back.client("target", "admin"), way_back.request_seconds) as source:
            source.topics(topics, refused, operation="WRITE")
    held_off = [topic for topic in topics if topic in refused]
    if not held_off:
        return AclChange(ours=fence)
    there, name = _acls(move), way_back.client("target", "producer").get("sasl.username")
    if isinstance(there, Finding):
        return AclChange(ours=fence, findings=(there,))
    if not name:
        who = f"as which principal the way back logs in to {move.sides.source.alias}"
        denied = WayBackDenied(f"Kafka does not tell {who}, and no DENY can make an exception of it", "that principal")
        return AclChange(ours=fence, findings=(stop(denied),))
    return plan_exceptions(held_off, there, fence, f"User:{name}")


def _acls(move: Move) -> frozenset[PatternAcl] | Finding:
    """The source's ACLs of topics, or why they cannot be changed."""
    source = move.sides.source
    instead = ", or stop the producers and fence with --by hand"
    no_right = stop(RightMissing(source.alias, _RIGHT, "the cluster", "setting and seeing ACLs", instead))
    try:
        there = pattern_acls(source)
    except AuthorizationRefused:
        return no_right
    if there is None:
        return stop(NoAuthorizer(source.alias))
    return there if _RIGHT in source.list_operations() else no_right
