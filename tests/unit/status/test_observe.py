"""What is read for the age of what is not copied yet, and what is not read twice; whose an error is that comes while one looks."""

from contextlib import nullcontext
from types import SimpleNamespace
from typing import ClassVar

import pytest

from kafka_mirror.config import load
from kafka_mirror.copy.plan.ranges import SourceOffsets
from kafka_mirror.errors import AuthenticationFailed, ClusterUnreachable, DeadlineExceeded, KafkaFailure
from kafka_mirror.formats.mm2 import Heartbeat
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.status import observe
from kafka_mirror.status import observe as subject
from kafka_mirror.status.observe import heartbeat_paths, oldest_records

TP, OTHER = TopicPartition("orders", 0), TopicPartition("orders", 1)


class MadeUpFlow:
    name, source, target, reads_committed = "east->west", "east", "west", True

    def client(self, side, role):
        return {}

    def value(self, _name):
        return 16


@pytest.fixture
def source(monkeypatch):
    """Records that are stamped with their offset; `reads` has every range that was read, and whether committed records alone."""

    class Reader:
        reads: ClassVar[list] = []

        def __init__(self, alias, settings, committed):
            self.committed = committed

        def first_visible(self, ranges, seconds, errors, partial):
            Reader.reads += [(tp, start, self.committed) for tp, (start, _) in ranges.items()]
            return {tp: SimpleNamespace(timestamp=(1, start)) for tp, (start, _) in ranges.items()}

    Reader.reads.clear()
    monkeypatch.setattr(observe, "BoundedReader", Reader)
    return Reader


def found(tp=TP, start=0, readable=100, end=100):
    return SourceOffsets(tp, "id", start, readable, end)


def look(*positions, known=None):
    return oldest_records(MadeUpFlow(), positions, {}, known)


def test_the_first_record_that_is_missing_is_read_and_of_what_is_all_there_nothing(source):
    assert look((found(), 40), (found(OTHER), 100)) == {TP: 40}
    assert source.reads == [(TP, 40, True)]


def test_behind_a_gap_it_is_the_first_that_is_left(source):
    assert look((found(start=60), 40)) == {TP: 60}


def test_what_an_open_transaction_holds_back_is_read_uncommitted(source):
    assert look((found(readable=40), 40)) == {TP: 40}
    assert source.reads == [(TP, 40, False)]


def test_a_partition_that_stands_where_it_stood_is_not_read_again(source):
    known = {}
    assert look((found(), 40), (found(OTHER), 10), known=known) == {TP: 40, OTHER: 10}
    source.reads.clear()
    assert look((found(end=200, readable=200), 40), (found(OTHER), 20), known=known) == {TP: 40, OTHER: 20}
    assert source.reads == [(OTHER, 20, True)]


def test_what_is_copied_or_gone_is_forgotten(source):
    known = {}
    look((found(), 40), (found(OTHER), 10), known=known)
    assert look((found(), 100), known=known) == {}
    assert known == {}


def test_an_open_transaction_is_looked_at_each_time_for_it_may_be_aborted(source):
    known = {}
    for _ in range(2):
        assert look((found(readable=40), 40), known=known) == {TP: 40}
    assert len(source.reads) == 2
    assert known == {}


@pytest.fixture
def looked_while(monkeypatch):
    """Looks at a flow whose clusters answer the probe, and meets these errors behind it: comparing, at the target, at the source."""

    def run(compared, target=None, source=None):
        asked = []

        def meets(side, error):
            def ask(_flow, *others):
                asked.append(side)
                if error is not None:
                    raise error
                return next(each for each in others if isinstance(each, observe.Observation))

            return ask

        monkeypatch.setattr(observe, "check_readable", lambda _flow: None)
        monkeypatch.setattr(observe, "_silent", lambda _flow: {})
        monkeypatch.setattr(observe, "clusters", lambda _flow: nullcontext((None, None)))
        monkeypatch.setattr(observe, "_compare", meets("both", compared))
        monkeypatch.setattr(observe, "_target_alone", meets("west", target))
        monkeypatch.setattr(observe, "_source_alone", meets("east", source))
        return observe.observe(MadeUpFlow()), asked

    return run


def down(alias, detail=""):
    return ClusterUnreachable(alias, f"{alias}:9092", 10, detail)


@pytest.mark.parametrize("error", [down("west"), AuthenticationFailed("west", "west:9092", "expired")], ids=["dead", "refusing"])
def test_a_cluster_that_falls_silent_behind_the_probe_is_a_silent_cluster_and_is_not_asked_again(looked_while, error):
    seen, asked = looked_while(error)
    assert seen.silent == {"west": error.report()}
    assert seen.errors == (error.report(),)
    assert asked == ["both", "east"]


def test_so_is_one_that_falls_silent_later(looked_while):
    seen, asked = looked_while(KafkaFailure("The ledger has no leader."), target=down("west"), source=down("east"))
    assert {alias: report.code for alias, report in seen.silent.items()} == {"east": "ClusterUnreachable", "west": "ClusterUnreachable"}
    assert [report.code for report in seen.errors] == ["KafkaFailure", "ClusterUnreachable", "ClusterUnreachable"]
    assert asked == ["both", "west", "east"]


def test_another_error_makes_no_cluster_silent(looked_while):
    seen, asked = looked_while(KafkaFailure("The ledger has no leader."))
    assert (seen.silent, [report.code for report in seen.errors]) == ({}, ["KafkaFailure"])
    assert asked == ["both", "west", "east"]


BEGAN = 1_700_000_000_000


OWN = Heartbeat("east", "west", BEGAN)
OWN_PATH = (("east", "west"), "heartbeats")


def others(count, target="west"):
    """Beats of another pair that beats into the same topic."""
    return [Heartbeat("south", target, BEGAN)] * count


class Topics:
    """Heartbeats topics of a made-up target, the first of each log that was thrown away left out; counts what is read."""

    def __init__(self, starts=None, leaderless=(), **topics):
        self._topics = {name.replace("_", "."): beats for name, beats in topics.items()}
        self._starts = starts or {}
        self._leaderless = leaderless
        self.alias = "west"
        self.read = 0

    def names(self):
        return sorted(self._topics)

    def offsets(self, partitions, at):
        found = {tp: self._starts.get(tp.topic, 0) if at == "earliest" else len(self._topics[tp.topic]) for tp in partitions}
        return {tp: offset for tp, offset in found.items() if tp.topic not in self._leaderless}

    def read_between(self, cluster, settings, topic, start, end, decode):
        assert self._starts.get(topic, 0) <= start < end
        self.read += end - start
        return SimpleNamespace(records=tuple(self._topics[topic][start:end]))


@pytest.fixture
def paths(tmp_path, monkeypatch):
    """What is found in made-up topics, the path and its topic."""

    def find(topics, more=""):
        file = tmp_path / "mm2.properties"
        file.write_text(
            f"clusters = east, west\neast.bootstrap.servers = a:1\nwest.bootstrap.servers = b:1\neast->west.enabled = true\n{more}"
        )
        monkeypatch.setattr(subject, "read_between", topics.read_between)
        return [(each.path, each.topic) for each in heartbeat_paths(load([file], {}).flow("east->west"), topics)]

    return find


@pytest.mark.parametrize("newer", [0, 1, 199, 200, 250, 20_000, 150_000])
def test_the_flows_own_beat_is_found_however_many_of_other_pairs_came_since(paths, newer):
    assert paths(Topics(heartbeats=[*others(10), OWN, *others(newer)])) == [OWN_PATH]


def test_a_beat_that_comes_is_found_at_once_and_one_that_stopped_costs_no_more_than_there_is(paths):
    coming = Topics(heartbeats=[*others(50_000), OWN, *others(100)])
    paths(coming)
    assert coming.read == 200
    stopped = Topics(heartbeats=[OWN, *others(50_000)])
    paths(stopped)
    assert stopped.read == 50_001


def test_a_way_on_which_none_ever_came_has_no_beat(paths):
    assert paths(Topics(heartbeats=others(5000))) == []
    assert paths(Topics(heartbeats=others(5000), starts={"heartbeats": 4990})) == []


def test_a_beat_that_lies_further_back_than_is_read_is_not_taken_for_none(paths):
    topics = Topics(heartbeats=[OWN, *others(600_000)])
    with pytest.raises(DeadlineExceeded, match=r"among the newest 500,000 offsets of heartbeats .* of east->west") as raised:
        paths(topics)
    assert topics.read == 500_000
    assert raised.value.retriable


def test_where_the_flow_does_not_beat_nobody_looks_far_for_it(paths):
    quiet = "emit.heartbeats.enabled = false"
    topics = Topics(heartbeats=[OWN, *others(600_000)])
    assert paths(topics, quiet) == []
    assert topics.read <= 20_000
    assert paths(Topics(heartbeats=[OWN, *others(100)]), quiet) == [OWN_PATH], "somebody else beats for the pair"


def test_a_way_through_other_clusters_is_shown_beside_very_many_beats_of_others(paths):
    rare = Heartbeat("far", "east", BEGAN)
    topics = Topics(east_heartbeats=[rare, *others(19_000, "east")])
    assert paths(topics) == [(("far", "east", "west"), "east.heartbeats"), (("south", "east", "west"), "east.heartbeats")]


def test_a_topic_without_leader_is_no_topic_without_beats(paths):
    topics = Topics(heartbeats=[OWN], east_heartbeats=others(3), leaderless=("heartbeats",))
    with pytest.raises(KafkaFailure, match="heartbeats-0 has no leader") as raised:
        paths(topics)
    assert (raised.value.topic, raised.value.retriable) == ("heartbeats", True)
