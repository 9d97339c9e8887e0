"""What a flow may say and hardly means: taken as MirrorMaker 2 takes it, and told."""

import re
from collections.abc import Iterator

from mirror.config.catalogue import CATALOGUE
from mirror.config.exposure import exposures
from mirror.config.flow import Flow
from mirror.config.patterns import compile_pattern
from mirror.config.references import has_reference

_ODD_IN_NAMES = re.compile(r"[\"'\x00-\x1f]")
_OF_ANY_TEXT = ("groups", "groups.exclude", "mirror.schemas.subjects")


def hints(flow: Flow) -> Iterator[str]:
    """Sentences without file and line, about properties that are valid by themselves."""
    yield from _odd_patterns(flow)
    yield from _lost_defaults(flow)
    yield from exposures(flow)


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


def _lost_defaults(flow: Flow) -> Iterator[str]:
    """A list of configs that are not copied takes the place of the default one, and whoever wanted to add to it does not hear of that."""
    name = "config.properties.exclude"
    setting, default = flow.connector.get(name), CATALOGUE[name].default
    if setting is None or not setting.text.strip() or has_reference(setting.text):
        return
    try:
        members = CATALOGUE[name].parse(setting.text)
        excluded = compile_pattern("|".join(members))
    except ValueError:
        return
    lost = [member for member in default if not excluded.matches(member)]
    if lost:
        yield (
            f"{setting.origin} takes the place of the default list: {', '.join(lost)} "
            f"{'are' if len(lost) > 1 else 'is'} copied to remote topics now, as in MirrorMaker 2. If you only meant to add to it, write "
            "them into the line too."
        )
