"""Logins by Kerberos: a real KDC, real brokers, and clients that were built for it. Only in `make kerberos`, which says what it needs."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from kafka_mirror.config.clients.sasl import why_impossible
from services.consumers import read_offsets, set_offsets
from services.flows import ClusterPair
from services.java import ROOT
from services.kafka import KafkaCluster, Listener
from services.kerberos import REALM, KerberosRealm
from services.oracle import Oracle, Side
from services.ports import LOOPBACK
from tests.session import running

pytestmark = pytest.mark.kerberos

TICKET_SECONDS = 20
RUN_SECONDS = 3 * TICKET_SECONDS
RECORDS, VALUE_BYTES = 600, 1000
JAAS = "com.sun.security.auth.module.Krb5LoginModule required"


@pytest.fixture(scope="module")
def realm(services_directory: Path) -> Iterator[KerberosRealm]:
    """A realm whose tickets end within a run."""
    assert not why_impossible(), f"Build what `make kerberos` needs first (docs/develop/testing.md): {why_impossible()}"
    made = KerberosRealm(services_directory / "realm", TICKET_SECONDS)
    made.start()
    yield made
    made.stop()


@pytest.fixture(scope="module")
def pair_of_clusters(realm: KerberosRealm, services_directory: Path) -> Iterator[tuple[KafkaCluster, KafkaCluster]]:
    """Two clusters that are entered by tickets, and by the test."""
    keytab = realm.keytab(f"kafka/{LOOPBACK}")
    listener = {
        "sasl.enabled.mechanisms": "GSSAPI",
        "gssapi.sasl.jaas.config": f'{JAAS} useKeyTab=true storeKey=true keyTab="{keytab}" principal="kafka/{LOOPBACK}@{REALM}";',
        "gssapi.connections.max.reauth.ms": str(3600 * 1000),  # a broker closes what sends on an ended ticket (KIP-368)
    }
    java = ("-XX:TieredStopAtLevel=1", f"-Djava.security.krb5.conf={realm.conf}")
    options: dict[str, Any] = {
        "properties": {"sasl.kerberos.service.name": "kafka"},
        "listeners": {"tickets": Listener("SASL_PLAINTEXT", listener)},
    }
    east, west = (KafkaCluster(services_directory / alias, alias, java=java, **options) for alias in ("kerberos-east", "kerberos-west"))
    with running(east, west):
        yield east, west


@pytest.fixture(scope="module")
def keytab(realm: KerberosRealm) -> Path:
    """The mirror's own."""
    return realm.keytab("mirror")


@pytest.fixture
def flow(
    pair_of_clusters: tuple[KafkaCluster, KafkaCluster], make_pair: Callable[..., ClusterPair], oracle: Oracle
) -> Callable[..., tuple[ClusterPair, str, Path]]:
    """`flow(jaas)`: a pair of clusters, a topic with records, and the file of a flow that logs in so on both."""

    def made(jaas: str, **more: str) -> tuple[ClusterPair, str, Path]:
        pair = make_pair(*pair_of_clusters)
        topic = pair.topic("orders")
        oracle.create_topic(pair.source_bootstrap, topic, 2)
        oracle.produce(pair.source_bootstrap, topic, RECORDS, seed=1, min_size=VALUE_BYTES, max_size=VALUE_BYTES, batch_size=16_000)
        login = {"security.protocol": "SASL_PLAINTEXT", "sasl.kerberos.service.name": "kafka", "sasl.jaas.config": jaas}
        sides = dict(zip(("source", "target"), pair_of_clusters, strict=True))
        extra = {f"{side}.{name}": value for side in sides for name, value in login.items()}
        extra |= {f"{side}.bootstrap.servers": cluster.bootstrap_of("tickets") for side, cluster in sides.items()}
        extra |= {"source->target.mirror.lanes": "2", "groups": f".*-{pair.mark}", **more}
        return pair, topic, pair.properties(extra=extra)

    return made


@pytest.fixture
def mirror(realm: KerberosRealm) -> Callable[..., dict[str, Any]]:
    """A command in a process of its own, which holds a ticket of its own; gives what it says of the flow."""

    def run(file: Path, *command: str, environment: Mapping[str, str] | None = None) -> dict[str, Any]:
        paths = os.pathsep.join(filter(None, (str(ROOT / "include"), os.environ.get("PYTHONPATH"))))
        variables = {**os.environ, **realm.environment, "PYTHONPATH": paths}
        done = subprocess.run(
            [sys.executable, "-m", "kafka_mirror", "--config", str(file), *command, "--json"],
            env={**variables, **(environment or {})},
            capture_output=True,
            text=True,
            timeout=300,
        )
        [answer] = json.loads(done.stdout)["flows"]
        return {**answer, "words": done.stderr}

    return run


def by_keytab(keytab: Path, principal: str = "mirror") -> str:
    return f'{JAAS} useKeyTab=true storeKey=true keyTab="{keytab}" principal="{principal}@{REALM}";'


def test_a_copy_by_a_keytab_outlives_its_tickets(
    flow: Callable[..., tuple[ClusterPair, str, Path]], mirror: Callable[..., dict[str, Any]], keytab: Path, oracle: Oracle
) -> None:
    throttle = {"source->target.mirror.max.bytes.per.second": str(RECORDS * VALUE_BYTES // RUN_SECONDS)}
    pair, topic, file = flow(by_keytab(keytab), **throttle)
    began = time.monotonic()
    answer = mirror(file, "copy", "--without-spark")
    assert (answer["errors"], answer["result"]["records"]) == ([], RECORDS), answer["words"]
    assert time.monotonic() - began > 2 * TICKET_SECONDS
    oracle.assert_mirrored(Side(pair.source_bootstrap, topic), Side(pair.target_bootstrap, pair.remote(topic)))


def test_spark_workers_groups_acls_and_audits_log_in_by_the_keytab(
    flow: Callable[..., tuple[ClusterPair, str, Path]], mirror: Callable[..., dict[str, Any]], keytab: Path
) -> None:
    pair, topic, file = flow(by_keytab(keytab))
    assert mirror(file, "copy")["result"]["records"] == RECORDS
    set_offsets(pair.source_bootstrap, f"shop-{pair.mark}", {(topic, 0): 7})
    for command in ("group-offsets", "topic-configs", "audit"):
        answer = mirror(file, command)
        assert answer["errors"] == [], (command, answer["words"])
    assert set(read_offsets(pair.target_bootstrap, f"shop-{pair.mark}").values()) == {7}


def test_a_ticket_that_somebody_else_renews_is_taken_out_of_its_cache(
    flow: Callable[..., tuple[ClusterPair, str, Path]],
    mirror: Callable[..., dict[str, Any]],
    realm: KerberosRealm,
    keytab: Path,
    tmp_path: Path,
) -> None:
    cache = tmp_path / "ccache"
    kinit = ["kinit", "-k", "-t", str(keytab), "-c", f"FILE:{cache}", f"mirror@{REALM}"]
    subprocess.run(kinit, env={**os.environ, **realm.environment}, check=True, timeout=30)
    _, _, file = flow(f'{JAAS} useTicketCache=true ticketCache="{cache}";')
    assert mirror(file, "copy", "--without-spark")["result"]["records"] == RECORDS


def test_without_a_ticket_the_run_says_whose_and_why(
    flow: Callable[..., tuple[ClusterPair, str, Path]], mirror: Callable[..., dict[str, Any]], keytab: Path, tmp_path: Path
) -> None:
    _, _, file = flow(by_keytab(keytab, "somebody-else"))
    [error] = mirror(file, "copy", "--without-spark")["errors"]
    assert error["code"] == "TokenUnavailable"
    assert f"no Kerberos ticket of somebody-else@{REALM}" in error["message"]
    _, _, file = flow(f'{JAAS} useTicketCache=true ticketCache="{tmp_path / "none"}";')
    [error] = mirror(file, "copy", "--without-spark")["errors"]
    assert f"no Kerberos ticket of the ticket cache {tmp_path / 'none'}" in error["message"]
