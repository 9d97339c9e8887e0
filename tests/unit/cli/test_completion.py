"""What the shell is told when somebody presses the tabulator key."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from services.waiting import PATIENCE
from tests.unit.cli.command_line import THREE_FLOWS

FLOWS = THREE_FLOWS.replace("mirror.lane = 3", "mirror.lanes = 3")
ROOT = Path(__file__).parents[3]


@pytest.fixture
def completed(tmp_path):
    """`completed("kafka-mirror sta")`: what may stand there."""

    def ask(line, config=FLOWS):
        (tmp_path / "mm2.properties").write_text(config)
        answer = tmp_path / "answer"
        environment = {
            **os.environ,
            "PYTHONPATH": str(ROOT / "include"),
            "MIRROR_CONFIG": str(tmp_path / "mm2.properties"),
            "_ARGCOMPLETE": "1",
            "_ARGCOMPLETE_IFS": "\n",
            "_ARGCOMPLETE_STDOUT_FILENAME": str(answer),
            "COMP_LINE": line,
            "COMP_POINT": str(len(line)),
        }
        done = subprocess.run([sys.executable, "-m", "kafka_mirror"], env=environment, capture_output=True, text=True, timeout=PATIENCE)
        assert (done.returncode, done.stdout) == (0, ""), done.stderr
        return [each.strip() for each in answer.read_text().split("\n")]

    return ask


def test_commands_are_completed(completed):
    assert completed("kafka-mirror sta") == ["status"]


def test_options_of_the_command_are_completed(completed):
    assert completed("kafka-mirror status --pro") == ["--problems"]


def test_flows_of_the_configuration_are_completed_for_the_shell(completed):
    assert completed("kafka-mirror plan --flow east") == [r"east-\>west", r"east-\>north"]


def test_a_configuration_that_cannot_be_read_completes_no_flow(completed):
    assert completed("kafka-mirror plan --flow ea", config="clusters = ") == [""]


def test_a_shell_with_completion_of_everything_finds_the_mark():
    """argcomplete looks for it in the first kilobyte of the console script's module."""
    assert b"PYTHON_ARGCOMPLETE_OK" in (ROOT / "include" / "kafka_mirror" / "__main__.py").read_bytes()[:1024]
