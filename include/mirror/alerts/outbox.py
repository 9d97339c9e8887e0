"""What is to be sent and has not arrived yet. It is kept before it is sent, so that nothing is lost: at worst it arrives twice."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from mirror.alerts.model import Alert
from mirror.alerts.tracking import Telling
from mirror.errors import MirrorError

Outbox = tuple[Telling, ...]
"""In the order in which each connection gets them."""


def with_more(outbox: Outbox, telling: Iterable[Telling], connections: Sequence[str]) -> Outbox:
    """The outbox with these behind. What is for connections that are no longer configured goes; and of a problem that came and went
    several times while a connection did not take anything, the newest time alone is kept."""
    kept = [each for each in outbox if each.connection in connections]
    for each in telling:
        if not each.cleared:
            kept = _without_former(kept, each)
        kept.append(each)
    return tuple(kept)


def _without_former(outbox: list[Telling], new: Telling) -> list[Telling]:
    """Without the beginning of the same problem that did not arrive, and its end."""
    same = [each for each in outbox if (each.connection, each.alert.key) == (new.connection, new.alert.key)]
    began = next((place for place, each in enumerate(same) if not each.cleared), len(same))
    former = same[began:]
    return [each for each in outbox if not any(each is one for one in former)]


def deliver(outbox: Outbox, send: Callable[[Telling], None]) -> tuple[Outbox, dict[str, MirrorError]]:
    """Sends each in its turn; gives what is left and why, by connection. A connection that fails is not asked again this time."""
    left: list[Telling] = []
    failed: dict[str, MirrorError] = {}
    for each in outbox:
        if each.connection in failed:
            left.append(each)
            continue
        try:
            send(each)
        except MirrorError as error:
            failed[each.connection] = error
            left.append(each)
    return tuple(left), failed


def as_documents(outbox: Outbox) -> list[dict[str, Any]]:
    """Plain JSON."""
    return [{"connection": each.connection, "alert": each.alert.as_document(), "cleared": each.cleared} for each in outbox]


def from_documents(documents: Iterable[Mapping[str, Any]]) -> Outbox:
    """What `as_documents` gave. Raises KeyError, TypeError or ValueError for others."""
    return tuple(Telling(each["connection"], Alert.from_document(each["alert"]), bool(each["cleared"])) for each in documents)
