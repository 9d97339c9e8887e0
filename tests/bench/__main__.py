"""All benchmarks, each in a process of its own: `make bench`. One that fails does not keep the others from running."""

import subprocess
import sys

BENCHMARKS = ("plan", "memory", "thousand_partitions", "throughput", "airflow_run", "checkpoints", "audit")

failed = [
    name for name in BENCHMARKS if subprocess.run([sys.executable, "-m", f"tests.bench.{name}", *sys.argv[1:]], check=False).returncode
]
sys.exit(f"Failed: {', '.join(failed)}" if failed else 0)
