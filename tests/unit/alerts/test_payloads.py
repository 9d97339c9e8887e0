"""What each service gets, and that it takes the same alert for the same."""

import json
from dataclasses import replace
from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from mirror.alerts import payloads
from mirror.alerts.model import Alert
from tests.unit.alerts.observations import at

ALERT = Alert(
    key="east->west/SourceGap/orders",
    kind="SourceGap",
    summary="Source gap: orders-3",
    detail="orders-3: [10, 25) is gone <& no & more>.",
    next="python -m mirror decide accept-gap --topic orders",
    since=at(0),
    flow="east->west",
    topic="orders",
    partition=3,
    severity="critical",
)


def test_slack_gets_a_text_in_which_nothing_is_taken_for_markup() -> None:
    text = payloads.slack(ALERT, cleared=False)["text"]
    assert text.startswith(":rotating_light: *east-&gt;west: Source gap: orders-3*")
    assert "[10, 25) is gone &lt;&amp; no &amp; more&gt;." in text
    assert "*Next:* python -m mirror decide accept-gap" in text
    assert text.splitlines()[-1] == "SourceGap, since 2026-11-21 12:00:00 UTC"
    over = ":white_check_mark: *east-&gt;west: over: Source gap: orders-3*\nSourceGap, was so since 2026-11-21 12:00:00 UTC"
    assert payloads.slack(ALERT, cleared=True) == {"text": over}


def test_slack_is_told_what_to_do_and_since_when_however_long_the_list_of_places_is() -> None:
    long = replace(ALERT, detail="\n".join(f"orders-{number}: [10, 25) is gone from the source & elsewhere." for number in range(200)))
    text = payloads.slack(long, cleared=False)["text"]
    *_, last, cut, next_step, runbook, since = text.splitlines()
    assert runbook == "Runbook: /mirror/runbook#sourcegap in Airflow"
    assert (last[-10:], cut) == ("elsewhere.", "…")
    assert next_step == f"*Next:* {ALERT.next}"
    assert since.startswith("SourceGap, since 2026-11-21")
    one_line = payloads.slack(replace(ALERT, detail="x" * 9000), cleared=False)["text"]
    assert "xxx" in one_line
    assert next_step in one_line


def test_pagerduty_gets_an_incident_that_the_end_resolves() -> None:
    trigger, resolve = (payloads.pagerduty(ALERT, cleared, "R0UTING") for cleared in (False, True))
    assert trigger == {
        "routing_key": "R0UTING",
        "event_action": "trigger",
        "dedup_key": "east->west/SourceGap/orders",
        "client": "mirror",
        "payload": {
            "summary": "east->west: Source gap: orders-3",
            "source": "east->west",
            "severity": "critical",
            "timestamp": "2026-11-21T12:00:00.000Z",
            "component": "orders",
            "group": "east->west",
            "class": "SourceGap",
            "custom_details": {"detail": ALERT.detail, "next": ALERT.next, "partition": 3, "runbook": "/mirror/runbook#sourcegap"},
        },
    }
    assert resolve == {"routing_key": "R0UTING", "event_action": "resolve", "dedup_key": trigger["dedup_key"]}


def test_alertmanager_gets_labels_that_stay_and_an_end_that_is_ahead_until_it_is_over() -> None:
    now = at(600)
    [open_], [over] = (payloads.alertmanager([ALERT], cleared, now) for cleared in (False, True))
    assert (
        open_["labels"]
        == over["labels"]
        == {
            "alertname": "MirrorSourceGap",
            "flow": "east->west",
            "severity": "critical",
            "key": ALERT.key,
            "topic": "orders",
        }
    )
    told = {"summary": ALERT.summary, "description": ALERT.detail, "next": ALERT.next, "runbook": "/mirror/runbook#sourcegap"}
    assert open_["annotations"] == told
    assert (open_["startsAt"], over["endsAt"]) == ("2026-11-21T12:00:00.000Z", "2026-11-21T12:10:00.000Z")
    assert open_["endsAt"] == "2026-11-22T12:10:00.000Z"
    assert timedelta(hours=1) < payloads.ALERTMANAGER_LASTS, "an Airflow that is down for an hour does not end alerts"


def test_any_other_service_gets_the_alert_as_it_is() -> None:
    sent = payloads.as_json(ALERT, cleared=True)
    assert (sent["event"], Alert.from_document(sent["alert"])) == ("cleared", ALERT)


def test_a_mail_says_what_where_since_when_and_what_to_do() -> None:
    assert payloads.title_of(ALERT, cleared=False) == "east->west: Source gap: orders-3"
    assert payloads.text_of(ALERT, cleared=False).splitlines() == [
        *["east->west: Source gap: orders-3", "", ALERT.detail, "", f"Next: {ALERT.next}", ""],
        *["Runbook: /mirror/runbook#sourcegap in Airflow", ""],
        "SourceGap, since 2026-11-21 12:00:00 UTC (east->west/SourceGap/orders)",
    ]
    over = payloads.text_of(ALERT, cleared=True)
    assert "Next:" not in over
    assert ALERT.detail not in over


@given(st.text(min_size=1, max_size=400), st.text(max_size=8000), st.booleans())
def test_limits_of_the_services_are_kept_whatever_an_alert_says(text: str, detail: str, cleared: bool) -> None:
    alert = Alert(f"f/{text}", "K", text, detail, detail, at(0), "east->west", text, 0)
    assert len(payloads.slack(alert, cleared)["text"]) <= 3000
    event = payloads.pagerduty(alert, cleared, "R")
    assert len(event["dedup_key"]) <= 255
    assert len(event.get("payload", {}).get("summary", "")) <= 1024
    assert "\n" not in payloads.title_of(alert, cleared)
    assert Alert.from_document(json.loads(json.dumps(alert.as_document()))) == alert


@given(st.integers(200, 300), st.text(alphabet="ab", max_size=60), st.text(alphabet="ab", max_size=60))
def test_long_keys_stay_different(length: int, one: str, other: str) -> None:
    keys = [f"{'x' * length}{end}" for end in (one, other)]
    assert (payloads.dedup_key(keys[0]) == payloads.dedup_key(keys[1])) == (one == other)
