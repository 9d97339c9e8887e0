"""The dashboard and the alert rules ask for nothing that the metrics do not have."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from mirror.alerts.error_rules import LOSS
from mirror.web.metric_names import FLOW_LABELS, METRICS

ROOT = Path(__file__).parents[2]
DASHBOARD = json.loads((ROOT / "monitoring" / "grafana-dashboard.json").read_text(encoding="utf-8"))
RULES = yaml.safe_load((ROOT / "monitoring" / "prometheus-rules.yaml").read_text(encoding="utf-8"))
ALERTS = [rule for group in RULES["groups"] for rule in group["rules"]]

BY_SAMPLE = {metric.sample: metric for metric in METRICS}
WORDS = {"sum", "max", "min", "by", "on", "and", "or", "rate", "increase", "topk", "absent", "time", "source", "target", "code"}
_QUOTED = re.compile(r'"[^"]*"')
_SELECTOR = re.compile(r"([a-zA-Z_]\w*)?\{([^}]*)\}")
_NAME = re.compile(r"(?<![\w$.])[a-zA-Z_]\w*")


def queries() -> Iterator[tuple[str, str]]:
    for panel in DASHBOARD["panels"]:
        for target in panel["targets"]:
            yield panel["title"], target["expr"]
    for variable in DASHBOARD["templating"]["list"]:
        if variable["type"] == "query":
            yield variable["name"], re.sub(r"label_values\((\w+), \w+\)", r"\1", variable["definition"])
    for rule in ALERTS:
        yield rule["alert"], rule["expr"]


def metrics_and_labels(query: str) -> tuple[set[str], set[tuple[str, str]]]:
    """The metrics that a query names, and the labels by which it selects them."""
    bare = _QUOTED.sub('""', query)
    labels = {
        (metric, label.strip().split("=")[0].rstrip("!~").strip())
        for metric, inside in _SELECTOR.findall(bare)
        for label in inside.split(",")
        if label.strip()
    }
    outside = _SELECTOR.sub(lambda match: match.group(1) or "", bare)
    outside = re.sub(r"\[\w+\]", "", outside)
    return set(_NAME.findall(outside)) - WORDS, labels


@pytest.mark.parametrize(("where", "query"), list(queries()), ids=lambda value: value[:40])
def test_a_query_names_only_metrics_that_there_are_with_labels_that_they_have(where, query):
    metrics, labels = metrics_and_labels(query)
    assert metrics, "it names at least one"
    assert metrics <= BY_SAMPLE.keys(), where
    for metric, label in labels:
        assert label in (*FLOW_LABELS, *BY_SAMPLE[metric].labels), where


def test_the_reader_of_queries_sees_what_does_not_exist():
    metrics, labels = metrics_and_labels('sum by (source) (rate(mirror_none_total{nobody=~"x.*",source="e"}[5m])) > 0.9 * mirror_up')
    assert metrics == {"mirror_none_total", "mirror_up"}
    assert labels == {("mirror_none_total", "nobody"), ("mirror_none_total", "source")}


def test_words_in_annotations_are_labels_that_the_alert_has():
    for rule in ALERTS:
        metrics, _ = metrics_and_labels(rule["expr"])
        known = set(FLOW_LABELS).union(*(BY_SAMPLE[name].labels for name in metrics))
        used = set(re.findall(r"\$labels\.(\w+)", " ".join(rule["annotations"].values())))
        assert used <= known, rule["alert"]


def test_both_sides_of_an_or_have_the_same_labels_or_a_flow_would_be_shown_twice():
    """What is scraped has the labels `instance` and `job` too; an aggregation takes them away."""
    either = [(where, query.split(" or ")) for where, query in queries() if " or " in query]
    assert either
    for where, sides in either:
        assert all(re.search(r"(sum|max) by \(source, target\)", side) for side in sides), where


def test_the_alert_of_lost_records_is_that_of_freshness():
    [lost] = [rule for rule in ALERTS if rule["alert"] == "MirrorLostRecords"]
    assert set(re.findall(r"[A-Z]\w+", lost["expr"])) == LOSS


def test_every_alert_says_how_bad_it_is_and_what_to_do():
    assert len({rule["alert"] for rule in ALERTS}) == len(ALERTS)
    for rule in ALERTS:
        assert rule["labels"]["severity"] in ("info", "warning", "critical")
        assert {"summary", "description"} == set(rule["annotations"])


def test_the_dashboard_has_its_panels_beside_each_other_and_takes_any_datasource():
    panels = DASHBOARD["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    taken = set()
    for panel in panels:
        place = panel["gridPos"]
        cells = {(x, y) for x in range(place["x"], place["x"] + place["w"]) for y in range(place["y"], place["y"] + place["h"])}
        assert not cells & taken
        assert place["x"] + place["w"] <= 24
        taken |= cells
        assert all(target["datasource"]["uid"] == "${datasource}" for target in panel["targets"])
