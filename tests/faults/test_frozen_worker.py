"""Waves of the `cutover` DAG whose worker stands still until Airflow believes it dead, and wakes when another run had the wave.

A real scheduler, its own worker stopped by signals, and brokers with Kafka's authorizer.
"""

import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from kafka_mirror.__main__ import main
from kafka_mirror.config import load
from kafka_mirror.cutover.wave.record import OPENED, ROLLED_BACK
from kafka_mirror.cutover.wave.run import read_waves
from services.airflow import AirflowServices
from services.airflow_api import AirflowApi
from services.consumers import member, read, read_offsets, set_offsets
from services.flow_in_process import Mirroring
from services.flows import ClusterPair
from services.java import ROOT
from services.kafka import KafkaCluster
from services.oracle import Oracle
from services.waiting import ADMIN_TIMEOUT_MS
from tests.faults.freezes import Freezes, Frozen
from tests.integration.access import acl, allow

__all__ = ["allow"]

pytestmark = pytest.mark.faults

SOON_DEAD = {
    "AIRFLOW__SCHEDULER__TASK_INSTANCE_HEARTBEAT_TIMEOUT": "20",
    "AIRFLOW__SCHEDULER__TASK_INSTANCE_HEARTBEAT_TIMEOUT_DETECTION_INTERVAL": "2",
}
COPIED = 60
SECONDS_TO_FREEZE = 400


@pytest.fixture(scope="module")
def freezes(services_directory: Path) -> Freezes:
    return Freezes(services_directory / "freezes")


@pytest.fixture(scope="module")
def pair(guarded: tuple[KafkaCluster, KafkaCluster], services_directory: Path) -> ClusterPair:
    source, target = guarded
    made = ClusterPair("frozen-from", "frozen-to", source.bootstrap, target.bootstrap, "of-frozen", services_directory)
    weekly = {"source->target.mirror.copy.interval.seconds": "604800", "source->target.mirror.lanes": "2"}
    made.properties(extra={**weekly, "admin.timeout.ms": ADMIN_TIMEOUT_MS}, file="frozen.properties")
    return made


@pytest.fixture(scope="module")
def airflow(
    pair: ClusterPair, freezes: Freezes, make_airflow: Callable[..., AirflowServices], services_directory: Path
) -> Iterator[AirflowApi]:
    file = services_directory / "frozen.properties"
    modules = {"PYTHONPATH": f"{freezes.directory}:{ROOT / 'include'}"}
    running = make_airflow("frozen", environment={"MIRROR_CONFIG": str(file), **SOON_DEAD, **modules})
    api = running.api()
    dag = f"{pair.source}-to-{pair.target}.cutover"
    api.wait_for_dags([dag])
    api.unpause(dag)
    yield api
    api.close()


@dataclass
class FrozenWave:
    """A wave by the DAG with a topic and a group of its own, one of whose tasks is frozen."""

    mirroring: Mirroring
    api: AirflowApi
    topic: str
    group: str
    name: str
    run: str
    frozen: Frozen

    @property
    def dag(self) -> str:
        return f"{self.mirroring.pair.source}-to-{self.mirroring.pair.target}.cutover"

    def state(self) -> str:
        return read_waves(self.mirroring.flow).waves[self.name].state

    def stands(self) -> dict[str, Any]:
        """All that a wave changes, as it stands now."""
        source, target = self.mirroring.source, self.mirroring.target
        stored = read_waves(self.mirroring.flow)
        return {
            "notes": (stored.waves[self.name], stored.groups.get(self.name)),
            "moved": stored.decisions.find_moved(self.topic),
            "denied": [each for each in self.mirroring.oracle.acls(source) if (each["name"], each["permission"]) == (self.topic, "DENY")],
            "positions": read_offsets(target, self.group),
            "ledger": {tp: record for tp, record in self.mirroring.ledger().items() if tp.topic == self.topic},
        }

    def tries(self, task: str) -> list[str]:
        """The state of the task, as often as it was tried."""
        [found] = [each for each in self.api.tasks(self.dag, self.run) if each["task_id"] == task]
        return [str(found["state"])] * int(found["try_number"])


@pytest.fixture
def freeze(
    pair: ClusterPair,
    airflow: AirflowApi,
    freezes: Freezes,
    oracle: Oracle,
    services_directory: Path,
    guarded: tuple[KafkaCluster, KafkaCluster],
    allow: Callable[..., None],
) -> Iterator[Callable[[str], FrozenWave]]:
    """Begins a wave, and gives it when a task of it is frozen at the moment."""
    file = services_directory / "frozen.properties"
    made: list[FrozenWave] = []

    def begin(moment: str) -> FrozenWave:
        mirroring = Mirroring(pair, oracle, load([file]).flow(pair.flow))
        name = f"{moment.replace(' ', '-')}-{uuid.uuid4().hex[:4]}"
        topic, group = pair.topic(name), f"{name}-readers"
        oracle.create_topic(pair.source_bootstrap, topic, 2)
        oracle.produce(pair.source_bootstrap, topic, COPIED, seed=5)
        mirroring.refresh()
        assert mirroring.copy().errors == ()
        set_offsets(pair.source_bootstrap, group, {(topic, 0): 3, (topic, 1): 4})
        allow(guarded[0], acl("writer", topic, "WRITE"))  # without any ACL the fence would set none
        freezes.arm(moment)
        conf = {"topics": topic, "groups": group, "dry_run": False, "quiet_seconds": 1, "wave": name, "by": "acl"}
        dag = f"{pair.source}-to-{pair.target}.cutover"
        run = airflow.trigger(dag, conf)
        frozen = freezes.frozen(lambda: airflow.run(dag, run)["state"] in ("queued", "running"), SECONDS_TO_FREEZE)
        made.append(FrozenWave(mirroring, airflow, topic, group, name, run, frozen))
        return made[-1]

    yield begin
    for wave in made:
        wave.frozen.go_on()


@pytest.mark.parametrize("moment", ["fence looked", "move-groups looked", "open looked", "open decides"])
def test_a_worker_that_wakes_when_its_wave_was_rolled_back_changes_nothing(moment: str, freeze: Callable[[str], FrozenWave]) -> None:
    wave = freeze(moment)
    mirroring, task = wave.mirroring, moment.split()[0].replace("-", "_")
    file = str(mirroring.pair.directory / "frozen.properties")
    command = ["cutover", "rollback", "--flow", mirroring.pair.flow, "--wave", wave.name, "--who", "bea"]
    assert main(["--config", file, *command]) == 0
    assert wave.api.wait_for_run(wave.dag, wave.run)["state"] == "failed"
    assert wave.tries(task) == ["failed"] * 2, "Airflow believed the worker dead, and the second try stopped"
    before = wave.stands()
    assert (wave.state(), before["moved"], before["denied"], before["positions"]) == (ROLLED_BACK, None, [], {})
    assert all(record.moved is None for record in before["ledger"].values())

    error = wave.frozen.wake()

    assert error.startswith("WaveRunElsewhere: "), error
    assert "by bea" in error
    assert wave.stands() == before
    mirroring.oracle.produce(mirroring.source, wave.topic, 12, seed=6)
    assert mirroring.copy().errors == ()
    assert mirroring.assert_mirrored(wave.topic).records == COPIED + 12


@pytest.mark.parametrize("moment", ["fence looked", "move-groups looked", "open looked", "open decides"])
def test_a_worker_that_wakes_when_the_next_try_has_opened_its_wave_changes_nothing(
    moment: str, freeze: Callable[[str], FrozenWave]
) -> None:
    wave = freeze(moment)
    mirroring, task = wave.mirroring, moment.split()[0].replace("-", "_")
    remote = mirroring.pair.remote(wave.topic)
    assert wave.api.wait_for_run(wave.dag, wave.run)["state"] == "success"
    assert wave.tries(task) == ["success"] * 2, "Airflow believed the worker dead"
    with member(mirroring.target, wave.group, remote) as reader:
        read(reader, COPIED - 3 - 4)
        before = wave.stands()
        assert (wave.state(), min(before["positions"].values()) > 3 + 4) == (OPENED, True)

        error = wave.frozen.wake()

        assert error.startswith("WaveRunElsewhere: "), error
        assert wave.stands() == before
