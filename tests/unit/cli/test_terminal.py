"""What a person sees on a terminal, and that a pipe gets plain text."""

import json
import re

import pytest

from kafka_mirror.cli.answer import Answer, table
from kafka_mirror.errors import ErrorReport

LONG = "a-topic-of-a-name-that-is-far-too-long-for-a-column-of-any-terminal-" * 2
ROWS = table(("topic", "state", "offset", "why"), [("orders", "up to date", "1234567", "-"), (LONG, "blocked", "-", "it is " + "so " * 60)])
RED = "\x1b[31m"


@pytest.fixture
def rows(answer):
    """`plan` shows two rows, one of them much too wide."""
    answer(lambda _flow: Answer("done", text=["Before.", *ROWS]))


def test_a_pipe_gets_each_row_in_one_line_without_colours(run, rows):
    _, output, _ = run("plan")
    assert output.splitlines()[:2] == ["east->west:", "Before."]
    assert [len(line.split("  ")) > 1 for line in output.splitlines()[2:]] == [True] * 3
    assert "\x1b" not in output


def test_a_terminal_gets_a_table_in_its_width_in_which_numbers_stay_whole(run, rows, screen):
    with screen:
        run("plan")
    assert max(map(len, screen.lines)) <= 100
    assert "".join(line.partition(" ")[0] for line in screen.lines[4:] if not line.startswith(" ")) == LONG
    assert any(re.search(r"\b1234567\b", line) for line in screen.lines)


def test_a_narrow_terminal_breaks_words_and_no_number(run, answer, screen, monkeypatch):
    monkeypatch.setenv("COLUMNS", "34")
    answer(
        lambda _flow: Answer(
            "done", text=table(("topic", "watermark", "end"), [("shipment-notifications", "123456789012", "987654321098")])
        )
    )
    with screen:
        run("plan")
    first, *others = [line.split() for line in screen.lines[2:]]
    assert first[1:] == ["123456789012", "987654321098"]
    assert "".join([first[0], *(line[0] for line in others)]) == "shipment-notifications"


def test_a_state_that_needs_a_person_is_red(run, rows, screen):
    with screen:
        run("plan")
    assert f"{RED}blocked" in screen.getvalue()
    assert f"{RED}up to date" not in screen.getvalue()


def test_no_color_takes_the_colours_away(run, rows, screen, monkeypatch):
    monkeypatch.setenv("NO_COLOR", "1")
    with screen:
        run("plan")
    assert not re.search(r"\x1b\[[0-9;]*3[0-7]m", screen.getvalue())
    assert max(map(len, screen.lines)) <= 100


def test_json_is_the_same_on_a_terminal(run, rows, screen):
    with screen:
        run("plan", "--json")
    assert json.loads(screen.getvalue())["flows"][0]["state"] == "done"


def test_a_command_in_an_error_can_be_copied_from_a_narrow_terminal(run, answer, screen, monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    command = "kafka-mirror decide accept-gap --flow 'east->west' --topic orders --partition 3 --reason \"…\""
    error = ErrorReport("SourceGap", "25 offsets [0, 25) are gone.", next=f"Type {command}.", commands=(command,))
    answer(lambda _flow: Answer("failed", errors=(error,)))
    with screen:
        run("plan")
    assert f"east->west: {error}" in screen.lines
    assert f"\x1b[36m{command}\x1b[0m" in screen.getvalue()


def test_behind_a_message_of_several_lines_the_next_step_has_a_line_of_its_own(run, answer, screen):
    error = ErrorReport("ConfigurationError", "It cannot be used:\n  a.properties:7: mirror.lane: is not a property", next="Correct it.")
    answer(lambda _flow: Answer("failed", errors=(error,)))
    with screen:
        run("plan")
    assert screen.lines[-3:] == f"east->west: {error}".splitlines()
