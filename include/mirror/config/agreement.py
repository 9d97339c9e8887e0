"""What flows of opposite directions have to agree upon.

Of one flow the three connectors get the same properties, so a file cannot make them disagree. Two flows can: with other names for remote
topics, neither knows the other's again, and what was mirrored is mirrored back.
"""

from collections.abc import Iterable, Iterator

from mirror.config.catalogue_connectors import DEFAULT_POLICY
from mirror.config.flow import Flow
from mirror.config.overlap import Choice, may_share
from mirror.config.setting import DEFAULT

_NAMING = ("replication.policy.class", "replication.policy.separator")


def naming_disagreements(flows: Iterable[Flow]) -> Iterator[tuple[Flow, Flow, str]]:
    """Two flows of opposite directions that name remote topics differently and may choose the same ones, and what to say of them."""
    known = {(flow.source, flow.target): flow for flow in flows}
    for (source, target), one in known.items():
        other = known.get((target, source))
        if other is None or source > target:
            continue
        different = [name for name in _NAMING if one.value(name) != other.value(name)]
        if different and may_share([Choice.of(one), Choice.of(other)]):
            values = " and ".join(f"{_shown(one, name)}, but {_shown(other, name)}" for name in different)
            yield (
                one,
                other,
                f"{one.name} and {other.name} name remote topics differently ({values}), so neither knows the other's remote topics again "
                "and records may go round for ever, in MirrorMaker 2 too. Set replication.policy.* alike for both, or let them mirror "
                "different topics.",
            )


def unseen_circles(flows: Iterable[Flow]) -> dict[str, str]:
    """Name of each flow whose topics come back to it unseen -> why. The DefaultReplicationPolicy tells where a topic came from by what
    stands before the first separator, which is no alias if an alias has a separator itself."""
    plain = {(flow.source, flow.target): flow for flow in flows if flow.value(_NAMING[0]) == DEFAULT_POLICY}
    found = {}
    for (source, target), one in plain.items():
        separator, other = one.value(_NAMING[1]), plain.get((target, source))
        unclear = [alias for alias in (source, target) if separator in alias]
        if other is not None and unclear and may_share([Choice.of(one), Choice.of(other)]):
            found[one.name] = (
                f"the alias '{unclear[0]}' has the separator '{separator}' in it, so nobody can tell by a topic's name that it came from "
                f"there, and {one.name} and {other.name} would mirror each other's remote topics"
            )
    return found


def _shown(flow: Flow, name: str) -> str:
    setting = flow.connector.get(name)
    origin = "by default" if setting is None or setting.origin == DEFAULT else f"by {setting.origin}"
    return f"{name} of {flow.name} is '{flow.value(name)}' {origin}"
