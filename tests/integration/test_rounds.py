"""A run that goes on with rounds, on real brokers: what is produced meanwhile arrives while it runs, and all of it is counted."""

from collections.abc import Callable
from typing import Any

import pytest

from mirror.copy.publish import publish
from mirror.copy.verdict import verdict
from tests.integration.conftest import Mirroring
from tests.integration.run_under_way import RUN, decided, under_way


def test_records_arrive_while_a_run_goes_on_and_a_pause_holds_in_its_middle(
    make_mirroring: Callable[..., Mirroring], pair: Any, oracle: Any, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    mirroring = make_mirroring(pair, {"source->target.mirror.rounds.seconds": "1"})
    monkeypatch.setenv("MIRROR_CONFIG", mirroring.flow.file)
    other = pair.topic("clicks")
    oracle.create_topic(pair.source_bootstrap, other, 1)
    decide = ["--flow", pair.flow, "--topic", topic, "--reason", "a test"]
    with under_way(mirroring) as run:
        run.arrived(topic, 60)
        for number in range(1, 4):
            oracle.produce(pair.source_bootstrap, other, 10, seed=number)
            run.arrived(other, 10 * number)
        assert decided(mirroring, "pause", *decide)
        run.await_plans(1)
        oracle.produce(pair.source_bootstrap, topic, 5, seed=2)
        oracle.produce(pair.source_bootstrap, other, 5, seed=4)
        run.arrived(other, 35)
        run.await_plans(1)
        assert sum(record.records for record in mirroring.ledger().values()) == 60 + 35, "of the paused topic nothing came"
        assert decided(mirroring, "resume", *decide)
        run.arrived(topic, 65)
        result = run.end()
    published = publish(mirroring.flow, result.plan, result.results, run=RUN)
    judged = verdict(result.whole_plan, result.results, published)
    assert (judged.state, judged.errors, judged.owed, judged.records) == ("done", (), 0, 100)
    assert {(mark.topic, mark.partition) for mark in published.watermarks} == {(topic, 0), (topic, 1), (other, 0)}
    assert judged.bytes == sum(record.bytes for record in mirroring.ledger().values())
    assert published.syncs.partitions == 3
    assert any("is left out: pause" in notice for notice in judged.notices)
    mirroring.assert_mirrored(topic)
    mirroring.assert_mirrored(other)
