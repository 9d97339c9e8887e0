"""How the tests are shared out among workers."""

from tests.distribution import BUSY, LONGEST, ONE_CLUSTER, ONE_STACK, SHORT, rank, scope
from tests.unit.test_readme import ROOT


def test_what_is_named_exists() -> None:
    assert [each for each in (*LONGEST, *ONE_STACK, *ONE_CLUSTER, *BUSY, *SHORT) if not (ROOT / each).exists()] == []


def test_the_busy_come_first_the_longest_in_front_and_those_that_wait_last() -> None:
    files = ["tests/integration/test_status.py", "tests/unit/test_readme.py", "tests/compat/test_files.py", LONGEST[1], LONGEST[0]]
    assert sorted(files, key=rank) == files[::-1]


def test_a_file_goes_to_one_worker() -> None:
    kills = "tests/faults/test_killed_copies.py"
    assert scope(f"{kills}::test_hits[1]") == scope(f"{kills}::test_restarts") == kills
    assert {scope(f"{file}::test_one") for file in ONE_CLUSTER} == {ONE_CLUSTER[0]}
    assert {scope(f"{ONE_STACK[0]}/test_{name}.py::test_one") for name in ("backfill", "outages")} == {ONE_STACK[0]}
