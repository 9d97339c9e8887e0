"""The steps of a cutover, their outcomes, and how findings are said: stops first, each once, with the flow's name in what to type."""

import ast
import re

import pytest

from kafka_mirror.cutover.wave.run import get_steps
from kafka_mirror.cutover.wave.step import (
    AUDIT_GATE,
    DONE,
    FAILOVER,
    FAILOVER_STEPS,
    FENCE,
    INFORMATION,
    MOVE_GROUPS,
    OPEN,
    PLANNED,
    STEPS,
    STOP,
    STOPPED,
    WAITING,
    WARNING,
    StepOutcome,
    information,
    list_steps,
    make_outcome,
    sort_findings,
    stop,
    warning,
    with_flow,
)
from kafka_mirror.errors import ErrorReport, GroupActive, KafkaFailure, NotCopiedYet, PartitionsPaused, SourceGap
from kafka_mirror.errors.base import CLASSES
from kafka_mirror.errors.words import first_few
from tests.unit.test_imports import LIBRARY, ROOT

LATE = ErrorReport("WaveBehind", "Late.")


def test_a_failover_runs_a_part_of_the_steps_in_the_same_order():
    assert list(FAILOVER_STEPS) == [step for step in STEPS if step in FAILOVER_STEPS]


@pytest.mark.parametrize("mode", [PLANNED, FAILOVER])
def test_there_is_a_step_for_every_name_in_its_order(mode):
    assert tuple(step.name for step in get_steps(mode)) == list_steps(mode)


def test_what_changes_a_cluster_is_taken_back_and_what_others_may_break_is_asked_again():
    assert [step.name for step in get_steps(PLANNED) if step.take_back] == [FENCE, MOVE_GROUPS, OPEN]
    assert [step.name for step in get_steps(FAILOVER) if step.take_back] == [MOVE_GROUPS, OPEN]
    assert [step.name for step in get_steps(PLANNED) if step.find_breaks] == [FENCE, AUDIT_GATE, MOVE_GROUPS]


@pytest.mark.parametrize(("state", "is_done"), [(DONE, True), (WAITING, False), (STOPPED, False)])
def test_only_a_step_that_is_done_lets_the_next_one_begin(state, is_done):
    assert StepOutcome(OPEN, state).is_done is is_done


def test_a_step_is_stopped_by_a_stop_and_by_nothing_else():
    assert make_outcome(OPEN, (warning(LATE), information("B", "B."))).state == DONE
    assert make_outcome(OPEN, (warning(LATE), stop(LATE))).state == STOPPED


PAGE = ROOT / "docs" / "reference" / "cutover-findings.md"


def test_stops_come_first_and_what_is_said_twice_is_said_once():
    one, another = NotCopiedYet("orders-1"), NotCopiedYet("orders-2")
    found = [information("C", "three."), warning(another), stop(one), stop(one), stop(another)]
    assert [(each.kind, each.message) for each in with_flow(sort_findings(found), "east->west")] == [
        ("stop", one.message),
        ("stop", another.message),
        ("warning", another.message),
        ("information", "three."),
    ]


def test_commands_have_the_name_of_the_flow_and_the_text_has_the_next_step():
    (found,) = with_flow([stop(NotCopiedYet("orders-1"))], "east->west")
    command = "python -m kafka_mirror copy --flow 'east->west'"
    assert found.as_document()["commands"] == [command]
    assert str(found).startswith(f"stop NotCopiedYet: Nothing of orders-1 has been copied yet. Next: {command} takes them in; ")
    assert str(information("A", "one.")) == "information A: one."


def test_an_error_keeps_its_code_its_place_and_its_next_step():
    error = SourceGap("orders", 3, 10, 20).report()
    found = stop(error)
    assert (found.kind, found.code, found.error) == (STOP, "SourceGap", error)
    assert [found.as_document()[name] for name in ("topic", "partition", "group")] == ["orders", 3, None]
    assert warning(error).kind == WARNING != INFORMATION


def test_a_finding_about_a_group_names_it():
    assert stop(GroupActive("billing", "1 member", "east")).as_document()["group"] == "billing"
    assert warning(KafkaFailure("It failed."), "billing").group == "billing"


def test_a_decision_that_answers_it_stays_with_the_finding():
    (remedy,) = stop(PartitionsPaused("orders", "0", "paused by me")).error.remedies
    assert (remedy.decision, remedy.topic) == ("resume", "orders")


def test_an_error_that_knows_no_next_step_gets_one():
    assert stop(KafkaFailure("It failed.")).error.next == "Look at the brokers, and ask again."


def test_of_many_the_first_are_named_and_the_others_counted():
    assert first_few([1, 2]) == "1, 2"
    assert first_few(range(7)) == "0, 1, 2, 3, 4 and 2 more"


def names_of_information(tree):
    """What a module calls the information that it gives."""
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and ast.unparse(node.func) == "information"]
    return {node.args[0].value for node in calls if isinstance(node.args[0], ast.Constant)}


def test_the_handbook_names_every_information_and_the_runbook_every_stop_and_warning():
    trees = [ast.parse(file.read_text(encoding="utf-8")) for file in (LIBRARY / "cutover").rglob("*.py")]
    made = {name for tree in trees for name in names_of_information(tree)}
    rows = [line.split("|")[1] for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| `")]
    told = {name for row in rows for name in re.findall(r"`([A-Z][A-Za-z]+)`", row)}
    assert len(made) > 10
    assert told == made
    assert {"StillWritten", "GroupActive", "NotCopied"} <= set(CLASSES)
