"""Names and texts that others chose: no message, table or command of ours lets them act on a terminal, a log or a shell."""

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_mirror.errors import MirrorError, Remedy
from kafka_mirror.errors.next_step import NextStep, flow_command, wave_command
from kafka_mirror.errors.words import show, visible

NAMES = st.one_of(
    st.text(),
    st.text(st.characters(min_codepoint=0, max_codepoint=0x9F)),
    st.sampled_from(["", " ", "$(id)", "a'b", "\x1b[2K"]),
)


def controls(text, kept=""):
    """Control characters in a text: C0, DEL and C1."""
    return [each for each in text if each not in kept and (ord(each) < 0x20 or 0x7F <= ord(each) < 0xA0)]


@pytest.mark.parametrize(
    ("name", "seen"),
    [
        ("billing", "billing"),
        ("grüppe-日本語", "grüppe-日本語"),
        ("", "''"),
        (" ", "' '"),
        ("team a", "'team a'"),
        ("a\tb\nc", r"'a\tb\nc'"),
        ("\x1b[1A\x1b[2K", r"'\x1b[1A\x1b[2K'"),
        ("a\x9bb", r"'a\x9bb'"),
        ("a\u202eb", r"'a\u202eb'"),
        ("a\xa0b", r"'a\xa0b'"),
        ("\ud800", r"'\ud800'"),
        ("x" * 5000, f"{'x' * 60}… (5,000 characters)"),
    ],
)
def test_a_name_is_seen_for_what_it_is(name, seen):
    assert show(name) == seen


@given(NAMES)
def test_no_name_has_a_control_character_or_more_than_a_line(name):
    assert controls(show(name)) == []
    assert len(show(name)) < 300
    assert show(name).strip() != ""


@given(st.text())
def test_what_is_visible_keeps_its_lines_and_nothing_that_acts(text):
    assert controls(visible(text), "\n") == []
    assert visible(text).count("\n") == text.count("\n")
    assert visible(visible(text)) == visible(text)


@given(NAMES, NAMES)
def test_every_name_is_one_word_of_a_command_and_the_sentence_shows_it_in_one_line(name, wave):
    commands = flow_command("translate", f"--group {shlex.quote(name)}"), wave_command("run", wave), Remedy("restart", name, 3)
    step = NextStep.of("See ", commands[0], " and ", commands[1], " or ", commands[2], ".")
    assert controls(step.text) == []
    translate, run, restart = map(shlex.split, step.commands)
    assert (translate[-1], run[-1], restart[restart.index("--topic") + 1]) == (name, wave, name)
    assert [is_command for _, is_command in step.pieces].count(True) == 3
    assert "".join(text for text, _ in step.pieces) == step.text


@given(NAMES)
def test_an_errors_message_keeps_lines_of_its_own_and_no_other_control_character(name):
    report = MirrorError(f"The group {show(name)}:\nraw {name}", next=f"Look at {name}.").report()
    assert controls(str(report), "\n") == []


def test_a_name_that_looks_like_our_placeholder_stays_a_name():
    (command,) = NextStep.of(flow_command("translate", f"--group {shlex.quote('<flow>')}")).with_flow("east->west").commands
    assert shlex.split(command)[-4:] == ["--flow", "east->west", "--group", "<flow>"]
