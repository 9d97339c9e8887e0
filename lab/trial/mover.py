"""One run of a wave, or its roll back: `python -m lab.trial.mover CONFIG REQUEST`, the request as JSON. The exit code says how it was."""

import json
import os
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from kafka_mirror.config import load
from kafka_mirror.copy.batches.target import BatchProducer
from kafka_mirror.cutover.wave.run import roll_back, run_wave
from kafka_mirror.cutover.wave.selection import Wave, parse_patterns
from kafka_mirror.cutover.wave.step import DONE, OPEN, WAITING, StepOptions
from kafka_mirror.errors import MirrorError
from kafka_mirror.ledger.control import Control
from kafka_mirror.ledger.control_records import MOVED, Decision

LANE_DEATH, LEDGER_DEATH, MOVED_DEATH = "after its first lane", "before the control topic", "after the control topic"
DEATHS = (LANE_DEATH, LEDGER_DEATH, MOVED_DEATH)
"""At which write of `open` a run can die on request."""


def main(config: Path, request: dict[str, object]) -> int:
    """Runs the request. 0: it is done; 3: it waits; 1: it is stopped, and the output says why."""
    flow = load([config]).flow(str(request["flow"]))
    wave = Wave(parse_patterns(str(request["topics"])))
    options = StepOptions(
        wave=str(request["wave"]),
        who="trial",
        reason=str(request.get("reason", "trial")),
        mode=str(request.get("mode", "planned")),
        dry_run=False,
        by=str(request.get("by", "hand")),
        quiet_seconds=float(str(request.get("quiet_seconds", 2.0))),
        timeout=float(str(request.get("timeout", 60.0))),
        max_lag=int(str(request.get("max_lag", 10_000))),
        progress=_make_progress(None if request.get("dies") is None else str(request["dies"])),
    )
    until = request.get("until")
    try:
        if request.get("rolls_back"):
            run = roll_back(flow, options)
        else:
            run = run_wave(flow, wave, options, until=None if until is None else str(until))
    except MirrorError as error:
        print(f"{type(error).__name__}: {error}", flush=True)
        return 1
    for outcome in run.outcomes:
        print(outcome.step, outcome.state, *outcome.lines, *outcome.findings, sep="\n  ", flush=True)
    return {DONE: 0, WAITING: 3}.get(run.state, 1)


def _make_progress(death: str | None) -> Callable[[str], None]:
    """Prints each line of progress; if the run is to die in `open`, prepares that as the step begins."""

    def print_line(line: str) -> None:
        print(line, flush=True)
        if death is not None and line == f"{OPEN} begins.":
            _die_at(death)

    return print_line


def _die_at(death: str) -> None:
    commit, write_next = BatchProducer.commit, Control.write_next

    def commit_and_die(producer: BatchProducer) -> None:
        commit(producer)
        if death == LANE_DEATH:
            _die()

    def write_and_die(control: Control, decisions: Sequence[Decision]) -> None:
        is_move = any(decision.decision == MOVED for decision in decisions)
        if is_move and death == LEDGER_DEATH:
            _die()
        write_next(control, decisions)
        if is_move and death == MOVED_DEATH:
            _die()

    BatchProducer.commit, Control.write_next = commit_and_die, write_and_die  # type: ignore[method-assign,assignment]


def _die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), json.loads(sys.argv[2])))
