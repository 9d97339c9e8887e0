"""The ACLs of write fences on which waves of several flows from one source stand.

Each flow has its waves in its own control topic. A DENY that another flow's wave set holds producers off for this one as well: both note
it, and whoever rolls back last removes it. Flows of another configuration are not known here.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from kafka_mirror.config import load_again
from kafka_mirror.cutover.steps.fence_acls import acls_of
from kafka_mirror.cutover.wave.control_notes import WaveStore
from kafka_mirror.cutover.wave.step import FENCE
from kafka_mirror.cutover.wave.stored_waves import StoredWaves
from kafka_mirror.kafka.cluster import Cluster
from kafka_mirror.kafka.model import Acl

if TYPE_CHECKING:
    from kafka_mirror.config import Flow


def claimed_beside(flow: "Flow") -> frozenset[Acl]:
    """The ACLs on which waves of the other flows from this source stand. Raises what their targets answer, and ControlUnreadable."""
    return frozenset(acl for stored in _stored_beside(flow) for acl in stored.claimed_acls())


def noted_beside(flow: "Flow") -> frozenset[Acl]:
    """The ACLs that any wave of the other flows set, one that is being taken back included. Raises as `claimed_beside`."""
    records = [record for stored in _stored_beside(flow) for record in stored.waves.values() if FENCE in record.steps]
    return frozenset(acl for record in records for acl in acls_of(record.steps[FENCE].facts))


def _stored_beside(flow: "Flow") -> Iterator[StoredWaves]:
    for other in flows_beside(flow):
        with Cluster(other.target, other.client("target", "admin"), other.request_seconds) as target:
            yield WaveStore(other, target).read()


def flows_beside(flow: "Flow") -> "list[Flow]":
    """The other flows from the flow's source, as the configuration is now."""
    configuration = load_again(flow)
    return [other for other in configuration.flows if other.source == flow.source and other.target != flow.target]
