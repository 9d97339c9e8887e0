"""Beats at the exact interval: in Airflow's triggerer, for no task slot should be held by a thing that only waits."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from concurrent.futures import Future
from dataclasses import asdict
from typing import Any

from airflow.triggers.base import BaseTrigger, TriggerEvent

from mirror.config import load
from mirror.errors import MirrorError


class HeartbeatTrigger(BaseTrigger):
    """Beats for a pair until `until` (Unix seconds), or until the trigger of its next run takes over; fires once, with what was done.

    All of it is in a thread of its own: reading the configuration and its secrets, the Kafka client, and the waiting, so that neither the
    beats depend on other triggers nor they on the beats. A triggerer that is restarted takes it up again with the same end.
    """

    def __init__(self, flow: str, until: float) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.flow = flow
        self.until = until

    def serialize(self) -> tuple[str, dict[str, Any]]:
        """What makes it again in the triggerer; no secret."""
        return f"{type(self).__module__}.{type(self).__qualname__}", {"flow": self.flow, "until": self.until}

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """The whole life; Airflow cancels it with its task, or when the triggerer ends."""
        stop, beating = threading.Event(), Future[dict[str, Any]]()
        beating.set_running_or_notify_cancel()  # it cannot be cancelled, only be told to stop

        def work() -> None:
            try:
                beating.set_result(self._beat(stop))
            except Exception as error:  # noqa: BLE001 — it is raised again where the thread is awaited
                beating.set_exception(error)

        threading.Thread(target=work, name=f"heartbeats of {self.flow}", daemon=True).start()
        try:
            done = await asyncio.wrap_future(beating)
        finally:
            stop.set()
        yield TriggerEvent(done)  # type: ignore[no-untyped-call]

    def _beat(self, stop: threading.Event) -> dict[str, Any]:
        from mirror.sync.heartbeats import beat_until

        try:
            return asdict(beat_until(load().for_heartbeats().flow(self.flow), self.until, stop))
        except MirrorError as error:
            return {"error": error.report().as_dict()}
