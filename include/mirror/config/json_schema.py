"""The JSON Schema of `mm2.properties`, taken as an object of its keys: draft 2020-12, made from the catalogue.

A value may be written as JSON has it (`16`, `true`) or as the file has it (`"16"`, `"true"`), and any may be a reference (`${env:LANES}`).
"""

import re
from collections.abc import Iterable
from typing import Any

from mirror.config.catalogue import CATALOGUE, OF_THE_FILE
from mirror.config.catalogue.property import Property
from mirror.config.clients.catalogue import CLIENT_KEYS, CLIENT_PROPERTIES, ROLES

DRAFT = "https://json-schema.org/draft/2020-12/schema"
_REFERENCE = {"type": "string", "pattern": r"\$\{"}
_SCALAR = {"type": ["string", "number", "boolean"]}
_FLOW = r"^.+->.+\."
_CLUSTER = r"^[^>]+\."
_STRINGS = {"BOOLEAN": r"^\s*([Tt][Rr][Uu][Ee]|[Ff][Aa][Ll][Ss][Ee])\s*$", "DOUBLE": r"^\s*[-+]?[0-9]*\.?[0-9]+([eE][-+]?[0-9]+)?\s*$"}
_WHOLE = r"^\s*[-+]?[0-9]+\s*$"
_NUMBERS = ("SHORT", "INT", "LONG")
_CLIENT_SETTING = "client-setting"
_CLIENT_SETTINGS = tuple(dict.fromkeys((*CLIENT_KEYS, *CLIENT_PROPERTIES)))


def json_schema() -> dict[str, Any]:
    """The schema. A key of ours that nobody knows does not fit it; one of MirrorMaker 2's does, as it does there."""
    everywhere = [name for name, known in CATALOGUE.items() if known.top_level]
    ours = [name.removeprefix("mirror.") for name in CATALOGUE if name.startswith("mirror.")]
    definitions = {name: _definition(known) for name, known in (*OF_THE_FILE.items(), *CATALOGUE.items())}
    return {
        "$schema": DRAFT,
        "title": "mm2.properties",
        "description": "The configuration of the mirror: that of MirrorMaker 2, and its own properties (mirror.*).",
        "type": "object",
        "required": ["clusters"],
        "properties": {name: _pointer(name) for name in (*OF_THE_FILE, *everywhere)},
        "patternProperties": {
            **{f"{_FLOW}{re.escape(name)}$": _pointer(name) for name in CATALOGUE},
            f"{_CLUSTER}(({_one_of(ROLES)})\\.)?({_one_of(_CLIENT_SETTINGS)})$": _pointer(_CLIENT_SETTING),
            f"({_FLOW}|^)mirror\\.(?!({_one_of(ours)})$)": False,
        },
        "additionalProperties": _SCALAR,
        "$defs": {**definitions, _CLIENT_SETTING: {"description": "A setting of Kafka's Java clients.", **_SCALAR}},
    }


def _definition(known: Property) -> dict[str, Any]:
    """What a property means and which values fit it."""
    why = f" Refused, unless it is the default: {known.refused}." if known.refused else ""
    why += f" Without effect: {known.effect}." if known.effect else ""
    allowed = f" Allowed: {known.valid.text}." if known.valid else ""
    default = {} if known.default in (None, ()) else {"default": _json(known.default)}
    return {"description": known.doc + why + allowed, **default, "anyOf": [*_values(known), _REFERENCE]}


def _values(known: Property) -> list[dict[str, Any]]:
    if known.type in _NUMBERS:
        least, most = (known.valid.least, known.valid.most) if known.valid else (None, None)
        limits = {name: limit for name, limit in (("minimum", least), ("maximum", most)) if limit is not None}
        return [{"type": "integer", **limits}, {"type": "string", "pattern": _WHOLE}]
    if known.type in _STRINGS:
        return [{"type": "boolean" if known.type == "BOOLEAN" else "number"}, {"type": "string", "pattern": _STRINGS[known.type]}]
    if known.type == "STRING" and known.valid and known.valid.words:
        return [{"enum": list(known.valid.words)}]
    return [{"type": "string"}]


def _pointer(name: str) -> dict[str, str]:
    return {"$ref": f"#/$defs/{name}"}


def _one_of(names: Iterable[str]) -> str:
    return "|".join(map(re.escape, names))


def _json(value: Any) -> Any:
    return ", ".join(value) if isinstance(value, tuple) else value
