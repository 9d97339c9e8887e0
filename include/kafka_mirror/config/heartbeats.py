"""How often a pair of clusters beats, and what its heartbeats depend on."""

from kafka_mirror.config.flow import CLIENTS, Flow, Role, Side
from kafka_mirror.config.setting import DEFAULT

READ = (
    "emit.heartbeats.enabled",
    "emit.heartbeats.interval.seconds",
    "heartbeats.topic.replication.factor",
    "mirror.heartbeats.trigger",
    "mirror.copy.interval.seconds",
    "admin.timeout.ms",
    "replication.policy.class",
    "replication.policy.separator",
)
"""The properties that a beat depends on: all that is judged of a pair that is no enabled flow."""

USED: tuple[tuple[Side, Role], ...] = tuple(client for client in CLIENTS if client in (("target", "admin"), ("target", "producer")))
"""The clients that a beat needs: none of the source's."""


def seconds_between_beats(flow: Flow) -> int:
    """The exact interval with the trigger; without it, a beat comes with a run, and runs come no more often than copies."""
    exact: int = flow.value("emit.heartbeats.interval.seconds")
    return exact if flow.value("mirror.heartbeats.trigger") else max(exact, flow.value("mirror.copy.interval.seconds"))


def slower_interval_notice(flow: Flow) -> str | None:
    """The notice where an interval is set that only the trigger keeps. The default of a second is not set."""
    setting = flow.connector.get("emit.heartbeats.interval.seconds")
    if setting is None or setting.origin == DEFAULT or not flow.value("emit.heartbeats.enabled"):
        return None
    asked, kept = flow.value("emit.heartbeats.interval.seconds"), seconds_between_beats(flow)
    if asked == kept:
        return None
    return (
        f"{setting.origin} is {asked}, and a heartbeat comes with each run of the DAG: every {kept} s. "
        "mirror.heartbeats.trigger=true beats at the exact interval, in Airflow's triggerer."
    )
