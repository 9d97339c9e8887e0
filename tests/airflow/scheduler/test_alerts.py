"""What people hear of a flow whose runs are red for as long as one thing is wrong."""

from pathlib import Path

import pytest

from kafka_mirror.__main__ import main
from services.sinks import HttpSink
from services.waiting import eventually
from tests.airflow.scheduler.in_airflow import InAirflow, checked

RUNS = 3
"""How many red runs have missed their deadline, after they ended, when the alert is looked at; others are red by then."""


@pytest.mark.release  # minutes, for deadlines of runs that are over pass; one alert of one run is in test_outages.py
def test_a_gap_is_one_alert_over_all_its_red_runs_and_their_deadlines_and_its_end_is_one_message(
    gapped: InAirflow, hook: HttpSink, services_directory: Path
) -> None:
    freshness = gapped.dag.replace(".copy", ".freshness")
    gapped.api.wait_for_dags([freshness])
    posted, topic = len(hook.posted), gapped.create_topic("orders")
    gapped.produce(topic, 300, seed=21)
    gapped.api.unpause(gapped.dag)
    eventually(lambda: gapped.mirrored(topic) == 300 and gapped.ended_runs(), "the first copy", 600, longest=2)

    def decide(decision: str) -> None:
        of_topic = ["--flow", gapped.pair.flow, "--topic", topic, "--reason", "a test"]
        assert main(["--config", str(services_directory / "gapped.properties"), "decide", decision, *of_topic]) == 0

    decide("pause")
    before = len(gapped.ended_runs())
    eventually(lambda: len(gapped.ended_runs()) >= before + 2, "a run that leaves the topic out", 600, longest=2)
    gapped.produce(topic, 300, seed=22)
    gapped.oracle.delete_records(gapped.pair.source_bootstrap, topic, {0: 150})
    gapped.api.unpause(freshness)
    decide("resume")

    def red() -> list[str]:
        return [run for run, found in gapped.ended_runs().items() if found["state"] == "failed"]

    def told_of(runs: list[str]) -> bool:
        """Whether Airflow has said of each of these runs, which have ended, that they missed their deadline."""
        logs = services_directory / "scheduler" / "logs" / "executor_callbacks" / gapped.dag
        return all(any("Callback exec" in log.read_text() for log in (logs / run).glob("*")) for run in runs)

    def alerts() -> list[tuple[str, str]]:
        """What each connection was told of this flow: what it is, and whether it begins or ends."""
        told = [(each.path, each.body["alert"]["key"], each.body["event"]) for each in hook.posted[posted:]]
        by_path = [[(key, event) for path, key, event in told if path == of] for of in ("/in_environment", "/in_database")]
        first, second = ([(key, event) for key, event in of_path if key.startswith(gapped.pair.flow)] for of_path in by_path)
        assert first == second
        return first

    eventually(lambda: len(red()) >= RUNS, f"{RUNS} red runs", 600, longest=2)
    eventually(lambda: told_of(red()[:RUNS]), "their deadlines", 600, longest=2)
    key = f"{gapped.pair.flow}/SourceGap/{topic}"
    assert [each["key"] for each in checked(gapped.api, freshness)["open"]] == [key]
    assert alerts() == [(key, "opened")]

    decide("accept-gap")
    eventually(lambda: checked(gapped.api, freshness)["open"] == [], "the end of the alert")
    not_late_yet = [run for run in red() if not told_of([run])][:RUNS]
    eventually(lambda: told_of(not_late_yet), "the deadlines of red runs after the end of the alert", 600, longest=2)
    assert alerts() == [(key, "opened"), (key, "cleared")]
    gapped.api.pause(freshness)
