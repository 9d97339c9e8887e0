"""Deciding as a person does, for the tests of decisions: the commands that errors name, and what became of them."""

import json
import re
import shlex
from dataclasses import replace

import pytest
from confluent_kafka import Producer

from kafka_mirror.__main__ import main
from kafka_mirror.formats.offsets.partition import TopicPartition, lane_of
from kafka_mirror.ledger.codec import encode, encode_key
from services.waiting import PATIENCE
from tests.engine_hooks import EngineHooks

COMMAND = re.compile(r'python -m kafka_mirror (decide .*? --reason "…")')
WHY = "seen, and it's borne"


@pytest.fixture
def make_topic(mirroring):
    """Makes a source topic with records, not copied yet: `make_topic("orders", 2, 100)`."""

    def make(name, partitions=1, records=100, seed=1):
        topic = mirroring.pair.topic(name)
        mirroring.oracle.create_topic(mirroring.source, topic, partitions)
        mirroring.oracle.produce(mirroring.source, topic, records, seed=seed)
        return topic

    return make


@pytest.fixture
def decide(mirroring, capsys):
    """Runs `python -m kafka_mirror decide …` on the flow's properties file; gives exit code, result, errors."""

    def run(*arguments):
        capsys.readouterr()
        code = main(["--config", str(mirroring.pair.directory / "mm2.properties"), "--json", "decide", *arguments])
        (flow,) = json.loads(capsys.readouterr().out)["flows"]
        return code, flow["result"], flow["errors"]

    return run


@pytest.fixture
def answer(decide):
    """Runs the command that an error names, word for word, and gives the decisions that were taken."""

    def run(error, *more):
        (command,) = COMMAND.findall(error.next)
        words = [WHY if word == "…" else word for word in shlex.split(command)]
        code, result, errors = decide(*words[1:], *more)
        assert (code, errors) == (0, []), errors
        return result["decisions"]

    return run


def errors_of(judged, code):
    """The errors of a red run, all of this code, by topic and partition."""
    assert judged.state == "failed", judged
    assert {error.code for error in judged.errors} == {code}, judged
    return {TopicPartition(error.topic, error.partition): error for error in judged.errors}


def watermark(mirroring, topic, partition=0):
    return mirroring.ledger()[TopicPartition(topic, partition)].watermark


def values(mirroring, bootstrap, topic, partition=0):
    return [(r.key, r.value) for r in mirroring.oracle.dump(bootstrap, topic) if r.partition == partition]


def mirrored(mirroring, topic, partition=0):
    return values(mirroring, mirroring.target, mirroring.pair.remote(topic), partition)


def used_up(decide, mirroring, *words):
    """That the decision is not in force any more, that pressing again says so, and that a further copy does nothing."""
    before = mirroring.ledger()
    _, listed, _ = decide("list", "--flow", mirroring.pair.flow)
    about = [each for each in listed["decisions"] if each["decision"] == words[0]]
    assert about
    assert not any(each["in_force"] for each in about)
    code, result, (error,) = decide(*words, "--flow", mirroring.pair.flow, "--reason", "pressed again")
    assert (code, result, error["code"]) == (1, None, "NothingToDecide")
    assert mirroring.copy().state == "nothing to do"
    assert mirroring.ledger() == before


@pytest.fixture
def inside_the_transaction(monkeypatch):
    """Lets something happen once, when a transaction's records of the topic are acknowledged and it is not committed yet."""

    def arrange(topic, happening):
        def copied(copy):
            progress = copy()
            if happenings and any(moved.source.topic == topic for moved in progress):
                happenings.pop()()
            return progress

        happenings = [happening]
        EngineHooks(monkeypatch).around_copy = copied

    return arrange


def recreate(mirroring, bootstrap, topic, partitions=1, configs=None):
    mirroring.oracle.delete_topic(bootstrap, topic)
    mirroring.oracle.create_topic(bootstrap, topic, partitions, configs)


def write_ledger(mirroring, topic, **fields):
    """Lets the ledger say something else of partition 0: what no client can make a broker do here."""
    tp = TopicPartition(topic, 0)
    record = replace(mirroring.ledger()[tp], **fields)
    producer = Producer({"bootstrap.servers": mirroring.target})
    producer.produce(f"mm2-ledger.{mirroring.pair.source}.internal", encode(record), encode_key(tp), lane_of(topic, 0, 4))
    assert producer.flush(PATIENCE) == 0
