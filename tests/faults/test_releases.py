"""Every step of a flow, from and to brokers of other releases than those that `make test` starts."""

from dataclasses import replace
from itertools import groupby

import pytest

from kafka_mirror.__main__ import main
from kafka_mirror.config import load
from kafka_mirror.cutover.steps.preflight import preflight
from kafka_mirror.cutover.wave.record import OPENED
from kafka_mirror.cutover.wave.run import run_wave
from kafka_mirror.cutover.wave.selection import Wave
from kafka_mirror.cutover.wave.step import BY_CHECK, FENCE, STOPPED, StepOptions
from services.consumers import read_offsets, set_offsets
from services.flow_in_process import Mirroring
from services.java import broker_jars
from services.kafka import KafkaCluster
from services.oracle import OracleError, Record
from services.waiting import eventually
from services.zookeeper import ZooKeeperCluster
from tests.integration.whole_flow import SETTINGS, assert_carried
from tests.session import running

pytestmark = [pytest.mark.faults, pytest.mark.usefixtures("heartbeats_removed")]

SOURCES_ALONE = ("2.1.1", "2.4.1")
RELEASES = ("3.3.2", "3.5.2", "4.4.0")


@pytest.fixture(scope="module")
def other(request, services_directory):
    """A broker of the release, with the ZooKeeper of that time before KRaft."""
    kind = ZooKeeperCluster if request.param.startswith("2.") else KafkaCluster
    cluster = kind(services_directory / request.param, f"kafka-{request.param}", jars=broker_jars(request.param))
    with running(cluster):
        yield cluster


@pytest.mark.parametrize("other", SOURCES_ALONE + RELEASES, indirect=True)
def test_every_step_works_from_a_cluster_of_another_release(other, west, make_pair, oracle, capfd):
    assert_carried(make_pair(other, west), oracle, capfd)


@pytest.mark.parametrize("other", RELEASES, indirect=True)
def test_every_step_works_to_a_cluster_of_another_release(other, east, make_pair, oracle, capfd):
    assert_carried(make_pair(east, other), oracle, capfd)


FORMATS = (("0.9.0", 0, "gzip"), ("0.10.0", 1, "lz4"), (None, 2, "snappy"), ("0.10.0", 1, "none"), (None, 2, "zstd"))
"""How a topic's log is stored, one part after the other: message.format.version, magic, codec."""
PLAIN = {"enable.idempotence": "false", "batch.size": "2000"}


@pytest.mark.parametrize("other", ["2.4.1"], indirect=True)
def test_a_log_of_all_formats_arrives_record_for_record(other, west, make_pair, oracle, services_directory):
    pair = make_pair(other, west)
    mirroring = Mirroring(pair, oracle, load([pair.properties(extra=SETTINGS)]).flow(pair.flow))
    topic = mirroring.pair.topic("orders")
    oracle.create_topic(mirroring.source, topic, 1)
    for part, (version, magic, codec) in enumerate(FORMATS):
        oracle.alter_configs(mirroring.source, topic, {"message.format.version": version})

        def is_stored(magic=magic):
            oracle.produce_records(mirroring.source, topic, [Record(b"key", b"value")], **PLAIN)
            return stored_magics(services_directory / "2.4.1", topic)[-1] == magic

        eventually(is_stored, "the broker stores records in this format")
        records = [Record(b"%d" % (number % 7) if number % 3 else None, b"%d" % number * 30) for number in range(part, part + 200)]
        oracle.produce_records(mirroring.source, topic, records, codec=codec, **PLAIN)
    copied = mirroring.copy()
    assert copied.state == "done", copied
    assert mirroring.assert_mirrored(topic)
    magics = stored_magics(services_directory / "2.4.1", topic)
    assert [magic for magic, _ in groupby(magics)] == [magic for _, magic, _ in FORMATS]


def stored_magics(directory, topic):
    """The formats of what stands in the log of a topic's only partition, one after the other."""
    (log,) = directory.glob(f"data-*/{topic}-0/*.log")
    data, at, magics = log.read_bytes(), 0, []
    while at < len(data):
        magics.append(data[at + 16])
        at += 12 + int.from_bytes(data[at + 8 : at + 12], "big")
    return magics


@pytest.mark.parametrize("other", SOURCES_ALONE, indirect=True)
def test_a_wave_moves_from_a_cluster_that_does_not_tell_who_writes(other, west, make_pair, oracle):
    pair = make_pair(other, west)
    pair = replace(pair, source=pair.source.replace(".", ""))  # with remote names the way back tells by them what came from where
    mirroring = Mirroring(pair, oracle, load([pair.properties()]).flow(pair.flow))
    topic, group = pair.topic("orders"), f"readers-{pair.mark}"
    oracle.create_topic(pair.source_bootstrap, topic, 2)
    oracle.produce(pair.source_bootstrap, topic, 60, seed=1)
    mirroring.refresh()
    assert mirroring.copy().errors == ()
    set_offsets(pair.source_bootstrap, group, {(topic, 0): 3, (topic, 1): 4})
    wave, options = Wave((topic,)), StepOptions("w", "ada", "a test", dry_run=False, quiet_seconds=1.0, timeout=30.0, by=BY_CHECK)

    oracle.open_transaction(pair.source_bootstrap, topic, f"writes-{pair.mark}", [Record(b"k", b"v", partition=0)])
    found = preflight(mirroring.flow, wave)
    assert found.may_move, found.findings
    said = {finding.code: finding.message for finding in found.findings}
    assert f"{topic}-0: a transaction is open from offset" in said["TransactionOpen"]
    assert "older than Kafka 2.8" in said["WritersUntold"]
    both = {f"{pair.target}->{pair.source}.enabled": "true", f"{pair.target}->{pair.source}.topics": topic}
    with_way_back = load([pair.properties(extra=both, file="both.properties")]).flow(pair.flow)
    assert "WayBackTooOld" in {finding.code for finding in preflight(with_way_back, wave).findings}
    stopped = run_wave(mirroring.flow, wave, options)
    assert (stopped.outcomes[-1].step, stopped.state) == (FENCE, STOPPED)

    oracle.end_transaction(f"writes-{pair.mark}", "commit")
    assert run_wave(mirroring.flow, wave, options).record.state == OPENED
    mirroring.assert_mirrored(topic)
    assert {tp.partition: at for tp, at in read_offsets(pair.target_bootstrap, group).items()} == {0: 3, 1: 4}


@pytest.mark.parametrize("other", ["2.4.1"], indirect=True)
def test_a_topic_without_an_id_that_was_created_again_is_found_by_its_end_and_copied_from_its_beginning(other, west, make_pair, oracle):
    pair = make_pair(other, west)
    file = pair.properties()
    mirroring = Mirroring(pair, oracle, load([file]).flow(pair.flow))
    topic = pair.topic("orders")
    oracle.create_topic(mirroring.source, topic, 1)
    oracle.produce(mirroring.source, topic, 100, seed=1)
    mirroring.refresh()
    assert mirroring.copy().errors == ()
    oracle.delete_topic(mirroring.source, topic)
    eventually(lambda: is_created(oracle, mirroring.source, topic), "the end of the old topic")
    oracle.produce(mirroring.source, topic, 20, seed=3)
    (error,) = mirroring.copy().errors
    assert (error.code, "created it again" in error.next) == ("SourceTruncated", True)
    decided = ("decide", "restart", "--flow", pair.flow, "--topic", topic, "--partition", "0", "--to-earliest", "--reason", "created again")
    assert main(["--config", str(file), *decided]) == 0
    assert mirroring.copy().errors == ()
    values = [record.value for record in oracle.dump(mirroring.target, pair.remote(topic))]
    assert (len(values), values[100:]) == (120, [record.value for record in oracle.dump(mirroring.source, topic)])


def is_created(oracle, bootstrap, topic):
    """Creates a topic; False while ZooKeeper still has the old one of that name."""
    try:
        oracle.create_topic(bootstrap, topic, 1)
    except OracleError:
        return False
    return True
