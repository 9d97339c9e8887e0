"""Shows that the demo's mirror is right: waits for Airflow's scheduled runs, compares both sides record by record, and makes a table."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from kafka_mirror.config import Flow
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.ledger.clusters import clusters, ledger_of
from kafka_mirror.ledger.record import LedgerRecord
from services.airflow_api import AirflowApi
from services.comparison import Comparison
from services.demo.settings import DemoFailed
from services.demo.shop import TOPICS
from services.oracle import Oracle, Side

PARTITIONS = [TopicPartition(topic, partition) for topic, count in TOPICS.items() for partition in range(count)]
Ledger = Mapping[TopicPartition, LedgerRecord]
_HEAD = ("topic", "partition", "source end", "watermark", "records", "lag")


@dataclass(frozen=True)
class Row:
    """One partition: the source's end now, how far the mirror is, and how many records were found equal up to there."""

    topic: str
    partition: int
    source_end: int
    watermark: int
    records: int

    @property
    def lag(self) -> int:
        """Source offsets that wait for the next run."""
        return self.source_end - self.watermark


def source_ends(flow: Flow, *, committed: bool) -> dict[TopicPartition, int]:
    """Where the source's partitions end now; with `committed`, before transactions that are still open."""
    with clusters(flow) as (source, _):
        return source.offsets(PARTITIONS, "latest", committed=committed)


def read_ledger(flow: Flow) -> Ledger:
    """How far the mirror is; empty before the first copy."""
    with clusters(flow) as (_, target):
        ledger = ledger_of(flow, target)
        return ledger.read().records if ledger.exists() else {}


def wait_until_mirrored(
    flow: Flow, api: AirflowApi, since: datetime, seconds: float, say: Callable[[str], None], may_be_red: bool = False
) -> int:
    """Returns when scheduled copies that began after `since` have mirrored what is on the source now; gives how many there were.

    Raises DemoFailed when it takes too long, or with the reason when one of them is red; with `may_be_red` (a gap of an earlier start is
    not decided yet) a red one counts too, for it copies what it can.
    """
    dag, wanted = flow.dag_id("copy"), source_ends(flow, committed=True)
    deadline = time.monotonic() + seconds
    while True:
        runs = [run for run in api.runs(dag) if run["run_type"] == "scheduled" and _has_begun_since(run, since)]
        for run in runs:
            if run["state"] == "failed" and not may_be_red:
                raise DemoFailed(f"The run {run['dag_run_id']} of {dag} is red. Its verdict:\n{api.errors(dag, run['dag_run_id'], 'copy')}")
        ledger = read_ledger(flow)
        remaining = sum(max(end - watermark(ledger, tp), 0) for tp, end in wanted.items())
        ended = [run for run in runs if run["state"] in ("success", "failed")]
        if ended and not remaining:
            return len(ended)
        if time.monotonic() > deadline:
            states = ", ".join(f"{run['dag_run_id']} {run['state']}" for run in runs) or "none"
            raise DemoFailed(f"{dag} has {remaining:,} offsets still to copy after {seconds:g} s. Its runs: {states}.{_failure(api, runs)}")
        say(f"{describe_progress(sum(wanted.values()), remaining, _list_active_tasks(api, runs))}{_failure(api, runs)}")
        time.sleep(1)


def compare(flow: Flow, oracle: Oracle) -> tuple[list[Row], list[Comparison]]:
    """Compares both sides: source records before the ledger's watermark, target records before the end that belongs to it."""
    ledger = read_ledger(flow)
    comparisons = [_compare_topic(flow, oracle, ledger, topic) for topic in TOPICS]
    equal = {(topic.source, part.partition): part.equal for topic in comparisons for part in topic.partitions}
    ends = source_ends(flow, committed=False)
    return [Row(tp.topic, tp.partition, ends[tp], ledger[tp].watermark, equal[tp]) for tp in PARTITIONS], comparisons


def _compare_topic(flow: Flow, oracle: Oracle, ledger: Ledger, topic: str) -> Comparison:
    records = {tp.partition: ledger[tp] for tp in PARTITIONS if tp.topic == topic}
    source = Side(flow.find_bootstrap("source"), topic, end={number: record.watermark for number, record in records.items()})
    [remote] = {record.target_topic for record in records.values()}
    target = Side(flow.find_bootstrap("target"), remote, end={number: record.target_next for number, record in records.items()})
    return oracle.compare(source, target, seconds=600)


def watermark(ledger: Ledger, tp: TopicPartition) -> int:
    """How far the partition is mirrored; 0 before its first copy."""
    return ledger[tp].watermark if tp in ledger else 0


def describe_progress(offsets: int, remaining: int, active_tasks: Sequence[str]) -> str:
    """What the demo waits for: records, or the tasks of the run that has copied them."""
    tasks = f"the run is at {', '.join(active_tasks)}" if active_tasks else "Airflow has yet to start the next task"
    if remaining:
        return f"{offsets - remaining:,} of {offsets:,} offsets are copied; {tasks}"
    return f"all {offsets:,} offsets are copied; waiting for the end of a run; {tasks}"


def _list_active_tasks(api: AirflowApi, runs: Sequence[Mapping[str, Any]]) -> list[str]:
    """The tasks of the newest run that run or are about to."""
    tasks = [task for run in runs[:1] for task in api.tasks(run["dag_id"], run["dag_run_id"])]
    return [task["task_id"] for task in tasks if task["state"] in ("scheduled", "queued", "running", "up_for_retry")]


def _failure(api: AirflowApi, runs: Sequence[Mapping[str, Any]]) -> str:
    """What failed in the newest run and is about to be tried again."""
    for run in runs[:1]:
        for task in api.tasks(run["dag_id"], run["dag_run_id"]):
            if task["state"] == "up_for_retry":
                said = api.errors(run["dag_id"], run["dag_run_id"], task["task_id"], task["try_number"])
                return f"; {task['task_id']} failed and is tried again: {said.splitlines()[-1] if said else 'no reason was logged'}"
    return ""


def _has_begun_since(run: Mapping[str, Any], since: datetime) -> bool:
    return run["start_date"] is not None and datetime.fromisoformat(run["start_date"]) >= since


def format_rows(rows: Sequence[Row]) -> list[str]:
    """One line a partition and one with the sums; numbers are right-aligned."""
    cells = [(row.topic, *(f"{n:,}" for n in (row.partition, row.source_end, row.watermark, row.records, row.lag))) for row in rows]
    sums = ("all", "", "", "", f"{sum(row.records for row in rows):,}", f"{sum(row.lag for row in rows):,}")
    widths = [max(len(line[column]) for line in (_HEAD, *cells, sums)) for column in range(len(_HEAD))]
    rule = "  ".join("-" * width for width in widths)
    return [_line(_HEAD, widths), rule, *(_line(row, widths) for row in cells), rule, _line(sums, widths)]


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    first, *others = (
        cell.ljust(width) if column == 0 else cell.rjust(width) for column, (cell, width) in enumerate(zip(cells, widths, strict=True))
    )
    return "  ".join((first, *others)).rstrip()
