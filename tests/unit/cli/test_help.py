"""`--help`: every command in one group, and examples that work."""

import os
import shlex
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from kafka_mirror.__main__ import work_of
from kafka_mirror.cli.parser import GROUPS, parser
from kafka_mirror.status.steps import STEPS
from services.waiting import PATIENCE

ROOT = Path(__file__).parents[3]
EXAMPLES = {name: command.examples for group in GROUPS.values() for name, command in group.items()}


def commands():
    return parser().commands


def test_every_command_is_in_one_group_and_has_one_or_two_examples():
    grouped = Counter(name for group in GROUPS.values() for name in group)
    assert grouped == Counter(dict.fromkeys(commands(), 1))
    assert {len(examples) in (1, 2) for examples in EXAMPLES.values()} == {True}


@pytest.mark.parametrize("command", commands())
def test_every_command_has_a_function_of_its_own_that_does_its_work(command):
    is_step = command in STEPS or command in ("take-over", "hand-back")
    assert (work_of(command) is work_of("refresh-topics")) == is_step


def test_help_loads_no_kafka_client_and_no_spark():
    script = "import atexit, sys; from kafka_mirror.__main__ import main; atexit.register(lambda: print(*sys.modules)); main(['--help'])"
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "include")}
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True, timeout=PATIENCE)
    modules = {module.partition(".")[0] for module in done.stdout.splitlines()[-1].split()}
    assert "kafka_mirror" in modules
    assert modules & {"airflow", "confluent_kafka", "kafka", "pyspark", "rich"} == set()


@pytest.mark.parametrize(("command", "line"), [(name, line) for name, lines in EXAMPLES.items() for line in lines])
def test_an_example_is_a_command_line_of_its_command(command, line):
    assert parser().parse_args(shlex.split(line.partition(" > ")[0])).command == command


def test_help_lists_each_command_under_its_group(monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    lines = parser().format_help().partition("commands:\n")[2].partition("\n\n")[0].splitlines()
    titles = [line.strip(" :") for line in lines if line.startswith("  ") and not line.startswith("   ")]
    assert titles == list(GROUPS)
    here = {title: [line.split()[0] for line in lines[lines.index(f"  {title}:") + 1 :] if line[4:5].strip()] for title in titles}
    assert here["look, and write nothing"][:2] == ["status", "plan"]
    assert here["set up"] == list(GROUPS["set up"])
    assert max(map(len, lines)) <= 100


def test_examples_begin_as_the_user_started_the_command_line(monkeypatch):
    monkeypatch.setenv("MIRROR_STARTED_AS", "kafka-mirror")
    assert "examples:\n  kafka-mirror status --problems\n" in commands()["status"].format_help()
