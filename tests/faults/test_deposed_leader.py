"""A broker that is cut off from its controller and its peers, and not from its clients: it goes on answering as the leader that it was, for
the ledger and for the remote topic, while the others have elected another one. A run that believes it copies records a second time.
"""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from kafka_mirror.copy import lane_protocol
from kafka_mirror.copy import publish as publishing
from kafka_mirror.copy.lane_writer import Records, write_lane
from kafka_mirror.copy.model import LaneResult
from kafka_mirror.copy.plan.model import Plan
from kafka_mirror.copy.plan.run import plan
from kafka_mirror.copy.publish import publish
from kafka_mirror.copy.run import copy_in_process, lane_task
from kafka_mirror.copy.run_result import DONE, NOTHING_TO_DO, verdict
from kafka_mirror.errors import DeadlineExceeded, MirrorError, StaleAnswer
from kafka_mirror.formats.batches.batch_records import StoredRecord
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.kafka.cluster import Cluster
from kafka_mirror.kafka.log_reader import newest_records
from kafka_mirror.kafka.reader import BoundedReader, Ranges
from kafka_mirror.ledger import topic as ledger_topic
from kafka_mirror.ledger.compare_and_set import LogEnd
from services.kafka import KafkaCluster
from services.oracle import Oracle
from services.waiting import eventually
from tests.faults.deposed_leader import SERVERS, Beginnings, Site, new_site

KEPT, MORE, RUNS, UNCHECKED = 50, 30, 10, 3


@pytest.fixture
def site(east: KafkaCluster, separable: KafkaCluster, oracle: Oracle, tmp_path: Path) -> Iterator[Site]:
    with new_site(east.bootstrap, separable, oracle, tmp_path, {}) as made:
        yield made


@pytest.fixture
def begin(site: Site, monkeypatch: pytest.MonkeyPatch) -> Beginnings:
    return Beginnings(site.others, monkeypatch)


@pytest.fixture
def misled(site: Site, begin: Beginnings) -> Site:
    """The site with a broker cut off that has seen KEPT records of KEPT + MORE."""
    site.produce(KEPT, seed=1)
    assert site.mirroring.copy().state == DONE
    site.cut()
    site.produce(MORE, seed=2)
    begin.servers = site.others
    assert site.mirroring.copy().state == DONE, "the deposed leader knows nothing of this"
    assert site.exact() == KEPT + MORE
    begin.lanes = site.deposed
    return site


@pytest.fixture
def doubts(monkeypatch: pytest.MonkeyPatch) -> list[MirrorError | None]:
    """Why another broker was asked for the ledger after a copy, look by look; None: the answer is believed."""
    seen: list[MirrorError | None] = []
    read = publishing._read

    def looked(*arguments: Any) -> Any:
        found = read(*arguments)
        seen.append(found[1])
        return found

    monkeypatch.setattr(publishing, "_read", looked)
    return seen


def copy(site: Site, begin: Beginnings, number: int) -> tuple[Plan, list[LaneResult]]:
    """One run of MORE new records, planned at the deposed leader or elsewhere in turn."""
    site.produce(MORE, seed=3 + number)
    begin.servers = site.others if number % 2 else site.deposed
    planned = plan(site.flow)
    begin.turns.clear()
    begin.servers = None
    return planned, copy_in_process(site.flow, planned)


def test_what_a_deposed_leader_says_doubles_nothing_and_makes_no_run_red_falsely(
    misled: Site, begin: Beginnings, doubts: list[MirrorError | None]
) -> None:
    site = misled
    for number in range(RUNS):
        planned, results = copy(site, begin, number)
        assert max(begin.turns) > 0, "the deposed leader was believed"
        doubts.clear()
        begin.once = dict.fromkeys(("admin", "consumer"), site.deposed)
        judged = verdict(planned, results, publish(site.flow, planned, results))
        assert judged.state == DONE, str(judged)
        assert isinstance(doubts[0], StaleAnswer), "the deposed leader's answer about the ledger was believed"
        assert doubts[-1] is None
        assert site.exact() == KEPT + MORE * (2 + number)

    begin.servers = site.deposed
    with pytest.raises(StaleAnswer) as raised:
        publish(site.flow, planned, results)
    assert (raised.value.log, raised.value.retriable) == (TopicPartition(site.ledger, 0), True)

    site.fault.heal()
    begin.servers, begin.lanes = None, site.others
    site.produce(MORE, seed=99)
    eventually(lambda: site.mirroring.copy().state == NOTHING_TO_DO, "the end of all work")
    assert site.exact() == KEPT + MORE * (2 + RUNS)


def test_a_deposed_leader_that_never_comes_to_another_brokers_answer_makes_nothing_red(
    misled: Site, begin: Beginnings, doubts: list[MirrorError | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The true leader tells an end, and the deposed one is read: of the ledger by a plan, after a copy, and of a remote partition."""
    site, asked = misled, list[str]()

    def beginning_anywhere(cluster: Cluster, settings: Mapping[str, Any], ranges: Ranges) -> list[StoredRecord]:
        """Connections that may begin at several brokers begin at the deposed leader."""
        monkeypatch.setattr(cluster, "timeout", 5.0)
        asked.append(site.deposed if "," in settings[SERVERS] else settings[SERVERS])
        return newest_records(cluster, {**settings, SERVERS: asked[-1]}, ranges)

    monkeypatch.setattr(ledger_topic, "newest_records", beginning_anywhere)
    planned, results = copy(site, begin, 1)
    assert asked[0] == site.deposed
    assert asked[1] in site.others, "the plan has asked on"
    assert len(planned.ranges) == 2
    begin.once = {"admin": site.others, "consumer": site.deposed}
    judged = verdict(planned, results, publish(site.flow, planned, results))
    assert judged.state == DONE, str(judged)
    assert isinstance(doubts[0], DeadlineExceeded)
    assert doubts[-1] is None

    remote, end = next((TopicPartition(mark.topic, mark.partition), mark.target_offset) for mark in results[0].watermarks)
    remote = TopicPartition(site.remote, remote.partition)
    with pytest.raises(StaleAnswer):
        BoundedReader("south", {SERVERS: site.deposed}).first_visible({remote: (end - 1, end)}, 15, {})


def test_a_deposed_leader_that_answers_nothing_keeps_no_lane_from_the_others(misled: Site, begin: Beginnings) -> None:
    """Whom it keeps from its transaction coordinator."""
    begin.producers = misled.deposed
    planned, results = copy(misled, begin, 1)
    assert [result.errors for result in results] == [()]
    assert begin.turns[:2] == [0, 1]
    assert misled.exact() == KEPT + MORE * 2
    seen: list[Records] = []

    def look(known: Records, _writer: Any) -> Records:
        seen.append(known)
        return known

    # First the lane reads the deposed leader's ledger; then it cannot even be fenced there.
    for producers, looks in ((misled.others, 2), (misled.deposed, 1)):
        begin.producers = producers
        begin.turns.clear()
        seen.clear()
        written = write_lane(lane_task(misled.flow, planned, 0), look)
        assert begin.turns == [0, 1], "the lane was not tried again elsewhere"
        assert len(seen) == looks
        assert seen[-1] == written
        assert written not in seen[:-1]


def test_without_the_check_of_where_records_are_delivered_the_same_play_doubles_them(
    misled: Site, begin: Beginnings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The play bites: it is the check that keeps the copies above exact."""

    def believed(end: LogEnd, spans: Iterable[tuple[int, int]]) -> None:
        for first, records in spans:
            end.next, end._open = first + records, True

    monkeypatch.setattr(LogEnd, "extend", believed)
    for seconds in ("_MARKER_SECONDS", "_LEDGER_MARKER_SECONDS"):  # a deposed leader never shows a marker
        monkeypatch.setattr(lane_protocol, seconds, 0.0)
    for number in range(UNCHECKED):
        copy(misled, begin, number)
        accounts = misled.accounts()
        print(f"copy {number}: {accounts}")
    # A copy that turns to another broker in time doubles nothing; one that does not, all that was copied since the broker was cut off.
    assert sum(account.doubled for account in accounts) >= MORE
