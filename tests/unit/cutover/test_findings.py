"""How findings are said: stops first, each once, with the flow's name in what to type."""

import ast
import re

from kafka_mirror.cutover.findings import INFORMATION, STOP, WARNING, in_order, information, of_error, stop, warning
from kafka_mirror.errors import KafkaFailure, SourceGap
from kafka_mirror.errors.next_step import of_the_flow
from kafka_mirror.errors.words import first_few
from kafka_mirror.status.status import GONE, NO_LEADER, NO_REMOTE, UNKNOWN
from tests.unit.test_imports import LIBRARY, ROOT

PAGE = ROOT / "docs" / "reference" / "cutover-findings.md"


def test_stops_come_first_and_what_is_said_twice_is_said_once():
    found = [information("c", "three."), warning("b", "two."), stop("a", "one."), stop("a", "one."), stop("a", "another.")]
    assert [each.message for each in in_order(found, "east->west")] == ["one.", "another.", "two.", "three."]


def test_commands_have_the_name_of_the_flow_and_the_text_has_the_next_step():
    (found,) = in_order([stop("a", "one.", of_the_flow("copy"), ", or wait.")], "east->west")
    assert found.as_document()["commands"] == ["python -m kafka_mirror copy --flow 'east->west'"]
    assert str(found) == "stop: one. Next: python -m kafka_mirror copy --flow 'east->west', or wait."
    assert str(information("a", "one.")) == "information: one."


def test_an_error_keeps_its_code_its_place_and_its_next_step():
    error = SourceGap("orders", 3, 10, 20).report()
    found = of_error(error)
    assert (found.kind, found.code, found.topic, found.partition) == (STOP, "SourceGap", "orders", 3)
    assert found.step == error.step
    assert of_error(error, WARNING).kind == WARNING != INFORMATION


def test_an_error_that_knows_no_next_step_gets_one():
    assert of_error(KafkaFailure("It failed.").report()).step.text == "Look at the brokers, and ask again."


def test_of_many_the_first_are_named_and_the_others_counted():
    assert first_few([1, 2]) == "1, 2"
    assert first_few(range(7)) == "0, 1, 2, 3, 4 and 2 more"


def codes_in(tree):
    """The codes of findings that a module makes: the first argument of what makes one."""
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and node.args]
    return {node.args[0].value for node in calls if isinstance(node.args[0], ast.Constant) and is_maker(node.func)}


def is_maker(function):
    text = ast.unparse(function)
    return any(word in ("stop", "warning", "information", "say") for word in re.findall(r"\w+", text))


def test_the_handbook_names_every_code_and_no_other():
    made = {code for file in (LIBRARY / "cutover").glob("*.py") for code in codes_in(ast.parse(file.read_text(encoding="utf-8")))}
    made |= {state.replace(" ", "-") for state in (NO_REMOTE, NO_LEADER, GONE, UNKNOWN)}
    rows = [line.split("|")[1] for line in PAGE.read_text(encoding="utf-8").splitlines() if re.match(r"\| (`|an \[)", line)]
    told = {code for row in rows for code in re.findall(r"`([a-z-]+)`", row)}
    assert len(made) > 20
    assert told == made
