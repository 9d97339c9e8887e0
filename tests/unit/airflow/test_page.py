"""What many ask for at once is asked for once."""

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from kafka_mirror.airflow import page
from kafka_mirror.airflow.page import MAX_STALE_SECONDS, AirflowAccess, StaleWhileRevalidate
from kafka_mirror.airflow.work.copy import verdict_to_xcom
from kafka_mirror.config.flow import FlowName
from kafka_mirror.copy.run_result import DONE, FAILED, NOTHING_TO_DO, Verdict
from kafka_mirror.status.airflow_view import AirflowView, CopyRun, DagRun, Person

IDLE, RED = Verdict(NOTHING_TO_DO), Verdict(FAILED, records=7)


class Slow:
    """Answers with a number that grows, and only when it may."""

    def __init__(self) -> None:
        self.asked, self.now = 0, 0.0
        self.asking, self.may = threading.Event(), threading.Event()
        self.may.set()

    def __call__(self, key: str) -> int:
        self.asking.set()
        assert self.may.wait(10)
        self.asked += 1
        return self.asked

    def cache(self) -> StaleWhileRevalidate[str, int]:
        return StaleWhileRevalidate(self, 10, lambda: self.now)


def test_an_answer_is_asked_for_again_when_it_is_old() -> None:
    slow = Slow()
    cache = slow.cache()
    found = []
    for slow.now in (0.0, 9.0, 10.0, 19.0, 1000.0):
        found.append(cache.get("a"))
    assert found == [1, 1, 2, 2, 3]
    assert cache.get("b") == 4


@pytest.mark.parametrize(("now", "known"), [(11.0, 1), (MAX_STALE_SECONDS + 1, 2)], ids=["a little old", "too old to be given"])
def test_while_one_asks_the_others_get_what_is_known_unless_it_is_too_old(now: float, known: int) -> None:
    slow = Slow()
    cache = slow.cache()
    assert cache.get("a") == 1
    slow.now = now
    slow.may.clear()
    slow.asking.clear()
    with ThreadPoolExecutor(9) as readers:
        first = readers.submit(cache.get, "a")
        assert slow.asking.wait(10)
        others = [readers.submit(cache.get, "a") for _ in range(8)]
        if known == 1:
            assert [other.result(10) for other in others] == [1] * 8, "nobody waits"
        slow.may.set()
        assert {first.result(10), *(other.result(10) for other in others)} == {2, known}
    assert slow.asked == 2


def test_who_cannot_be_answered_is_told_and_the_next_one_asks_again() -> None:
    answers = iter([ZeroDivisionError, 7])

    def ask(_key: str) -> int:
        answer = next(answers)
        if answer is ZeroDivisionError:
            raise ZeroDivisionError
        return answer

    cache = StaleWhileRevalidate(ask, 10)
    with pytest.raises(ZeroDivisionError):
        cache.get("a")
    assert cache.get("a") == 7


@pytest.mark.parametrize(
    ("verdicts", "known"),
    [
        ([IDLE, "a dry run", RED, Verdict(DONE, records=5), Verdict(DONE)], ("done: 5 records, 0 bytes copied", "run 3")),
        ([IDLE, None], ("", "")),
    ],
    ids=["past those without work", "none had work"],
)
def test_the_newest_copy_is_that_of_the_newest_good_run_with_work(
    monkeypatch: pytest.MonkeyPatch, verdicts: list[object], known: tuple[str, str]
) -> None:
    def returned(_session: object, dags: list[str], task: str, _limit: int) -> list[tuple[str, str, object]]:
        assert (dags, task) == (["east-to-west.copy"], "copy")
        values = (verdict_to_xcom(found) if isinstance(found, Verdict) else found for found in verdicts)
        return [(dags[0], f"run {number}", value) for number, value in enumerate(values)]

    monkeypatch.setattr(page.api_server, "returned_values", returned)
    assert page._newest_copy(None, FlowName("east", "west")) == known


@pytest.mark.parametrize("forbidden", ["audit", "freshness", "copy", "none"])
def test_what_a_dags_tasks_returned_is_for_those_who_may_read_its_xcom(forbidden: str, monkeypatch: pytest.MonkeyPatch) -> None:
    flow, person = FlowName("east", "west"), Person("ann", "her user")
    whole = AirflowView(
        freshness={"lag_records": 1}, audit={"differences": 2}, audit_run=(flow.dag_id("audit"), "r"), copied="done: 3", copied_by="r"
    )
    asked: list[tuple[object, str, str, bool]] = []

    def is_authorized(user: object, method: str, dag_id: str, returned: bool = False) -> bool:
        asked.append((user, method, dag_id, returned))
        return dag_id != flow.dag_id(forbidden)

    monkeypatch.setattr(page, "_read_view", lambda _flow: whole)
    monkeypatch.setattr(page, "read_copy_run", lambda _flow, _run: CopyRun(DagRun("r", "success"), said="done: 3"))
    monkeypatch.setattr(page.api_server, "is_authorized", is_authorized)
    access = AirflowAccess()
    view, run = access.read_view(person, flow), access.read_copy_run(person, flow, "r")
    assert (
        view
        == {
            "audit": replace(whole, audit=None, audit_run=None),
            "freshness": replace(whole, freshness=None),
            "copy": replace(whole, copied="", copied_by=""),
            "none": whole,
        }[forbidden]
    )
    assert run == CopyRun(DagRun("r", "success"), said="" if forbidden == "copy" else "done: 3")
    assert {each[:2] + each[3:] for each in asked} == {("her user", "GET", True)}
