"""An Airflow of the tests' own: its home in a temporary directory, SQLite, and the project's dags/ as its only bundle."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.airflow.task_log import TaskLog, collect_task_log

ROOT = Path(__file__).resolve().parents[2]
_NEW_DATABASE = "new.db"


@dataclass(frozen=True)
class Run:
    """How a DAG run ended: its state, the state of each task, what each left in XCom, and its id."""

    state: str
    tasks: dict[str, str]
    xcom: dict[str, Any] = field(default_factory=dict)
    run_id: str = ""


@pytest.fixture(scope="session")
def airflow_home() -> Iterator[Path]:
    """A migrated Airflow home, with the project's dags/ and plugins/."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(ROOT / "include"))
        subprocess.run([sys.executable, "-m", "airflow", "db", "migrate"], check=True, capture_output=True, env=dict(os.environ))
        home = Path(os.environ["AIRFLOW_HOME"])
        shutil.copy(home / "airflow.db", home / _NEW_DATABASE)
        yield home


@pytest.fixture
def new_database(airflow_home: Path) -> Path:
    """A migrated database in which nothing happened yet, to be copied: `airflow db migrate` takes ten seconds of a processor."""
    return airflow_home / _NEW_DATABASE


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
def writing_only(dag_id: str) -> Iterator[None]:
    """`dag.test()` writes all DAGs into the database before each run, for it may trigger one. Ours trigger none, and to write a dozen takes
    a third of a run's time."""
    from airflow.dag_processing import dagbag

    write = dagbag.sync_bag_to_db

    def write_one(bag: Any, *arguments: Any) -> None:
        bag.dags = {dag_id: bag.dags[dag_id]}
        write(bag, *arguments)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dagbag, "sync_bag_to_db", write_one)
        yield


@pytest.fixture
def run_dag(dags: Callable[[], dict[str, Any]]) -> Callable[..., Run]:
    """Runs a DAG to its end in this process, by hand and without a logical date: `run_dag("east-to-west.copy", {"dry_run": True})`.

    A task is tried once, unless `retries` says otherwise; then the tries follow each other at once.
    `with_others`: Airflow's database is to know the other DAGs too.
    """

    def run(dag_id: str, conf: dict[str, Any] | None = None, retries: int = 0, with_others: bool = False) -> Run:
        from airflow.models.xcom import XComModel
        from airflow.utils.session import create_session

        dag = dags()[dag_id]
        for task in dag.tasks:
            task.retries = min(task.retries, retries)
            task.retry_delay = timedelta(0)
            task.retry_exponential_backoff = 0
        dag.deadline = None  # Airflow 3.3.2 cannot end such a run of a DAG that has one: only the scheduler can
        with nullcontext() if with_others else writing_only(dag_id):
            ended = dag.test(logical_date=None, run_conf=conf or {})
        with create_session() as session:
            tasks = {each.task_id: str(each.state) for each in ended.get_task_instances(session=session)}
            left = session.scalars(XComModel.get_many(run_id=ended.run_id, dag_ids=dag_id, key="return_value"))
            xcom = {each.task_id: XComModel.deserialize_value(each) for each in left}
        return Run(str(ended.state), tasks, xcom, ended.run_id)

    return run


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
