"""Each room's `__init__` says what the room is for, which files to open first, and who may import it: the next step of the ladder."""

import ast
import re
from pathlib import Path

import pytest

from tests.unit.test_import_cycles import LADDER
from tests.unit.test_imports import LIBRARY

ROOMS = sorted(path.name for path in LIBRARY.iterdir() if (path / "__init__.py").exists())
NO_ROOMS = {"", "plugin", "provider"}
"""The package itself, and files that others find: Python's import system, and Airflow."""
STEP = {room: number for number, rooms in enumerate(LADDER) for room in rooms if room not in NO_ROOMS}
MOST_LINES = 20


def docstring(package: Path) -> str:
    return ast.get_docstring(ast.parse((package / "__init__.py").read_text(encoding="utf-8"))) or ""


@pytest.mark.parametrize("room", ROOMS)
def test_room_says_what_it_is_for_in_a_few_lines(room: str) -> None:
    text = docstring(LIBRARY / room)
    assert len(text.splitlines()) <= MOST_LINES
    assert text.partition("\n")[0].rstrip().endswith((".", ":"))


@pytest.mark.parametrize("room", ROOMS)
def test_files_that_a_room_names_are_there(room: str) -> None:
    words = set(re.findall(r"`(\w+)`", docstring(LIBRARY / room)))
    here = {path.stem for path in (LIBRARY / room).iterdir()}
    assert words - here - STEP.keys() == set()
    assert words & here, "names no file of interest"


@pytest.mark.parametrize("room", [room for room in ROOMS if STEP[room] < len(LADDER) - 1])
def test_room_names_the_next_step_of_the_ladder_as_those_who_may_import_it(room: str) -> None:
    found = re.search(
        r"^((?:`\w+`(?:, | and )?)+) (?:and every room above \w+ )?may import it", docstring(LIBRARY / room), flags=re.MULTILINE
    )
    assert found
    assert set(re.findall(r"`(\w+)`", found[1])) == set(LADDER[STEP[room] + 1]) - NO_ROOMS


def test_library_names_its_rooms_in_the_order_of_the_ladder() -> None:
    named = re.findall(r"`(\w+)`", docstring(LIBRARY))
    assert [STEP[room] for room in named] == sorted(STEP.values())
    assert set(named) == set(STEP)


@pytest.mark.parametrize("package", sorted(path.parent for path in LIBRARY.glob("*/*/__init__.py")), ids=lambda path: path.name)
def test_package_inside_a_room_says_what_it_is_for(package: Path) -> None:
    assert docstring(package)
