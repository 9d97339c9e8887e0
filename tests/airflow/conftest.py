"""An Airflow of the tests' own: its home in a temporary directory, SQLite, and the project's dags/ as its only bundle."""

import fcntl
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, nullcontext
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.airflow.spark_here import submit
from tests.airflow.task_log import TaskLog, collect_task_log

ROOT = Path(__file__).resolve().parents[2]
_DATABASE = "airflow.db"


@dataclass(frozen=True)
class Run:
    """How a DAG run ended: its state, the state of each task, what each left in XCom, and its id."""

    state: str
    tasks: dict[str, str]
    xcom: dict[str, Any] = field(default_factory=dict)
    run_id: str = ""


@pytest.fixture(scope="session")
def new_database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A migrated database that nobody opens, to be copied: one for all workers of pytest-xdist."""
    shared = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        shared = shared.parent
    made = shared / "new-airflow.db"
    with (shared / "new-airflow.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not made.exists():
            home = tmp_path_factory.mktemp("new-airflow")
            environment = {**os.environ, "AIRFLOW_HOME": str(home), "PYTHONPATH": str(ROOT / "include")}
            subprocess.run([sys.executable, "-m", "airflow", "db", "migrate"], check=True, capture_output=True, env=environment)
            assert not (home / "airflow.db-wal").exists(), "some of it does not stand in the file yet"
            (home / "airflow.db").rename(made)
    return made


@pytest.fixture(scope="session")
def airflow_home(new_database: Path) -> Path:
    """The home of this process's Airflow, with a new database.

    Only SQLite may open that database's file here. To open and close it by other means ends all locks that this process has on it; then
    another process that closes it deletes what this one still writes to.
    """
    home = Path(os.environ["AIRFLOW_HOME"])
    with (
        closing(sqlite3.connect(f"file:{new_database}?immutable=1", uri=True)) as new,
        closing(sqlite3.connect(home / _DATABASE)) as own,
    ):
        new.backup(own)
    return home


@pytest.fixture
def another_airflow_home(tmp_path: Path, new_database: Path) -> Path:
    """The home of an Airflow that was never started, for processes that a test starts."""
    made = tmp_path / "airflow"
    made.mkdir()
    shutil.copy(new_database, made / _DATABASE)
    return made


@pytest.fixture(autouse=True)
def sound_database() -> Iterator[None]:
    """Names the first test that leaves this process's database damaged."""
    yield
    database = Path(os.environ["AIRFLOW_HOME"], _DATABASE)
    if database.exists():
        with closing(sqlite3.connect(database)) as own:
            assert own.execute("PRAGMA quick_check").fetchall() == [("ok",)]


@pytest.fixture
def dags(airflow_home: Path) -> Callable[[], dict[str, Any]]:
    """Reads dags/ as Airflow does, with the configuration of now: `dags()["east-to-west.copy"]`. An import error fails the test."""

    def read() -> dict[str, Any]:
        from airflow.dag_processing.dagbag import DagBag

        bag = DagBag(ROOT / "dags")
        assert not bag.import_errors
        return dict(bag.dags)

    return read


@contextmanager
def writing_only(dag: Any) -> Iterator[None]:
    """`dag.test()` writes all DAGs into the database before each run, for it may trigger one. Ours trigger none, and to write a dozen takes
    a third of a run's time. A DAG of a file elsewhere is written too."""
    from airflow.dag_processing import dagbag

    write = dagbag.sync_bag_to_db

    def write_one(bag: Any, *arguments: Any) -> None:
        bag.dags = {dag.dag_id: bag.dags.get(dag.dag_id, dag)}
        write(bag, *arguments)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dagbag, "sync_bag_to_db", write_one)
        yield


@pytest.fixture
def run_dag(dags: Callable[[], dict[str, Any]]) -> Callable[..., Run]:
    """Runs a DAG to its end in this process, by hand and without a logical date: `run_dag("east-to-west.copy", {"dry_run": True})`.

    A task is tried once, unless `retries` says otherwise; then the tries follow each other at once.
    `with_others`: Airflow's database is to know the other DAGs too. In the place of an id it takes a DAG of a file elsewhere.
    """

    def run(
        dag_or_id: Any, conf: dict[str, Any] | None = None, retries: int = 0, with_others: bool = False, logical_date: Any = None
    ) -> Run:
        from airflow.models.xcom import XComModel
        from airflow.utils.session import create_session

        dag = dags()[dag_or_id] if isinstance(dag_or_id, str) else dag_or_id
        dag_id = dag.dag_id
        for task in dag.tasks:
            task.retries = min(task.retries, retries)
            task.retry_delay = timedelta(0)
            task.retry_exponential_backoff = 0
        dag.deadline = None  # Airflow 3.3.2 cannot end such a run of a DAG that has one: only the scheduler can
        with nullcontext() if with_others else writing_only(dag):
            ended = dag.test(logical_date=logical_date, run_conf=conf or {})
        # Airflow 3.2 leaves it set: the DAG file would make this DAG alone from now on.
        os.environ.pop("_AIRFLOW_PARSING_CONTEXT_DAG_ID", None)
        with create_session() as session:
            tasks = {each.task_id: str(each.state) for each in ended.get_task_instances(session=session)}
            left = session.scalars(XComModel.get_many(run_id=ended.run_id, dag_ids=dag_id, key="return_value"))
            xcom = {each.task_id: XComModel.deserialize_value(each) for each in left}
        return Run(str(ended.state), tasks, xcom, ended.run_id)

    return run


@pytest.fixture
def spark_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Jobs run in this process: to start Spark takes five seconds of a processor each time."""
    monkeypatch.setattr("kafka_mirror.airflow.spark_hook.JobHook.submit", submit)


@pytest.fixture
def task_log(airflow_home: Path) -> Iterator[TaskLog]:
    """What the tasks of `run_dag` log: `task_log.take()` gives what came since the last look, and fails if nothing did."""
    with collect_task_log() as collected:
        yield collected


@pytest.fixture
def configured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Makes lines of mm2.properties the configuration of Airflow: `configured("clusters = east, west", ...)`."""

    def configure(*lines: str) -> None:
        path = tmp_path / "mm2.properties"
        path.write_text("\n".join(lines) + "\n")
        monkeypatch.setenv("MIRROR_CONFIG", str(path))

    return configure
