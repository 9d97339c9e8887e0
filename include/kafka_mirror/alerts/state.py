"""What is kept from one check to the next, as one JSON document."""

import base64
import json
import zlib
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from kafka_mirror.alerts import wait_times
from kafka_mirror.alerts.outbox import Outbox
from kafka_mirror.alerts.tracker import Notification, TrackedProblem, Tracking
from kafka_mirror.alerts.wait_times import Memory
from kafka_mirror.formats.documents import from_document, to_document
from kafka_mirror.formats.fields import moment_text

VERSION = 1


@dataclass(frozen=True)
class AlertState:
    """`memory` is None if nothing is remembered: at the first check, or after the document was lost."""

    memory: Memory | None = None
    tracking: Tracking = field(default_factory=dict)
    outbox: Outbox = ()
    time: datetime | None = None
    """When the last check looked."""

    def as_document(self) -> dict[str, Any]:
        """Plain JSON. The memory of partitions is packed: there may be thousands."""
        packed = None
        if self.memory is not None:
            memory = json.dumps(wait_times.as_document(self.memory), separators=(",", ":")).encode()
            packed = base64.b64encode(zlib.compress(memory)).decode("ascii")
        return {
            "v": VERSION,
            "time": moment_text(self.time) if self.time else None,
            "memory": packed,
            "tracking": [tracked.as_document() for tracked in self.tracking.values()],
            "outbox": to_document(self.outbox),
        }


def state_of(document: Any) -> AlertState:
    """What `as_document` gave. Raises ValueError for anything else: whoever asks begins anew then, and what is open is told again."""
    try:
        if document["v"] != VERSION:
            raise ValueError(f"it has version {document['v']}, and {VERSION} is known")
        packed = document["memory"]
        memory = None if packed is None else wait_times.from_document(json.loads(zlib.decompress(base64.b64decode(packed))))
        tracked = [TrackedProblem.from_document(problem) for problem in document["tracking"]]
        return AlertState(
            memory,
            {problem.alert.key: problem for problem in tracked},
            tuple(from_document(Notification, notification) for notification in document["outbox"]),
            datetime.fromisoformat(document["time"]) if document["time"] is not None else None,
        )
    except (KeyError, TypeError, AttributeError, zlib.error) as error:
        raise ValueError(f"it cannot be read ({type(error).__name__}: {error})") from None
