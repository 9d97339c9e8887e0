"""Whether the files of a flow's configuration were changed while a run follows.

Lanes on Spark's workers cannot see the files, but all of them watch the end of the control topic. So the process that can see them
announces a change there, and the lanes end for the next plan, as after a decision.
"""

import logging
from contextlib import AbstractContextManager
from pathlib import Path

from kafka_mirror.config import Flow, load_again
from kafka_mirror.kafka.polling import repeat_meanwhile
from kafka_mirror.ledger.clusters import clusters, control_of

_SECONDS = 0.25
"""How often files are looked at, by their times and sizes."""

log = logging.getLogger(__name__)

Stamps = list[tuple[int, int, int] | None]


class ChangedFiles:
    """Compares the files with the flow as it was loaded."""

    def __init__(self, flow: Flow) -> None:
        self._flow = flow
        self._judged: Stamps = []
        self._last: Stamps | None = None

    def mean_another_flow(self) -> bool:
        """Whether the files now configure the flow in another way, or no longer. It reads them only after a change, and only once they were
        the same twice: somebody may be writing. Files that cannot be loaded do not count; the log says so."""
        last, self._last = self._last, [_stamp(file) for file in self._flow.files]
        if self._last != last or self._last == self._judged:
            return False
        self._judged = self._last
        try:
            now = load_again(self._flow)
            is_gone = self._flow.name not in {flow.name for flow in (*now.flows, *now.invalid)} and not now.unreadable
            return is_gone or now.flow(self._flow.name).config_hash != self._flow.config_hash
        except Exception as failure:  # noqa: BLE001 — a run goes on as it was planned; the next one fails, and says why
            log.warning("%s: its configuration was changed and cannot be loaded; the run goes on without it: %s", self._flow.name, failure)
            return False


def announce_meanwhile(flow: Flow, seconds: float = _SECONDS) -> AbstractContextManager[None]:
    """Looks at the files while the block lasts, in a thread of its own, and announces the first change in the control topic, again and
    again until the target takes it."""
    files, is_changed = ChangedFiles(flow), False

    def announce() -> bool:
        """Whether to look again."""
        nonlocal is_changed
        is_changed = is_changed or files.mean_another_flow()
        if not is_changed:
            return True
        with clusters(flow) as (_, target):
            control_of(flow, target).announce_configuration()
        log.info("%s: its configuration was changed; lanes end, and the run plans with it.", flow.name)
        return False

    otherwise = f"{flow.name}: its configuration was changed, which cannot be announced to the lanes just now"
    return repeat_meanwhile("configuration", seconds, announce, otherwise, flow.request_seconds)


def _stamp(file: str) -> tuple[int, int, int] | None:
    try:
        stat = Path(file).stat()
    except OSError:
        return None
    return stat.st_mtime_ns, stat.st_size, stat.st_ino
