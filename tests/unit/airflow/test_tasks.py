import json

import pytest

from kafka_mirror.airflow import tasks
from kafka_mirror.airflow.tasks import from_xcom, to_xcom

DOCUMENT = {"topic": ["orders"] * 100, "start": list(range(100))}


def test_a_small_document_stands_as_it_is() -> None:
    assert to_xcom(DOCUMENT, {"ranges": 100}) == DOCUMENT
    assert from_xcom(DOCUMENT) == DOCUMENT


def test_a_larger_one_is_packed_beside_its_totals(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tasks, "PLAIN_BYTES", 500)
    value = json.loads(json.dumps(to_xcom(DOCUMENT, {"ranges": 100})))
    assert set(value) == {"totals", "zlib+base64"}
    assert value["totals"] == {"ranges": 100}
    assert len(json.dumps(value)) < len(json.dumps(DOCUMENT))
    assert from_xcom(value) == DOCUMENT


def test_of_the_largest_only_the_totals_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tasks, "PLAIN_BYTES", 500)
    monkeypatch.setattr(tasks, "PACKED_BYTES", 20)
    value = to_xcom(DOCUMENT, {"ranges": 100})
    assert value == {"totals": {"ranges": 100}}
    assert from_xcom(value) is None


def test_the_limits_are_those_of_the_design() -> None:
    assert (tasks.PLAIN_BYTES, tasks.PACKED_BYTES) == (48_000, 1_000_000)
