"""A program for an Airflow that is not set up: prints the DAGs of a folder as lines of text."""

import sys
from typing import Any

from airflow.dag_processing.dagbag import DagBag


def schedule_of(timetable: Any) -> str:
    """The window's length, or the cron expression; the kind alone where there is neither."""
    return f"{type(timetable).__name__} {getattr(timetable, 'delta', None) or getattr(timetable, 'expression', None) or ''}".rstrip()


def lines_of(dag: Any) -> list[str]:
    """What a person sees, triggers or sizes: ids, schedule, params, pools, retries, order, who gets a notice of a late run."""
    about = {
        "schedule": schedule_of(dag.timetable),
        "tags": sorted(dag.tags),
        "catchup": dag.catchup,
        "max_active_runs": dag.max_active_runs,
    }
    lines = [f"## {dag.dag_id}", *(f"{name}: {value}" for name, value in about.items())]
    deadlines = [(deadline.interval, deadline.callback) for deadline in dag.deadline or []]
    lines += [f"deadline: {interval} {callback.path} {sorted(callback.kwargs)}" for interval, callback in deadlines]
    for name in dag.params:
        param = dag.params.get_param(name)
        lines.append(f"param {name}: {param.value!r} {param.schema}")
    for task in sorted(dag.tasks, key=lambda each: each.task_id):
        upstream = ", ".join(sorted(task.upstream_task_ids))
        pauses = f"{task.retries} retries from {task.retry_delay} to {task.max_retry_delay}"
        lines.append(
            f"task {task.task_id}: after [{upstream}] if {task.trigger_rule.value}, pool {task.pool}, {task.pool_slots} slots, {pauses}"
        )
        lines.append(f"    at once {task.max_active_tis_per_dag}, deferrable {getattr(task, 'deferrable', None)}, {task.execution_timeout}")
    return [*lines, ""]


if __name__ == "__main__":
    bag = DagBag(sys.argv[1])
    assert not bag.import_errors, bag.import_errors
    print("\n".join(["# DAGs", *(line for _, dag in sorted(bag.dags.items()) for line in lines_of(dag))]))
