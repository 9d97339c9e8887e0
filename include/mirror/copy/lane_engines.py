"""Opens the engines of a lane, by mirror.engine. Each brings a client or a package along, so it is imported only where it is wanted."""

import socket
import sys
from threading import Lock

from mirror.copy.engine import LaneEngines
from mirror.copy.model import AUTO, RECORDS, LaneTask
from mirror.errors import WorkerUnprepared

_ONE_IMPORT = Lock()
"""Lanes open their engines side by side: a thread that waits for an import that fails in another one gets half a module, without a word of
what is missing."""


def engines_of(task: LaneTask) -> LaneEngines:
    """The engines of a lane. Raises WorkerUnprepared where a package is missing without which it cannot copy as it was told."""
    from mirror.copy.confluent.engine import ConfluentEngine

    if task.engine == RECORDS:
        return LaneEngines(ConfluentEngine)
    try:
        with _ONE_IMPORT:
            from mirror.copy.batches.engine import BatchEngine
            from mirror.copy.batches.sampler import SourceBatchSampler
    except ModuleNotFoundError as missing:
        host, module = socket.gethostname(), missing.name or ""
        if task.engine == AUTO:
            return LaneEngines(ConfluentEngine, lacking=f"{sys.executable} on {host} has no module '{module}'")
        raise WorkerUnprepared(module, host, sys.executable, str(missing)) from missing
    if task.engine == AUTO:
        sampler = SourceBatchSampler()
        return LaneEngines(ConfluentEngine, sampler.open, sampler)
    return LaneEngines(ConfluentEngine, BatchEngine)
