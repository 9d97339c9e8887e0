"""All benchmarks, or those that are named, each in a process of its own: `python -m lab.bench [NAME …] [--quick]`. One that fails does
not keep the others from running."""

import os
import subprocess
import sys

from lab.bench.processes import ENVIRONMENT

MINUTES = {
    "throughput": 38,
    "delays": 12,
    "thousand_partitions": 22,
    "follow": 24,
    "airflow_run": 7,
    "nearly_idle": 25,
    "memory": 6,
    "audit": 6,
    "plan": 6,
    "plan_in_memory": 1,
    "checkpoints": 4,
    "cutover_pause": 8,
}
"""What `make bench` runs, and about how many minutes each takes on two cores."""


def main(arguments: list[str]) -> int:
    """Runs them; gives the exit code."""
    options = [argument for argument in arguments if argument.startswith("--")]
    names = [argument for argument in arguments if argument not in options] or list(MINUTES)
    if unknown := [name for name in names if name not in MINUTES] + [option for option in options if option != "--quick"]:
        print(f"There is no {', '.join(unknown)}; there are {', '.join(MINUTES)} and --quick.", file=sys.stderr)
        return 2
    failed = []
    for name in names:
        print(f"{name}: {'in small' if options else f'about {MINUTES[name]} minutes'} ...", flush=True)
        if subprocess.run([sys.executable, "-m", f"lab.bench.{name}", *options], env={**os.environ, **ENVIRONMENT}, check=False).returncode:
            failed.append(name)
    if failed:
        print(f"Failed: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
