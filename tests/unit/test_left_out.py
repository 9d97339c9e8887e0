"""What a run says of the tests that it left to other commands."""

from tests.left_out import command_of, lines


def test_what_is_left_out_is_named_with_the_command_that_runs_it() -> None:
    assert command_of(["timeout", "release"]) == "make test-release"
    assert command_of(["timeout"]) is None
    left = {"tests/b.py::one[1]": "make faults", "tests/b.py::one[2]": "make faults", "tests/a.py::two": "make faults"}
    assert [*lines({**left, "tests/c.py::three": "make kerberos"})] == [
        "3 tests run in `make faults`: tests/a.py (1), tests/b.py (2)",
        "1 tests run in `make kerberos`: tests/c.py (1)",
    ]
