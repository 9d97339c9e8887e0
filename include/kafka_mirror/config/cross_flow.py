"""What only shows when all flows are seen together: by which of them copies may come back, and what they must agree upon.

A remote topic tells by its name where it came from, and is not mirrored back there. It does not tell where a policy keeps names
(IdentityReplicationPolicy), and where an alias has the separator in it. There each flow knows the flows that may bring its copies back, and
`TopicSelection` leaves out every topic that they would bring.
"""

from collections.abc import Iterable, Iterator, Sequence

from kafka_mirror.config.catalogue.mm2 import DEFAULT_POLICY, IDENTITY_POLICY
from kafka_mirror.config.flow import Flow
from kafka_mirror.config.setting import DEFAULT

_NAMING = ("replication.policy.class", "replication.policy.separator")


def flows_leading_back(flows: Sequence[Flow]) -> dict[str, tuple[Flow, ...]]:
    """Name of each flow -> the flows by which copies of its topics may come back to its source, whatever topics they choose."""
    known = {(flow.source, flow.target): flow for flow in flows}
    keeping = {
        flow.name: flow for flow in _find_circles([flow for flow in flows if flow.value("replication.policy.class") == IDENTITY_POLICY])
    }
    found = {}
    for flow in flows:
        opposite = known.get((flow.target, flow.source))
        pair = (flow.name, opposite.name if opposite else flow.name)
        back = [other for name, other in keeping.items() if name not in pair] if flow.name in keeping else []
        found[flow.name] = (*back, *([opposite] if opposite and _is_taken_back(flow, opposite) else []))
    return found


def circle_notices(flows: Sequence[Flow]) -> Iterator[tuple[Flow, Flow, str]]:
    """Two opposite flows that name the same topics although copies of them may come back, and what to say of them."""
    known = {(flow.source, flow.target): flow for flow in flows}
    for (source, target), one in known.items():
        other = known.get((target, source))
        if other is None or source > target:
            continue
        shared, different = _find_shared_names(one, other), [name for name in _NAMING if one.value(name) != other.value(name)]
        both = f"{one.name} and {other.name}"
        if shared and different:
            values = " and ".join(f"{_list_names(one, name)}, but {_list_names(other, name)}" for name in different)
            notice = (
                f"{both} name the same topics ('{shared[0]}') and name remote topics differently ({values}), so neither knows the other's "
                "remote topics again and records may go round for ever, in MirrorMaker 2 too. Set replication.policy.* alike for both, or "
                "let them mirror different topics."
            )
            yield one, other, notice
        elif shared and _is_taken_back(one, other):
            notice = (
                f"{both} name the same topics ('{shared[0]}'), and the name of a remote topic does not tell that it came from the other "
                "side. A topic that both take would go round for ever, as in MirrorMaker 2: every plan leaves it out (TopicGoesRound). Let "
                "them mirror different topics (topics, topics.exclude)."
            )
            yield one, other, notice


def idle_ways_back(flows: Iterable[Flow]) -> dict[str, str]:
    """Name of each flow that is the way back of one that is its own way back -> why neither copies anything."""
    ways = {(flow.source, flow.target): flow for flow in flows if flow.value("mirror.way.back")}
    return {
        flow.name: f"{other.name} is a way back too (mirror.way.back), and a way back copies only what a cutover of its opposite moved, so "
        "neither ever copies a topic"
        for (source, target), flow in ways.items()
        if (other := ways.get((target, source))) is not None
    }


def renamed_circles(flows: Iterable[Flow]) -> dict[str, str]:
    """Name of each flow that renames topics on a circle of flows which keep names otherwise -> why it cannot: what comes back has another
    name than what went, and nothing tells that it is the same."""
    keeping = [flow for flow in flows if flow.value("replication.policy.class") == IDENTITY_POLICY]
    return {
        flow.name: f"flows that keep topic names lead from {flow.target} back to {flow.source}, where renamed topics are not recognised"
        for flow in _find_circles(keeping)
        if "mirror.rename" in flow.connector
    }


def _is_taken_back(one: Flow, other: Flow) -> bool:
    """Whether one of two opposite flows may take what the other wrote. A way back copies only what a cutover took from its opposite, so no
    topic goes both ways at once. A policy of the user's own says itself where a topic came from."""
    policy = one.value("replication.policy.class")
    if policy != other.value("replication.policy.class"):
        return False
    if policy == IDENTITY_POLICY:
        return not any(flow.value("mirror.way.back") for flow in (one, other))
    # What stands before the first separator of a remote topic's name is no alias then.
    return policy == DEFAULT_POLICY and any(
        flow.value("replication.policy.separator") in alias for flow in (one, other) for alias in (one.source, one.target)
    )


def _find_shared_names(one: Flow, other: Flow) -> list[str]:
    excluded = {*one.value("topics.exclude"), *other.value("topics.exclude")}
    return [member for member in one.value("topics") if member in other.value("topics") and member not in excluded]


def _list_names(flow: Flow, name: str) -> str:
    setting = flow.connector.get(name)
    origin = "by default" if setting is None or setting.origin == DEFAULT else f"by {setting.origin}"
    return f"{name} of {flow.name} is '{flow.value(name)}' {origin}"


def _find_circles(flows: Sequence[Flow]) -> list[Flow]:
    """The flows whose target leads back to their source, whatever the topics: in large meshes most do not, and are not looked at again."""
    beyond = {flow.source: {flow.source} for flow in flows}
    grown = True
    while grown:
        grown = False
        for flow in flows:
            more = beyond.get(flow.target, {flow.target}) - beyond[flow.source]
            beyond[flow.source] |= more
            grown = grown or bool(more)
    return [flow for flow in flows if flow.source in beyond.get(flow.target, ())]
