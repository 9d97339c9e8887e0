"""The runbook is what the classes say, each has a section with a stable anchor, and it names the decisions that the errors name."""

from pathlib import Path

import pytest

import kafka_mirror.errors
from kafka_mirror.errors import ErrorReport, MirrorError, ReportedError
from kafka_mirror.errors.base import CLASSES, DeclaredError, GroupError, OffsetError, PartitionError, TopicError
from kafka_mirror.errors.runbook import ALERTS, anchor, markdown, sections
from kafka_mirror.status.alerts.audits import MISMATCH
from kafka_mirror.status.judge import CHECK_FAILED, LATE, NO_BEATS, NOT_COPYING, STILL, UNREACHABLE
from kafka_mirror.status.problems import MISSED
from tests.unit.errors.samples import samples

PAGE = Path(__file__).parents[3] / "docs" / "operate" / "runbook.md"


def test_page_is_what_the_classes_say() -> None:
    assert PAGE.read_text(encoding="utf-8") == markdown(), "run `.venv/bin/python tools/write_runbook.py`"


def test_every_error_that_may_be_reported_has_its_entry() -> None:
    public = {each for each in vars(kafka_mirror.errors).values() if isinstance(each, type) and issubclass(each, MirrorError)}
    bases = {MirrorError, DeclaredError, TopicError, GroupError, PartitionError, OffsetError}
    assert set(CLASSES.values()) == public - bases - {ReportedError}
    assert all(ErrorReport(code, "").kind is each for code, each in CLASSES.items())
    assert ErrorReport("OfAnotherVersion", "").kind is MirrorError


def test_every_alert_that_is_no_error_has_its_section() -> None:
    told = {LATE, STILL, NOT_COPYING, NO_BEATS, CHECK_FAILED, MISMATCH, MISSED}
    assert told <= set(ALERTS)
    assert UNREACHABLE in CLASSES


@pytest.mark.parametrize("code", sections())
def test_entry_answers_and_has_a_section(code: str) -> None:
    told = sections()[code]
    assert told.means.endswith(".")
    assert told.lost.endswith(".")
    assert told.do.endswith(".")
    lines = markdown().splitlines()
    section = lines.index(f"### {code}")
    answers = lines[section + 4]
    assert (f"**Lost?** {told.lost}" in answers) == (told.lost != "No.")
    assert ("**Retried?** Yes." in answers) == told.retriable
    assert anchor(code) == code.lower()


def test_page_begins_with_the_alerts() -> None:
    chapters = [line for line in markdown().splitlines() if line.startswith("## ")]
    assert chapters[0] == "## Alerts"


def test_anchor_is_what_a_heading_gets() -> None:
    assert anchor("SourceGap") == "sourcegap"
    assert anchor("Behind") == "behind"
    assert anchor("Nothing") is None


@pytest.mark.parametrize(("code", "error"), samples().items())
def test_runbook_names_the_decisions_that_the_error_names(code: str, error: MirrorError) -> None:
    decision = error.runbook.decision
    assert [each.decision for each in error.remedies] == ([decision.decision] if decision else [])
