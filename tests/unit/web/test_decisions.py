"""Decisions from the page: shown first, written only as shown, with who and why in Airflow's audit log, and errors in words."""

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from kafka_mirror.decide.binding import DecisionWithEffect
from kafka_mirror.decide.request import DECISIONS, DecisionRequest
from kafka_mirror.errors import ClusterUnreachable, NothingToDecide, OtherCluster, Remedy, SourceGap, UsageError
from kafka_mirror.ledger.control_records import ACCEPT_GAP, PAUSE, TAKE_OWNERSHIP, Decision
from kafka_mirror.web.decisions import Decider, DecisionEffects, DecisionInput, effects_of, problems
from services.waiting import PATIENCE
from tests.unit.web.made_up import BUSY, FLOW, HOSTILE, NOW, MadeUp, made_up

URL = "/flows/east-to-west/decisions"
GAP = {"decision": "accept-gap", "topic": "orders", "partition": 2, "reason": "expired over Christmas"}


@dataclass
class Clusters:
    """Stands in for `decide`: says what a decision would do, notes what was written, or raises."""

    watermark: int = 300
    log_start: int = 500
    raises: Exception | None = None
    written: list[DecisionRequest] = field(default_factory=list)
    asked: list[DecisionRequest] = field(default_factory=list)
    before_writing: Callable[[], None] = lambda: None

    def __call__(self, flow: Any, request: DecisionRequest, dry_run: bool) -> list[DecisionWithEffect]:
        assert flow.name == FLOW
        if self.raises is not None:
            raise self.raises
        self.asked.append(request)
        if not dry_run:
            self.before_writing()
            self.written.append(request)
        decision = Decision(request.decision, request.who, NOW, request.why, request.topic, request.partition, watermark=self.watermark)
        return [DecisionWithEffect(decision, f"source offsets [{self.watermark}, {self.log_start}) are passed over")]


@pytest.fixture(autouse=True)
def configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "mm2.properties"
    file.write_text(
        "clusters = east, west\neast.bootstrap.servers = 127.0.0.1:1\nwest.bootstrap.servers = 127.0.0.1:1\neast->west.enabled = true\n"
    )
    monkeypatch.setenv("MIRROR_CONFIG", str(file))


@pytest.fixture
def clusters() -> Clusters:
    return Clusters()


@pytest.fixture
def site(clusters: Clusters) -> Iterator[MadeUp]:
    made = made_up(BUSY, take=clusters)
    yield made
    made.site.decider.close()


def post(site: MadeUp, **fields: Any) -> tuple[int, dict[str, Any]]:
    answer = site.client(name="ada").post(URL, json={**GAP, **fields}, headers={"Accept": "application/json"})
    return answer.status_code, answer.json()


def test_first_it_only_shows_what_would_happen(site: MadeUp, clusters: Clusters) -> None:
    status, told = post(site)
    assert (status, told["would"]) == (200, ["orders-2: source offsets [300, 500) are passed over."])
    assert (clusters.written, site.airflow.notes, site.cache.refreshed) == ([], [], [])


def test_confirmed_it_is_written_with_who_and_why_and_stands_in_airflows_audit_log(site: MadeUp, clusters: Clusters) -> None:
    _, told = post(site)
    noted_before: list[int] = []
    clusters.before_writing = lambda: noted_before.append(len(site.airflow.notes))
    status, done = post(site, seen=told["seen"])

    assert (status, done["decided"]) == (200, ["orders-2: source offsets [300, 500) are passed over."])
    assert clusters.written == [DecisionRequest(ACCEPT_GAP, "ada", GAP["reason"], "orders", 2)]
    facts = {"flow": FLOW, "decision": "accept-gap", "why": GAP["reason"], "topic": "orders", "partition": 2}
    assert site.airflow.notes == [("ada", "mirror_decide", FLOW, facts)]
    assert noted_before == [1], "nothing is written before the audit log has it"
    assert site.cache.refreshed == [FLOW]


def test_name_of_who_decides_is_airflows_and_cannot_be_sent(site: MadeUp) -> None:
    status, _ = post(site, who="somebody else")
    assert status == 422


def test_situation_that_changed_since_is_shown_anew_and_nothing_is_written(site: MadeUp, clusters: Clusters) -> None:
    _, told = post(site)
    clusters.watermark = 320
    status, changed = post(site, seen=told["seen"])
    assert status == 409
    assert "changed since you looked" in changed["message"]
    assert changed["would"] == ["orders-2: source offsets [320, 500) are passed over."]
    assert clusters.written == []
    assert [event for _, event, _, _ in site.airflow.notes] == ["mirror_decide", "mirror_decide_failed"]

    status, _ = post(site, seen=changed["seen"])
    assert status == 200


def test_gap_that_grows_under_the_eyes_of_who_confirms_it_is_the_same_decision(site: MadeUp, clusters: Clusters) -> None:
    _, told = post(site)
    clusters.log_start = 510
    assert post(site, seen=told["seen"])[0] == 200


@pytest.mark.parametrize(("filled_in", "rate"), [("5 MB", 5_000_000), ("500k", 500_000), (700, 700), ("-1", -1), ("configured", None)])
def test_rate_is_filled_in_as_on_the_command_line(filled_in: str | int, rate: int | None) -> None:
    assert DecisionInput(FLOW, "ada", "throttle", "the link is full", bytes_per_second=filled_in).request().bytes_per_second == rate


def test_rate_that_is_none_is_refused_in_words() -> None:
    with pytest.raises(UsageError, match="'fast' is no rate; write bytes a second, such as 5000000, 5MB or 5MiB"):
        DecisionInput(FLOW, "ada", "throttle", "the link is full", bytes_per_second="fast").request()


def test_moment_of_looking_makes_no_other_decision() -> None:
    decision = Decision(TAKE_OWNERSHIP, "ada", NOW, "x", installation="a", until=NOW)
    later = replace(decision, until=NOW.replace(year=2030), when=NOW.replace(year=2030), why="y")
    assert effects_of([DecisionWithEffect(decision, "e")]).digest == effects_of([DecisionWithEffect(later, "e")]).digest
    assert (
        effects_of([DecisionWithEffect(decision, "e")]).digest
        != effects_of([DecisionWithEffect(replace(decision, installation="b"), "e")]).digest
    )


@pytest.mark.parametrize(
    "fields, message",
    [
        ({"reason": "  "}, "needs --reason"),
        ({"reason": "x" * 301}, "301 characters"),
        ({"topic": None}, "needs --topic"),
        ({"decision": "adopt-cluster", "topic": None, "partition": None}, "needs --alias"),
        ({"start": "earliest"}, "has no use for --to-earliest"),
        ({"decision": "restart", "start": "5", "partition": None}, "--to-offset needs --partition"),
        ({"decision": "list"}, "list"),
        ({"decision": "burn"}, "burn"),
        ({"decision": "restart", "start": "yesterday"}, "yesterday"),
    ],
)
def test_what_the_command_line_refuses_the_page_refuses_in_the_same_words(
    site: MadeUp, clusters: Clusters, fields: dict[str, Any], message: str
) -> None:
    status, told = post(site, **fields)
    assert status == 400
    assert message in told["message"]
    assert clusters.asked == []


@pytest.mark.parametrize(
    "error, status",
    [
        (NothingToDecide("accept-gap", "orders-2 has no gap."), 409),
        (ClusterUnreachable("east", "127.0.0.1:1", 5.0), 502),
    ],
)
def test_errors_of_ours_are_answered_with_message_and_next_step(site: MadeUp, clusters: Clusters, error: Any, status: int) -> None:
    clusters.raises = error
    answered, told = post(site)
    assert (answered, told["code"], told["message"]) == (status, error.code, error.message)
    assert told["next"] == error.next


def test_cluster_that_does_not_answer_ends_at_the_deadline_and_holds_no_page_up() -> None:
    held = threading.Event()

    def never(*_given: Any, **_options: Any) -> list[DecisionWithEffect]:
        held.wait(PATIENCE)
        return []

    site = made_up(BUSY, take=never, seconds=0.2)
    began = time.monotonic()
    status, told = post(site, seen="0" * 64)
    assert (status, told["code"]) == (504, "DeadlineExceeded")
    assert "whether it was decided is not known" in told["message"]
    assert "harmless" in told["next"]
    assert [event for _, event, _, _ in site.airflow.notes] == ["mirror_decide", "mirror_decide_failed"]
    site.page()
    assert time.monotonic() - began < PATIENCE / 2, "neither waits for the cluster, which holds for longer"
    held.set()
    site.site.decider.close()


def test_reason_that_looks_like_markup_is_kept_as_it_is(site: MadeUp, clusters: Clusters) -> None:
    _, told = post(site, reason=HOSTILE)
    post(site, reason=HOSTILE, seen=told["seen"])
    assert clusters.written[0].why == HOSTILE


@pytest.mark.parametrize("body", ["{", "[]", '"x"', '{"decision": 1}', '{"decision":"pause","reason":"x","partition":-1}'])
def test_request_that_is_none_is_refused(site: MadeUp, clusters: Clusters, body: str) -> None:
    answer = site.client().post(URL, content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code == 422
    assert clusters.asked == []


def test_form_of_another_site_cannot_even_be_read(site: MadeUp) -> None:
    """A form sends no JSON, and JSON is all that is taken."""
    answer = site.client().post(URL, data={"decision": "pause", "reason": "x"})
    assert answer.status_code == 422


def test_every_decision_of_the_command_line_has_a_name_and_a_sentence() -> None:
    text = made_up(BUSY).page()
    assert all(f'<option value="{word}"' in text for word in DECISIONS)


def test_decisions_that_an_error_names_are_buttons_and_one_for_many_partitions_of_a_topic() -> None:
    errors = [SourceGap("a.b-c", partition, 3, 9).report() for partition in (3, 4)]
    assert [problem.answers for problem in problems([errors[0], OtherCluster("east", "a", "b").report()])] == [
        (Remedy("adopt-cluster", alias="east"),),
        (Remedy("accept-gap", "a.b-c", 3),),
    ]
    assert [problem.answers for problem in problems(errors)] == [(Remedy("accept-gap", "a.b-c"),)]


def test_pause_is_said_once() -> None:
    made = DecisionWithEffect(Decision(PAUSE, "ada", NOW, "x", "orders"), "orders is left out of every plan")
    assert effects_of([made]).effects == ("orders is left out of every plan.",)


def test_a_flow_whose_clusters_are_dead_holds_up_no_decision_of_another_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "two.properties"
    ways = "\n".join(f"{way}.enabled = true" for way in ("east->west", "west->east"))
    file.write_text(f"clusters = east, west\neast.bootstrap.servers = e:1\nwest.bootstrap.servers = w:1\n{ways}\n")
    monkeypatch.setenv("MIRROR_CONFIG", str(file))
    back = threading.Event()

    def take(flow: Any, _request: DecisionRequest, dry_run: bool) -> list[DecisionWithEffect]:
        assert dry_run
        assert flow.name == "west->east" or back.wait(PATIENCE)
        return []

    async def decide_on_both() -> DecisionEffects:
        decider = Decider(take, seconds=PATIENCE)
        dead, alive = (DecisionInput(flow, "ann", PAUSE, "why", topic="orders") for flow in ("east->west", "west->east"))
        hanging = [asyncio.ensure_future(decider.show(dead)) for _ in range(4)]
        await asyncio.sleep(0)
        shown = await decider.show(alive)
        assert not any(each.done() for each in hanging)
        back.set()
        await asyncio.gather(*hanging)
        decider.close()
        return shown

    assert asyncio.run(decide_on_both()).effects == ()
