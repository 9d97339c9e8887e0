"""Which ACLs fence the source topics of a wave, and which are left of them when the way back writes there. Pure.

A DENY wins over every ALLOW (StandardAuthorizer and AclAuthorizer alike), so a DENY for `User:*` holds off everybody but super users, the
mirror too. Until the wave is open the mirror writes nothing into these topics, so nothing is lost by that. From then on the way back of a
flow that keeps names does: then the DENY for everybody is replaced by one for each other principal that some ALLOW lets write.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from kafka_mirror.cutover.wave.findings import Finding, stop
from kafka_mirror.errors import RightMissing, TopicWithoutAcls, WayBackDenied
from kafka_mirror.errors.words import first_few
from kafka_mirror.formats.documents import columns, from_columns
from kafka_mirror.kafka.model import EVERYBODY, LITERAL, Acl, PatternAcl

_WRITES = ("WRITE", "ALL")

Acls = tuple[Acl, ...]


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


def fence_change(topics: Collection[str], there: Collection[PatternAcl], noted: Collection[Acl]) -> AclChange:
    """One DENY a topic, for everybody. `there` are the source's ACLs, `noted` those that the mirror set, or was about to.

    A topic that has no ACL at all is a stop: either all its producers are super users, and no DENY holds them off, or the cluster has
    allow.everyone.if.no.acl.found=true, and the first ACL of the topic would shut its readers out too, the mirror among them.
    """
    open_to_all = [name for name in topics if not any(binding.takes(name) and binding.acl not in noted for binding in there)]
    if open_to_all:
        return AclChange(ours=tuple(noted), findings=(stop(TopicWithoutAcls(first_few(open_to_all))),))
    present = {binding.acl for binding in there if binding.pattern == LITERAL}
    create = tuple(acl for acl in map(deny_write, topics) if acl not in present)
    return AclChange(create, ours=tuple(dict.fromkeys((*noted, *create))))


def way_back_change(topics: Iterable[str], there: Collection[PatternAcl], noted: Collection[Acl], principal: str) -> AclChange:
    """Lets one principal write to the topics again, and nobody else whom some ALLOW lets write. Only bindings that are `noted` are removed.

    A topic to which everybody may write by an ALLOW for `User:*`, one whose DENY somebody else set, and one to which the principal could
    not write even without the DENY stay as they are, and are stops.
    """
    create: list[Acl] = []
    remove: list[Acl] = []
    findings: list[Finding] = []
    present = {binding.acl for binding in there if binding.pattern == LITERAL}
    for topic in topics:
        allowed = writers(topic, there)
        refusal = _no_way_back(topic, allowed, there, noted, principal)
        if refusal is not None:
            findings.append(refusal)
            continue
        create += [acl for other in sorted(allowed - {principal}) if (acl := deny_write(topic, other)) not in present]
        remove += [acl for acl in noted if acl == deny_write(topic) and acl in present]
    return AclChange(tuple(create), tuple(remove), tuple(dict.fromkeys((*noted, *create))), tuple(findings))


def writers(topic: str, there: Iterable[PatternAcl]) -> frozenset[str]:
    """The principals that some ALLOW lets write to a topic."""
    return frozenset(
        binding.acl.principal
        for binding in there
        if binding.takes(topic) and binding.acl.permission == "ALLOW" and binding.acl.operation in _WRITES
    )


def acl_facts(acls: Iterable[Acl]) -> dict[str, list[Any]]:
    """Bindings as notes have them, one list a field."""
    return columns(Acl._fields, acls)


def acls_of(facts: Mapping[str, Any]) -> Acls:
    """The bindings that a fence's notes name; none if they name none."""
    return from_columns(Acl, facts["acls"]) if "acls" in facts else ()


def no_right(source: str, operation: str) -> Finding:
    """What is said where the mirror may not set ACLs."""
    instead = ", or stop the producers and fence with --by hand"
    return stop(RightMissing(source, operation, "the cluster", "setting and seeing ACLs", instead))


def unknown_principal(source: str) -> Finding:
    """What is said where nobody knows who the way back logs in as."""
    said = f"Kafka does not tell as which principal the way back logs in to {source}, and no DENY can make an exception of it"
    return stop(WayBackDenied(said, "that principal"))


def _no_way_back(
    topic: str, allowed: Collection[str], there: Iterable[PatternAcl], noted: Collection[Acl], principal: str
) -> Finding | None:
    everybody = deny_write(topic)
    why = ""
    if any(binding.acl == everybody for binding in there) and everybody not in noted:
        why = "somebody else than this wave denies everybody WRITE"
    elif EVERYBODY in allowed:
        why = "an ALLOW lets everybody write to it"
    elif principal not in allowed:
        why = f"no ALLOW lets {principal} write to it"
    return stop(WayBackDenied(f"{topic}: {why}", principal, topic=topic)) if why else None
