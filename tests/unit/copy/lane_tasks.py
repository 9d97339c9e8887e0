"""The task of a lane, as the tests give it to the mirror's code."""

from kafka_mirror.config.resolved_flow import ClientSettings
from kafka_mirror.copy.model import LaneTask

SETTINGS = ClientSettings({}, {}, {}, {}, {})
LEDGER = "mm2-ledger.east.internal"


def make_lane_task(clients: ClientSettings = SETTINGS, **changes: object) -> LaneTask:
    """The only lane of a flow from east to west, without ranges; keyword arguments change it."""
    given = {
        "ranges": (),
        "remote_topics": {"orders": "east.orders", "payments": "east.payments"},
        "ledger_topic": LEDGER,
        "transactional_id": "mirror.4.east.1.0",
        "append_to": frozenset(),
        "source_cluster_id": "E",
        "target_cluster_id": "W",
    }
    return LaneTask(source="east", target="west", lane=0, lanes=1, clients=clients, **{**given, **changes})
