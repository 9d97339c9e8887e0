"""ACLs on the target that would refuse producers after a failover: what write fences of earlier waves of the opposite flow left there.

The notes that tell whose they are stand on the source, which is lost. So they are named, and a person removes them.
"""

import shlex
from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace

from kafka_mirror.cutover.wave.findings import Finding, information, warning
from kafka_mirror.errors import AuthorizationRefused, FenceOfEarlierWave
from kafka_mirror.errors.next_step import Command
from kafka_mirror.errors.words import first_few
from kafka_mirror.kafka.acls import topic_acls
from kafka_mirror.kafka.cluster import Cluster
from kafka_mirror.kafka.model import Acl

_WRITES = ("WRITE", "ALL")


def survey_denials(target: Cluster, topics: Collection[str]) -> tuple[Finding, ...]:
    """What the target's ACLs deny producers of these topics. Raises what the target answers, but that the mirror may not see them."""
    try:
        there = topic_acls(target) or frozenset()
    except AuthorizationRefused:
        said = (
            f"Cluster '{target.alias}' does not let the mirror DESCRIBE the cluster, so nobody knows whether ACLs refuse producers there."
        )
        return (information("FenceUnknown", said),)
    return tuple(denial_findings(there, topics, target.alias))


def denial_findings(acls: Iterable[Acl], topics: Collection[str], target: str) -> Iterator[Finding]:
    """A warning for each topic to which an ACL denies writing, with the commands that remove it."""
    denials: dict[str, list[Acl]] = {}
    for acl in sorted(acls):
        if acl.topic in topics and acl.permission == "DENY" and acl.operation in _WRITES:
            denials.setdefault(acl.topic, []).append(acl)
    for topic, of_topic in denials.items():
        removals = [part for acl in of_topic for part in (Command(_removal(acl)), ", ")][:-1]
        error = replace(FenceOfEarlierWave(topic, target, first_few(of_topic)).report(), topic=topic)
        yield warning(error.with_next("Remove them before producers start, unless somebody else set them: ", *removals, "."))


def _removal(acl: Acl) -> str:
    who = f"--deny-principal {shlex.quote(acl.principal)} --deny-host {shlex.quote(acl.host)} --operation {acl.operation}"
    return f"kafka-acls.sh --bootstrap-server <target> --remove --force --topic {acl.topic} {who}"
