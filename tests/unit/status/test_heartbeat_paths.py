"""Which heartbeats are looked for in the topics of a target, how far back, and what is said where they cannot be seen."""

from types import SimpleNamespace

import pytest

from kafka_mirror.config import load
from kafka_mirror.errors import DeadlineExceeded, KafkaFailure
from kafka_mirror.formats.mm2 import Heartbeat
from kafka_mirror.status import observe as subject
from kafka_mirror.status.observe import heartbeat_paths

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
