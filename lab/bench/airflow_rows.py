"""What the scheduled runs of DAGs leave in Airflow's database (PostgreSQL) and in its log folder, and what that makes a day.

    python -m lab.bench.airflow_rows DATABASE_URL LOG_FOLDER [FLOW]

counts an Airflow that runs already, for example of the flow `east-to-west`. It only reads.
"""

import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import psycopg2

DAY = 86_400
BOUNDED = ("rendered_task_instance_fields",)
"""Tables that Airflow keeps short by itself: they do not grow from day to day."""

_RUNS = """
select dag_id, run_id, extract(epoch from data_interval_end - data_interval_start)
from dag_run where run_type = 'scheduled' and state in ('success', 'failed')"""
_TABLES_OF_RUNS = """
select table_name from information_schema.columns where table_schema = 'public' and column_name in ('dag_id', 'run_id')
group by table_name having count(*) = 2"""
_ROWS = 'select dag_id, run_id, count(*), sum(pg_column_size(t.*)) from "{table}" t where run_id is not null group by 1, 2'
_DEADLINES = """
select dag_id, run_id, count(*), sum(pg_column_size(t.*)) from deadline t join dag_run on dag_run.id = t.dagrun_id group by 1, 2"""
_SIZES = """
select relname, pg_total_relation_size(oid) from pg_class where relkind = 'r' and relnamespace = 'public'::regnamespace"""


@dataclass(frozen=True)
class Volume:
    """What the ended runs of one DAG left in Airflow. A scheduled run comes every `seconds`; bytes are those of the rows alone, without
    indexes and free space."""

    dag: str
    runs: int
    seconds: float
    rows: Mapping[str, int]
    row_bytes: Mapping[str, int]
    log_files: int
    log_bytes: int

    @property
    def runs_a_day(self) -> float:
        """How many runs the schedule makes a day."""
        return DAY / self.seconds

    def scale_to_day(self, total: float) -> float:
        """What the runs of a day leave, where all counted runs left `total`."""
        return total / self.runs * self.runs_a_day


def count_volumes(database_url: str, logs: Path, flow: str = "") -> list[Volume]:
    """One for each DAG with an ended scheduled run, the most frequent first; `flow` is the part of the DAG ids before the dot."""
    files = _find_log_sizes(logs)
    with closing(connect(database_url)) as connection, connection.cursor() as cursor:
        cursor.execute(_RUNS)
        runs = {(dag, run): float(seconds) for dag, run, seconds in cursor.fetchall() if dag.startswith(flow)}
        cursor.execute(_TABLES_OF_RUNS)
        statements = {table: _ROWS.format(table=table) for (table,) in cursor.fetchall()} | {"deadline": _DEADLINES}
        rows: dict[str, Counter[str]] = defaultdict(Counter)
        sizes: dict[str, Counter[str]] = defaultdict(Counter)
        for table, statement in statements.items():
            cursor.execute(statement)
            for dag, run, count, size in cursor.fetchall():
                if (dag, run) in runs and table not in BOUNDED:
                    rows[dag][table] += count
                    sizes[dag][table] += int(size)
    volumes = []
    for dag in {dag for dag, _ in runs}:
        own = [run for owner, run in runs if owner == dag]
        logged = [size for run in own for size in files.get((dag, run), ())]
        volumes.append(Volume(dag, len(own), runs[dag, own[0]], dict(rows[dag]), dict(sizes[dag]), len(logged), sum(logged)))
    return sorted(volumes, key=lambda volume: (volume.seconds, volume.dag))


def connect(database_url: str) -> psycopg2.extensions.connection:
    """Connects to Airflow's database by the address that Airflow has, `postgresql+psycopg2://…`."""
    parts = urlsplit(database_url)
    return psycopg2.connect(host=parts.hostname, port=parts.port, user=parts.username, password=parts.password, dbname=parts.path[1:])


def read_table_sizes(database_url: str) -> dict[str, int]:
    """Bytes of each table on disk, with its indexes."""
    with closing(connect(database_url)) as connection, connection.cursor() as cursor:
        cursor.execute(_SIZES)
        return dict(cursor.fetchall())


def count_rows(database_url: str) -> dict[str, int]:
    """Rows of each table that has any."""
    with closing(connect(database_url)) as connection, connection.cursor() as cursor:
        counts = {}
        for table in read_table_sizes(database_url):
            cursor.execute(f'select count(*) from "{table}"')
            [(counts[table],)] = cursor.fetchall()
    return {table: count for table, count in counts.items() if count}


def format_table(volumes: Sequence[Volume]) -> str:
    """A Markdown table with a row for each kind of DAG and one with the sums; all figures are of a day."""
    lines = ["| DAG | runs | task instances | rows in XCom | rows in all | MB of rows | log files | MB of logs |", "|---|" + "--:|" * 7]
    kinds: dict[str, list[list[float]]] = defaultdict(list)
    for volume in volumes:
        kinds[volume.dag.rpartition(".")[2]].append(_figures_of_a_day(volume))
    cells = [(f"`{kind}`{f', of {len(dags)} pairs' if len(dags) > 1 else ''}", _sum_columns(dags)) for kind, dags in kinds.items()]
    for name, figures in [*cells, ("**in all**", _sum_columns(figures for _, figures in cells))]:
        runs, tasks, xcom, rows, row_bytes, log_files, log_bytes = figures
        counts = (f"{round(number):,}" for number in (runs, tasks, xcom, rows))
        lines.append(f"| {name} | {' | '.join(counts)} | {row_bytes / 1e6:.1f} | {round(log_files):,} | {log_bytes / 1e6:.1f} |")
    return "\n".join(lines) + "\n"


def _sum_columns(figures: Iterable[Sequence[float]]) -> list[float]:
    return [sum(column) for column in zip(*figures, strict=True)]


def _figures_of_a_day(volume: Volume) -> list[float]:
    totals = (
        volume.rows.get("task_instance", 0),
        volume.rows.get("xcom", 0),
        sum(volume.rows.values()),
        sum(volume.row_bytes.values()),
        volume.log_files,
        volume.log_bytes,
    )
    return [volume.runs_a_day, *(volume.scale_to_day(total) for total in totals)]


def _find_log_sizes(logs: Path) -> dict[tuple[str, str], list[int]]:
    """The sizes of the log files of each run, where Airflow puts them by default."""
    sizes: dict[tuple[str, str], list[int]] = defaultdict(list)
    for folder in logs.glob("dag_id=*/run_id=*"):
        dag, run = folder.parent.name.removeprefix("dag_id="), folder.name.removeprefix("run_id=")
        sizes[dag, run] = [file.stat().st_size for file in folder.rglob("*.log*")]
    return sizes


if __name__ == "__main__":
    print(format_table(count_volumes(sys.argv[1], Path(sys.argv[2]), *sys.argv[3:4])))
