"""The demo's retention: once an hour it deletes from Airflow what is older than a day. A process of its own, with Airflow's environment:

    python -m services.demo.retention <log folder>

The tables are those of docs/operate/airflow-retention.md, as a test holds them.
"""

import signal
import subprocess
import sys
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path

TABLES = ("dag_run", "task_instance", "task_instance_history", "xcom", "log", "job", "callback", "deadline")
AGE = timedelta(days=1)
SECONDS = 3600.0
"""Between two cleanings; the first comes after as many."""


def clean_command(before: datetime) -> list[str]:
    """The command that deletes from Airflow's database what is older than a time."""
    airflow = str(Path(sys.executable).with_name("airflow"))
    until = f"{before.astimezone(UTC):%Y-%m-%dT%H:%M:%S}"
    options = ("--skip-archive", "--error-on-cleanup-failure", "--yes")
    return [airflow, "db", "clean", "--clean-before-timestamp", until, "--tables", ",".join(TABLES), *options]


def delete_logs(folder: Path, before: datetime) -> int:
    """Deletes the log files that were not written to since a time, and folders that are empty then; gives the number of files."""
    old = [file for file in folder.rglob("*") if file.is_file() and file.stat().st_mtime < before.timestamp()]
    for file in old:
        file.unlink()
    for empty in sorted((path for path in folder.rglob("*") if path.is_dir()), reverse=True):
        if not any(empty.iterdir()):
            empty.rmdir()
    return len(old)


def main(logs: str) -> None:
    """Ends with SIGTERM. A cleaning that fails is tried again at the next turn."""
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda _number, _frame: stop.set())
    while not stop.wait(SECONDS):
        before = datetime.now(UTC) - AGE
        done = subprocess.run(clean_command(before), check=False)
        print(f"Until {before:%Y-%m-%d %H:%M} UTC: airflow db clean ended with {done.returncode}.", flush=True)
        print(f"{delete_logs(Path(logs), before):,} log files are deleted.", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
