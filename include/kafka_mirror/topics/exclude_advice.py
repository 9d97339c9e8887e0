"""What to write where the target does not take a config: the whole line, for one that is set takes the place of all default members."""

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from kafka_mirror.config.policies import config_property_filter
from kafka_mirror.config.references import has_reference
from kafka_mirror.policy.filters import DefaultConfigPropertyFilter

if TYPE_CHECKING:
    from kafka_mirror.config import Flow

EXCLUDE = "config.properties.exclude"
_TIERED = "tiered storage"
_OF_TIERED = ("remote.", "local.")


def exclude_advice(flow: "Flow", carried: Iterable[str], complaint: str) -> str:
    """The next step after a broker's complaint about the configs that were `carried` to it: the line that leaves out what it names."""
    names = _find_in_the_way(carried, complaint)
    what = ", ".join(names) if names else "the config that it names"
    or_else = f"Or correct {what} on the source topic."
    setting = flow.connector.get(EXCLUDE)
    if not isinstance(config_property_filter(flow), DefaultConfigPropertyFilter):
        return f"Let config.property.filter.class leave out {what}. {or_else}"
    if setting is not None and has_reference(setting.text):
        return f"Add {what} to the list that {setting.origin} refers to. {or_else}"
    members = [*flow.value(EXCLUDE), *(names or ["<the config>"])]
    # In a properties file a backslash is written twice.
    line = f"{key_to_write(flow, EXCLUDE)} = {', '.join(dict.fromkeys(members))}".replace("\\", "\\\\")
    return f"To leave out {what}, write this whole line, which has what is left out now too: {line}\n{or_else}"


def key_to_write(flow: "Flow", name: str) -> str:
    """The key of the file that sets a property for the flow, or would."""
    setting = flow.connector.get(name)
    return setting.origin if setting is not None and setting.origin in flow.lines else f"{flow.name}.{name}"


def _find_in_the_way(carried: Iterable[str], complaint: str) -> list[str]:
    """The configs that a complaint is about. One about tiered storage names none of them."""
    names = sorted(set(carried))
    named = [name for name in names if re.search(rf"(?<![\w.]){re.escape(name)}(?!\w|\.\w)", complaint)]
    tiered = [name for name in names if name.startswith(_OF_TIERED)] if _TIERED in complaint.lower() else []
    return named or tiered
