"""Letting go of a client, without waiting for it for ever."""

import logging
import threading
import warnings
from typing import Any, Protocol

CLOSE_SECONDS = 10.0
"""How long a client may take to close. One that lives takes milliseconds."""

log = logging.getLogger(__name__)

# A producer that still asks for its id has no transaction, so there is nothing that could be aborted.
warnings.filterwarnings("ignore", "Producer abort_transaction failed during close: Conflicting init_transactions", RuntimeWarning)


class Closable(Protocol):
    """A consumer or producer."""

    def close(self) -> Any:
        """Ends its threads and connections."""


def close(client: Closable, seconds: float = CLOSE_SECONDS) -> bool:
    """Closes a client; raises what its `close` raises. False: it did not end in time, and is left behind until the process ends.

    Cut connections at the wrong moment keep librdkafka's threads from ending, for ever (confluent-kafka-python, issue 1667; seen here once
    in sixty such copies). Nothing depends on that end: what was committed is committed, and the next client fences a producer.
    """
    failures: list[BaseException] = []

    def closing() -> None:
        try:
            client.close()
        except BaseException as failure:  # noqa: BLE001 — raised again below, in the thread that asked
            failures.append(failure)

    thread = threading.Thread(target=closing, name="closing", daemon=True)
    thread.start()
    thread.join(seconds)
    if failures:
        raise failures[0]
    if thread.is_alive():
        log.warning("A %s did not close within %g s and is left behind until this process ends.", type(client).__name__.lower(), seconds)
    return not thread.is_alive()
