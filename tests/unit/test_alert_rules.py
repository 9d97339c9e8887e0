"""The alert rules: Prometheus itself reads and tests them, and they ask for nothing that the metrics do not have."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from kafka_mirror.errors import runbook
from kafka_mirror.errors.base import CLASSES
from kafka_mirror.status import judge
from kafka_mirror.web.metric_names import FLOW_LABELS
from tests.unit import promql
from tests.unit.promql import BY_SAMPLE, MONITORING, grouping_labels, metrics_and_labels, promtool

RULES = yaml.safe_load((MONITORING / "prometheus-rules.yaml").read_text(encoding="utf-8"))
SCENARIOS = yaml.safe_load((MONITORING / "prometheus-rules-test.yaml").read_text(encoding="utf-8"))["tests"]
EVERY = [rule for group in RULES["groups"] for rule in group["rules"]]
ALERTS = {rule["alert"]: rule for rule in EVERY if "alert" in rule}
RECORDED = {rule["record"]: rule["expr"] for rule in EVERY if "record" in rule}
BASE = "https://airflow.example/mirror/runbook#"
OF_NO_FLOW = {"MirrorMetricsMissing", "MirrorConfigurationErrors"}


def test_prometheus_accepts_the_rules() -> None:
    done = promtool("check", "rules", "prometheus-rules.yaml")
    assert done.returncode == 0, done.stdout + done.stderr


def test_for_each_fault_exactly_the_alerts_fire_that_shall() -> None:
    done = promtool("test", "rules", "prometheus-rules-test.yaml")
    assert done.returncode == 0, done.stdout + done.stderr


def test_without_promtool_the_test_fails_and_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(promql, "ROOT", tmp_path)
    with pytest.raises(pytest.fail.Exception, match="make promtool"):
        promtool("--version")


def samples_of(scenario: dict[str, Any]) -> list[dict[str, Any]]:
    return [sample for test in scenario["promql_expr_test"] for sample in test["exp_samples"]]


def test_every_alert_fires_in_some_scenario_and_every_scenario_looks_at_all_alerts() -> None:
    fired = re.findall(r'alertname="(\w+)"', str([samples_of(scenario) for scenario in SCENARIOS]))
    assert set(fired) == set(ALERTS)
    expressions = {test["expr"] for scenario in SCENARIOS for test in scenario["promql_expr_test"]}
    assert expressions == {'count by (alertname) (ALERTS{alertstate="firing"})'}


def test_one_problem_is_one_alert() -> None:
    """Only the scenario with two api-servers has two problems."""
    several = [scenario["name"] for scenario in SCENARIOS if any(len(test["exp_samples"]) > 1 for test in scenario["promql_expr_test"])]
    assert several == ["two api-servers are scraped, and their figures differ a little"]
    assert all(sample["value"] == 1 for scenario in SCENARIOS for sample in samples_of(scenario))


@pytest.mark.parametrize("rule", EVERY, ids=lambda rule: rule.get("alert") or rule["record"])
def test_a_rule_names_only_metrics_that_there_are_with_labels_that_they_have(rule: dict[str, Any]) -> None:
    metrics, labels = metrics_and_labels(rule["expr"])
    assert metrics, "it names at least one"
    assert metrics <= BY_SAMPLE.keys() | RECORDED.keys()
    for metric, label in labels:
        assert label in (*FLOW_LABELS, *BY_SAMPLE[metric].labels)
    known = set(FLOW_LABELS).union(*(BY_SAMPLE[name].labels for name in metrics if name in BY_SAMPLE))
    assert grouping_labels(rule["expr"]) <= known


@pytest.mark.parametrize("alert", ALERTS)
def test_words_in_annotations_are_labels_that_the_alert_has(alert: str) -> None:
    rule = ALERTS[alert]
    expression = " ".join([rule["expr"], *(RECORDED[name] for name in RECORDED if name in rule["expr"])])
    used = set(re.findall(r"\$labels\.(\w+)", str(rule["annotations"])))
    assert used <= (set() if alert in OF_NO_FLOW else grouping_labels(expression))
    asked = re.findall(r'printf "(?:max\()?(\w+)\{', str(rule["annotations"]))
    assert set(asked) <= BY_SAMPLE.keys()


@pytest.mark.parametrize("alert", ALERTS)
def test_an_alert_says_how_bad_it_is_whose_and_leads_to_its_section_of_the_runbook(alert: str) -> None:
    rule = ALERTS[alert]
    assert rule["labels"]["severity"] in ("info", "warning", "critical")
    assert rule["labels"].get("flow") == (None if alert in OF_NO_FLOW else "{{ $labels.source }}->{{ $labels.target }}")
    assert set(rule["annotations"]) == {"summary", "description", "runbook_url"}
    base, _, place = rule["annotations"]["runbook_url"].partition("#")
    assert f"{base}#" == BASE
    if "code" in grouping_labels(rule["expr"]) or any(name in rule["expr"].split(" ")[0] for name in RECORDED):
        assert place == "{{ $labels.code | toLower }}"
    else:
        assert place == runbook.anchor(alert.removeprefix("Mirror"))


def test_anchors_of_the_runbook_are_codes_in_lower_case() -> None:
    assert all(runbook.anchor(code) == code.lower() for code in runbook.sections())


def test_alert_of_lost_records_is_that_of_freshness() -> None:
    assert set(re.findall(r"[A-Z]\w+", RECORDED["mirror:problems_loss:max"])) == {
        code for code, error in CLASSES.items() if error.means_loss
    }
    assert set(re.findall(r"[A-Z]\w+", RECORDED["mirror:problems_refused:max"])) <= set(CLASSES)


def test_what_the_mirror_judges_is_no_problem_beside_its_own_alert() -> None:
    own = {code for alert in ALERTS for code in re.findall(r'mirror_problems\{code="(\w+)"\}', ALERTS[alert]["expr"])}
    [left_out] = re.findall(r'mirror_problems\{code!~"([^"]+)"\}', ALERTS["MirrorProblem"]["expr"])
    assert own == set(left_out.split("|")) == {judge.LATE, judge.NO_BEATS, judge.NOT_COPYING, judge.STILL}


def test_limits_are_the_flows_own_and_no_number_stands_in_a_rule() -> None:
    for alert, rule in ALERTS.items():
        bare = re.sub(r'"[^"]*"|\[\w+\]', "", rule["expr"])
        assert set(re.findall(r"(?<![\w.])\d+(?:\.\d+)?", bare)) <= {"0", "1"}, alert


def page() -> str:
    return (MONITORING.parent / "docs" / "guides" / "metrics-to-grafana.md").read_text(encoding="utf-8")


def test_guide_lists_every_alert_with_how_bad_it_is() -> None:
    told = dict(re.findall(r"^\| `(Mirror\w+)` \| (\w+) \|", page(), flags=re.MULTILINE))
    assert told == {alert: rule["labels"]["severity"] for alert, rule in ALERTS.items()}


def test_inhibition_in_the_guide_compares_labels_that_alerts_have() -> None:
    [example] = re.findall(r"```yaml\n(inhibit_rules:.*?)```", page(), flags=re.DOTALL)
    ours = {label for rule in ALERTS.values() for label in rule["labels"]} | {"alertname"}
    for rule in yaml.safe_load(example)["inhibit_rules"]:
        matched = {re.split("[=!]", matcher)[0] for side in ("source_matchers", "target_matchers") for matcher in rule[side]}
        assert matched <= ours
        assert set(rule["equal"]) <= ours
