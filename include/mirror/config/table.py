"""The README's table of properties, made from the catalogue so that it cannot differ from it."""

from collections.abc import Iterable, Iterator
from typing import Any

from mirror.config.catalogue import CATALOGUE
from mirror.config.catalogue_clients import CLIENT_PROPERTIES, ClientProperty
from mirror.config.property import Property

_TITLES = {"mirror": "The mirror's own (`mirror.*`)"}


def markdown_table() -> str:
    """One table a group, our own first, in the order of the catalogue; what has no effect comes last, as a list."""
    parts = []
    for group in dict.fromkeys(each.group for each in CATALOGUE.values()):
        members = [each for each in CATALOGUE.values() if each.group == group and not each.effect]
        parts.append("\n".join(_group(_TITLES.get(group, group[0].upper() + group[1:]), members)))
    ignored = ", ".join(f"`{each.name}`" for each in CATALOGUE.values() if each.effect)
    parts.append(f"Accepted, with a notice that they have no effect in batch: {ignored}.")
    return "\n\n".join(parts) + "\n"


def markdown_client_table() -> str:
    """What becomes of each setting of a Java client, security settings apart."""
    lines = ["| Java client setting | clients | librdkafka |", "|---|---|---|"]
    lines += [f"| `{each.name}` | {', '.join(sorted(each.roles))} | {_becomes(each)} |" for each in CLIENT_PROPERTIES.values()]
    return "\n".join(lines) + "\n"


def _becomes(known: ClientProperty) -> str:
    if known.librdkafka:
        return f"`{known.librdkafka}`"
    if known.refuse:
        return "refused, unless it says what holds anyway"
    return "no effect" + (f": {known.effect}" if known.effect != "-" else "")


def _group(title: str, members: Iterable[Property]) -> Iterator[str]:
    yield f"**{title}**"
    yield ""
    yield "| property | type | default | allowed | meaning |"
    yield "|---|---|---|---|---|"
    for each in members:
        yield f"| `{each.name}` | {each.type} | {_default(each)} | {_cell(each.valid.text if each.valid else '')} | {_cell(each.doc)} |"


def _default(definition: Property) -> str:
    if definition.default_from:
        return f"that of `{definition.default_from}`"
    value: Any = definition.default
    if value is None or value in ("", ()):
        return ""
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    return f"`{_cell(', '.join(value) if isinstance(value, tuple) else str(value))}`"


def _cell(text: str) -> str:
    # A bare < would begin an HTML tag, which vanishes from the page.
    return text.replace("|", "\\|").replace("<", "&lt;")
