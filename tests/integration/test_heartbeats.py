"""Heartbeats on a real cluster: by hand, with what little permission they need, and when something is in their way."""

import json
import threading
import time
from itertools import pairwise

import pytest

from kafka_mirror.__main__ import main
from kafka_mirror.config import load
from kafka_mirror.errors import AuthorizationRefused, MirrorError, TooFewBrokers
from kafka_mirror.formats.mm2 import Heartbeat, decode_heartbeat
from kafka_mirror.status.alerts.check import _beats
from kafka_mirror.status.steps import run_step
from kafka_mirror.topics.heartbeats import Heart, beat_until
from services.kafka import KafkaCluster
from services.oracle import Record
from services.waiting import PATIENCE, eventually

LOGIN = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="{0}" password="{0}";'
NOWHERE = "127.0.0.1:1"


@pytest.fixture(scope="module")
def guarded(services_directory):
    """A cluster of the module's own with ACLs: on one that tests share, everybody would mirror what beats there."""
    cluster = KafkaCluster(services_directory / "beating", "beating", users={"heart": "heart", "nobody": "nobody"})
    cluster.start()
    yield cluster
    cluster.discard()


@pytest.fixture
def properties(guarded, oracle, tmp_path):
    """`properties(user, lines)`: a file in which only `target` can be reached; no topic `heartbeats` is there to begin with."""

    def write(user="", **lines):
        known = {
            "clusters": "source, target",
            "source.bootstrap.servers": NOWHERE,
            "target.bootstrap.servers": guarded.secure_bootstrap if user else guarded.bootstrap,
            "heartbeats.topic.replication.factor": "1",
            "admin.timeout.ms": "5000",
        }
        if user:
            # Whoever is refused is told by a broker, however long the machine stands still before.
            known |= {"target.security.protocol": "SASL_PLAINTEXT", "target.sasl.mechanism": "PLAIN", "admin.timeout.ms": "60000"}
            known["target.sasl.jaas.config"] = LOGIN.format(user)
        path = tmp_path / "mm2.properties"
        path.write_text("".join(f"{name} = {value}\n" for name, value in (known | lines).items()))
        return path

    yield write
    if oracle.topic_id(guarded.bootstrap, "heartbeats") is not None:
        oracle.delete_topic(guarded.bootstrap, "heartbeats")


@pytest.fixture
def beats(guarded, oracle):
    """What is in the topic."""
    return lambda: [decode_heartbeat(each.key, each.value) for each in oracle.dump(guarded.bootstrap, "heartbeats")]


def pair(path, name="source->target"):
    return load([path]).for_heartbeats().flow(name)


def test_by_hand_every_pair_beats_and_one_that_cannot_keeps_no_other_from_it(properties, beats, oracle, guarded, capsys):
    path = properties()
    before = int(time.time() * 1000)
    assert main(["--config", str(path), "heartbeats", "--json"]) == 1
    answers = {each["flow"]: each for each in json.loads(capsys.readouterr().out)["flows"]}
    assert set(answers) == {"source->target", "target->source"}
    [error] = answers["target->source"]["errors"]
    assert (error["code"], error["retriable"], error["message"].count("\n")) == ("ClusterUnreachable", True, 0)
    assert "'source'" in error["message"]
    [beat] = beats()
    assert answers["source->target"]["result"] == {"topic": "heartbeats", "created": True, "timestamp": beat.timestamp}
    assert beat == Heartbeat("source", "target", beat.timestamp)
    assert before <= beat.timestamp <= time.time() * 1000
    assert oracle.partitions(guarded.bootstrap, "heartbeats").__len__() == 1
    assert main(["--config", str(path), "heartbeats", "--flow", "source->target"]) == 0
    assert "source->target beat at " in capsys.readouterr().out
    assert len(beats()) == 2


def test_to_write_and_create_the_topic_is_all_that_is_needed(properties, beats, oracle, guarded):
    acls = [{"principal": "User:heart", "type": "TOPIC", "name": "heartbeats", "operation": each} for each in ("WRITE", "CREATE")]
    oracle.create_acls(guarded.bootstrap, acls)
    run_step("heartbeats", pair(properties("heart")))
    assert len(beats()) == 1


def test_who_may_not_beat_is_told_what_is_missing(properties, oracle, guarded):
    with pytest.raises(AuthorizationRefused, match="topic heartbeats") as missing:
        run_step("heartbeats", pair(properties("nobody")))
    assert not missing.value.retriable
    oracle.create_topic(guarded.bootstrap, "heartbeats")
    with pytest.raises(AuthorizationRefused, match="WRITE on topic heartbeats"):
        run_step("heartbeats", pair(properties("nobody")))


def test_more_replicas_than_brokers_are_refused_with_the_property(properties):
    with pytest.raises(TooFewBrokers, match=r"heartbeats\.topic\.replication\.factor=3"):
        run_step("heartbeats", pair(properties(**{"heartbeats.topic.replication.factor": "3"})))


def test_the_own_beat_is_seen_behind_those_of_pairs_that_beat_into_the_same_topic(properties, oracle, guarded):
    flow = pair(properties())
    run_step("heartbeats", flow)
    newer = [Heartbeat(f"hub{number % 15}", "target", int(time.time() * 1000)) for number in range(300)]
    oracle.produce_records(guarded.bootstrap, "heartbeats", [Record(key=each.key, value=each.value) for each in newer])
    [own] = _beats(flow)
    assert (own.way, own.mirrored) == ("heartbeats", False)


def gaps_of(beats):
    """How many seconds each beat is behind the one before; a machine that stands still may miss one."""
    return [later.timestamp // 1000 - earlier.timestamp // 1000 for earlier, later in pairwise(beats)]


def test_a_series_goes_over_into_the_next_one_without_a_gap_or_a_beat_twice(properties, beats):
    flow = pair(properties(**{"mirror.heartbeats.trigger": "true"}))
    done = {}

    def series(name, stop, end):
        done[name] = beat_until(flow, end, stop)

    stops = [threading.Event() for _ in range(3)]
    threads = [threading.Thread(target=series, args=(name, stop, time.time() + PATIENCE)) for name, stop in enumerate(stops[:2])]
    threads[0].start()
    eventually(lambda: Heart(flow).prepare() is False and len(beats()) >= 2)
    threads[1].start()
    threads[0].join(PATIENCE)
    assert stops[0].is_set(), "the next one told it to end"
    seen = len(beats())
    eventually(lambda: len(beats()) >= seen + 2 and gaps_of(beats()).count(1) >= 3, "three times one beat a second")
    stops[1].set()
    threads[1].join(PATIENCE)

    found = [beat.timestamp for beat in beats()]
    assert min(gaps_of(beats())) == 1, "no second has two beats"
    assert [(each.first, each.last) for each in done.values()] == [
        (found[0], found[done[0].beats - 1]),
        (found[done[0].beats], found[-1]),
    ]
    assert beat_until(flow, time.time() - 1, stops[2]).beats == 0, "its time is over"


def test_a_series_ends_with_the_error_of_a_cluster_that_is_gone(properties, guarded, beats):
    flow = pair(properties(**{"mirror.heartbeats.trigger": "true", "admin.timeout.ms": "2000"}))
    failed = []

    def series():
        try:
            beat_until(flow, time.time() + PATIENCE, threading.Event())
        except MirrorError as error:
            failed.append(error)

    thread = threading.Thread(target=series)
    thread.start()
    eventually(lambda: Heart(flow).prepare() is False and len(beats()) >= 1)
    guarded.stop()
    thread.join(PATIENCE)
    guarded.start()
    [error] = failed
    assert error.retriable
    assert "Cluster 'target'" in error.message
    assert "\n" not in error.message
