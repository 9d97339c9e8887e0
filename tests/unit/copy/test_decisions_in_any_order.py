"""Plans, decisions and copies in any order, by clocks that are hours off and brokers that answer late: nothing is lost, and nothing copied
again but what a restart asks for."""

import os

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tests.unit.copy.conftest import World
from tests.unit.copy.decided_history import DecidedHistory

HISTORIES = int(os.environ.get("MIRROR_DECIDED_HISTORIES", "150"))
"""How many are drawn; more in a long series."""

clocks = st.integers(-90_000, 90_000)
"""Seconds that somebody's clock is off."""
starts = st.sampled_from(["earliest", "latest"]) | st.integers(0, 25)
plans = st.tuples(st.just("plan"), st.booleans(), st.booleans())
runs = st.tuples(st.just("run"), st.sampled_from([0, 0, 0, 1, 2, 4]), st.sampled_from([1, 100, 100]))
events = st.one_of(
    st.tuples(st.just("produce"), st.integers(1, 6)),
    plans,
    plans,
    plans,
    runs,
    runs,
    runs,
    st.tuples(st.just("decide"), st.just("restart"), starts, clocks),
    st.tuples(st.just("decide"), st.sampled_from(["accept-gap", "skip-record"]), st.none(), clocks),
    st.tuples(st.just("expire"), st.integers(1, 3)),
    st.tuples(st.just("refuse")),
)
PLAN, RUN = ("plan", False, False), ("run", 0, 100)
COPIED = [("produce", 5), PLAN, RUN]
ACTED_ON_TWICE = [*COPIED, ("decide", "restart", 0, 90_000), PLAN, RUN, ("decide", "restart", 0, -90_000), PLAN, RUN, ("run", 1, 100)]
"""The plans of two restarts that are alike, by clocks that are two days apart; the first one's is copied a second time."""
A_STALE_BROKER = [*COPIED, ("decide", "restart", 2, 0), ("plan", False, True), RUN, ("produce", 1), ("plan", True, False), RUN, RUN]
"""A broker goes on telling of a restart that was acted on."""
BEHIND_AN_OLD_PLAN = [*COPIED, ("produce", 3), PLAN, ("decide", "restart", 0, 0), PLAN, ("run", 1, 100), RUN]
"""A plan that was made before the restart is copied first: the watermark is no longer the one that was seen."""
TWO_REFUSED = [
    *[*COPIED, ("produce", 2), PLAN, ("refuse",), ("decide", "skip-record", None, 0), PLAN],
    *[("run", 1, 100), ("produce", 1), ("refuse",), RUN],
]
"""The record was copied after all, and another one is refused."""


@settings(max_examples=HISTORIES, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.sampled_from(["earliest", "latest"]), st.lists(events, min_size=5, max_size=40))
@example("earliest", ACTED_ON_TWICE)
@example("earliest", A_STALE_BROKER)
@example("earliest", BEHIND_AN_OLD_PLAN)
@example("earliest", TWO_REFUSED)
def test_whatever_people_decide_and_when_nothing_is_lost_or_copied_unasked(world, start, events):
    vars(world).update(vars(World()))
    history = DecidedHistory(world, start)
    for event in events:
        history.play(event)
        assert (history.doubled(), history.lost()) == ([], []), event
        assert (history.passed_over_unasked(), history.unexplained()) == ([], []), event
