"""The services that other tests rely on, tested themselves: what they cannot show, no test above them can."""

from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import psycopg2
import pytest

from services.flows import ClusterPair
from services.kafka import KafkaCluster
from services.oracle import Oracle, Record, Side
from services.postgres import PostgresServer
from services.processes import ServiceFailed

RECORD = Record(b"k", b"v", (("a", b"1"), ("a", None)), 1_700_000_000_000)
SAME = [replace(RECORD, value=str(n).encode()) for n in range(6)]


@pytest.mark.parametrize(
    ("mirrored", "difference"),
    [
        ([*SAME[:3], replace(SAME[3], key=b"x"), *SAME[4:]], "key"),
        ([*SAME[:3], replace(SAME[3], value=b""), *SAME[4:]], "value"),
        ([*SAME[:3], replace(SAME[3], value=None), *SAME[4:]], "value"),
        ([*SAME[:3], replace(SAME[3], headers=(("a", None), ("a", b"1"))), *SAME[4:]], "headers"),
        ([*SAME[:3], replace(SAME[3], headers=(("a", b"1"), ("a", b""))), *SAME[4:]], "headers"),
        ([*SAME[:3], replace(SAME[3], headers=(("a", b"1"),)), *SAME[4:]], "headers"),
        ([*SAME[:3], replace(SAME[3], timestamp=1_700_000_000_001), *SAME[4:]], "timestamp"),
        ([*SAME[:3], SAME[4], SAME[3], SAME[5]], "value"),
        ([*SAME[:3], *SAME[2:]], "value"),
        (SAME[:3], "only on the source"),
        ([*SAME, SAME[0]], "only on the target"),
        (SAME, None),
    ],
)
def test_comparer_names_what_differs(oracle: Oracle, pair: ClusterPair, mirrored: list[Record], difference: str | None) -> None:
    source, target = pair.topic("source"), pair.topic("target")
    for bootstrap, topic, records in ((pair.source_bootstrap, source, SAME), (pair.target_bootstrap, target, mirrored)):
        oracle.create_topic(bootstrap, topic)
        oracle.produce_records(bootstrap, topic, records)
    comparison = oracle.compare(Side(pair.source_bootstrap, source), Side(pair.target_bootstrap, target))
    assert comparison.partitions[0].difference == difference
    assert comparison.equal == (difference is None)
    assert comparison.partitions[0].equal == (3 if difference not in (None, "only on the target") else 6)


@pytest.mark.parametrize(
    ("mirrored", "counts"),
    [
        (SAME, (0, 0, 0, 0)),
        ([*SAME[:2], *SAME[4:]], (2, 0, 0, 0)),
        ([*SAME, SAME[0], SAME[5]], (0, 2, 0, 0)),
        ([*SAME[:3], replace(SAME[3], headers=(("a", None), ("a", b"1"))), *SAME[4:]], (1, 0, 1, 0)),
        ([SAME[1], SAME[0], *SAME[2:]], (0, 0, 0, 1)),
        (list(reversed(SAME)), (0, 0, 0, 5)),
        ([*SAME[3:], *SAME[:3]], (0, 0, 0, 3)),
        ([], (6, 0, 0, 0)),
    ],
)
def test_accountant_counts_what_is_lost_doubled_foreign_and_disordered(
    oracle: Oracle, pair: ClusterPair, mirrored: list[Record], counts: tuple[int, int, int, int]
) -> None:
    source, target = pair.topic("source"), pair.topic("target")
    for bootstrap, topic, records in ((pair.source_bootstrap, source, SAME), (pair.target_bootstrap, target, mirrored)):
        oracle.create_topic(bootstrap, topic)
        oracle.produce_records(bootstrap, topic, records)
    [account] = oracle.account(Side(pair.source_bootstrap, source), Side(pair.target_bootstrap, target))
    assert (account.lost, account.doubled, account.foreign, account.disordered) == counts
    assert (account.source_records, account.target_records) == (6, len(mirrored))


def test_digests_are_those_of_all_that_a_copy_must_have_in_common(oracle: Oracle, pair: ClusterPair) -> None:
    topics = pair.topic("source"), pair.topic("target")
    changed = [replace(SAME[0], key=b"other"), *SAME[1:3], replace(SAME[3], headers=(("a", None), ("a", b"1"))), *SAME[4:]]
    for bootstrap, topic, records in ((pair.source_bootstrap, topics[0], SAME), (pair.target_bootstrap, topics[1], changed)):
        oracle.create_topic(bootstrap, topic)
        oracle.produce_records(bootstrap, topic, records)
    [source] = oracle.digests(Side(pair.source_bootstrap, topics[0])).values()
    [target] = oracle.digests(Side(pair.target_bootstrap, topics[1], start={0: 2})).values()
    assert [offset for offset, _ in source] == [0, 1, 2, 3, 4, 5]
    assert [offset for offset, _ in target] == [2, 3, 4, 5]
    assert [left == right for left, right in zip(source[2:], target, strict=True)] == [True, False, True, True]


def test_comparer_sees_a_record_in_the_wrong_partition(oracle: Oracle, pair: ClusterPair) -> None:
    source, target = pair.topic("source"), pair.topic("target")
    for bootstrap, topic, partition in ((pair.source_bootstrap, source, 0), (pair.target_bootstrap, target, 1)):
        oracle.create_topic(bootstrap, topic, 2)
        oracle.produce_records(bootstrap, topic, [replace(RECORD, partition=partition)])
    comparison = oracle.compare(Side(pair.source_bootstrap, source), Side(pair.target_bootstrap, target))
    assert [p.difference for p in comparison.partitions] == ["only on the source", "only on the target"]


def test_generated_records_are_the_same_for_the_same_seed_and_aborted_ones_stay_hidden(oracle: Oracle, pair: ClusterPair) -> None:
    east, west = pair.source_bootstrap, pair.target_bootstrap
    options = {"seed": 3, "timestamp": 1_700_000_000_000, "partition": 0}
    plain, mixed = pair.topic("plain"), pair.topic("mixed")
    for bootstrap, codec in ((east, "none"), (west, "zstd")):
        oracle.create_topic(bootstrap, plain)
        oracle.produce(bootstrap, plain, 300, codec=codec, **options)
    oracle.assert_mirrored(Side(east, plain), Side(west, plain))
    oracle.create_topic(east, mixed)
    sent = oracle.produce(east, mixed, 300, transactions=10, producers=3, **options)
    assert sent["aborted"] > 0
    assert [count.records for count in oracle.count(east, mixed)] == [sent["committed"]]
    assert [count.records for count in oracle.count(east, mixed, "read_uncommitted")] == [300]


def test_what_no_client_writes_is_written_raw(oracle: Oracle, pair: ClusterPair) -> None:
    topic = pair.topic("raw")
    oracle.create_topic(pair.source_bootstrap, topic)
    oracle.produce_raw(pair.source_bootstrap, topic, [Record(None, b"", timestamp=-1)], raw_header_keys=[b"\xff"])
    [record] = oracle.dump(pair.source_bootstrap, topic)
    assert (record.key, record.value, record.timestamp, record.headers) == (None, b"", -1, (("\ufffd", b""),))


def test_records_that_are_produced_together_stand_in_one_batch_however_long_it_takes_to_hand_them_over(
    oracle: Oracle, pair: ClusterPair, services_directory: Path
) -> None:
    topic = pair.topic("together")
    oracle.create_topic(pair.source_bootstrap, topic)
    oracle.produce_records(pair.source_bootstrap, topic, [Record(b"", b"", timestamp=0)] * 6_000)
    [log] = services_directory.glob(f"east/data-*/{topic}-0/*.log")
    stored, batches = log.read_bytes(), 0
    while stored:
        stored, batches = stored[12 + int.from_bytes(stored[8:12]) :], batches + 1
    assert batches == 1


def test_killed_broker_comes_back_with_its_records(oracle: Oracle, make_cluster: Callable[..., KafkaCluster]) -> None:
    cluster = make_cluster("lone")
    oracle.create_topic(cluster.bootstrap, "kept")
    oracle.produce_records(cluster.bootstrap, "kept", SAME)
    cluster.kill()
    assert not cluster.running
    cluster.start()
    assert [record.value for record in oracle.dump(cluster.bootstrap, "kept")] == [record.value for record in SAME]


def test_a_broker_whose_port_another_cluster_has_is_not_taken_for_ready(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("services.kafka.require_free", lambda *_: None)  # as if no broker listened yet when the other one starts
    first = KafkaCluster(tmp_path / "first", "first")
    second = KafkaCluster(tmp_path / "second", "second", ports=[int(first.bootstrap.rpartition(":")[2])])
    try:
        first.launch()
        second.launch()
        assert sorted(_ready(cluster) for cluster in (first, second)) == [False, True]
    finally:
        first.discard()
        second.discard()


def _ready(cluster: KafkaCluster) -> bool:
    try:
        cluster.wait_ready()
    except ServiceFailed:
        return False
    return True


def test_postgres_runs_for_any_user_and_wants_its_password(services_directory: Path) -> None:
    server = PostgresServer(services_directory / "postgres")
    server.start()
    try:
        url = server.url.replace("+psycopg2", "")
        with closing(psycopg2.connect(url)) as connection, connection.cursor() as cursor:
            cursor.execute("SELECT current_database()")
            assert cursor.fetchone() == ("airflow",)
        with pytest.raises(psycopg2.OperationalError, match="password authentication failed"):
            psycopg2.connect(url.replace("@", "x@"))
    finally:
        server.remove()
    assert not server.running
