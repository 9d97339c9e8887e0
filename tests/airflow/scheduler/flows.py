"""The flows that the running Airflow knows, one or more for each of the tests' subjects, and its settings."""

# A killed scheduler is known by its old heartbeat: here after seconds.
IMPATIENT = {
    "AIRFLOW__SCHEDULER__SCHEDULER_HEARTBEAT_SEC": "2",
    "AIRFLOW__SCHEDULER__SCHEDULER_HEALTH_CHECK_THRESHOLD": "12",
    "AIRFLOW__SCHEDULER__ORPHANED_TASKS_CHECK_INTERVAL": "2",
}
WEEKLY = {"source->target.mirror.copy.interval.seconds": "604800", "admin.timeout.ms": "4000"}
FLOWS = {
    "scheduled": {"source->target.mirror.copy.interval.seconds": "10"},
    "following": {"source->target.mirror.copy.interval.seconds": "60", "source->target.mirror.follow.seconds": "1"},
    # A connection as Airflow's Kafka provider has it, which plan and copy ask for by themselves, and the Spark job cannot.
    "triggered": {**WEEKLY, "source.bootstrap.servers": "${conn:kafka_source:extra.bootstrap.servers}"},
    "tampered": WEEKLY,
    # Its network to the target can be cut; it is slow enough for that to happen in the middle of a copy. Its logs are documentation.
    "logged": {
        **WEEKLY,
        "source->target.mirror.installation": "production",
        "source->target.mirror.lanes": "2",
        "source->target.mirror.max.bytes.per.second": "6000",
        "source->target.mirror.transaction.timeout.ms": "10000",
    },
    # Its people are told at once of what lasts, and of runs that take longer than seconds.
    "outage": {
        **WEEKLY,
        "source->target.mirror.alert.connections": "on_call_mail, on_call_hook, in_database",
        "source->target.mirror.alert.lasting.seconds": "0",
        "source->target.mirror.deadline.unreachable.seconds": "0",
        "source->target.mirror.deadline.run.seconds": "2",
        "source->target.mirror.run.max.seconds": "3",
    },
    # One alert is to come of all its red runs, however many of them miss their deadline afterwards.
    "gapped": {
        "source->target.mirror.copy.interval.seconds": "10",
        "source->target.mirror.alert.connections": "on_call_hook, in_database",
        "source->target.mirror.alert.lasting.seconds": "0",
        "source->target.mirror.deadline.run.seconds": "87",
        "source->target.mirror.run.max.seconds": "3",
    },
    # Not a flow: it only beats, and where it beats is known to the triggerer alone.
    "beating": {
        "source->target.enabled": "false",
        "source->target.mirror.heartbeats.trigger": "true",
        "target.bootstrap.servers": "${conn:kafka_target:extra.bootstrap.servers}",
    },
    # It begins at the end of its topics, so that what is there before is history.
    "filled": {**WEEKLY, "source->target.mirror.start": "latest", "source->target.mirror.alert.connections": "of_backfills"},
    # Likewise, with days below the start that nobody asked for, and others that are asked for in no order.
    "unasked": {**WEEKLY, "source->target.mirror.start": "latest", "source->target.mirror.lanes": "2"},
    # A person's own DAG waits for it.
    "arriving": WEEKLY,
    # Its watchdog is impatient, and `Hangs` lets it hang.
    "hanging": WEEKLY,
    # One lane with small transactions: a copy that takes long enough to be interrupted.
    "moving": {**WEEKLY, "source->target.mirror.lanes": "1"},
    "restarted": {**WEEKLY, "source->target.mirror.lanes": "1", "source->target.mirror.transaction.max.bytes": "50000"},
}

OWN_DAG = """
from airflow.sdk import DAG, task
from kafka_mirror.airflow.operators import MirrorCompleteSensor

@task
def after():
    pass

with DAG("own.waits", schedule=None, params={{"topics": "", "up_to": ""}}):
    arrived = MirrorCompleteSensor(
        task_id="arrived",
        flow="{flow}",
        topics="{{{{ params.topics }}}}",
        up_to="{{{{ params.up_to }}}}",
        deferrable=True,
        poke_interval=2,
    )
    arrived >> after()
"""
"""A person's own, which waits for a flow."""

METRICS_TOKEN = "for-prometheus"
