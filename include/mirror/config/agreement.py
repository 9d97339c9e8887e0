"""What flows of opposite directions have to agree upon.

Of one flow the three connectors get the same properties, so a file cannot make them disagree. Two flows can: with other names for remote
topics, neither knows the other's again, and what was mirrored is mirrored back.
"""

from collections.abc import Iterable, Iterator

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


def _shown(flow: Flow, name: str) -> str:
    setting = flow.connector.get(name)
    origin = "by default" if setting is None or setting.origin == DEFAULT else f"by {setting.origin}"
    return f"{name} of {flow.name} is '{flow.value(name)}' {origin}"
