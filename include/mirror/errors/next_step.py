"""What answers an error: the decision as data, and commands written out so that they can be copied, with what says the same in Airflow."""

from dataclasses import dataclass

FLOW = "<flow>"
"""Stands for the flow's name in an error that does not know it; `ErrorReport.of_flow` puts the name in."""

TIMES = "--from … --to …"
"""Stands for the times of a backfill in an error that does not know them; `ErrorReport.of_times` puts them in."""

PLAN = f"python -m mirror plan --flow '{FLOW}' (in Airflow: trigger the DAG copy with dry_run)"
"""Where a person sees what the next copy has to do, and what keeps it from doing it."""


@dataclass(frozen=True)
class Remedy:
    """A decision of a person that answers an error. As text it is the command line that takes it; the status page makes a button of it."""

    decision: str
    topic: str | None = None
    partition: int | None = None
    alias: str | None = None

    def __str__(self) -> str:
        options = {"topic": self.topic, "partition": self.partition, "alias": self.alias}
        words = "".join(f" --{name} {value}" for name, value in options.items() if value is not None)
        return f"python -m mirror decide {self.decision} --flow '{FLOW}'{words} --reason \"…\""


def backfill(topic: str, options: str, parameters: str) -> str:
    """The backfill of a topic with other options, by the command line and by the parameters of the DAG."""
    command = f"python -m mirror backfill --flow '{FLOW}' --topics {topic} {TIMES} {options}"
    return f'{command} (in Airflow, the parameters of the DAG backfill: topics = ["{topic}"], {parameters})'
