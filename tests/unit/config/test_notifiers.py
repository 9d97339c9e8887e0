"""`mirror.alert.notifiers`: what is read of it, and what is refused without quoting an argument."""

import re
from pathlib import Path

import pytest

from kafka_mirror.config.catalogue.alerts import check_notifiers, is_notifier, parse_notifiers


def test_classes_are_named_by_their_paths_with_arguments_as_python_writes_them():
    [slack, pager, other] = parse_notifiers('a.b.Slack(channel="#ops, day", retries=3, to=["x"]), our.Pager, a.b.Slack()')
    assert (slack.path, slack.arguments) == ("a.b.Slack", {"channel": "#ops, day", "retries": 3, "to": ["x"]})
    assert (pager.path, pager.arguments) == ("our.Pager", {})
    assert [slack.name, pager.name, other.name] == ["notifier a.b.Slack", "notifier our.Pager", "notifier a.b.Slack 2"]
    assert is_notifier(slack.name)
    assert not is_notifier("on_call_mail")
    assert parse_notifiers("") == ()


@pytest.mark.parametrize(
    "text", ["Pager", "a.b.C(1)", "a.b.C(**x)", "a.b.C(key=secret)", "a.b.C(", "1", "a.b.C for x in y", "a[0].C", "]+["]
)
def test_what_is_no_class_or_no_plain_argument_is_refused(text):
    complaint = check_notifiers(text)
    assert complaint
    assert "secret" not in complaint


def test_arguments_stand_in_no_representation():
    assert "hush" not in repr(parse_notifiers('a.B(token="hush")'))


def test_notifiers_in_the_guide_can_be_read():
    page = Path(__file__).parents[3] / "docs" / "guides" / "alerts-to-pagerduty-or-slack.md"
    rows = re.findall(r"`(airflow\.providers\.[^`]+\))`", page.read_text(encoding="utf-8"))
    assert [parse_notifiers(row)[0].path.rpartition(".")[2] for row in rows] == [
        "SlackWebhookNotifier",
        "SlackNotifier",
        "PagerdutyNotifier",
    ]
