"""`python -m kafka_mirror` as a process."""

import json
import os
import subprocess
import sys
from pathlib import Path

from services.waiting import PATIENCE
from tests.unit.cli.command_line import VALID

ROOT = Path(__file__).parents[3]


def process(*arguments, **environment):
    """`python -m kafka_mirror` as a user runs it."""
    variables = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT / "include"), **environment}
    return subprocess.run(
        [sys.executable, "-m", "kafka_mirror", *arguments], env=variables, capture_output=True, text=True, timeout=PATIENCE
    )


def test_as_a_process_it_answers_and_leaves_with_its_code(tmp_path):
    file = tmp_path / "mm2.properties"
    file.write_text(VALID)
    done = process("pools", "--json", MIRROR_CONFIG=str(file))
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["command"] == "pools"
    assert process("plan", "--flow", "west->east", MIRROR_CONFIG=str(file)).returncode == 2


def test_a_reader_that_goes_away_is_no_crash(tmp_path):
    file = tmp_path / "mm2.properties"
    file.write_text(VALID)
    piped = f"{sys.executable} -m kafka_mirror --config {file} config | true"
    done = subprocess.run(
        ["bash", "-c", piped], env={**os.environ, "PYTHONPATH": str(ROOT / "include")}, capture_output=True, text=True, timeout=PATIENCE
    )
    assert "Traceback" not in done.stderr
