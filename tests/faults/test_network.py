"""The network between the clusters: far, cut for seconds, cut for good. All the mirror's connections pass a proxy, and no others."""

import itertools
import random
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent import futures
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest

from kafka_mirror.copy.run_result import DONE, FAILED, Verdict
from kafka_mirror.errors import MirrorError
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.ledger.clusters import clusters
from lab.faults.__main__ import new_site
from lab.faults.results import Outcome
from lab.faults.site import PARTITIONS, Site
from services.kafka import KafkaCluster
from services.oracle import Oracle, Record
from services.proxy import Proxy
from services.waiting import PATIENCE, eventually
from tests.engine_hooks import EngineHooks, HitInTransaction

RECORDS = 40_000
SIDES = ("source", "target")
CUTS = ("refuse", "hold")
long = pytest.mark.faults


@pytest.fixture
def make_site(east: KafkaCluster, west: KafkaCluster, oracle: Oracle, tmp_path: Path) -> Iterator[Callable[..., Site]]:
    """A flow between the shared clusters, reached through their networks, which are healed at the end."""

    def make(extra: Mapping[str, str] | None = None) -> Site:
        return new_site(east, west, oracle, tmp_path, {"admin.timeout.ms": "5000", **(extra or {})})

    yield make
    for cluster in (east, west):
        cluster.network.delay(0)
        cluster.network.heal()


@pytest.fixture
def thread() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(2) as pool:
        yield pool


def network(site: Site, side: str) -> Proxy:
    return (site.source if side == "source" else site.target).network


def assert_exact(site: Site) -> None:
    outcome = Outcome(0, "", True, 0, tuple(site.count()), 0)
    assert outcome.is_good, str(outcome)
    assert outcome.records > 0


def cut_in_the_middle(site: Site, thread: ThreadPoolExecutor, patch: pytest.MonkeyPatch, cut: Callable[[], None]) -> "Future[Verdict]":
    """A copy whose network is cut when it has sent some of its records, and not yet all of them."""
    site.mirroring.refresh()
    hit = HitInTransaction(patch, RECORDS // 10, cut)
    copy = thread.submit(site.mirroring.copy)
    assert hit.begun.wait(PATIENCE), "the copy did not get to its middle"
    hit.result()
    return copy


# ------------------------------------------------------------ far


@pytest.mark.parametrize(
    ("sides", "milliseconds"),
    [
        (SIDES, 50),
        pytest.param(("source",), 50, marks=long),
        pytest.param(("target",), 50, marks=long),
        pytest.param(("source",), 200, marks=long),
        pytest.param(("target",), 200, marks=long),
    ],
)
def test_a_far_cluster_is_copied_exactly_by_one_run(make_site: Callable[..., Site], sides: tuple[str, ...], milliseconds: int) -> None:
    site = make_site({"source->target.mirror.transaction.max.bytes": "33554432", "admin.timeout.ms": "15000"})
    site.produce(RECORDS, seed=1)
    for side in sides:
        network(site, side).delay(milliseconds)
    for seed in (2, 3):
        started = time.monotonic()
        judged = site.mirroring.copy()
        print(f"{'+'.join(sides)} {milliseconds} ms away: {judged.records} records in {time.monotonic() - started:.1f} s")
        assert (judged.state, judged.owed) == (DONE, 0), str(judged)
        assert_exact(site)
        site.produce(1000, seed)


@long
@pytest.mark.parametrize("side", SIDES)
def test_a_first_copy_of_a_hundred_partitions_from_far_takes_no_longer_than_one_of_few(make_site: Callable[..., Site], side: str) -> None:
    seconds: dict[int, float] = {}
    for partitions in (6, 100):
        site = make_site({"source->target.mirror.lanes": "16", "admin.timeout.ms": "15000"})
        if partitions > 6:
            site.oracle.create_partitions(site.source.bootstrap, site.topic, partitions)
        site.produce(2000, seed=1)
        network(site, side).delay(200)
        started = time.monotonic()
        judged = site.mirroring.copy()
        seconds[partitions] = time.monotonic() - started
        network(site, side).delay(0)
        assert (judged.state, judged.owed) == (DONE, 0), str(judged)
        assert_exact(site)
    print(f"{side} 200 ms away, 16 lanes: {seconds}")
    # One question a partition would be 94 round trips of 400 ms more; allowed are the lanes that six partitions do not need, and noise.
    assert seconds[100] < 2 * seconds[6] + 30


# ------------------------------------------------------------ cut


@pytest.mark.parametrize(
    ("side", "how"),
    [("source", "hold"), ("target", "refuse"), pytest.param("source", "refuse", marks=long), pytest.param("target", "hold", marks=long)],
)
def test_a_cut_of_three_seconds_is_survived_by_the_run(
    make_site: Callable[..., Site],
    thread: ThreadPoolExecutor,
    monkeypatch: pytest.MonkeyPatch,
    side: str,
    how: str,
) -> None:
    # The deadline of an answer is longer than the cut and any stall of the machine together.
    site = make_site({"admin.timeout.ms": "30000"})
    site.produce(RECORDS, seed=1)
    copy = cut_in_the_middle(site, thread, monkeypatch, getattr(network(site, side), how))
    time.sleep(3)
    assert not copy.done(), f"nothing was left to be cut: {copy.result()}"
    network(site, side).heal()
    judged = copy.result(2 * PATIENCE)
    assert (judged.state, judged.owed) == (DONE, 0), str(judged)
    assert_exact(site)


def test_an_end_that_was_asked_for_when_the_connection_broke_is_answered_once_there_is_another(
    make_site: Callable[..., Site], thread: ThreadPoolExecutor
) -> None:
    site = make_site()
    site.produce(100, seed=1)
    partitions = [TopicPartition(site.topic, number) for number in range(PARTITIONS)]
    with clusters(site.mirroring.flow) as (source, _):
        ends = source.offsets(partitions, "latest")
        site.source.network.hold()
        asked = [thread.submit(source.offsets, partitions, "latest"), thread.submit(source.offsets_for_time, partitions, 0)]
        assert futures.wait(asked, timeout=1).not_done == set(asked), "the questions are on their way"
        site.source.network.drop()
        site.source.network.heal()
        assert asked[0].result(PATIENCE) == ends
        assert asked[1].result(PATIENCE) == dict.fromkeys(partitions, 0)


@long
@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("how", CUTS)
def test_a_cut_that_stays_ends_the_run_red_within_its_deadlines_and_the_next_run_goes_on(
    make_site: Callable[..., Site],
    thread: ThreadPoolExecutor,
    monkeypatch: pytest.MonkeyPatch,
    side: str,
    how: str,
) -> None:
    site = make_site()
    site.produce(RECORDS, seed=1)
    copy = cut_in_the_middle(site, thread, monkeypatch, getattr(network(site, side), how))
    cut = time.monotonic()
    try:
        judged = copy.result(240)
    except MirrorError as error:
        assert error.retriable, f"{error.code}: {error}"
        said = f"{error.code}: {error}"
    else:
        assert judged.state == FAILED, str(judged)
        assert judged.retriable, str(judged)
        assert judged.errors, "a red run says why"
        said = str(judged)
    print(f"{side}, {how}: red after {time.monotonic() - cut:.0f} s: {said}")
    network(site, side).heal()
    site.catch_up()
    assert_exact(site)


# ------------------------------------------------------------ answers that are lost


def test_a_commit_that_the_target_made_and_could_not_tell_is_neither_lost_nor_doubled(
    make_site: Callable[..., Site], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The connection breaks when the commit is in force, and before the answer to it arrives."""
    site = make_site({"source->target.mirror.lanes": "1", "source->target.mirror.transaction.max.bytes": "65536"})
    site.produce(8_000, seed=1)
    commits, lost = itertools.count(), list[bool]()

    def committed() -> int:
        return sum(each.records for each in site.oracle.count(site.target.bootstrap, site.remote))

    def lose_answer(commit: Callable[[], None]) -> None:
        if next(commits) != 1:
            commit()
            return
        before = committed()
        site.target.network.hold_answers()
        with ThreadPoolExecutor(1) as threads:
            called = threads.submit(commit)
            eventually(lambda: committed() > before, "the commit is in force")
            site.target.network.drop()
            site.target.network.heal()
            lost.append(True)
            called.result(PATIENCE)

    EngineHooks(monkeypatch).around_commit = lose_answer
    judged = site.mirroring.copy()
    assert lost, "the copy was over before an answer could be lost"
    assert (judged.state, judged.owed) == (DONE, 0), str(judged)
    assert_exact(site)


# ------------------------------------------------------------ nothing but aborted records, for long


def test_aborted_records_that_take_longer_than_a_source_may_be_silent_are_passed(make_site: Callable[..., Site]) -> None:
    site = make_site(
        {
            "source->target.mirror.transaction.timeout.ms": "4000",
            "source.consumer.fetch.max.bytes": "32768",
            "source.consumer.max.partition.fetch.bytes": "32768",
        }
    )
    chance = random.Random(1)
    aborted = [Record(None, chance.randbytes(1000), partition=0) for _ in range(3000)]
    site.oracle.open_transaction(site.source.bootstrap, site.topic, site.topic, aborted)
    site.oracle.end_transaction(site.topic, "abort")
    site.oracle.produce(site.source.bootstrap, site.topic, 5, seed=2, partition=0)
    site.source.network.delay(50)
    began = time.monotonic()
    judged = site.mirroring.copy()
    assert time.monotonic() - began > 7, "the aborted records were there too soon to show anything"
    assert (judged.state, judged.records) == (DONE, 5), str(judged)
    assert_exact(site)
