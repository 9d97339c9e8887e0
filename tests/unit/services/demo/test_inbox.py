"""The demo's inbox: what a person finds in its file."""

from pathlib import Path
from typing import Any

from services.demo.inbox import format_alert
from services.demo.incident import read_alerts
from services.sinks import Posted

ALERT = {"kind": "SourceGap", "since": "2026-11-21T03:00:00.000Z", "detail": "returns-0: 25 records\nare gone", "next": "Accept the gap."}


def posted(event: str, title: str, **alert: Any) -> Posted:
    return Posted("/", {}, {"version": 1, "event": event, "title": title, "alert": ALERT | alert})


def test_an_alert_says_what_where_and_what_to_do() -> None:
    assert format_alert(posted("opened", "east->west: a gap")).splitlines() == [
        "alert  east->west: a gap",
        "       returns-0: 25 records",
        "       are gone",
        "       Next: Accept the gap.",
        "       SourceGap, since 2026-11-21T03:00:00.000Z",
    ]


def test_what_is_over_asks_for_nothing() -> None:
    assert format_alert(posted("cleared", "east->west: over: a gap")).splitlines() == [
        "over   east->west: over: a gap",
        "       SourceGap, since 2026-11-21T03:00:00.000Z",
    ]


def test_alerts_are_found_again_in_the_file(tmp_path: Path) -> None:
    inbox = tmp_path / "alerts.txt"
    assert read_alerts(inbox) == []
    written = [format_alert(posted("opened", "one")), format_alert(posted("cleared", "one"))]
    inbox.write_text("".join(f"{each}\n" for each in written))
    assert read_alerts(inbox) == written
