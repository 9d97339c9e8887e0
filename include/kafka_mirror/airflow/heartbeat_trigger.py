"""Heartbeats at the exact interval, in Airflow's triggerer: a task that only waits would hold a slot of a worker."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Sequence
from concurrent.futures import Future
from dataclasses import asdict
from typing import Any

from airflow.triggers.base import BaseTrigger, TriggerEvent

from kafka_mirror.airflow.flow_files import configuration_in
from kafka_mirror.errors import MirrorError
from kafka_mirror.formats.documents import to_document


class HeartbeatTrigger(BaseTrigger):
    """Beats for a pair until `until` (Unix seconds), or until the trigger of the next run takes over; fires once, with what it did.

    It reads the configuration, beats and waits in a thread of its own: neither do the beats depend on other triggers, nor those on the
    beats. Airflow's database has its path and arguments: a triggerer that restarts runs it again, with the same end.
    """

    def __init__(self, flow: str, until: float, files: Sequence[str] = ()) -> None:
        """`files`: those that the flow's DAG file names, in the place of MIRROR_CONFIG."""
        super().__init__()  # type: ignore[no-untyped-call]
        self.flow = flow
        self.until = until
        self.files = tuple(files)

    def serialize(self) -> tuple[str, dict[str, Any]]:
        """The path and the arguments, which hold no secret."""
        files = {"files": list(self.files)} if self.files else {}
        return f"{type(self).__module__}.{type(self).__qualname__}", {"flow": self.flow, "until": self.until, **files}

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """Beats to the end. Airflow cancels it with its task, or when the triggerer ends."""
        stop, future = threading.Event(), Future[dict[str, Any]]()
        future.set_running_or_notify_cancel()  # it cannot be cancelled any more; `stop` ends it

        def work() -> None:
            try:
                future.set_result(self._beat(stop))
            except Exception as error:  # noqa: BLE001 — it is raised again where the thread is awaited
                future.set_exception(error)

        threading.Thread(target=work, name=f"heartbeats of {self.flow}", daemon=True).start()
        try:
            result = await asyncio.wrap_future(future)
        finally:
            stop.set()
        yield TriggerEvent(result)  # type: ignore[no-untyped-call]

    def _beat(self, stop: threading.Event) -> dict[str, Any]:
        from kafka_mirror.topics.heartbeats import beat_until

        try:
            return asdict(beat_until(configuration_in(self.files).for_heartbeats().flow(self.flow), self.until, stop))
        except MirrorError as error:
            return {"error": to_document(error.report())}
