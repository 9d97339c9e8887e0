"""The ACLs that write fences of a flow's waves set on the source, as the control topic notes them.

They keep producers from topics that move, and say nothing of the remote topics: carried to the target, they would shut the moved producers
out there, and the mirror too.
"""

import json
from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING

from mirror.decisions.in_force import Decisions
from mirror.formats.columns import rows_of
from mirror.formats.control import WAVE, Decision
from mirror.kafka.model import Acl
from mirror.sync.flow_clusters import control_of

if TYPE_CHECKING:
    from mirror.config import Flow
    from mirror.kafka.cluster import Cluster


def without_fences(flow: "Flow", target: "Cluster", acls: Collection[Acl]) -> frozenset[Acl]:
    """The source's ACLs but for those that a write fence set. The control topic is read only where one of them could be one."""
    if not any((acl.permission, acl.operation) == ("DENY", "WRITE") for acl in acls):
        return frozenset(acls)
    control = control_of(flow, target)
    waves = Decisions(control.read()).notes(WAVE).values() if control.exists() else ()
    return frozenset(acls) - fence_acls_of(waves)


def fence_acls_of(waves: Iterable[Decision]) -> frozenset[Acl]:
    """What the fences of these waves set, or were about to."""
    acls: set[Acl] = set()
    for wave in waves:
        fence = json.loads(wave.document or "{}").get("steps", {}).get("fence", {})
        columns = fence.get("facts", {}).get("acls")
        if columns:
            acls |= {Acl(*row) for row in rows_of(Acl._fields, columns)}
    return frozenset(acls)
