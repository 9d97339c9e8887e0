"""What happens to batches on their way: the remote topic's limits change under them, and answers to them are lost."""

import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from kafka_mirror.copy.model import PartitionProgress
from kafka_mirror.copy.run_result import DONE, FAILED
from lab.faults.__main__ import new_site
from lab.faults.results import Outcome
from lab.faults.site import Site
from services.kafka import KafkaCluster
from services.oracle import Oracle
from services.waiting import PATIENCE, eventually
from tests.engine_hooks import EngineHooks, HitInTransaction

RECORDS = 12_000
SMALL_TRANSACTIONS = {"source->target.mirror.lanes": "1", "source->target.mirror.transaction.max.bytes": "65536"}


@pytest.fixture
def site(east: KafkaCluster, west: KafkaCluster, oracle: Oracle, tmp_path: Path) -> Iterator[Site]:
    """A flow between the shared clusters; records of about 500 bytes in batches of 16 KB, packed by lz4."""
    yield new_site(east, west, oracle, tmp_path, SMALL_TRANSACTIONS)
    west.network.heal()


def assert_exact(site: Site) -> None:
    outcome = Outcome(0, "", True, 0, tuple(site.count()), 0)
    assert outcome.is_good, str(outcome)
    assert outcome.records > 0


@pytest.mark.parametrize(
    "configs",
    [{"max.message.bytes": "4000"}, {"compression.type": "gzip"}, {"compression.type": "uncompressed", "max.message.bytes": "9000"}],
    ids=lambda configs: ",".join(f"{name}={value}" for name, value in configs.items()),
)
def test_a_remote_topic_whose_limits_change_under_the_batches_gets_every_record_once(
    site: Site, monkeypatch: pytest.MonkeyPatch, configs: Mapping[str, str]
) -> None:
    site.produce(RECORDS, seed=1)
    site.mirroring.refresh()
    hit = HitInTransaction(monkeypatch, RECORDS // 4, lambda: site.oracle.alter_configs(site.target.bootstrap, site.remote, configs))
    judged = site.mirroring.copy()
    hit.result()
    assert (judged.state, judged.owed) == (DONE, 0), str(judged)
    assert_exact(site)


def test_a_record_that_became_too_large_meanwhile_is_named_and_arrives_once_it_may(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    site.produce(RECORDS, seed=1)
    size = 40_000
    site.oracle.produce(site.source.bootstrap, site.topic, 1, seed=2, partition=0, min_size=size, max_size=size, null_values=False)
    site.oracle.produce(site.source.bootstrap, site.topic, 100, seed=3, partition=0)
    site.mirroring.refresh()

    def limit(value: str | None) -> None:
        site.oracle.alter_configs(site.target.bootstrap, site.remote, {"max.message.bytes": value})

    hit = HitInTransaction(monkeypatch, RECORDS // 4, lambda: limit("20000"))
    judged = site.mirroring.copy()
    hit.result()
    assert judged.state == FAILED
    assert [(error.code, error.partition) for error in judged.errors] == [("RecordRefused", 0)], str(judged)
    limit(None)
    judged = site.mirroring.copy()
    assert (judged.state, judged.owed) == (DONE, 0), str(judged)
    assert_exact(site)


def test_batches_that_the_target_took_and_could_not_acknowledge_are_aborted_and_sent_once_more(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The connection breaks when batches are in the log, and before the answers to them arrive."""
    site.produce(2 * RECORDS, seed=1)
    copies, landed = 0, list[int]()

    def written() -> int:
        return sum(count.records for count in site.oracle.count(site.target.bootstrap, site.remote, "read_uncommitted"))

    def lose_answers(copy: Callable[[], list[PartitionProgress]]) -> list[PartitionProgress]:
        nonlocal copies
        copies += 1
        if copies not in (8, 16):  # by then each partition has had a transaction, so no lane asks for leaders
            return copy()
        time.sleep(0.3)  # until the target is done with the last transaction, it asks for a first batch again
        before = written()
        site.target.network.hold_answers()
        with ThreadPoolExecutor(1) as threads:
            called = threads.submit(copy)
            eventually(lambda: written() > before, "batches are in the target's log")
            site.target.network.drop()
            site.target.network.heal()
            landed.append(written() - before)
            return called.result(PATIENCE)

    EngineHooks(monkeypatch).around_copy = lose_answers
    judged = site.mirroring.copy()
    assert len(landed) == 2, "the copy was over before answers could be lost"
    assert (judged.state, judged.owed) == (DONE, 0), str(judged)
    assert_exact(site)
