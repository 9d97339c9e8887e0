"""`status --watch`: again and again, until Ctrl-C."""

import pytest

from kafka_mirror.__main__ import main
from kafka_mirror.cli.answer import Answer, Table, table
from kafka_mirror.cli.parser import parser
from kafka_mirror.cli.rich_output import console, fit_answers, watch
from kafka_mirror.errors import ErrorReport
from tests.unit.cli.command_line import VALID

CLEAR = "\x1b[2J"


def interrupted(after):
    """A pause that ends with Ctrl-C the last time."""
    pauses = []

    def pause(seconds):
        pauses.append(seconds)
        if len(pauses) == after:
            raise KeyboardInterrupt

    return pause, pauses


def test_it_redraws_until_ctrl_c_and_ends_with_the_code_of_what_stands_there(screen):
    codes, (pause, pauses) = iter((0, 1, 2)), interrupted(after=2)

    def tell(answers):
        screen.write(answers[0][1].pieces[0])
        return next(codes)

    with screen:
        assert watch(7, lambda: [(None, Answer("done", text="seen"))], tell, pause) == 1
    assert pauses == [7, 7]
    assert screen.getvalue().count(CLEAR) == screen.getvalue().count("seen") == 2
    assert screen.lines[-1].endswith("again in 7 s; Ctrl-C ends it.")


def test_the_terminal_keeps_what_stands_there_until_there_is_something_new(screen):
    def look():
        assert screen.getvalue().count(CLEAR) == screen.getvalue().count("Ctrl-C")
        return []

    with screen:
        assert watch(1, look, lambda _answers: 0, interrupted(after=3)[0]) == 0


def test_ctrl_c_before_anything_was_seen_is_an_interruption_like_any_other(screen):
    def look():
        raise KeyboardInterrupt

    with screen, pytest.raises(KeyboardInterrupt):
        watch(1, look, lambda _answers: 0)


def test_the_command_looks_at_every_flow_each_time(screen, tmp_path, monkeypatch):
    seen = []

    def look(flow, options):
        if len(seen) == 2:
            raise KeyboardInterrupt
        seen.append(flow.name)
        return Answer("failed")

    monkeypatch.setattr("kafka_mirror.cli.status.run", look)
    monkeypatch.setattr("kafka_mirror.cli.rich_output.time.sleep", lambda _seconds: None)
    (tmp_path / "mm2.properties").write_text(VALID)
    with screen:
        assert main(["--config", str(tmp_path / "mm2.properties"), "status", "--watch", "1"]) == 1
    assert seen == ["east->west"] * 2


def rows_of(answers):
    return [len(piece.rows) for _, answer in answers for piece in answer.pieces if isinstance(piece, Table)]


def test_rows_are_cut_where_the_terminal_ends_and_the_others_are_counted(screen, monkeypatch):
    def answer(count, topic="orders"):
        return Answer("failed", errors=(ErrorReport("Gap", "x" * 150),), text=["summary", *table(("topic",), [[topic]] * count)])

    def cut(*answers, lines=40):
        monkeypatch.setenv("LINES", str(lines))
        return fit_answers([("a->b", each) for each in answers], console(screen))

    assert rows_of(cut(answer(12))) == [12]
    assert rows_of(cut(answer(120))) == [32]
    assert rows_of(cut(answer(120), answer(2))) == [13, 2]
    assert rows_of(cut(answer(120, "a-topic-of-two-lines-" * 6))) == [16]
    (low,) = cut(answer(120), lines=5)
    assert low[1].pieces[2:] == ("… and 117 more rows",)


def test_without_a_terminal_it_is_refused(run):
    code, output, words = run("status", "--watch")
    assert (code, output) == (2, "")
    assert "status --watch redraws a terminal, and the output goes somewhere else." in words
    assert "status --json." in words


@pytest.mark.parametrize("seconds", ["0.5", "nan", "inf", "-1", "often", "1e9"])
def test_seconds_that_make_no_sense_are_refused_by_name(run, seconds):
    code, _, words = run("status", f"--watch={seconds}")
    assert code == 2
    assert f"cannot be used: --watch: must be a number of seconds from 1 to 3600 (it is '{seconds}')" in words


def test_without_a_number_it_looks_every_five_seconds():
    assert parser().parse_args(["status", "--watch"]).watch == 5
