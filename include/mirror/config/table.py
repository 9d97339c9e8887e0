"""The README's table of properties, made from the catalogue so that it cannot differ from it."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from mirror.config.catalogue import CATALOGUE, OF_THE_FILE
from mirror.config.catalogue_clients import ALL, CLIENT_PROPERTIES, ClientProperty
from mirror.config.catalogue_connect import WORKER_NAMES
from mirror.config.catalogue_security import SECURITY_PROPERTIES
from mirror.config.property import Property

_TITLES = {"mirror": "The mirror's own (`mirror.*`)"}


def markdown_table() -> str:
    """What becomes of each property, each in one place: honoured, one table a group, our own first, in the order of the catalogue; refused;
    without effect."""
    parts = []
    known = (*CATALOGUE.values(), *OF_THE_FILE.values())
    for group in dict.fromkeys(each.group for each in known):
        members = [each for each in known if each.group == group and not each.effect and not each.refused]
        parts.append("\n".join(_group(_TITLES.get(group, group[0].upper() + group[1:]), members)))
    lines = [
        "**Refused**, unless it says what is done anyway",
        "",
        "| property | type | possible | meaning | because |",
        "|---|---|---|---|---|",
    ]
    refused = [each for each in known if each.refused]
    lines += [
        f"| `{each.name}` | {each.type} | {_default(each) or 'empty'} | {_cell(each.doc)} | {_cell(each.refused)} |" for each in refused
    ]
    lines += ["", "**Accepted, without effect in batch** (with a notice)", "", "| properties | because |", "|---|---|"]
    worker = dict.fromkeys(sorted(WORKER_NAMES - set(OF_THE_FILE) - set(CATALOGUE)), "there is no Connect worker")
    reasons = {each.name: each.effect for each in known if each.effect} | worker
    lines += _by_reason(reasons)
    return "\n\n".join([*parts, "\n".join(lines)]) + "\n"


def markdown_client_table() -> str:
    """What becomes of each setting of a Java client: three lists, each setting in one of them."""
    known = (*CLIENT_PROPERTIES.values(), *SECURITY_PROPERTIES.values())
    mapped, refused, ignored = ([each for each in known if each.becomes == list_] for list_ in ("mapped", "refused", "without effect"))
    lines = ["**Mapped to librdkafka** (and `bootstrap.servers`)", "", "| Java client setting | clients | librdkafka |", "|---|---|---|"]
    lines += [f"| `{each.name}` | {_roles(each)} | {_code(each.librdkafka)} |" for each in mapped]
    lines += ["", "**Refused**, because bytes or guarantees would change", ""]
    lines += ["| Java client setting | clients | possible values |", "|---|---|---|"]
    lines += [f"| `{each.name}` | {_roles(each)} | {_cell(each.refuse.text) or 'none'} |" for each in refused if each.refuse]
    lines += ["", "**Accepted, without effect in batch**", "", "| Java client settings | because |", "|---|---|"]
    lines += _by_reason({each.name: each.effect for each in ignored})
    return "\n".join(lines) + "\n"


def _by_reason(reasons: Mapping[str, str]) -> list[str]:
    """A row for each reason, with the names that have it."""
    return [
        f"| {', '.join(f'`{name}`' for name, why in reasons.items() if why == reason)} | {_cell(reason)} |"
        for reason in dict.fromkeys(reasons.values())
    ]


def _roles(known: ClientProperty) -> str:
    return "all" if known.roles == ALL else ", ".join(sorted(known.roles))


def _code(names: str) -> str:
    return ", ".join(f"`{name}`" for name in names.split(", "))


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
