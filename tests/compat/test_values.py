"""Names, types, defaults and limits of the connectors' properties: those that MirrorMaker 2's definitions have."""

from typing import Any

from kafka_mirror.config.catalogue import CATALOGUE
from kafka_mirror.config.clients.catalogue import SECURITY_KEYS
from tests.compat.configurations import TEXTS_BY_TYPE
from tests.compat.differences import DEFAULTS, is_ours, laxer, stricter
from tests.compat.peer import Peer

REQUIRED = {
    "name": "x",
    "connector.class": "org.apache.kafka.connect.mirror.MirrorSourceConnector",
    "source.cluster.alias": "A",
    "target.cluster.alias": "B",
}
NOT_OF_THE_CONNECTORS = {
    *("use.defaults.from", "exactly.once.support", "transaction.boundary", "transaction.boundary.interval.ms"),
    *("offsets.storage.topic", "topic.creation.groups", "task.index", "task.assigned.partitions", "task.assigned.groups"),
}
"""Read by a filter, by Connect or by tasks; the connectors' definitions do not have them."""


def as_json(value: object) -> object:
    return list(value) if isinstance(value, tuple) else value


def test_every_property_of_the_connectors_is_in_the_catalogue_with_its_default(peer: Peer) -> None:
    theirs = peer.ask("connectors", properties=REQUIRED)["values"]
    catalogue = {name: as_json(each.default) for name, each in CATALOGUE.items() if not is_ours(name)}
    assert set(theirs) - set(SECURITY_KEYS) - {"config.providers"} == set(catalogue) - NOT_OF_THE_CONNECTORS
    different = {name for name, default in catalogue.items() if name in theirs and theirs[name] != default}
    assert different - set(REQUIRED) == set(DEFAULTS) - set(REQUIRED)


def difference(name: str, text: str, theirs: dict[str, Any]) -> str | None:
    """What the mirror makes of a value otherwise than MirrorMaker 2, if that is not meant."""
    error = theirs["errors"].get(name)
    try:
        found = as_json(CATALOGUE[name].parse(text))
    except ValueError as refusal:
        meant = error or stricter(name, theirs["values"][name])
        return None if meant else f"{name}={text!r} is refused here alone: {refusal}"
    if error:
        return None if laxer(name, text) else f"{name}={text!r} is taken here alone; there: {error}"
    return None if found == theirs["values"][name] else f"{name}={text!r} is {found!r} here and {theirs['values'][name]!r} there"


def test_every_property_takes_and_refuses_what_mirrormaker_2_does(peer: Peer) -> None:
    names = [name for name in CATALOGUE if not is_ours(name) and name not in NOT_OF_THE_CONNECTORS]
    differences = []
    for place in range(max(map(len, TEXTS_BY_TYPE.values()))):
        properties = {name: texts[place % len(texts)] for name in names for texts in [TEXTS_BY_TYPE[CATALOGUE[name].type]]}
        theirs = peer.ask("connectors", properties={**REQUIRED, **properties})
        peer.cases["values of properties"] += len(properties)
        differences += [difference(name, text, theirs) for name, text in properties.items()]
    assert [each for each in differences if each] == []
