"""What a command is asked for by name: with several flows it may be known to one of them, and never to none."""

import argparse
import json

import pytest

from kafka_mirror.cli.answer import Answer
from kafka_mirror.cli.options import list_asked_names
from kafka_mirror.cli.parser import parser
from tests.unit.cli.command_line import VALID

BOTH = VALID + "west->east.enabled = true\n"
CALLS = {
    "audit": ("--topics", "orders"),
    "backfill": ("--from", "2026-01-01", "--to", "2026-01-02", "--topics", "orders"),
    "status": ("--topic", "orders"),
    "translate": ("--group", "orders"),
}


@pytest.fixture
def known(monkeypatch):
    """Makes every command of CALLS know `orders` in these flows."""

    def set_known(*flows):
        def run(flow, _options):
            return Answer("done", known_names=frozenset(("orders",)) if flow.name in flows else frozenset())

        for command in CALLS:
            monkeypatch.setattr(f"kafka_mirror.cli.{command}.run", run)

    return set_known


@pytest.mark.parametrize("command", CALLS)
def test_what_no_flow_knows_is_a_failure(run, known, command):
    known()
    code, output, words = run(command, *CALLS[command], "--json", config=BOTH)
    *_, last = json.loads(output)["flows"]
    assert (code, last["flow"], last["errors"][0]["code"]) == (1, None, "NothingSelected")
    assert f"{command} was asked for orders, and no flow" in words


@pytest.mark.parametrize("command", CALLS)
def test_what_one_of_several_flows_knows_is_enough(run, known, command):
    known("west->east")
    assert run(command, *CALLS[command], config=BOTH)[0] == 0


@pytest.mark.parametrize(
    ("given", "names"),
    [
        ({"command": "audit", "topics": "a, b,"}, {"a", "b"}),
        ({"command": "audit", "topics": None}, set()),
        ({"command": "status", "topic": "a,b"}, {"a,b"}),
        ({"command": "take-over", "topic": ["a"]}, set()),
        ({"command": "plan"}, set()),
    ],
)
def test_names_are_read_from_the_option_that_the_command_has(given, names):
    assert list_asked_names(argparse.Namespace(**given)) == names


def test_every_command_that_takes_names_without_a_flow_is_held_to_them():
    commands = parser().commands
    options = {name: {option for each in command.arguments for option in each.option_strings} for name, command in commands.items()}
    asking = {name for name, found in options.items() if found & {"--topic", "--topics", "--group"}}
    assert asking - {"decide", "take-over", "hand-back"} == set(CALLS), "these three need --flow"
