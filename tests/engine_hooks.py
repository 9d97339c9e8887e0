"""What a test lets happen at a certain step of a copy: these hooks stand around every engine's copies and commits."""

import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from kafka_mirror.copy.batches.engine import BatchEngine
from kafka_mirror.copy.model import PartitionProgress
from services.waiting import PATIENCE

Call = Callable[[], None]


class EngineHooks:
    """Hooks of all copies in this process, from now on until the patch is undone."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.around_copy: Callable[[Callable[[], list[PartitionProgress]]], list[PartitionProgress]] = lambda copy: copy()
        """Is given the copy of a transaction's records, to be called once."""
        self.around_commit: Callable[[Call], None] = lambda commit: commit()
        """Is given the commit of a transaction, to be called once."""
        copy, commit = BatchEngine.copy, BatchEngine.commit
        patch.setattr(BatchEngine, "copy", lambda *given: self.around_copy(lambda: copy(*given)))
        patch.setattr(BatchEngine, "commit", lambda engine: self.around_commit(lambda: commit(engine)))


class HitInTransaction:
    """Lets something happen once: while the first transaction is copied that begins when so many records were, and before its commit."""

    def __init__(self, patch: pytest.MonkeyPatch, records: int, happening: Call) -> None:
        self.begun = threading.Event()
        """Set when it has come to that."""
        self._records = records
        self._happening = happening
        self._copied = 0
        self._lock = threading.Lock()
        self._hit: Future[None] | None = None
        EngineHooks(patch).around_copy = self._copy

    def result(self) -> None:
        """Returns when it has happened. Fails if the copy was over before."""
        assert self._hit is not None, "the copy was over before it could be hit"
        self._hit.result(PATIENCE)

    def _copy(self, copy: Callable[[], list[PartitionProgress]]) -> list[PartitionProgress]:
        with self._lock:
            hits = self._hit is None and self._copied >= self._records
            if hits:
                self._hit = ThreadPoolExecutor(1).submit(self._happening)
                self.begun.set()
        try:
            progress = copy()
        finally:
            if hits:
                self.result()
        with self._lock:
            self._copied += sum(moved.records for moved in progress)
        return progress
