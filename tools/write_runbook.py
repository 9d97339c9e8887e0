"""Writes docs/operate/runbook.md from the error classes: `.venv/bin/python tools/write_runbook.py`."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "include"))

from kafka_mirror.errors.runbook import markdown

RUNBOOK = ROOT / "docs" / "operate" / "runbook.md"

if __name__ == "__main__":
    RUNBOOK.parent.mkdir(parents=True, exist_ok=True)
    RUNBOOK.write_text(markdown(), encoding="utf-8")
