"""What is kept from one check to the next, as one JSON document."""

import base64
import json
import zlib
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from mirror.alerts import outbox, waiting
from mirror.alerts.model import iso
from mirror.alerts.outbox import Outbox
from mirror.alerts.tracking import Tracked, Tracking
from mirror.alerts.waiting import Memory

VERSION = 1


@dataclass(frozen=True)
class State:
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
            memory = json.dumps(waiting.as_document(self.memory), separators=(",", ":")).encode()
            packed = base64.b64encode(zlib.compress(memory)).decode("ascii")
        return {
            "v": VERSION,
            "time": iso(self.time) if self.time else None,
            "memory": packed,
            "tracking": [each.as_document() for each in self.tracking.values()],
            "outbox": outbox.as_documents(self.outbox),
        }


def from_document(document: Any) -> State:
    """What `as_document` gave. Raises ValueError for anything else: whoever asks begins anew then, and what is open is told again."""
    try:
        if document["v"] != VERSION:
            raise ValueError(f"it has version {document['v']}, and {VERSION} is known")
        packed = document["memory"]
        memory = None if packed is None else waiting.from_document(json.loads(zlib.decompress(base64.b64decode(packed))))
        tracked = [Tracked.from_document(each) for each in document["tracking"]]
        return State(
            memory,
            {each.alert.key: each for each in tracked},
            outbox.from_documents(document["outbox"]),
            datetime.fromisoformat(document["time"]) if document["time"] is not None else None,
        )
    except (KeyError, TypeError, AttributeError, zlib.error) as error:
        raise ValueError(f"it cannot be read ({type(error).__name__}: {error})") from None
