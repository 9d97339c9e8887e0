"""The command that answers an error, written out so that it can be copied, and beside it what says the same in Airflow."""

FLOW = "<flow>"
"""Stands for the flow's name in an error that does not know it; `ErrorReport.of_flow` puts the name in."""

TIMES = "--from … --to …"
"""Stands for the times of a backfill in an error that does not know them; `ErrorReport.of_times` puts them in."""

PLAN = f"python -m mirror plan --flow '{FLOW}' (in Airflow: trigger the DAG copy with dry_run)"
"""Where a person sees what the next copy has to do, and what keeps it from doing it."""


def decide(decision: str, *, topic: str | None = None, partition: int | None = None, options: str = "") -> str:
    """The command line by which a person takes a decision."""
    where = "".join((f" --topic {topic}" if topic is not None else "", f" --partition {partition}" if partition is not None else ""))
    return f"python -m mirror decide {decision} --flow '{FLOW}'{where}{options and ' ' + options} --reason \"…\""


def backfill(topic: str, options: str, parameters: str) -> str:
    """The backfill of a topic with other options, by the command line and by the parameters of the DAG."""
    command = f"python -m mirror backfill --flow '{FLOW}' --topics {topic} {TIMES} {options}"
    return f'{command} (in Airflow, the parameters of the DAG backfill: topics = ["{topic}"], {parameters})'
