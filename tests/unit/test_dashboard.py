"""The Grafana dashboard asks for nothing that the metrics do not have, and shows it so that a person finds their way."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from kafka_mirror.web.metric_names import FLOW_LABELS
from kafka_mirror.web.rendering import PREFIX
from kafka_mirror.web.routes import router
from tests.unit.promql import BY_SAMPLE, MONITORING, grouping_labels, metrics_and_labels, promtool

DASHBOARD = json.loads((MONITORING / "grafana-dashboard.json").read_text(encoding="utf-8"))
PANELS: dict[str, dict[str, Any]] = {f"{panel['id']} {panel['title']}": panel for panel in DASHBOARD["panels"]}
VARIABLES = {variable["name"]: variable for variable in DASHBOARD["templating"]["list"]}
TABLES = [name for name, panel in PANELS.items() if panel["type"] == "table"]


def expressions() -> Iterator[tuple[str, str]]:
    for name, panel in PANELS.items():
        for target in panel["targets"]:
            yield name, target["expr"]
    for name, variable in VARIABLES.items():
        if variable["type"] == "query":
            yield name, re.sub(r"label_values\((.+), \w+\)", r"\1", variable["definition"])


@pytest.mark.parametrize(("where", "query"), list(expressions()), ids=lambda value: value[:40])
def test_a_query_names_only_metrics_that_there_are_with_labels_that_they_have(where: str, query: str) -> None:
    metrics, labels = metrics_and_labels(query)
    assert metrics, "it names at least one"
    assert metrics <= BY_SAMPLE.keys(), where
    for metric, label in labels:
        assert label in (*FLOW_LABELS, *BY_SAMPLE[metric].labels), where
    assert grouping_labels(query) <= set(FLOW_LABELS).union(*(BY_SAMPLE[metric].labels for metric in metrics))


def test_the_reader_of_queries_sees_what_does_not_exist() -> None:
    metrics, labels = metrics_and_labels('sum by (source) (rate(mirror_none_total{nobody=~"x.*",source="e"}[5m])) > 0.9 * mirror_up')
    assert metrics == {"mirror_none_total", "mirror_up"}
    assert labels == {("mirror_none_total", "nobody"), ("mirror_none_total", "source")}


def test_prometheus_reads_every_query(tmp_path: Path) -> None:
    rules = [{"record": f"query:{number}", "expr": query} for number, (_, query) in enumerate(expressions())]
    (tmp_path / "queries.yaml").write_text(yaml.safe_dump({"groups": [{"name": "dashboard", "rules": rules}]}))
    done = promtool("check", "rules", "--lint=none", tmp_path / "queries.yaml")
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("name", PANELS)
def test_instances_of_several_api_servers_are_taken_together_and_the_flow_is_that_of_the_variables(name: str) -> None:
    """Otherwise each flow would be shown twice, and a division would fail."""
    for target in PANELS[name]["targets"]:
        selectors = re.findall(r"\{([^}]*)\}", target["expr"])
        assert all('source=~"$source",target=~"$target"' in selector for selector in selectors)
        assert len(re.findall(r"(?:max|min) by \([a-z, ]+\) \((?:rate\()?\w+\{", target["expr"])) == len(selectors)


def test_panels_stand_beside_each_other_and_take_any_datasource() -> None:
    assert len({panel["id"] for panel in PANELS.values()}) == len(PANELS)
    taken: set[tuple[int, int]] = set()
    for name, panel in PANELS.items():
        place = panel["gridPos"]
        cells = {(x, y) for x in range(place["x"], place["x"] + place["w"]) for y in range(place["y"], place["y"] + place["h"])}
        assert not cells & taken, name
        assert place["x"] + place["w"] <= 24
        taken |= cells
        assert all(target["datasource"]["uid"] == "${datasource}" for target in panel["targets"])


def test_topics_can_be_chosen_and_what_is_of_a_topic_of_the_source_follows_the_choice() -> None:
    assert VARIABLES["topic"]["multi"] is True
    assert VARIABLES["topic"]["includeAll"] is True
    queries = [(name, query) for name, query in expressions() if "mirror_topic_" in query or "mirror_partition_" in query]
    assert len(queries) >= 4
    assert [name for name, query in queries if 'topic=~"$topic"' not in query] == ["topic"]


def links(place: Any) -> Iterator[str]:
    """Every address in a part of the dashboard."""
    if isinstance(place, dict):
        yield from (place["url"] for _ in [0] if isinstance(place.get("url"), str))
        place = list(place.values())
    if isinstance(place, list):
        for part in place:
            yield from links(part)


def test_it_leads_to_the_status_page_and_the_runbook_of_the_airflow_that_is_chosen() -> None:
    assert VARIABLES["airflow"]["type"] == "textbox"
    routes = {f"{PREFIX}{route.path}" for route in router.routes}
    found = set(links(DASHBOARD))
    assert len(found) >= 4
    for url in found:
        assert url.startswith("${airflow}/mirror/")
        path = url.removeprefix("${airflow}").partition("#")[0]
        assert re.sub(r"/flows/.*", "/flows/{flow_id}", path) in routes
    assert set(links(DASHBOARD["links"])) == {"${airflow}/mirror/", "${airflow}/mirror/runbook"}


def test_colours_come_from_the_flows_own_limits() -> None:
    """A number that fits one flow is wrong for another: thresholds stand on parts of a limit, on yes and no, and on counts of problems."""
    steps = {name: panel["fieldConfig"]["defaults"].get("thresholds", {}).get("steps") for name, panel in PANELS.items()}
    assert {name: [step["value"] for step in each] for name, each in steps.items() if each} == {
        "1 Both clusters seen": [None, 1],
        "22 Behind, of what is allowed": [None, 0.5, 1],
        "6 Problems": [None, 1],
    }
    [part] = PANELS["22 Behind, of what is allowed"]["targets"]
    assert "/ on (source, target) max by (source, target) (mirror_deadline_lag_seconds" in part["expr"]
    drawn = {name for name, query in expressions() if "mirror_deadline_" in query}
    assert drawn >= {"7 Behind, seconds", "8 Behind, records", "16 Heartbeats", "19 Time since the last copy", "20 Age of the snapshot"}


@pytest.mark.parametrize("name", TABLES)
def test_a_table_has_named_columns_and_no_others_and_begins_with_the_worst(name: str) -> None:
    panel = PANELS[name]
    [target] = panel["targets"]
    assert (target["format"], target["instant"]) == ("table", True)
    [organize] = panel["transformations"]
    assert organize["id"] == "organize"
    assert set(organize["options"]["excludeByName"]) == {"Time", "__name__", "instance", "job"}
    renamed = organize["options"]["renameByName"]
    assert set(renamed) == {*re.findall(r"\w+", re.findall(r"by \(([^)]*)\)", target["expr"])[0]), "Value"}
    assert all(new[0].isupper() for new in renamed.values())
    assert organize["options"]["indexByName"] == {column: place for place, column in enumerate(renamed)}
    assert panel["options"]["sortBy"] == [{"displayName": renamed["Value"], "desc": True}]
    named = {override["matcher"]["options"] for override in panel["fieldConfig"]["overrides"]}
    assert named <= set(renamed.values())


def test_partitions_by_state_are_stacked() -> None:
    custom = PANELS["13 Partitions by state"]["fieldConfig"]["defaults"]["custom"]
    assert custom["stacking"]["mode"] == "normal"


def test_a_figure_of_now_is_not_the_last_one_that_was_ever_seen() -> None:
    assert all(target["instant"] for panel in PANELS.values() if panel["type"] == "stat" for target in panel["targets"])
