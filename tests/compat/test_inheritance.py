"""From the bytes of a file to the maps of worker, connectors and clients: the same as MirrorMaker 2's."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from kafka_mirror.config import inheritance
from kafka_mirror.config.catalogue import TOP_LEVEL
from kafka_mirror.config.clients.catalogue import CLIENT_KEYS
from kafka_mirror.config.file import ConfigurationFile, beating_pairs, enabled_pairs
from kafka_mirror.config.properties import entries
from kafka_mirror.config.references import read_providers
from kafka_mirror.config.setting import Setting
from tests.compat.configurations import configurations, written
from tests.compat.differences import is_ours
from tests.compat.peer import Peer, compared

THEIR_TOP_LEVEL = {name for name in TOP_LEVEL if not is_ours(name)}


def texts(settings: dict[str, Setting]) -> dict[str, str]:
    return {name: setting.text for name, setting in settings.items()}


def client(connector: dict[str, Setting], side: str, role: str) -> dict[str, str]:
    """Our settings of a client with what MirrorMaker 2 adds to those of every consumer."""
    found = texts(inheritance.client_properties(connector, side, role))
    return {"auto.offset.reset": "earliest", **found, "enable.auto.commit": "false"} if role == "consumer" else found


def test_the_names_that_reach_every_flow_and_those_that_clients_inherit_are_kafkas_own(peer: Peer) -> None:
    theirs = peer.ask("names")
    assert set(theirs["clients"]) == set(CLIENT_KEYS)
    assert set(theirs["top_level"]) == THEIR_TOP_LEVEL


@compared(200)
@given(st.data())
def test_a_file_becomes_the_maps_that_mirrormaker_2_makes_of_it(peer: Peer, data: st.DataObject) -> None:
    clusters, properties = data.draw(configurations())
    content = data.draw(written(properties))
    raw = {key: Setting(entry.value, key) for key, entry in entries(content).items()}
    flows = [(source, target) for source in clusters for target in clusters if source != target]
    theirs = peer.ask("file", bytes=content.hex(), flows=flows)

    file = ConfigurationFile("", raw, read_providers(raw, {}), tuple(clusters))
    assert set(theirs["clusters"]) == set(clusters)
    enabled = {f"{pair.source}->{pair.target}" for pair in enabled_pairs(file)[0] if not pair.problems}
    beating = {f"{pair.source}->{pair.target}" for pair in beating_pairs(file)[0] if not pair.problems}
    assert (enabled, enabled | beating) == (set(theirs["enabled"]), set(theirs["pairs"]))
    for source, target in flows:
        peer.cases["flattened flows"] += 1
        expected: dict[str, Any] = theirs["flows"][f"{source}->{target}"]
        connector = inheritance.connector_properties(raw, source, target, THEIR_TOP_LEVEL)
        assert texts(inheritance.worker_properties(raw, source, target)) == expected["worker"]
        assert texts(connector) == expected["connector"]
        assert expected["alike"], "no file gives one of the three connectors a setting that the others do not get"
        for name, settings in (expected["clients"] or {}).items():
            found = client(connector, *name.split())
            assert found | {"client.id": settings["client.id"]} == settings, name
