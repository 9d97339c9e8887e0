"""The handbook's tables of properties and client settings, made from the catalogue so that they cannot differ from it."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from kafka_mirror.config.catalogue import CATALOGUE, OF_THE_FILE
from kafka_mirror.config.catalogue.mm2 import WORKER_NAMES
from kafka_mirror.config.catalogue.values import Property
from kafka_mirror.config.clients.catalogue import ALL, CLIENT_PROPERTIES, SECURITY_PROPERTIES, ClientProperty

_BY_TOPIC = "list of [&lt;topic regex>=]&lt;word>, the first match wins; words:"
_TITLES = {"mirror": "The mirror's own (`mirror.*`)"}


def markdown_table() -> str:
    """What becomes of each property, each in one place: honoured, one table a group, our own first, in the order of the catalogue; refused;
    without effect."""
    parts = []
    every = (*CATALOGUE.values(), *OF_THE_FILE.values())
    for group in dict.fromkeys(prop.group for prop in every):
        members = [prop for prop in every if prop.group == group and not prop.effect and not prop.refused]
        parts.append("\n".join(_write_group(_TITLES.get(group, group[0].upper() + group[1:]), members)))
    lines = [
        "### Refused, unless it says what is done anyway",
        "",
        "| properties | possible | because |",
        "|---|---|---|",
    ]
    refused = [prop for prop in every if prop.refused]
    lines += _group_rows(((prop.name, f"{_write_default(prop) or 'empty'} | {_escape(prop.refused)}") for prop in refused), _add_anchor)
    lines += ["", "### Accepted, without effect in batch (with a notice)", "", "| properties | because |", "|---|---|"]
    worker = dict.fromkeys(sorted(WORKER_NAMES - set(OF_THE_FILE) - set(CATALOGUE)), "there is no Connect worker")
    reasons = {prop.name: prop.effect for prop in every if prop.effect} | worker
    lines += _group_rows((name, _escape(reason)) for name, reason in reasons.items())
    return "\n\n".join([*parts, "\n".join(lines)]) + "\n"


def markdown_client_table() -> str:
    """What becomes of each setting of a Java client: three lists, each setting in one of them."""
    every = (*CLIENT_PROPERTIES.values(), *SECURITY_PROPERTIES.values())
    mapped, refused, ignored = ([prop for prop in every if prop.becomes == list_] for list_ in ("mapped", "refused", "without effect"))
    lines = ["## Mapped to librdkafka (and `bootstrap.servers`)", "", "| Java client settings | clients | librdkafka |", "|---|---|---|"]
    lines += _group_rows((prop.name, f"{_list_roles(prop)} | {_write_mapping(prop)}") for prop in mapped)
    lines += ["", "## Refused, because bytes or guarantees would change", ""]
    lines += ["| Java client setting | clients | possible values |", "|---|---|---|"]
    lines += _group_rows((prop.name, f"{_list_roles(prop)} | {_escape(prop.refuse.text) or 'none'}") for prop in refused if prop.refuse)
    lines += ["", "## Accepted, without effect in batch", "", "| Java client settings | because |", "|---|---|"]
    lines += _group_rows((prop.name, _escape(prop.effect)) for prop in ignored)
    return "\n".join(lines) + "\n"


def _add_anchor(name: str) -> str:
    """The name of a property, with an anchor that is called as it is: `configuration.md#mirror.lanes`."""
    return f'<a id="{name}"></a>`{name}`'


def _group_rows(cells: Iterable[tuple[str, str]], mark: Callable[[str], str] = "`{}`".format) -> list[str]:
    """A row for each text that follows a name, with all names that it follows."""
    rows: dict[str, list[str]] = {}
    for name, rest in cells:
        rows.setdefault(rest, []).append(mark(name))
    return [f"| {', '.join(names)} | {rest} |" for rest, names in rows.items()]


def _write_mapping(prop: ClientProperty) -> str:
    return "the same name" if prop.librdkafka == prop.name else ", ".join(f"`{name}`" for name in prop.librdkafka.split(", "))


def _list_roles(prop: ClientProperty) -> str:
    return "all" if prop.roles == ALL else ", ".join(sorted(prop.roles))


def _write_group(title: str, members: Iterable[Property]) -> Iterator[str]:
    yield f"### {title}"
    yield ""
    yield "| properties | default | allowed | meaning |"
    yield "|---|---|---|---|"
    yield from _group_rows(((prop.name, f"{_write_default(prop)} | {_allow(prop)} | {_escape(prop.doc)}") for prop in members), _add_anchor)


def _allow(prop: Property) -> str:
    return _escape(prop.valid.text if prop.valid else "").replace(_BY_TOPIC, "by topic:")


def _write_default(definition: Property) -> str:
    if definition.default_from:
        return f"that of `{definition.default_from}`"
    value: Any = definition.default
    if value is None or value in ("", ()):
        return ""
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    return f"`{_escape(', '.join(value) if isinstance(value, tuple) else str(value))}`"


def _escape(text: str) -> str:
    # A bare < would begin an HTML tag, which vanishes from the page.
    return text.replace("|", "\\|").replace("<", "&lt;")
