"""What the demo deletes from its Airflow, and what it leaves."""

import os
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

from services.demo.retention import TABLES, clean_command, delete_logs

PAGE = Path(__file__).parents[4] / "docs" / "operate" / "airflow-retention.md"


def test_the_demo_cleans_as_the_handbook_has_it() -> None:
    [block] = re.findall(r"```sh\n(airflow db clean .*?)```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL)
    words = block.replace("\\\n", " ").split()
    assert words[words.index("--tables") + 1] == ",".join(TABLES)
    cleaned = clean_command(datetime(2026, 11, 21, 3, 0, tzinfo=UTC))
    assert cleaned[1:3] == ["db", "clean"]
    assert "2026-11-21T03:00:00" in cleaned
    assert {word for word in words if word.startswith("--")} - {"--utc", "--date"} == {word for word in cleaned if word.startswith("--")}


def test_old_log_files_go_with_their_folders_and_new_ones_stay(tmp_path: Path) -> None:
    old, new = tmp_path / "run_id=a" / "task_id=plan" / "attempt=1.log", tmp_path / "run_id=b" / "attempt=1.log"
    for file in (old, new):
        file.parent.mkdir(parents=True)
        file.write_text("a line\n")
    os.utime(old, (0, 0))
    assert delete_logs(tmp_path, datetime.now(UTC) - timedelta(days=1)) == 1
    assert [each.name for each in tmp_path.iterdir()] == ["run_id=b"]
    assert new.exists()
