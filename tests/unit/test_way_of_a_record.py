"""The handbook's page about the way of a record, held against the files that run when one record is copied."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "develop" / "way-of-a-record.md").read_text(encoding="utf-8")
MOST_STATIONS = 25
FROM_OUTSIDE = {"Airflow", "Spark"}


@pytest.fixture(scope="module")
def way(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """What `way_of_a_record.py` prints."""
    directory = tmp_path_factory.mktemp("way")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("AIRFLOW", "MIRROR"))}
    environment |= {
        "AIRFLOW_HOME": str(directory / "airflow"),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "PYTHONPATH": os.pathsep.join([str(ROOT / "include"), str(ROOT)]),
    }
    command = [sys.executable, str(Path(__file__).with_name("way_of_a_record.py")), str(directory)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.partition("# way\n")[2])


def table(heading: str) -> list[list[str]]:
    """The cells of a section's table, without its head."""
    section = PAGE.partition(f"## {heading}\n")[2].partition("\n## ")[0]
    rows = [line.strip("|").split("|") for line in section.splitlines() if line.startswith("|")]
    return [[cell.strip().strip("`") for cell in row] for row in rows[2:]]


STATIONS = table("Stations")
TOOLS = table("Tools")


def test_the_record_is_copied(way: Any) -> None:
    assert way["copied"]["watermarks"]["source_offset"] == [6]


def test_stations_are_the_files_that_the_record_meets_in_their_order(way: Any) -> None:
    assert [station for station, *_ in STATIONS] == way["stations"]


def test_tools_are_the_other_files_that_run_meanwhile(way: Any) -> None:
    assert [tool for tool, *_ in TOOLS] == sorted(set(way["files"]) - set(way["stations"]))


def test_each_station_is_called_by_the_one_that_is_named(way: Any) -> None:
    told = {(caller, station) for station, caller, *_ in STATIONS if caller not in FROM_OUTSIDE}
    assert told - set(map(tuple, way["calls"])) == set()
    assert [station for station, caller, *_ in STATIONS if caller in FROM_OUTSIDE] == [
        *("dags/mirror.py", "airflow/copy.py", "jobs/copy_ranges.py")
    ]


def test_the_drawing_has_every_station_and_nothing_else(way: Any) -> None:
    drawn = set(re.findall(r"[\w/]+\.py", PAGE.split("```")[1]))
    assert drawn == set(way["stations"])


def test_there_are_as_many_as_is_said_and_not_too_many() -> None:
    assert [int(number) for number in re.findall(r"\*\*(\d+) (?:stations|tools)\*\*", PAGE)] == [len(STATIONS), len(TOOLS)]
    assert len(STATIONS) <= MOST_STATIONS
