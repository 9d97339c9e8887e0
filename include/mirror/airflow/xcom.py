"""What stands in XCom: readable columns while they are small, packed columns when they are not, totals alone when even those are too large.

Secrets never do: XCom is neither masked nor encrypted.
"""

import base64
import json
import zlib
from collections.abc import Mapping
from typing import Any

PLAIN_BYTES = 48_000
"""The largest document that stands in XCom as it is."""

PACKED_BYTES = 1_000_000
"""The largest packed document; past it every reader has to find out for itself, which is possible: the ledger is the truth."""

_PACKED = "zlib+base64"


def to_xcom(document: Mapping[str, Any], totals: Mapping[str, Any]) -> dict[str, Any]:
    """The document in the form that its size allows. `totals` stand beside it where the columns cannot be read by eye."""
    text = json.dumps(document, separators=(",", ":")).encode()
    if len(text) <= PLAIN_BYTES:
        return dict(document)
    packed = base64.b64encode(zlib.compress(text)).decode("ascii")
    return {"totals": dict(totals), _PACKED: packed} if len(packed) <= PACKED_BYTES else {"totals": dict(totals)}


def from_xcom(value: Mapping[str, Any]) -> dict[str, Any] | None:
    """The document again; None if only its totals were kept."""
    if _PACKED in value:
        document: dict[str, Any] = json.loads(zlib.decompress(base64.b64decode(value[_PACKED])))
        return document
    return None if "totals" in value else dict(value)


def is_plain(value: Mapping[str, Any]) -> bool:
    """Whether the document stands there as it is."""
    return "totals" not in value
