"""Waits in Airflow's triggerer until everything up to a time is on the target."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any

from airflow.triggers.base import BaseTrigger, TriggerEvent

from kafka_mirror.airflow.flow_files import configuration_in
from kafka_mirror.errors import MirrorError
from kafka_mirror.formats.documents import to_document

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from kafka_mirror.backfill.arrival import Arrival

log = logging.getLogger(__name__)


class MirrorCompleteTrigger(BaseTrigger):
    """Looks every `seconds` at the clusters and the ledger, in a thread, and fires once: with the figures, or with the error that ends it.

    Airflow's database has its path and arguments, which hold no secret: a triggerer that restarts goes on with them.
    """

    def __init__(self, flow: str, topics: Sequence[str], up_to: int, seconds: float, files: Sequence[str] = ()) -> None:
        """`up_to`: Unix milliseconds. `files`: those that the DAG file names, in the place of MIRROR_CONFIG."""
        super().__init__()  # type: ignore[no-untyped-call]
        self.flow = flow
        self.topics = tuple(topics)
        self.up_to = up_to
        self.seconds = seconds
        self.files = tuple(files)

    def serialize(self) -> tuple[str, dict[str, Any]]:
        """The path and the arguments."""
        arguments = {"flow": self.flow, "topics": list(self.topics), "up_to": self.up_to, "seconds": self.seconds}
        return f"{type(self).__module__}.{type(self).__qualname__}", {**arguments, "files": list(self.files)}

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """Looks until everything is there. Airflow cancels it with its task."""
        while True:
            try:
                arrival = await asyncio.to_thread(look, self.flow, self.topics, self.up_to, self.files)
            except MirrorError as error:
                yield TriggerEvent({"error": to_document(error.report())})  # type: ignore[no-untyped-call]
                return
            if arrival is not None and arrival.is_complete:
                yield TriggerEvent(arrival.totals)  # type: ignore[no-untyped-call]
                return
            await asyncio.sleep(self.seconds)


def look(flow: str, topics: Sequence[str], up_to: int, files: Sequence[str]) -> Arrival | None:
    """Asks the clusters and the ledger once, and logs the answer; None if they do not answer now. Raises what does not pass by itself."""
    # It brings the Kafka clients: not where Airflow's triggerer imports the trigger, which other triggers wait for.
    from kafka_mirror.backfill.arrival import find_arrival

    try:
        arrival = find_arrival(configuration_in(files).flow(flow), topics, up_to)
    except MirrorError as error:
        if not error.retriable:
            raise
        log.warning("%s: the next look may get an answer: %s", flow, error)
        return None
    log.info("%s", arrival)
    return arrival
