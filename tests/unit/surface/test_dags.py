"""The DAGs of a set of flows with everything switched on: ids, tasks, params, pools, schedules."""

import os
import subprocess
import sys
from pathlib import Path

from tests.unit.surface.snapshots import expect

ROOT = Path(__file__).parents[3]
CONFIGURATION = """
clusters = east, west, us.north
east.bootstrap.servers = 127.0.0.1:9001
west.bootstrap.servers = 127.0.0.1:9002
us.north.bootstrap.servers = 127.0.0.1:9003
east->west.enabled = true
west->us.north.enabled = true
sync.group.offsets.enabled = true
sync.topic.acls.enabled = true
mirror.alert.connections = mail
west->us.north.mirror.heartbeats.trigger = true
west->us.north.mirror.copy.interval.seconds = 300
"""


def test_dags_of_two_flows(tmp_path: Path) -> None:
    (tmp_path / "mm2.properties").write_text(CONFIGURATION)
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("AIRFLOW", "MIRROR"))}
    environment |= {
        "AIRFLOW_HOME": str(tmp_path / "airflow"),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "MIRROR_CONFIG": str(tmp_path / "mm2.properties"),
        "PYTHONPATH": str(ROOT / "include"),
    }
    command = [sys.executable, str(Path(__file__).with_name("dags.py")), str(ROOT / "dags")]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    expect("dags", done.stdout.partition("# DAGs\n")[2])
