"""One run of a wave, or its roll back: `python -m tests.trial.mover CONFIG REQUEST`, the request as JSON. The exit code says how it was."""

import json
import sys
from functools import partial
from pathlib import Path

from mirror.config import load
from mirror.cutover.run import roll_back, run_wave
from mirror.cutover.steps import DONE, WAITING, StepOptions
from mirror.cutover.wave import Wave, patterns
from mirror.errors import MirrorError


def main(config: Path, request: dict[str, object]) -> int:
    """0: what was asked for is done; 3: it waits; 1: it is stopped, and its output says why."""
    flow = load([config]).flow(str(request["flow"]))
    wave = Wave(patterns(str(request["topics"])))
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
        progress=partial(print, flush=True),
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


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), json.loads(sys.argv[2])))
