"""What a flow may say and hardly means: taken as MirrorMaker 2 takes it, and told."""

import re
from collections.abc import Iterator

from mirror.config.catalogue import CATALOGUE
from mirror.config.flow import Flow
from mirror.config.references import has_reference

_ODD_IN_NAMES = re.compile(r"[\"'\x00-\x1f]")
_OF_ANY_TEXT = ("groups", "groups.exclude", "mirror.schemas.subjects")


def hints(flow: Flow) -> Iterator[str]:
    """Sentences without file and line, about properties that are valid by themselves."""
    yield from _odd_patterns(flow)


def _odd_patterns(flow: Flow) -> Iterator[str]:
    """Group ids and subjects may hold quotes and control characters; nobody calls them so on purpose."""
    from mirror.policy.possible_names import printable

    for name in _OF_ANY_TEXT:
        setting = flow.connector.get(name)
        if setting is None or has_reference(setting.text):
            continue
        try:
            members = CATALOGUE[name].parse(setting.text)
        except ValueError:
            continue
        odd = next((member for member in members if _ODD_IN_NAMES.search(member)), None)
        if odd is not None:
            yield (
                f"{setting.origin}: the quotes and control characters of '{printable(odd)}' belong to the name. Write a list without "
                r"quotes, and \\ for one backslash."
            )
