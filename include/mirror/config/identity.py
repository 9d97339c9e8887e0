"""Cycles of flows that keep topic names.

With the IdentityReplicationPolicy nothing says where a record comes from, so in a cycle it would go round for ever.
"""

from collections import deque
from collections.abc import Iterable, Mapping, Sequence

from mirror.config.catalogue_connectors import IDENTITY_POLICY
from mirror.config.flow import Flow
from mirror.config.overlap import Choice, may_share


def identity_cycles(flows: Iterable[Flow]) -> dict[str, str]:
    """Name of each flow that is part of such a cycle -> the cycle, written out ('east -> west -> east'); of several the shortest."""
    able = _on_circles([flow for flow in flows if flow.value("replication.policy.class") == IDENTITY_POLICY])
    choices = {flow: Choice.of(flow) for flow in able}
    found: dict[str, str] = {}
    for start in able:
        if start.name not in found:
            cycle = _shortest_cycle(start, choices)
            text = " -> ".join([start.source, *(flow.target for flow in cycle)])
            for flow in cycle:
                found.setdefault(flow.name, text)
    return found


def _on_circles(flows: Sequence[Flow]) -> list[Flow]:
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


def _shortest_cycle(start: Flow, choices: Mapping[Flow, Choice]) -> list[Flow]:
    """The flows of the shortest way round that begins with `start` and that one topic may take; empty if there is none."""
    onwards: dict[str, list[Flow]] = {}
    for flow in choices:
        onwards.setdefault(flow.source, []).append(flow)
    paths = deque([[start]])
    while paths:
        path = paths.popleft()
        if path[-1].target == start.source:
            return path
        been = {flow.target for flow in path}
        for following in onwards[path[-1].target]:
            longer = [*path, following]
            if following.target not in been and may_share([choices[flow] for flow in longer]):
                paths.append(longer)
    return []
