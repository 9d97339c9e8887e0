"""`copy --follow`: for how long, what ends it, and what a decision in its middle does."""

import json
import os
import signal
from contextlib import nullcontext
from dataclasses import replace

import pytest

from kafka_mirror.cli import copy as command
from kafka_mirror.copy.model import NEWS, LaneResult, Watermark
from kafka_mirror.copy.plan.model import BEHIND, Plan, Range
from kafka_mirror.copy.plan.run import PlanContext
from kafka_mirror.copy.publish import Published
from kafka_mirror.ledger.topic import LedgerView
from tests.unit.cli.command_line import THREE_FLOWS

FOLLOW = ("copy", "--without-spark", "--json", "--flow", "east->west", "--follow")


class Flow:
    """A flow of one partition. Each copy brings ten records; the first ones, `news` of them, end for something new."""

    def __init__(self, monkeypatch):
        self.news, self.plans, self.copies = 0, [], 0
        self.while_copying = lambda stop: None
        monkeypatch.setattr(command, "plan", self.plan)
        monkeypatch.setattr("kafka_mirror.copy.follow.plan_context", self.plan_context)
        monkeypatch.setattr("kafka_mirror.copy.run_result.publish", self.publish)
        monkeypatch.setattr(command, "checkpoints_meanwhile", lambda _flow, _due: nullcontext())
        monkeypatch.setattr(command, "copy_in_process", self.copy)

    def plan(self, flow, by_person, follow_for=0.0):
        self.plans.append(follow_for)
        start = 10 * self.copies
        return Plan(flow.name, (Range("orders", 0, "id", start, start, BEHIND, records=start),), follow_for=follow_for)

    def plan_context(self, flow, by_person, follow_for):
        return PlanContext(self.plan(flow, by_person, follow_for), LedgerView(), {}, {})

    def copy(self, _flow, plan, _run, max_bytes=None, stop=None):
        self.while_copying(stop)
        self.copies += 1
        end = 10 * self.copies
        return [LaneResult(0, (Watermark("orders", 0, end, end, 10, 100),), ended_for=NEWS if self.copies <= self.news else "")]

    def publish(self, _flow, plan, results, run):
        (mark,) = (mark for result in results for mark in result.watermarks)
        assert [(planned.start, planned.records) for planned in plan.ranges] == [(0, 0)], "counted from the first plan on"
        return Published((replace(mark, records=10 * self.copies),))


@pytest.fixture
def flow(monkeypatch):
    return Flow(monkeypatch)


@pytest.mark.parametrize(("text", "seconds"), [("90", 90), ("45s", 45), ("10m", 600), ("2h", 7200)])
def test_it_follows_for_so_long(run, flow, text, seconds):
    code, output, _ = run(*FOLLOW, text)
    assert code == 0
    assert flow.plans[0] == seconds
    assert json.loads(output)["flows"][0]["result"]["records"] == 10


def test_without_it_a_copy_ends_with_its_plan(run, flow):
    assert run(*FOLLOW[:-1])[0] == 0
    assert flow.plans == [0.0]


def test_a_decision_in_its_middle_counts_from_the_next_plan_on(run, flow):
    flow.news = 1
    code, output, _ = run(*FOLLOW, "10m")
    assert code == 0
    assert (len(flow.plans), flow.copies) == (2, 2)
    assert json.loads(output)["flows"][0]["result"]["records"] == 20


def test_ctrl_c_ends_it_and_what_was_copied_is_told(run, flow):
    before = signal.getsignal(signal.SIGINT)

    def interrupted(stop):
        os.kill(os.getpid(), signal.SIGINT)
        assert stop.wait(10)

    flow.while_copying, flow.news = interrupted, 1
    code, output, _ = run(*FOLLOW, "10m")
    assert (code, json.loads(output)["flows"][0]["result"]["records"], len(flow.plans)) == (0, 10, 1)
    assert signal.getsignal(signal.SIGINT) is before


def test_a_spark_job_is_ended_by_ctrl_c_and_the_ledger_says_what_it_copied(run, flow, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("kafka_mirror.spark.run.submit", interrupted)
    monkeypatch.setattr("kafka_mirror.copy.run_result.publish", lambda *_, **__: Published((Watermark("orders", 0, 7, 7, 7, 70),)))
    code, output, _ = run("copy", "--json", "--flow", "east->west", "--follow", "10m")
    assert (code, json.loads(output)["flows"][0]["result"]["records"]) == (0, 7)
    assert run("copy", "--json", "--flow", "east->west")[0] == 130


@pytest.mark.parametrize("text", ["0", "1d", "-5", "soon"])
def test_what_is_no_time_is_refused(run, flow, text):
    code, _, words = run(*FOLLOW[:-1], f"--follow={text}")
    assert code == 2
    assert "say 90, 90s, 10m or 2h" in words


def test_it_follows_one_flow(run, flow):
    code, _, words = run("copy", "--without-spark", "--follow", "10m", config=THREE_FLOWS)
    assert code == 2
    assert "Name it with --flow" in words
    assert flow.plans == []
