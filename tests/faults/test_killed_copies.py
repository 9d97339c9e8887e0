"""Random faults in a row on real brokers, drawn from a fixed seed: nothing lost, nothing doubled, order equal, and the next run goes on by
itself. `python -m lab.faults` plays longer series, and faults that hurt brokers.
"""

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from lab.faults.__main__ import ALL, FAULTS, new_site
from lab.faults.decisions import DECISIONS
from lab.faults.results import Outcome, append, table
from lab.faults.series import draw_faults, play
from lab.faults.site import Site
from services.kafka import KafkaCluster
from services.oracle import Oracle
from services.spark_connect import SparkServer

HITS = ("kill", "freeze", "kill", "freeze", "kill")
DECIDED = ("restart", "ownership", "restart-again")
ON_SERVER = ("server", "client", "server-worker", "server-slow", "server-again")
IN_PROCESS = ("two", "cut", "delete-records", "stale-plan", "drop", "produce", "partitions", "pause-topic-follow", "produce-follow")


def series(keys: tuple[str, ...], few: int) -> pytest.MarkDecorator:
    """The first few faults of a series, and in `make faults` the whole of it."""
    return pytest.mark.parametrize("keys", [keys[:few], pytest.param(keys, marks=pytest.mark.faults)], ids=["few", "all"])


@pytest.fixture(scope="module")
def spark_server(services_directory: Path) -> Iterator[SparkServer]:
    """A Spark that stays, for the rounds that need one: the first of them starts it."""
    server = SparkServer(Path(tempfile.mkdtemp(prefix="spark-of-faults-", dir=services_directory)))
    yield server
    server.stop()


@pytest.fixture
def make_site(east: KafkaCluster, west: KafkaCluster, oracle: Oracle, tmp_path: Path, spark_server: SparkServer) -> Callable[[], Site]:
    """A flow between the shared clusters, reached through their networks."""
    return lambda: new_site(east, west, oracle, tmp_path, spark_server=spark_server)


def played(make_site: Callable[[], Site], keys: tuple[str, ...], seed: int, records: int) -> list[Outcome]:
    print(f"seed {seed}")
    outcomes = list(play(make_site, [FAULTS[key] for key in keys], seed, records))
    for outcome in outcomes:
        print(outcome)
    return outcomes


@series(HITS, few=2)
def test_hits_of_a_spark_job_lose_and_double_nothing(keys: tuple[str, ...], make_site: Callable[[], Site]) -> None:
    outcomes = played(make_site, keys, seed=20261121, records=40_000)
    assert all(outcome.is_good for outcome in outcomes), table(outcomes)
    assert sum(outcome.in_time for outcome in outcomes) >= len(keys) - 1


@series(ON_SERVER, few=2)
def test_hits_of_a_spark_that_stays_lose_and_double_nothing(keys: tuple[str, ...], make_site: Callable[[], Site]) -> None:
    outcomes = played(make_site, keys, seed=20261125, records=30_000)
    assert all(outcome.is_good for outcome in outcomes), table(outcomes)
    assert sum(outcome.in_time for outcome in outcomes) >= len(keys) - 1


@series(IN_PROCESS, few=3)
def test_faults_that_hurt_no_broker_lose_and_double_nothing(keys: tuple[str, ...], make_site: Callable[[], Site]) -> None:
    outcomes = played(make_site, keys, seed=20261122, records=20_000)
    assert all(outcome.is_good for outcome in outcomes), table(outcomes)
    assert sum(outcome.in_time for outcome in outcomes) >= len(keys) - 2


def test_restarts_and_takeovers_double_only_what_was_decided_and_send_no_group_too_far(make_site: Callable[[], Site]) -> None:
    outcomes = played(make_site, DECIDED, seed=20261123, records=8_000)
    assert all(outcome.is_good for outcome in outcomes), "\n".join(map(str, outcomes))
    assert all(outcome.judged.answers for outcome in outcomes)


@pytest.mark.faults
def test_whatever_people_decide_is_exact_and_sends_no_group_too_far(make_site: Callable[[], Site]) -> None:
    decided = tuple(fault.key for fault in DECISIONS)
    outcomes = played(make_site, 2 * decided, seed=20261124, records=30_000)
    assert all(outcome.is_good for outcome in outcomes), "\n".join(map(str, outcomes))


def test_a_mirror_that_is_wrong_is_counted_and_the_series_goes_on(make_site: Callable[[], Site], tmp_path: Path) -> None:
    """The harness itself counts records that are no copies, and starts the next round with a new flow."""
    sites: list[Site] = []

    def spoiled() -> Site:
        site = make_site()
        if not sites:
            right = site.catch_up

            def catch_up() -> int:
                runs = right()
                site.oracle.produce(site.target.bootstrap, site.remote, 7, seed=9)
                return runs

            site.catch_up = catch_up  # type: ignore[method-assign]
        sites.append(site)
        return site

    outcomes = played(spoiled, ("two", "two"), seed=1, records=500)
    assert [outcome.wrong for outcome in outcomes] == [(0, 0, 7, 0), (0, 0, 0, 0)]
    assert [outcome.is_good for outcome in outcomes] == [False, True]
    assert len(sites) == 2, "a bad flow is left alone"
    results = tmp_path / "RESULTS.md"
    append(outcomes, {"valid": 1, "invalid": 0, "records": 1}, 1, 60, results)
    row = next(line for line in results.read_text().splitlines() if line.startswith("| **all**"))
    assert [cell.strip() for cell in row.strip("| ").split("|")][5:9] == ["0", "0", "7", "0"]


def test_a_series_is_decided_by_its_seed_and_holds_every_fault_about_as_often() -> None:
    faults = list(FAULTS.values())
    assert len(faults) == len(ALL), "two faults have one key"
    drawn = draw_faults(faults, 3 * len(faults), seed=5)
    assert drawn == draw_faults(faults, 3 * len(faults), seed=5) != draw_faults(faults, 3 * len(faults), seed=6)
    assert all(drawn.count(fault) == 3 for fault in faults)
