"""What the daemon of a local job's Python workers imports before it forks them."""

import gc
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from kafka_mirror.audit.parallel import compare_stretches
from kafka_mirror.copy.run import copy_plan
from kafka_mirror.groups.job import run_for_groups
from kafka_mirror.spark import worker

# It shares modules as the daemon does, and says how many threads that left, as the kernel counts them.
SHARES = """
import sys
from kafka_mirror.spark.worker import share
share(["pyspark.worker", sys.argv[1]])
print(next(line.split()[1] for line in open("/proc/self/status") if line.startswith("Threads:")))
"""


def test_a_module_that_lacks_a_package_is_left_to_the_worker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "lacks_package.py").write_text("import no_such_package_anywhere\n")
    (tmp_path / "complete_module.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    frozen: list[bool] = []
    monkeypatch.setattr(gc, "freeze", lambda: frozen.append("complete_module" in sys.modules))
    worker.share(["lacks_package", "complete_module"])
    assert frozen == [True]
    assert "lacks_package" not in sys.modules


@pytest.mark.parametrize("function", [copy_plan, compare_stretches, run_for_groups])
def test_what_the_workers_of_a_job_share_starts_no_thread(function: Any) -> None:
    """A process that is forked has none of them, and would wait for ever for what they hold."""
    done = subprocess.run([sys.executable, "-c", SHARES, function.__module__], capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["1"], done.stderr
