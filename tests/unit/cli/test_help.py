"""`--help`: every command in one group, and examples that work."""

import shlex
from collections import Counter

import pytest

from kafka_mirror.cli.parser import EXAMPLES, GROUPS, parser


def commands():
    return parser().commands


def test_every_command_is_in_one_group_and_has_one_or_two_examples():
    grouped = Counter(name for names in GROUPS.values() for name in names)
    assert grouped == Counter(dict.fromkeys(commands(), 1))
    assert {name: len(EXAMPLES.get(name, ())) in (1, 2) for name in commands()} == dict.fromkeys(commands(), True)


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
