"""Whatever checks see, in whatever order: an alert is told once when it begins and once when it is over."""

from collections.abc import Collection
from datetime import datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_mirror.errors import NextStep
from kafka_mirror.formats.documents import pack, unpack
from kafka_mirror.status.alerts.tracker import Notification, TrackedProblem, track
from kafka_mirror.status.problems import CheckResult, FlowProblem, Place, group_problems
from tests.unit.status.observations import at

KEY = "east->west/Behind"


def problem(patience: float = 30, kind: str = "Behind", summary: str = "late", **fields: Any) -> FlowProblem:
    return FlowProblem(kind, summary, "", NextStep(), patience, **fields)


class Told:
    """Checks one after the other, and what they told."""

    def __init__(
        self, lasting: float = 30, connections: tuple[str, ...] = ("mail",), repeat: float | None = None, growth: float | None = 4
    ) -> None:
        self.tracking: dict[str, TrackedProblem] = {}
        self.told: list[tuple[datetime, Notification]] = []
        self.connections = connections
        self._lasting, self._repeat, self._growth = lasting, repeat, growth

    def check(
        self, seconds: float, *problems: FlowProblem, judged: bool = True, unseen: Collection[tuple[str, int | None]] = ()
    ) -> list[str]:
        """What is told: `+mail` and `-mail`."""
        # As from JSON: nothing may depend on what is not kept.
        before = {key: unpack(TrackedProblem, pack(each)) for key, each in self.tracking.items()}
        self.tracking, telling = track(
            before,
            CheckResult(problems, lambda _kind: judged, frozenset(unseen)),
            flow="east->west",
            now=at(seconds),
            quiet_seconds=self._lasting,
            connections=self.connections,
            repeat=self._repeat,
            growth=self._growth,
        )
        self.told += [(at(seconds), each) for each in telling]
        return [("-" if each.cleared else "+") + each.connection for each in telling]

    @property
    def open(self) -> bool:
        return any(each.is_open for each in self.tracking.values())


def test_a_problem_that_lasts_is_told_once_and_once_more_when_it_is_over() -> None:
    told = Told()
    assert [told.check(60 * minute, problem()) for minute in range(4)] == [[], ["+mail"], [], []]
    assert [told.check(240 + 60 * minute) for minute in range(3)] == [[], ["-mail"], []]


def test_a_problem_that_is_gone_again_at_once_is_not_told() -> None:
    told = Told()
    assert [told.check(60 * minute, *([problem()] if minute % 2 else [])) for minute in range(20)] == [[]] * 20


def test_an_alert_that_flickers_stays_one() -> None:
    told = Told()
    assert [told.check(60 * minute, *([problem()] if minute < 2 or minute % 2 else [])) for minute in range(20)] == [
        *[[], ["+mail"]],
        *[[]] * 18,
    ]


def test_patience_is_the_problems_own() -> None:
    told = Told()
    assert [told.check(60 * minute, problem(patience=200)) for minute in range(6)] == [[], [], [], [], ["+mail"], []]


def test_without_any_time_to_last_the_first_check_tells() -> None:
    told = Told(lasting=0)
    assert told.check(0, problem(patience=0)) == ["+mail"]
    assert told.check(60) == ["-mail"]


def test_runs_by_hand_in_a_row_do_not_make_a_problem_last() -> None:
    told = Told()
    assert [told.check(second, problem()) for second in range(20)] == [[]] * 20


def test_what_cannot_be_judged_neither_begins_nor_ends() -> None:
    told = Told()
    told.check(0, problem())
    told.check(60, problem())
    assert [told.check(120 + 60 * minute, judged=False) for minute in range(9)] == [[]] * 9
    assert told.check(700, problem()) == []
    assert told.check(760) == []
    assert told.check(820, judged=False) == []
    assert told.check(880) == [], "it is seen to be gone for the first time again"
    assert told.check(940) == ["-mail"]


FIRST, SECOND = ("orders", 0), ("orders", 1)


def at_places(*places: tuple[str, int | None], patience: float = 30) -> FlowProblem:
    return problem(patience, places=frozenset(places))


def test_an_alert_stays_as_it_is_while_its_place_cannot_be_seen_and_is_over_when_it_was_seen_without_it() -> None:
    told = Told()
    assert told.check(0, at_places(FIRST)) + told.check(60, at_places(FIRST)) == ["+mail"]
    assert [told.check(120 + 60 * minute, unseen={FIRST}) for minute in range(9)] == [[]] * 9
    assert told.check(700, at_places(FIRST)) + told.check(760, unseen={FIRST}) == []
    assert told.check(820, unseen={SECOND}) + told.check(880, unseen={SECOND}) == ["-mail"]


def test_an_alert_of_several_places_lasts_until_each_was_seen_without_it() -> None:
    told = Told()
    assert told.check(0, at_places(FIRST, SECOND)) + told.check(60, at_places(FIRST, SECOND)) == ["+mail"]
    assert told.check(120, at_places(SECOND), unseen={FIRST}) == []
    assert told.check(180, unseen={FIRST}) + told.check(240, unseen={FIRST}) == [], "the first one was not seen since"
    assert told.check(300, at_places(SECOND)) + told.check(360) + told.check(420) == ["-mail"]


def test_what_has_no_place_is_over_whatever_else_cannot_be_seen() -> None:
    told = Told()
    assert told.check(0, problem()) + told.check(60, problem()) == ["+mail"]
    assert told.check(120, unseen={FIRST}) + told.check(180, unseen={FIRST}) == ["-mail"]


def test_a_consequence_keeps_an_alert_open_and_begins_none() -> None:
    told = Told()
    assert [told.check(60 * minute, problem(opens=False)) for minute in range(4)] == [[]] * 4
    told.check(300, problem())
    assert told.check(360, problem()) == ["+mail"]
    assert [told.check(420 + 60 * minute, problem(opens=False)) for minute in range(4)] == [[]] * 4
    assert told.check(700) == []
    assert told.check(760) == ["-mail"]


def test_an_open_alert_says_how_it_stands_now_and_since_when_it_is() -> None:
    told = Told()
    told.check(0, problem(summary="5 behind"))
    told.check(60, problem(summary="9 behind"))
    told.check(120, problem(summary="99 behind"))
    [tracked] = told.tracking.values()
    assert (tracked.alert.key, tracked.alert.summary, tracked.alert.since) == (KEY, "99 behind", at(0))


def test_a_connection_that_comes_later_is_told_what_is_open_and_one_that_goes_is_told_nothing() -> None:
    told = Told(connections=())
    told.check(0, problem())
    assert told.check(60, problem()) == []
    told.connections = ("mail", "slack")
    assert told.check(120, problem()) == ["+mail", "+slack"]
    told.connections = ("slack",)
    assert told.check(180) == []
    assert told.check(240) == ["-slack"]


def test_it_is_repeated_only_where_that_is_wanted() -> None:
    told = Told(repeat=150)
    assert [told.check(60 * minute, problem()) for minute in range(8)] == [[], ["+mail"], [], [], ["+mail"], [], [], ["+mail"]]
    assert [each.as_sent.summary for _, each in told.told] == ["late", "still: late", "still: late"]


def test_one_that_has_become_much_bigger_is_told_again_and_one_that_swings_is_not() -> None:
    told = Told()
    sizes = (2, 2, 7, 8, 31, 4, 31, 32, 3, 32)
    assert [told.check(60 * minute, problem(size=size)) for minute, size in enumerate(sizes)] == [
        *[[], ["+mail"], [], ["+mail"]],
        *[[], [], [], ["+mail"], [], []],
    ]
    assert [each.as_sent.summary for _, each in told.told] == ["late", "worse: late", "worse: late"]
    assert told.check(600) + told.check(660) == ["-mail"]
    assert told.told[-1][1].as_sent.summary == "late"
    never = Told(growth=None)
    assert [never.check(60 * minute, problem(size=10**minute)) for minute in range(4)] == [[], ["+mail"], [], []]


def test_a_connection_that_comes_later_hears_of_it_for_the_first_time_and_the_others_go_by_what_they_heard() -> None:
    told = Told()
    assert [told.check(60 * minute, problem(size=2)) for minute in range(2)] == [[], ["+mail"]]
    told.connections = ("mail", "slack")
    assert told.check(120, problem(size=7)) == ["+slack"]
    assert told.check(180, problem(size=8)) == ["+mail", "+slack"]
    assert [each.again for _, each in told.told] == ["", "", "worse", "worse"]


def test_topics_that_an_alert_of_the_flow_tells_of_get_none_of_their_own_while_the_others_are_mended() -> None:
    def found(topics: int) -> list[FlowProblem]:
        places = [Place(f"topic-{number:02}", 0, "line") for number in range(topics)]
        return group_problems("Behind", places, said="late: {}", next=NextStep(), patience=30, severity="error")

    told = Told()
    assert [told.check(60 * minute, *found(count)) for minute, count in enumerate((11, 11, 10, 3, 1, 1))] == [[], ["+mail"], *[[]] * 4]
    [tracked] = told.tracking.values()
    assert tracked.alert.summary == "late: topic-00-0", "what is left of it"
    assert told.check(360) + told.check(420) == ["-mail"]
    assert told.check(480, *found(2)) + told.check(540, *found(2)) == ["+mail", "+mail"], "few of them are told one by one"


def test_alerts_of_several_problems_do_not_touch_each_other() -> None:
    told = Told()
    told.check(0, problem(), problem(kind="SourceGap"))
    assert told.check(60, problem(), problem(kind="SourceGap")) == ["+mail", "+mail"]
    assert told.check(120, problem(kind="SourceGap")) == []
    assert told.check(180, problem(kind="SourceGap")) == ["-mail"]


OBSERVATION = st.sampled_from(["problem", "none", "consequence", "unknown"])


@given(
    st.lists(st.tuples(st.sampled_from([1.0, 20.0, 60.0, 61.0, 600.0]), OBSERVATION, st.integers(1, 100)), max_size=80),
    st.sampled_from([0.0, 30.0, 90.0]),
    st.sampled_from([0.0, 30.0, 250.0]),
)
def test_beginning_and_end_alternate_for_any_series_of_checks(steps: list[tuple[float, str, int]], lasting: float, patience: float) -> None:
    told, now = Told(lasting=lasting), 0.0
    for passed, what, size in steps:
        now += passed
        problems = {"problem": [problem(patience, size=size)], "consequence": [problem(patience, opens=False)]}.get(what, [])
        told.check(now, *problems, judged=what != "unknown")
    signs = [each.cleared for _, each in told.told if not each.again]
    assert signs == [bool(place % 2) for place in range(len(signs))], "beginning, end, beginning, end"
    assert told.open == (len(signs) % 2 == 1)
    # However it went, what stays is told in the end, and what is gone for good is over.
    now += 1000
    assert told.check(now, problem(patience)) + told.check(now + 300, problem(patience)) == ([] if len(signs) % 2 else ["+mail"])
    assert told.check(now + 600) + told.check(now + 900) == ["-mail"]
    assert told.tracking == {}


@given(
    st.lists(
        st.tuples(
            st.lists(st.sampled_from([FIRST, SECOND]), unique=True),
            st.sampled_from([(), (FIRST,), (SECOND,), (FIRST, SECOND)]),
        ),
        max_size=40,
    ),
    st.sampled_from([0.0, 30.0, 90.0]),
)
def test_an_alert_is_over_only_when_each_place_that_had_it_was_seen_since(
    steps: list[tuple[list[tuple[str, int]], tuple[tuple[str, int], ...]]], lasting: float
) -> None:
    told, had = Told(lasting=lasting), set[tuple[str, int]]()
    for minute, (there, unseen) in enumerate(steps):
        visible = set(there) - set(unseen)
        had = (had & set(unseen)) | visible
        now = told.check(60 * minute, *([at_places(*visible, patience=lasting)] if visible else []), unseen=unseen)
        assert not (had and "-mail" in now)
    signs = [each.cleared for _, each in told.told]
    assert signs == [bool(place % 2) for place in range(len(signs))]
    # However it went: what is seen everywhere, and is nowhere, is over.
    told.check(60 * len(steps))
    told.check(60 * len(steps) + 300)
    assert not told.open


@pytest.mark.parametrize("lost", range(1, 5))
def test_a_tracking_that_is_lost_tells_again_and_is_never_silent(lost: int) -> None:
    told = Told()
    for minute in range(5):
        if minute == lost:
            told.tracking = {}
        told.check(60 * minute, problem())
    assert told.check(300, problem()) == ([] if lost < 4 else ["+mail"])
    assert told.open
