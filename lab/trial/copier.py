"""Bounded copies and checkpoints of one flow in turns, as on a schedule: `python -m lab.trial.copier CONFIG FLOW`.

It goes on until it is killed, whatever the clusters answer, and prints what it begins.
"""

import sys
import time
from pathlib import Path

from kafka_mirror.config import Flow, load
from kafka_mirror.copy.plan.run import plan
from kafka_mirror.copy.run import copy_in_process
from kafka_mirror.errors import MirrorError
from kafka_mirror.status.steps import run_step

COPY, CHECKPOINTS = "copy", "checkpoints"
_PAUSE_SECONDS = 0.3


def copy(flow: Flow) -> str:
    """Copies once; says how many records it copied."""
    results = copy_in_process(flow, plan(flow))
    errors = sorted({error.code for result in results for error in result.errors})
    return f"{sum(result.records for result in results)} records {' '.join(errors)}".rstrip()


def emit_checkpoints(flow: Flow) -> str:
    """Emits the checkpoints of all groups; says how many errors there were."""
    return f"{len(run_step(CHECKPOINTS, flow).errors)} errors"


def main(config: Path, name: str) -> None:
    """Copies and emits checkpoints again and again."""
    flow = load([config]).flow(name)
    while True:
        for step, run in ((COPY, copy), (CHECKPOINTS, emit_checkpoints)):
            print(step, "begins", flush=True)
            try:
                print(step, run(flow), flush=True)
            except MirrorError as error:
                print(step, type(error).__name__, error, flush=True)
        time.sleep(_PAUSE_SECONDS)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
