"""An alert in words and as a document."""

import json

from hypothesis import given
from hypothesis import strategies as st

from kafka_mirror.formats.documents import from_document, to_document
from kafka_mirror.status.problems import Alert
from tests.unit.status.observations import at

ALERT = Alert(
    key="east->west/SourceGap/orders",
    kind="SourceGap",
    summary="Source gap: orders-3",
    detail="orders-3: [10, 25) is gone <& no & more>.",
    next="python -m kafka_mirror decide accept-gap --topic orders",
    since=at(0),
    flow="east->west",
    topic="orders",
    partition=3,
    severity="critical",
)


def test_text_says_what_where_since_when_and_what_to_do() -> None:
    assert ALERT.write_title(cleared=False) == "east->west: Source gap: orders-3"
    assert ALERT.write_text(cleared=False).splitlines() == [
        *["east->west: Source gap: orders-3", "", ALERT.detail, "", f"Next: {ALERT.next}", ""],
        *["Runbook: /mirror/runbook#sourcegap in Airflow", ""],
        "SourceGap, since 2026-11-21 12:00:00 UTC (east->west/SourceGap/orders)",
    ]
    over = ALERT.write_text(cleared=True)
    assert "Next:" not in over
    assert ALERT.detail not in over


@given(st.text(min_size=1, max_size=400), st.text(max_size=8000), st.booleans())
def test_title_is_one_line_and_the_document_is_the_alert_whatever_it_says(text: str, detail: str, cleared: bool) -> None:
    alert = Alert(f"f/{text}", "K", text, detail, detail, at(0), "east->west", text, 0)
    assert "\n" not in alert.write_title(cleared)
    assert from_document(Alert, json.loads(json.dumps(to_document(alert)))) == alert
