"""How findings are said: stops first, each once, with the flow's name in what to type."""

from mirror.cutover.findings import INFORMATION, STOP, WARNING, in_order, information, of_error, some, stop, warning
from mirror.errors import SourceGap
from mirror.errors.next_step import of_the_flow


def test_stops_come_first_and_what_is_said_twice_is_said_once():
    found = [information("c", "three."), warning("b", "two."), stop("a", "one."), stop("a", "one."), stop("a", "another.")]
    assert [each.message for each in in_order(found, "east->west")] == ["one.", "another.", "two.", "three."]


def test_commands_have_the_name_of_the_flow_and_the_text_has_the_next_step():
    (found,) = in_order([stop("a", "one.", of_the_flow("copy"), ", or wait.")], "east->west")
    assert found.as_document()["commands"] == ["python -m mirror copy --flow 'east->west'"]
    assert str(found) == "stop: one. Next: python -m mirror copy --flow 'east->west', or wait."
    assert str(information("a", "one.")) == "information: one."


def test_an_error_keeps_its_code_its_place_and_its_next_step():
    error = SourceGap("orders", 3, 10, 20).report()
    found = of_error(error)
    assert (found.kind, found.code, found.topic, found.partition) == (STOP, "SourceGap", "orders", 3)
    assert found.step == error.step
    assert of_error(error, WARNING).kind == WARNING != INFORMATION


def test_of_many_the_first_are_named_and_the_others_counted():
    assert some([1, 2]) == "1, 2"
    assert some(range(7)) == "0, 1, 2, 3, 4 and 2 more"
