"""«Add it to an Airflow you already have», step by step as the README has it, in an Airflow of its own."""

import os
import re
import subprocess
import sys
from pathlib import Path

from tests.airflow.test_dags import KINDS

ROOT = Path(__file__).parents[2]


def blocks() -> list[str]:
    """The shell blocks that the README marks with `<!-- runs: airflow -->`, in their order, whatever their indentation."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    found = re.findall(r"^( *)<!-- runs: airflow -->\n\1```sh\n(.*?)^\1```$", text, flags=re.MULTILINE | re.DOTALL)
    return [re.sub(rf"^{indent}", "", block, flags=re.MULTILINE) for indent, block in found]


def test_an_airflow_that_follows_the_steps_has_the_dags_and_the_pools(tmp_path: Path) -> None:
    assert len(blocks()) == 4
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("AIRFLOW", "MIRROR", "PYTHON"))}
    environment |= {
        "AIRFLOW_HOME": str(tmp_path / "airflow"),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
    }
    (tmp_path / "checkout").mkdir()
    for part in ("include", "dags", "jobs", "plugins"):
        (tmp_path / "checkout" / part).symlink_to(ROOT / part)
    script = "\n".join(
        ["airflow db migrate > migrated.log 2>&1", *blocks(), "airflow pools list --output plain", "airflow plugins --output plain"]
    )
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script], cwd=tmp_path / "checkout", env=environment, capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stdout + done.stderr
    shown = set(re.findall(r"^east-to-west\.\S+", done.stdout, flags=re.MULTILINE))
    assert shown == {f"east-to-west.{kind}" for kind in KINDS if kind != "group-offsets"}
    assert str(tmp_path / "airflow" / "dags" / "copy_topics.py") in done.stdout
    assert re.search(r"^mirror\s.*mirror_plugin\.py", done.stdout, flags=re.MULTILINE), "the status page"
    assert re.search(r"^mirror_copy_east-to-west\s+.*\b1\b", done.stdout, flags=re.MULTILINE)
