"""Which ACLs the remote topics are to have. Pure: it only compares.

Whoever may read a topic may read its mirror, and nobody may write there but the mirror itself (KIP-382).
"""

from collections.abc import Collection, Iterable

from mirror.errors import RemoteNameUnusable
from mirror.kafka.model import Acl
from mirror.policy import TopicSelection
from mirror.policy.topic_names import unusable


def remote_acls(acls: Iterable[Acl], selection: TopicSelection) -> dict[Acl, str]:
    """The bindings that the remote topics are to have, each with the source topic it comes from.

    As MirrorMaker 2's: ALLOW WRITE is left out and ALLOW ALL becomes ALLOW READ; everything else keeps its words, denials included.
    """
    acls = list(acls)
    left_out = unusable_names(acls, selection)
    return {
        _of_remote(acl, selection): acl.topic for acl in acls if _carried(acl) and selection.takes(acl.topic) and acl.topic not in left_out
    }


def unusable_names(acls: Iterable[Acl], selection: TopicSelection) -> dict[str, RemoteNameUnusable]:
    """The topics whose ACLs cannot be carried, for they have no remote topic. What no topic can be called, such as `*`, is none of them."""
    names = sorted({acl.topic for acl in acls})
    return {name: error for name in names if not unusable(name) and (error := selection.refusal(name)) is not None}


def drifted_acls(there: Iterable[Acl], wanted: Collection[Acl], source_names: Collection[str], selection: TopicSelection) -> list[Acl]:
    """Bindings of remote topics that the source does not have: taken away there, or given on the target alone.

    Those by which somebody may write are not meant for the source's principals in the first place, so they are not listed. Under a policy
    that keeps names only topics that the source has are remote topics.
    """

    def of_this_flow(remote: str) -> bool:
        upstream = selection.upstream(remote)
        return upstream is not None and (upstream != remote or upstream in source_names)

    return sorted(acl for acl in there if acl not in wanted and _carried(acl) and not _all(acl) and of_this_flow(acl.topic))


def _carried(acl: Acl) -> bool:
    return (acl.permission, acl.operation) != ("ALLOW", "WRITE")


def _all(acl: Acl) -> bool:
    return (acl.permission, acl.operation) == ("ALLOW", "ALL")


def _of_remote(acl: Acl, selection: TopicSelection) -> Acl:
    return acl._replace(topic=selection.shown(acl.topic), operation="READ" if _all(acl) else acl.operation)
