"""What queries ask for, and Prometheus' own `promtool`, which reads them."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from kafka_mirror.web.metric_names import METRICS

ROOT = Path(__file__).parents[2]
MONITORING = ROOT / "monitoring"
BY_SAMPLE = {metric.sample: metric for metric in METRICS}
NEEDED = "This test needs promtool, and neither .run/bin nor the PATH has it: run `make promtool` (Debian), or install Prometheus."

WORDS = {"sum", "max", "min", "and", "or", "unless", "rate", "topk", "absent", "time", "max_over_time", "Inf"}
_QUOTED = re.compile(r'"[^"]*"')
_GROUPING = re.compile(r"\b(by|on|group_left)\s*\([^)]*\)")
_SELECTOR = re.compile(r"([a-zA-Z_][\w:]*)?\{([^}]*)\}")
_NAME = re.compile(r"(?<![\w$.:])[a-zA-Z_][\w:]*")


def metrics_and_labels(query: str) -> tuple[set[str], set[tuple[str, str]]]:
    """The metrics that a query names, and the labels by which it selects them."""
    bare = _QUOTED.sub('""', query)
    labels = {
        (metric, re.split("[=!]", label.strip())[0].strip())
        for metric, inside in _SELECTOR.findall(bare)
        for label in inside.split(",")
        if label.strip()
    }
    outside = _GROUPING.sub("", _SELECTOR.sub(lambda match: match.group(1) or "", bare))
    return set(_NAME.findall(re.sub(r"\[\w+\]", "", outside))) - WORDS, labels


def grouping_labels(query: str) -> set[str]:
    """The labels by which a query groups and joins."""
    groups = re.findall(r"\b(?:by|on|group_left)\s*\(([^)]*)\)", query)
    return {label.strip() for group in groups for label in group.split(",") if label.strip()}


def promtool(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Runs it. It starts no server and asks none; the test fails where there is none of it."""
    program = shutil.which("promtool", path=str(ROOT / ".run" / "bin")) or shutil.which("promtool")
    if program is None:
        pytest.fail(NEEDED, pytrace=False)
    return subprocess.run([program, *arguments], cwd=MONITORING, capture_output=True, text=True, timeout=300)
