"""What the handbook tells people to do in an Airflow, step by step as it stands there, in an Airflow of its own."""

import os
import re
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.airflow.test_dags import KINDS

ROOT = Path(__file__).parents[2]


def blocks(page: str) -> list[str]:
    """The shell blocks that a page marks with `<!-- runs: airflow -->`, in their order."""
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    return re.findall(r"^<!-- runs: airflow -->\n```sh\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)


def run(home: Path, directory: Path, *commands: str) -> subprocess.CompletedProcess[str]:
    """Runs the commands in one shell, with an Airflow at `home` and nothing of the mirror's in the environment."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("AIRFLOW", "MIRROR", "PYTHON"))}
    environment |= {
        "AIRFLOW_HOME": str(home),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
    }
    script = "\n".join(commands)
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script], cwd=directory, env=environment, capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done


def test_an_airflow_that_follows_the_steps_has_the_dags(another_airflow_home: Path, tmp_path: Path) -> None:
    steps = blocks("get-started/existing-airflow.md")
    assert len(steps) == 3
    (tmp_path / "checkout").mkdir()
    for part in ("include", "dags", "jobs", "plugins"):
        (tmp_path / "checkout" / part).symlink_to(ROOT / part)
    done = run(another_airflow_home, tmp_path / "checkout", *steps, "airflow plugins --output plain")
    flows = set(re.findall(r"^east-to-west\.\S+", done.stdout, flags=re.MULTILINE))
    assert flows == {f"east-to-west.{kind}" for kind in set(KINDS) - {"group-offsets", "schemas"}}, "what its file enables"
    assert str(tmp_path / "airflow" / "dags" / "mirror.py") in done.stdout
    assert re.search(r"^mirror\s.*mirror_plugin\.py", done.stdout, flags=re.MULTILINE), "the status page"


def steps_of_the_page() -> list[str]:
    steps = blocks("operate/airflow-retention.md")
    assert len(steps) == 2
    return steps


def script_of_compose() -> list[str]:
    """What the service `retention` of docker-compose.yaml runs each day."""
    return ['export AIRFLOW__LOGGING__BASE_LOG_FOLDER="$AIRFLOW_HOME/logs"', f"{ROOT}/compose/retention.sh 14 once"]


@pytest.mark.parametrize("cleaning", [steps_of_the_page, script_of_compose])
def test_cleaning_takes_what_is_old_out_of_database_and_logs_and_leaves_the_rest(
    cleaning: Callable[[], list[str]], another_airflow_home: Path, tmp_path: Path
) -> None:
    home = another_airflow_home
    old, new = home / "logs" / "dag_id=a.copy" / "old" / "plan.log", home / "logs" / "dag_id=a.copy" / "new" / "plan.log"
    for file in (old, new):
        file.parent.mkdir(parents=True)
        file.write_text("a line\n")
    os.utime(old, (0, 0))
    with sqlite3.connect(home / "airflow.db") as database:
        database.execute("insert into log (dttm, event, extra) values ('2020-01-01 00:00:00.000000', 'old', 'a')")
        database.execute("insert into log (dttm, event, extra) values (datetime('now'), 'new', 'a')")
    empty = home / "logs" / "dag_id=a.copy" / "long-empty"
    empty.mkdir()
    os.utime(empty, (0, 0))
    run(home, tmp_path, *cleaning())
    with sqlite3.connect(home / "airflow.db") as database:
        assert database.execute("select event from log where event in ('old', 'new')").fetchall() == [("new",)]
    assert (old.exists(), empty.exists(), new.exists()) == (False, False, True)
