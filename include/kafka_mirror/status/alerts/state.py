"""What is kept from one check to the next, as one JSON document."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from kafka_mirror.formats.documents import pack, unpack
from kafka_mirror.status.alerts.outbox import Outbox
from kafka_mirror.status.alerts.tracker import Tracking
from kafka_mirror.status.wait_times import Memory


@dataclass(frozen=True)
class AlertState:
    """`memory` is None if nothing is remembered: at the first check, or after the document was lost."""

    memory: Memory | None = None
    tracking: Tracking = field(default_factory=dict)
    outbox: Outbox = ()
    time: datetime | None = None
    """When the last check looked."""

    def as_document(self) -> dict[str, Any]:
        """Plain JSON, packed: there may be thousands of partitions."""
        return {"packed": pack(self)}


def state_of(document: Any) -> AlertState:
    """What `as_document` gave. Raises ValueError for anything else: the caller begins anew then, and what is open is told again."""
    try:
        return unpack(AlertState, document["packed"])
    except (KeyError, TypeError) as error:
        raise ValueError(f"it cannot be read ({type(error).__name__}: {error})") from None
