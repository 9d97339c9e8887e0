"""Schemas from and to a real registry: Apicurio, by Confluent's API."""

from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from kafka_mirror.config import Flow, load
from kafka_mirror.topics.schemas.run import step
from services.schema_registry import ApicurioRegistry, schema_registry

MONEY = '{"type":"record","name":"Money","namespace":"shop","fields":[{"name":"cents","type":"long"}]}'
ORDER = '{"type":"record","name":"Order","namespace":"shop","fields":[{"name":"price","type":"shop.Money"}]}'
LATER = ORDER.replace("]}", ',{"name":"note","type":"string","default":""}]}')
IMPORT_SETS_NO_MODE = "refused to put {} into the mode IMPORT: 200 the mode is READWRITE all the same"


@pytest.fixture(scope="module")
def apicurio(services_directory: Path) -> Iterator[str]:
    """The address of a registry with subjects of each type, references, two versions, and a version that was deleted."""
    registry = ApicurioRegistry(services_directory)
    registry.start()
    url, money = registry.url, [{"name": "shop.Money", "subject": "money", "version": 1}]
    with httpx.Client(base_url=url) as client:

        def register(subject: str, schema: str, **more: object) -> None:
            client.post(f"/subjects/{subject}/versions", json={"schema": schema, **more}).raise_for_status()

        register("clicks-value", '"long"')
        client.delete("/subjects/clicks-value/versions/1").raise_for_status()
        register("clicks-value", '"string"')
        register("money", MONEY)
        register("orders-value", ORDER, references=money)
        register("orders-value", LATER, references=money)
        register("people-value", '{"type":"object","properties":{"name":{"type":"string"}}}', schemaType="JSON")
        register("parcels-value", 'syntax = "proto3"; message Parcel { string to = 1; }', schemaType="PROTOBUF")
        client.put("/config/orders-value", json={"compatibility": "FULL"}).raise_for_status()
    yield url
    registry.stop()


@pytest.fixture
def flow(tmp_path: Path) -> Callable[[str, str], Flow]:
    """The flow between two registries."""

    def made(source: str, target: str) -> Flow:
        clusters = (
            "clusters=east,west\neast.bootstrap.servers=a:1\nwest.bootstrap.servers=b:1\neast->west.enabled=true\nmirror.one.cluster=true\n"
        )
        file = tmp_path / "mm2.properties"
        file.write_text(f"{clusters}mirror.schemas.source.url={source}\nmirror.schemas.target.url={target}\n")
        return load([file]).flow("east->west")

    return made


def test_schemas_of_a_real_registry_are_brought_with_ids_references_types_and_compatibility(
    apicurio: str, flow: Callable[[str, str], Flow]
) -> None:
    with schema_registry() as (target, held):
        assert step(flow(apicurio, target)).errors == ()
        assert step(flow(apicurio, target)).lines == ("Both registries are equal: 6 versions with the same ids.",)
    brought = {(name, number): version for name, versions in held.subjects.items() for number, version in versions.items()}
    with httpx.Client(base_url=apicurio) as client:
        for (name, number), version in brought.items():
            there = client.get(f"/subjects/{name}/versions/{number}").json()
            assert (version["id"], version["schema"]) == (there["id"], there["schema"])
            assert version.get("schemaType", "AVRO") == there["schemaType"]
            assert version.get("references", []) == there["references"]
    assert sorted(name for name, _ in brought) == ["clicks-value", "money", "orders-value", "orders-value", "parcels-value", "people-value"]
    assert held.compatibility["orders-value"] == "FULL"


def test_a_real_registry_that_keeps_no_ids_is_refused_before_anything_is_written_to_it(
    apicurio: str, flow: Callable[[str, str], Flow]
) -> None:
    with schema_registry() as (source, held):
        for _ in range(20):
            held.register("many", f'{{"type":"fixed","name":"many","size":{_ + 1}}}')
        held.register("new-value", '"bytes"')
        held.subjects.pop("many")
        before = httpx.get(f"{apicurio}/subjects").json()
        [error] = step(flow(source, apicurio)).errors
    assert error.code == "RegistryRefused"
    assert IMPORT_SETS_NO_MODE.format("new-value") in error.message
    assert httpx.get(f"{apicurio}/subjects").json() == before
