"""The pools, as Airflow imports them."""

import json

from tests.unit.cli.command_line import THREE_FLOWS, only_flow


def test_pools_are_printed_as_airflow_imports_them(run):
    code, output, _ = run("pools")
    assert code == 0
    assert set(json.loads(output)) == {"mirror_spark", "mirror_copy_east-to-west"}


def test_an_invalid_flow_has_its_pool_because_its_tasks_have_to_start_to_fail(run):
    code, output, _ = run("pools", "--json", config=THREE_FLOWS)
    assert code == 0
    assert "mirror_copy_west-to-east" in only_flow(output)["result"]
