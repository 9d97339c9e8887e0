"""Cycles in generated meshes of flows that keep names, against what records would do in them."""

import re
from itertools import pairwise, permutations, product

from hypothesis import assume, example, given
from hypothesis import strategies as st

from mirror.config.catalogue.mm2 import IDENTITY_POLICY
from mirror.config.cross_flow import Choice, identity_cycles, may_share
from mirror.config.flow import Flow
from mirror.config.policies import topic_selection
from mirror.config.references import References
from mirror.config.setting import Setting
from mirror.errors import ConfigurationError

CLUSTERS = "abcde"
TOPICS = ("x", "y", "z", "xy", "x.y", "x-y", "xzy", "x-1")
NAMES = st.lists(st.sampled_from(TOPICS), min_size=1, max_size=3, unique=True)
PATTERNS = st.lists(
    st.sampled_from((*TOPICS, ".*", "x.*", "[xy]", "x|z", r"x\.y", "y?", "(?i)X", "x[-.]?.")), min_size=1, max_size=3, unique=True
)
PAIRS = st.lists(st.sampled_from(list(permutations(CLUSTERS, 2))), max_size=10, unique=True)


def made(source: str, target: str, topics: list[str], excluded: list[str], policy: str = IDENTITY_POLICY) -> Flow:
    texts = {
        "source.cluster.alias": source,
        "target.cluster.alias": target,
        "topics": ",".join(topics),
        "topics.exclude": ",".join(excluded),
        "replication.policy.class": policy,
    }
    return Flow(source, target, {name: Setting(text, name) for name, text in texts.items()}, {}, References({}))


@st.composite
def meshes(draw: st.DrawFn, topics: st.SearchStrategy[list[str]], excluded: st.SearchStrategy[list[str]]) -> list[Flow]:
    return [made(source, target, draw(topics), draw(excluded)) for source, target in draw(PAIRS)]


def going_round(flows: list[Flow], topic: str) -> set[str]:
    """The flows over which this topic comes back to where it was, by the rules that decide about every topic."""
    edges = {(flow.source, flow.target) for flow in flows if topic_selection(flow).should_replicate(topic)}
    ways = set(edges)
    while True:
        longer = {(one, end) for one, middle in ways for begin, end in edges if middle == begin} | ways
        if longer == ways:
            return {f"{source}->{target}" for source, target in edges if (target, source) in ways}
        ways = longer


@given(meshes(NAMES, st.just([])))
def test_of_topics_listed_by_name_exactly_those_flows_are_found_in_which_one_goes_round(flows: list[Flow]) -> None:
    assert set(identity_cycles(flows)) == set().union(*(going_round(flows, topic) for topic in TOPICS))


@given(meshes(PATTERNS, st.lists(st.sampled_from(TOPICS), max_size=2, unique=True)))
def test_no_cycle_is_missed_whatever_the_patterns(flows: list[Flow]) -> None:
    assert set(identity_cycles(flows)) >= set().union(*(going_round(flows, topic) for topic in TOPICS))


EVERY_SHORT_NAME = ["".join(letters) for length in (1, 2, 3) for letters in product("xyXYz.-", repeat=length)]
SHORT_PATTERNS = st.lists(
    st.sampled_from(
        ("x", "y.", "x.y", r"x\.y", "[xy]", "[^x]y?", "x|y", "(x|y.)x", "(?i)Xy", "x{2}", "(x", "y)", r"\Qx.\E", "^x.$", r"x\wy")
    ),
    min_size=1,
    max_size=3,
    unique=True,
)
EXCLUDED = st.lists(st.sampled_from(("x", "x.", "x.*", ".*y", "[^.]*", "x(?=y).", r".(?<=x)y", "(?!y).*")), max_size=2, unique=True)


def taken(flow: Flow) -> set[str] | None:
    """The short names that the flow takes; None if its patterns are none together."""
    try:
        selection = topic_selection(flow)
    except ConfigurationError:
        return None
    return {name for name in EVERY_SHORT_NAME if selection.should_replicate(name)}


@given(st.lists(st.tuples(SHORT_PATTERNS, EXCLUDED), min_size=2, max_size=3))
@example([(["x", "[^x]y?"], []), (["x", "[^x]y?"], ["[^.]*"])])
def test_a_name_that_all_take_is_never_missed_and_one_that_none_can_take_is_not_claimed(lists: list[tuple[list[str], list[str]]]) -> None:
    flows = [made("a", "b", topics, excluded) for topics, excluded in lists]
    names = [taken(flow) for flow in flows]
    assume(all(each is not None for each in names))
    shared = set[str].intersection(*(each for each in names if each is not None))
    exact = all("(?" not in pattern for _, excluded in lists for pattern in excluded)
    claimed = may_share([Choice.of(flow) for flow in flows])
    assert claimed >= bool(shared)
    # Every included pattern matches short names only, so what is not among them is nowhere.
    assert not exact or claimed == bool(shared)


@given(meshes(PATTERNS, st.just([])))
def test_every_cycle_that_is_written_out_is_one(flows: list[Flow]) -> None:
    by_name = {flow.name: flow for flow in flows}
    for name, text in identity_cycles(flows).items():
        stations = text.split(" -> ")
        assert stations[0] == stations[-1]
        assert len(set(stations)) == len(stations) - 1
        cycle = [f"{source}->{target}" for source, target in pairwise(stations)]
        assert name in cycle
        assert may_share([Choice.of(by_name[each]) for each in cycle])


def test_a_large_mesh_is_judged_at_once() -> None:
    aliases = [f"c{number}" for number in range(12)]
    downwards = [made(one, other, [".*"], []) for place, one in enumerate(aliases) for other in aliases[place + 1 :]]
    assert identity_cycles(downwards) == {}
    found = identity_cycles([*downwards, made("c11", "c0", ["x"], [])])
    assert found["c0->c11"] == "c0 -> c11 -> c0"
    assert all(re.fullmatch(r"c0 -> (c\d+ -> )?c11 -> c0|c\d+ -> .* -> c\d+", text) for text in found.values())
