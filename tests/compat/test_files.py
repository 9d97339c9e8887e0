"""Whole files: which flows exist, what each property is in each of them, and which connectors would not be created."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kafka_mirror.config import load
from kafka_mirror.config.catalogue import CATALOGUE
from tests.compat.configurations import good_lines
from tests.compat.differences import CONNECTORS_NOT_CREATED, DEFAULTS, NotCreated
from tests.compat.peer import ENVIRONMENT, Peer, Refused, compared

HEAD = "clusters=A,B\nA.bootstrap.servers=a:1\nB.bootstrap.servers=b:1\nA->B.enabled=true\nB->A.enabled=true\n"


def as_json(value: object) -> object:
    return list(value) if isinstance(value, tuple) else value


def connector(peer: Peer, content: str, flow: tuple[str, str]) -> dict[str, dict[str, object]]:
    """What MirrorMaker 2's connectors read of a flow in a file."""
    told = peer.ask("file", bytes=content.encode("latin-1").hex(), flows=[flow])
    answer: dict[str, dict[str, object]] = peer.ask("connectors", properties=told["flows"]["->".join(flow)]["connector"])
    return answer


@settings(compared(60), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(good_lines(), max_size=15))
def test_every_property_has_the_value_that_mirrormaker_2_gives_it(peer: Peer, tmp_path: Path, lines: list[str]) -> None:
    content = HEAD + "\n".join(lines)
    path = tmp_path / "mm2.properties"
    path.write_text(content, "latin-1")
    found = load([path], {})
    assert found.invalid == ()
    for flow in found.flows:
        theirs = connector(peer, content, (flow.source, flow.target))
        assert theirs["errors"] == {}
        for name, value in theirs["values"].items():
            if name in CATALOGUE and name not in DEFAULTS:
                peer.cases["values of properties"] += 1
                assert as_json(flow.value(name)) == value, f"{flow.name}: {name}"


@pytest.mark.parametrize("row", CONNECTORS_NOT_CREATED, ids=lambda row: row.lines.replace("\n", "; "))
def test_what_keeps_a_connector_from_being_created(peer: Peer, tmp_path: Path, row: NotCreated) -> None:
    content = HEAD + row.lines
    refused = {name for name, complaints in connector(peer, content, ("A", "B"))["refused"].items() if complaints}
    assert refused == set(row.connectors)
    path = tmp_path / "mm2.properties"
    path.write_text(content)
    assert ("A->B" in {each.name for each in load([path], {}).invalid}) is row.invalid_here


@pytest.mark.parametrize(
    "line", ["listeners=", "listeners=a,,b", "rest.advertised.port=abc", "ssl.client.auth=maybe", "sasl.login.refresh.window.factor=7"]
)
def test_a_wrong_value_without_effect_keeps_mirrormaker_2_alone_from_starting(peer: Peer, tmp_path: Path, line: str) -> None:
    with pytest.raises(Refused):
        peer.ask("file", bytes=(HEAD + line).encode().hex(), flows=[])
    path = tmp_path / "mm2.properties"
    path.write_text(HEAD + line)
    assert load([path], {}).invalid == ()


@pytest.mark.parametrize("line", ["tasks.max=\\u0663", "replication.policy.separator=", "replication.policy.separator=$"])
def test_what_the_mirror_alone_refuses(peer: Peer, tmp_path: Path, line: str) -> None:
    assert connector(peer, HEAD + line, ("A", "B"))["errors"] == {}
    path = tmp_path / "mm2.properties"
    path.write_text(HEAD + line)
    assert [each.name for each in load([path], {}).flows] == []


@pytest.mark.parametrize(("declared", "theirs"), [("env,file", "a"), ("env , file", "${env:COMPAT_A}"), ("file, env", "${env:COMPAT_A}")])
def test_blanks_beside_the_commas_of_the_providers(peer: Peer, tmp_path: Path, declared: str, theirs: str) -> None:
    package = "org.apache.kafka.common.config.provider"
    lines = f"config.providers={declared}\nA.sasl.jaas.config=${{env:COMPAT_A}}\n" + "".join(
        f"config.providers.{name}.class={package}.{kind}\n"
        for name, kind in (("env", "EnvVarConfigProvider"), ("file", "FileConfigProvider"))
    )
    told = peer.ask("file", bytes=(HEAD + lines).encode().hex(), flows=[("A", "B")])
    assert told["flows"]["A->B"]["clients"]["source admin"]["sasl.jaas.config"] == theirs
    path = tmp_path / "mm2.properties"
    path.write_text(HEAD + lines)
    flow = load([path], ENVIRONMENT).flow("A->B")
    assert flow.references.resolve(flow.java_settings("source", "admin")["sasl.jaas.config"]) == "a"


@pytest.mark.parametrize("line", ["security.protocol=NONE", "clusters=A,,B", "dedicated.mode.enable.internal.rest=maybe"])
def test_what_keeps_mirrormaker_2_from_starting(peer: Peer, line: str) -> None:
    with pytest.raises(Refused):
        peer.ask("file", bytes=(HEAD + line).encode().hex(), flows=[])
