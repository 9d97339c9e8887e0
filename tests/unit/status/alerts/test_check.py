"""A look that fails or hangs is an answer too."""

import threading
from collections.abc import Callable

import pytest

from kafka_mirror.config import Flow
from kafka_mirror.status.alerts.check import observe_for_alerts


def test_clusters_that_keep_it_waiting_for_ever_do_not_keep_people_from_being_told(
    make_flow: Callable[..., Flow], monkeypatch: pytest.MonkeyPatch
) -> None:
    answered = threading.Event()
    monkeypatch.setattr("kafka_mirror.status.alerts.check.observe", lambda _flow: answered.wait(30))
    seen = observe_for_alerts(make_flow(), seconds=0.05)
    answered.set()
    assert (seen.comparable, seen.beats) == (False, None)
    assert seen.failure == "Looking at both clusters took longer than 0.05 s."


def test_what_nobody_foresaw_is_said(make_flow: Callable[..., Flow], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kafka_mirror.status.alerts.check.observe", lambda _flow: {}["nothing"])
    seen = observe_for_alerts(make_flow())
    assert (seen.comparable, seen.failure) == (False, "KeyError: 'nothing'")
