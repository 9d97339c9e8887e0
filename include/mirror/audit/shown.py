"""A record as a report shows it."""

from mirror.audit.model import Shown
from mirror.audit.record import TIMESTAMP_TYPES, Record

LONGEST = 200
"""How many characters of a key, a value or all headers are shown."""


def shown(record: Record, payload: bool) -> Shown:
    """What people see of a record; its value and headers only with `payload`."""
    headers = ", ".join(f"{name}={text(value)}" for name, value in record.headers)
    return Shown(
        offset=record.offset,
        timestamp=record.timestamp,
        timestamp_type=TIMESTAMP_TYPES.get(record.timestamp_type, str(record.timestamp_type)),
        key=text(record.key),
        key_bytes=None if record.key is None else len(record.key),
        value_bytes=None if record.value is None else len(record.value),
        headers=len(record.headers),
        headers_bytes=sum(len(name.encode()) + len(value or b"") for name, value in record.headers),
        value=text(record.value) if payload else None,
        header_text=_cut(headers) if payload else None,
    )


def text(data: bytes | None) -> str | None:
    """Bytes as text where they are text, else in hexadecimal; cut where they are long."""
    if data is None:
        return None
    try:
        found = data.decode()
    except UnicodeDecodeError:
        found = ""
    return _cut(found) if found.isprintable() and (found or not data) else _cut("0x" + data[:LONGEST].hex())


def _cut(found: str) -> str:
    return found if len(found) <= LONGEST else f"{found[:LONGEST]}…"
