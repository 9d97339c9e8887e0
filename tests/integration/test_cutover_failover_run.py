"""`cutover run --mode failover` from its preflight to its report while the source is dead, and nobody so much as calls it."""

import json
import socket

import pytest

from mirror.__main__ import main
from mirror.cutover.steps import FAILOVER_STEPS
from mirror.sync.groups.checkpoints import emit
from mirror.sync.groups.context import group_context
from tests.integration.consumers import committed, set_offsets
from tests.waiting import ADMIN_TIMEOUT_MS


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
        assert committed(pair.target_bootstrap, group) == {}
        code, flow = run("run", *wave)
        assert (code, flow["state"], flow["result"]["wave"]["state"]) == (0, "done", "open"), flow
        assert run("run", *wave)[1]["result"]["outcomes"] == []
        with pytest.raises(BlockingIOError):
            nobody.accept()
        report = run("report", "--wave", "lost")[1]["result"]
    assert [(step["step"], step["state"]) for step in report["steps"]] == [(step, "done") for step in FAILOVER_STEPS]
    assert {place["partition"]: place["after"] for place in report["positions"]} == {0: 7, 1: 11}
    assert {tp.partition: offset for tp, offset in committed(pair.target_bootstrap, group).items()} == {0: 7, 1: 11}
