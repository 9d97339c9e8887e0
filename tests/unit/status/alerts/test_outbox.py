"""Nothing that is to be told is lost, whatever connections do; what arrives is in order."""

import json
from dataclasses import replace
from itertools import count

from hypothesis import given
from hypothesis import strategies as st

from kafka_mirror.errors import NotificationFailed
from kafka_mirror.formats.documents import from_document, to_document
from kafka_mirror.status.alerts.tracker import Notification, Outbox, deliver, with_more
from kafka_mirror.status.problems import Alert
from tests.unit.status.observations import at

BOTH = ("mail", "slack")


def telling(connection: str, kind: str, cleared: bool) -> Notification:
    return Notification(connection, Alert(f"east->west/{kind}", kind, kind, "", "", at(0), "east->west"), cleared)


class Sinks:
    """What arrived at each connection; those that are down take nothing."""

    def __init__(self) -> None:
        self.down: set[str] = set()
        self.got: dict[str, list[tuple[str, bool]]] = {each: [] for each in BOTH}

    def send(self, each: Notification) -> None:
        if each.connection in self.down:
            raise NotificationFailed(each.connection, "the sink", "it is down")
        self.got[each.connection].append((each.alert.kind, each.cleared))


def test_a_connection_that_fails_keeps_what_it_did_not_take_and_holds_up_no_other() -> None:
    sinks = Sinks()
    sinks.down = {"mail"}
    outbox = with_more((), [telling("mail", "A", False), telling("slack", "A", False), telling("mail", "B", False)], BOTH)
    outbox, failed = deliver(outbox, sinks.send)
    assert (list(failed), sinks.got) == (["mail"], {"mail": [], "slack": [("A", False)]})
    sinks.down = set()
    assert deliver(outbox, sinks.send) == ((), {})
    assert sinks.got["mail"] == [("A", False), ("B", False)]


def test_what_comes_behind_something_that_was_not_taken_waits_for_the_next_time() -> None:
    tried: list[str] = []

    def takes_only_a_second_one(each: Notification) -> None:
        tried.append(each.alert.kind)
        if len(tried) == 1:
            raise NotificationFailed("mail", "the sink", "it is down")

    outbox, _ = deliver((telling("mail", "A", False), telling("mail", "B", False)), takes_only_a_second_one)
    assert (tried, [each.alert.kind for each in outbox]) == (["A"], ["A", "B"])


def test_one_alert_that_a_service_refuses_holds_up_no_other_but_its_own_end() -> None:
    got: list[tuple[str, bool]] = []

    def refuses_a(each: Notification) -> None:
        if each.alert.kind == "A":
            raise NotificationFailed("mail", "the sink", "HTTP 400", this_alone=True)
        got.append((each.alert.kind, each.cleared))

    outbox = (telling("mail", "A", False), telling("mail", "B", False), telling("mail", "A", True), telling("mail", "B", True))
    left, failed = deliver(outbox, refuses_a)
    assert (got, list(failed)) == ([("B", False), ("B", True)], ["mail"])
    assert [(each.alert.kind, each.cleared) for each in left] == [("A", False), ("A", True)]


def test_a_connection_that_has_not_taken_anything_for_long_comes_behind_those_that_work() -> None:
    order: list[str] = []
    outbox = (*(telling("mail", kind, False) for kind in "ABC"), telling("slack", "C", False))
    deliver(outbox, lambda each: order.append(each.connection))
    assert order == ["slack", "mail", "mail", "mail"]


def test_what_cannot_be_sent_in_time_is_left_for_the_next_check_and_nothing_is_sent_twice() -> None:
    sent: list[str] = []
    left: list[int] = []
    outbox: Outbox = tuple(telling("mail", kind, False) for kind in "ABCDE")
    times = count(0.0, 9.0)
    for _ in range(3):
        outbox, failed = deliver(outbox, lambda each: sent.append(each.alert.kind), seconds=20, clock=lambda: next(times))
        assert failed == {}
        left.append(len(outbox))
    assert (sent, left) == (list("ABCDE"), [3, 1, 0])


def test_who_has_not_heard_of_a_beginning_is_not_told_that_it_is_worse() -> None:
    worse = replace(telling("mail", "A", False), again="worse")
    assert [each.again for each in with_more((telling("mail", "A", False),), [worse], BOTH)] == [""]
    assert [each.again for each in with_more((), [worse], BOTH)] == ["worse"]
    assert from_document(Notification, to_document(worse)) == worse


def test_of_a_problem_that_came_and_went_often_meanwhile_the_newest_time_is_told() -> None:
    outbox: Outbox = ()
    for cleared in (False, True, False, True, False):
        outbox = with_more(outbox, [telling("mail", "A", cleared)], BOTH)
    assert [each.cleared for each in outbox] == [False]


def test_an_end_that_is_owed_for_a_beginning_that_arrived_comes_before_the_next_beginning() -> None:
    outbox = with_more((), [telling("mail", "A", True)], BOTH)
    for cleared in (False, True, False):
        outbox = with_more(outbox, [telling("mail", "A", cleared)], BOTH)
    assert [each.cleared for each in outbox] == [True, False]


def test_what_is_for_a_connection_that_is_no_longer_configured_goes() -> None:
    outbox = with_more((), [telling("mail", "A", False), telling("slack", "A", False)], BOTH)
    assert [each.connection for each in with_more(outbox, [], ("slack",))] == ["slack"]


STEP = st.tuples(st.sampled_from("ABC"), st.sets(st.sampled_from(BOTH)))


@given(st.lists(STEP, max_size=60))
def test_beginnings_and_ends_alternate_at_every_connection_and_the_last_word_arrives(steps: list[tuple[str, set[str]]]) -> None:
    sinks, outbox, is_open = Sinks(), (), dict.fromkeys("ABC", False)
    for kind, down in steps:
        sinks.down = down
        is_open[kind] = not is_open[kind]
        outbox = with_more(outbox, [telling(connection, kind, not is_open[kind]) for connection in BOTH], BOTH)
        outbox = tuple(from_document(Notification, each) for each in json.loads(json.dumps(to_document(outbox))))
        outbox, _ = deliver(outbox, sinks.send)
        assert len(outbox) <= 3 * len(BOTH) * len(is_open)
    sinks.down = set()
    outbox, failed = deliver(outbox, sinks.send)
    assert (outbox, failed) == ((), {})
    for got in sinks.got.values():
        for kind, state in is_open.items():
            signs = [cleared for each, cleared in got if each == kind]
            assert signs == [bool(place % 2) for place in range(len(signs))]
            assert bool(len(signs) % 2) == state
