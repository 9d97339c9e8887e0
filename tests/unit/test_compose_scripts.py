"""The scripts in compose/ are run, with the mirror as it is and an `airflow` that notes what it is asked. tests/airflow asks a real one."""

import base64
import json
import os
import re
import shlex
import subprocess
import sys
import time
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yaml").read_text(encoding="utf-8"))
SECRETS = COMPOSE["secrets"]
POSTGRES = COMPOSE["services"]["postgres"]["environment"]
PATH = "/usr/local/bin:/usr/bin:/bin"


def run(script: str, *arguments: str | Path, **environment: str) -> str:
    done = subprocess.run([ROOT / "compose" / script, *arguments], env={"PATH": PATH, **environment}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def program(directory: Path, name: str, script: str) -> None:
    """Puts a program of this name into the directory."""
    directory.mkdir(exist_ok=True)
    (directory / name).write_text(f"#!/bin/sh\n{script}\n")
    (directory / name).chmod(0o755)


class Stand:
    """A directory with an `airflow` that notes how it was called, and the mirror as `python -m kafka_mirror`."""

    def __init__(self, home: Path) -> None:
        self.home, self.programs, self.notes = home, home / "bin", home / "notes"
        self.airflow()
        program(self.programs, "python", f'PYTHONPATH={ROOT / "include"} exec {sys.executable} "$@"')

    def airflow(self, also: str = "") -> None:
        """The program, which also does this with its arguments."""
        program(self.programs, "airflow", f'echo "$*" >> {self.notes}\n{also}')

    def run(self, script: str, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        path = f"{self.programs}{os.pathsep}{PATH}"
        command = [ROOT / "compose" / script, *arguments]
        return subprocess.run(command, cwd=self.home, env={"PATH": path, **environment}, capture_output=True, text=True, timeout=60)

    @property
    def calls(self) -> list[str]:
        return self.notes.read_text().splitlines()


@pytest.fixture
def stand(tmp_path: Path) -> Stand:
    return Stand(tmp_path)


def initialised(stand: Stand) -> list[str]:
    """What init.sh asked of Airflow; the connections of the import stand in `connections.json`."""
    stand.airflow(f'[ "$1" = db ] || cp "$(eval echo \\${{$#}})" {stand.home}/$1.json')
    done = stand.run("init.sh", SECRETS_DIRECTORY=spark_token(stand))
    assert done.returncode == 0, done.stderr
    return [call.partition(" /")[0] for call in stand.calls]


def spark_token(stand: Stand) -> str:
    """A directory of secrets that has one for the Spark that stays."""
    secrets = stand.home / "secrets"
    secrets.mkdir()
    (secrets / "spark_token").write_text("token-1")
    return str(secrets)


def test_connection_of_the_spark_that_stays_is_made_with_its_token_in_a_database_that_is_up_to_date(stand: Stand) -> None:
    assert initialised(stand) == ["db migrate", "connections import --overwrite"]
    made = json.loads((stand.home / "connections.json").read_text())
    assert made == {"mirror_spark": {"conn_type": "spark_connect", "host": "127.0.0.1", "port": 15002, "password": "token-1"}}


def test_spark_that_stays_runs_beside_the_scheduler_where_it_has_cores_and_is_started_anew(stand: Stand) -> None:
    served = f'stat -c %a "${{10}}" >> {stand.notes}; echo "$(cat "${{10}}") $*" >> {stand.notes}'
    program(stand.programs, "python", served)
    program(stand.programs, "sleep", f'echo "sleep $1" >> {stand.notes}; exec /bin/sleep 0.05')
    stand.airflow(f'until [ "$(grep -c "spark serve" {stand.notes})" -ge 2 ]; do /bin/sleep 0.05; done; kill 0')
    command = [ROOT / "compose" / "scheduler.sh", "2", "600m"]
    environment = {"PATH": f"{stand.programs}{os.pathsep}{PATH}", "SECRETS_DIRECTORY": spark_token(stand)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, start_new_session=True)
    assert "The Spark server ended" in done.stderr
    assert "scheduler --skip-serve-logs" in stand.calls
    serving = [call for call in stand.calls if "spark serve" in call]
    assert len(serving) >= 2
    assert re.fullmatch(r"token-1 -m kafka_mirror spark serve --cores 2 --memory 600m --token-file /\S+", serving[0])
    assert {call for call in stand.calls if call.isdecimal()} == {"600"}, "nobody else may read the token"
    assert "sleep 5" in stand.calls


def test_scheduler_is_alone_without_cores_and_refuses_what_is_no_number(stand: Stand) -> None:
    assert stand.run("scheduler.sh", "0", "512m").returncode == 0
    assert stand.calls == ["scheduler --skip-serve-logs"]
    refused = stand.run("scheduler.sh", "two", "512m")
    assert (refused.returncode, len(stand.calls)) == (2, 1)
    assert "must be a number" in refused.stderr


def test_a_database_that_cannot_be_migrated_does_keep_airflow_down(stand: Stand) -> None:
    stand.airflow("exit 1")
    assert stand.run("init.sh", MIRROR_CONFIG="none.properties").returncode == 1
    assert stand.calls == ["db migrate"]


def kept_days(stand: Stand, days: str, *more: str) -> subprocess.CompletedProcess[str]:
    places = {"AIRFLOW__LOGGING__BASE_LOG_FOLDER": str(stand.home / "logs"), "RETENTION_DONE": str(stand.home / "done")}
    return stand.run("retention.sh", days, *more, **places)


def log_file(stand: Stand, days_old: float) -> Path:
    """A log file alone in its folder, both of this age."""
    file = stand.home / "logs" / f"run_id={days_old}" / "plan.log"
    file.parent.mkdir(parents=True)
    file.touch()
    for path in (file, file.parent):
        os.utime(path, (time.time() - days_old * 86400,) * 2)
    return file


def test_history_that_is_older_than_the_days_is_deleted_and_what_is_newer_is_kept(stand: Stand) -> None:
    old, new = log_file(stand, 9), log_file(stand, 5)
    assert kept_days(stand, "7", "once").returncode == 0
    [call] = stand.calls
    before = re.search(r"--clean-before-timestamp (\S+) ", call)
    assert before is not None
    age = time.time() - time.mktime(time.strptime(before[1], "%Y-%m-%dT%H:%M:%S")) + time.timezone
    assert age == pytest.approx(7 * 86400, abs=3700)
    assert {"--yes", "--skip-archive"} <= set(call.split())
    assert (old.exists(), new.exists()) == (False, True)


def test_a_folder_goes_when_it_has_been_empty_for_an_hour_for_a_task_may_have_just_made_it(stand: Stand) -> None:
    old = log_file(stand, 9)
    assert kept_days(stand, "7", "once").returncode == 0
    assert old.parent.exists()
    os.utime(old.parent, (time.time() - 3700,) * 2)
    assert kept_days(stand, "7", "once").returncode == 0
    assert not old.parent.exists()
    assert (stand.home / "logs").exists()


def test_script_deletes_from_the_tables_that_the_handbook_names(stand: Stand) -> None:
    (stand.home / "logs").mkdir()
    assert kept_days(stand, "14", "once").returncode == 0
    [ours] = re.findall(r"--tables (\S+)", stand.calls[0])
    assert re.findall(r"--tables (\S+)", (ROOT / "docs" / "operate" / "airflow-retention.md").read_text(encoding="utf-8")) == [ours]


@pytest.mark.parametrize(("result", "pause", "is_done"), [("exit 0", "86400", True), ("exit 1", "3600", False)])
def test_history_is_cleaned_each_day_and_sooner_after_a_failure(stand: Stand, result: str, pause: str, is_done: bool) -> None:
    (stand.home / "logs").mkdir()
    stand.airflow(result)
    program(stand.programs, "sleep", f'echo "sleep $1" >> {stand.notes}; [ $(grep -c sleep {stand.notes}) -lt 2 ] || kill $PPID')
    kept_days(stand, "14")
    assert [call.partition(" --")[0] for call in stand.calls] == ["db clean", f"sleep {pause}"] * 2
    assert (stand.home / "done").exists() == is_done


@pytest.mark.parametrize("days", ["", "0", "-1", "two", "1.5"])
def test_days_that_are_no_number_delete_nothing(stand: Stand, days: str) -> None:
    done = kept_days(stand, days, "once")
    assert (done.returncode, stand.notes.exists()) == (2, False)
    assert f"'{days}'" in done.stderr


@pytest.mark.parametrize(("hours", "is_healthy"), [(47, True), (49, False)])
def test_retention_is_unhealthy_when_two_days_went_by_without_a_cleaning(tmp_path: Path, hours: int, is_healthy: bool) -> None:
    kind, check = COMPOSE["services"]["retention"]["healthcheck"]["test"]
    mark = tmp_path / "done"
    mark.touch()
    os.utime(mark, (time.time() - hours * 3600,) * 2)
    assert kind == "CMD-SHELL"
    check = check.replace("$$", "$").replace("/tmp/retention-done", shlex.quote(str(mark)))
    assert (subprocess.run(["sh", "-c", check]).returncode == 0) == is_healthy


@pytest.mark.parametrize(("part", "code"), [("triggerer", 0), ("dag_processor", 1), ("nobody", 1)])
def test_health_is_what_airflow_says_of_the_part(part: str, code: int) -> None:
    class Answer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b'{"triggerer": {"status": "healthy"}, "dag_processor": {"status": "unhealthy"}}')

        def log_message(self, *_: Any) -> None:
            """Says nothing."""

    server = HTTPServer(("127.0.0.1", 0), Answer)
    Thread(target=server.handle_request, daemon=True).start()
    with server:
        command = [sys.executable, ROOT / "compose" / "healthy.py", f"http://127.0.0.1:{server.server_port}/", part]
        assert subprocess.run(command, capture_output=True).returncode == code


def test_secrets_are_made_once_and_only_their_owner_gets_to_them(tmp_path: Path) -> None:
    directory = tmp_path / "secrets"
    run("make_secrets.sh", directory)
    made = {file.name: file.read_text() for file in directory.iterdir() if file.is_file()}
    assert set(made) == set(SECRETS)
    assert all(Path(secret["file"]).name == name for name, secret in SECRETS.items())
    assert len(base64.urlsafe_b64decode(made["fernet_key"])) == 32
    assert len(made["jwt_secret"]) >= 64
    assert directory.stat().st_mode & 0o777 == 0o700
    assert (directory / "kafka").is_dir()
    run("make_secrets.sh", directory)
    assert {name: (directory / name).read_text() for name in made} == made


def test_a_secret_is_printed_without_the_newline_of_its_file(tmp_path: Path) -> None:
    (tmp_path / "jwt_secret").write_text("abc\n")
    assert run("secret.sh", "jwt_secret", SECRETS_DIRECTORY=str(tmp_path)) == "abc"


def test_the_database_url_has_the_password_of_the_secret_and_the_name_of_the_service(tmp_path: Path) -> None:
    (tmp_path / "postgres_password").write_text("abc\n")
    url = run("database_url.sh", SECRETS_DIRECTORY=str(tmp_path))
    assert url == "postgresql+psycopg2://airflow:abc@postgres:5432/airflow"
    assert POSTGRES["POSTGRES_USER"] == POSTGRES["POSTGRES_DB"] == "airflow"
