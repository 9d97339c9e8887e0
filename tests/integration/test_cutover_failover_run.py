"""`cutover run --mode failover` from its preflight to its report while the source is dead, and nobody so much as calls it."""

import json
import socket

import pytest

from kafka_mirror.__main__ import main
from kafka_mirror.cutover.wave.record import ROLLED_BACK
from kafka_mirror.cutover.wave.run import roll_back, run_wave
from kafka_mirror.cutover.wave.selection import Wave
from kafka_mirror.cutover.wave.step import FAILOVER, FAILOVER_STEPS, MOVE_GROUPS, StepOptions
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.groups.checkpoints import emit
from kafka_mirror.groups.context import group_context
from services.consumers import read_offsets, set_offsets
from services.waiting import ADMIN_TIMEOUT_MS


def test_a_failover_runs_to_its_end_and_asks_the_dead_source_nothing(make_cluster, west, make_pair, make_mirroring, oracle, capsys):
    cluster = make_cluster("gone")
    pair = make_pair(cluster, west)
    mirroring, topic, group = make_mirroring(pair), pair.topic("orders"), f"billing-{pair.mark}"
    oracle.create_topic(pair.source_bootstrap, topic, 2)
    oracle.produce(pair.source_bootstrap, topic, 40, seed=1)
    assert mirroring.copy().errors == ()
    set_offsets(pair.source_bootstrap, group, {(topic, 0): 7, (topic, 1): 11})
    assert not emit(group_context(mirroring.flow), [group]).errors
    cluster.kill()
    nobody = socket.create_server(("127.0.0.1", 0))  # in the place of the dead source; clients from before the failover know it not
    nobody.setblocking(False)
    elsewhere = {"source.bootstrap.servers": f"127.0.0.1:{nobody.getsockname()[1]}"}
    file = str(pair.properties(extra={"source->target.mirror.lanes": "4", "admin.timeout.ms": ADMIN_TIMEOUT_MS, **elsewhere}))

    def run(*arguments):
        code = main(["--config", file, "cutover", *arguments, "--flow", pair.flow, "--json"])
        (flow,) = json.loads(capsys.readouterr().out)["flows"]
        return code, flow

    wave = ("--topics", topic, "--mode", "failover", "--reason", "the site is gone", "--wave", "lost")
    with nobody:
        code, drill = run("run", *wave, "--dry-run")
        assert [each["step"] for each in drill["result"]["outcomes"]] == list(FAILOVER_STEPS), drill
        assert read_offsets(pair.target_bootstrap, group) == {}
        code, flow = run("run", *wave)
        assert (code, flow["state"], flow["result"]["wave"]["state"]) == (0, "done", "open"), flow
        assert run("run", *wave)[1]["result"]["outcomes"] == []
        with pytest.raises(BlockingIOError):
            nobody.accept()
        report = run("report", "--wave", "lost")[1]["result"]
    assert [(step["step"], step["state"]) for step in report["steps"]] == [(step, "done") for step in FAILOVER_STEPS]
    assert {place["partition"]: place["after"] for place in report["positions"]} == {0: 7, 1: 11}
    assert {tp.partition: offset for tp, offset in read_offsets(pair.target_bootstrap, group).items()} == {0: 7, 1: 11}


def test_a_failover_that_ran_twice_is_taken_back_whole(mirroring, oracle):
    topic, group = mirroring.pair.topic("parcels"), f"sorting-{mirroring.pair.mark}"
    oracle.create_topic(mirroring.source, topic, 3)
    oracle.produce(mirroring.source, topic, 60, seed=4)
    assert mirroring.copy().errors == ()
    remote = mirroring.pair.remote(topic)
    set_offsets(mirroring.target, group, {(remote, 2): 1}, "tried by hand")
    before = read_offsets(mirroring.target, group)
    context = group_context(mirroring.flow)
    options = StepOptions("twice", "ana", "declared lost", FAILOVER, dry_run=False)
    for positions in ({(topic, 0): 3, (topic, 2): 4}, {(topic, 0): 9, (topic, 1): 5, (topic, 2): 8}):
        set_offsets(mirroring.source, group, positions)
        assert not emit(context, [group]).errors
        run_wave(mirroring.flow, Wave((topic,)), options, until=MOVE_GROUPS)
    run_wave(mirroring.flow, Wave((topic,)), options, only=MOVE_GROUPS)
    assert read_offsets(mirroring.target, group) == {TopicPartition(remote, number): at for number, at in ((0, 9), (1, 5), (2, 8))}
    assert roll_back(mirroring.flow, options).record.state == ROLLED_BACK
    assert read_offsets(mirroring.target, group) == before
