"""The pools, as Airflow imports them."""

import json

from tests.unit.cli.command_line import VALID


def test_pools_are_printed_as_airflow_imports_them(run):
    code, output, _ = run("pools", config=f"{VALID}\nmirror.copy.pool = copies\n")
    assert code == 0
    assert json.loads(output) == {"copies": {"slots": 4, "description": "Copies of east->west", "include_deferred": False}}
