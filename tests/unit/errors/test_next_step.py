"""Commands in errors are data: told apart without reading English, written as the user started the mirror, and such that they parse."""

import ast
import json
import pickle
import re
import shlex

import pytest

from kafka_mirror.cli.parser import parser
from kafka_mirror.errors import ErrorReport, MirrorError, NextStep, NothingMoved, Remedy, SourceGap, UnexplainedTarget
from kafka_mirror.errors.ledger import DecidedMeanwhile
from kafka_mirror.errors.next_step import MODULE, SCRIPT, Command, mirror_command, note_program
from kafka_mirror.formats.documents import from_document, to_document
from tests.unit.errors.samples import samples
from tests.unit.test_imports import LIBRARY

SAMPLES = samples() | {
    "stuck partitions": NothingMoved.for_want_of_budget(3, "orders-0@7"),
    "live part": NothingMoved.behind_the_log(9),
    "unknown partition": UnexplainedTarget("orders", 3, "east.orders", 1, 9, in_ledger=False),
}


def test_pieces_are_the_text_cut_at_its_commands() -> None:
    step = NextStep.of("To go on: ", Command("x --a b"), " (or wait). Else ", Remedy("accept-gap", "t.x"), ".")
    assert [typed for _, typed in step.pieces] == [False, True, False, True, False]
    assert "".join(text for text, _ in step.pieces) == step.text
    assert step.pieces[1] == ("x --a b", True)


def test_command_that_begins_another_one_is_found_in_its_place() -> None:
    step = NextStep.of(Command("x"), " and ", Command("x y"))
    assert step.pieces == [("x", True), (" and ", False), ("x y", True)]


def test_flow_is_put_into_sentence_and_commands() -> None:
    told = SourceGap("orders", 3, 1, 2).report().with_flow("east->west")
    assert [text for text, typed in told.step.pieces if typed] == [
        "python -m kafka_mirror decide accept-gap --flow 'east->west' --topic orders --partition 3 --reason \"…\""
    ]


@pytest.mark.parametrize("error", SAMPLES.values(), ids=SAMPLES)
def test_error_survives_pickling_with_all_its_facts(error: MirrorError) -> None:
    restored = pickle.loads(pickle.dumps(error))
    assert type(restored) is type(error)
    assert (vars(restored), restored.args, str(restored)) == (vars(error), error.args, str(error))


@pytest.mark.parametrize("error", SAMPLES.values(), ids=SAMPLES)
def test_report_survives_json(error: MirrorError) -> None:
    told = error.report()
    assert from_document(ErrorReport, json.loads(json.dumps(to_document(told)))) == told


@pytest.mark.parametrize("error", SAMPLES.values(), ids=SAMPLES)
def test_every_command_of_ours_is_marked_as_one_and_parses(error: MirrorError) -> None:
    told = error.report().with_flow("east->west").with_times("2026-01-01", "2026-01-02")
    assert not any(MODULE in text for text, typed in told.step.pieces if not typed)
    assert [text for text, typed in told.step.pieces if typed] == list(told.commands)
    for command in told.commands:
        if command.startswith(MODULE):
            words = shlex.split(command.removeprefix(MODULE).replace("--to-offset N", "--to-offset 7"))
            assert parser().parse_args(words).flow in ("east->west", None)


def test_commands_are_written_as_the_user_started_the_mirror(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MIRROR_STARTED_AS", raising=False)
    note_program("/checkout/include/kafka_mirror/__main__.py")
    assert str(mirror_command("status")) == f"{MODULE} status"
    monkeypatch.setenv("MIRROR_STARTED_AS", "")  # so that what is set below is taken back
    note_program(f"/usr/bin/{SCRIPT}")
    assert str(mirror_command("status")) == f"{SCRIPT} status"
    assert DecidedMeanwhile("mm2-control").report().commands == (f"{SCRIPT} decide list",)
    assert str(Remedy("begin-ledger")).startswith(f"{SCRIPT} decide begin-ledger")
    assert parser().prog == SCRIPT


ALLOWED = {
    *("errors/next_step.py", "web/metric_names.py", "airflow/dags/steps.py", "airflow/dags/cutover.py", "airflow/dags/freshness.py"),
}
"""Where the one place is, a description for the reference, and notes on DAGs, which nobody starts from a command line."""
BEGINNING = re.compile(rf"{MODULE}|(?<!airflow-){SCRIPT} ")


def test_no_other_file_writes_the_beginning_of_a_command() -> None:
    found = {
        path.relative_to(LIBRARY).as_posix()
        for path in LIBRARY.rglob("*.py")
        for node in ast.walk(without_docstrings(ast.parse(path.read_text(encoding="utf-8"))))
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and BEGINNING.search(node.value)
    }
    assert found <= ALLOWED


def without_docstrings(tree: ast.Module) -> ast.Module:
    """The tree without strings that stand alone."""

    class Prune(ast.NodeTransformer):
        def visit_Expr(self, node: ast.Expr) -> ast.AST | None:
            return None if isinstance(node.value, ast.Constant) else node

    return Prune().visit(tree)
