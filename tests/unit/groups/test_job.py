"""The steps for many groups on Spark: how they are divided, what goes in and out, what becomes of a part that fails, and where they run."""

from argparse import Namespace
from collections import Counter
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_mirror.cli.step import run_groups
from kafka_mirror.config import load
from kafka_mirror.config.deadlines import seconds_between_checkpoint_runs
from kafka_mirror.errors import ClusterUnreachable
from kafka_mirror.formats.documents import from_document, to_document
from kafka_mirror.groups import checkpoints, group_offsets, job
from kafka_mirror.groups.checkpoints import CheckpointsResult
from kafka_mirror.groups.find import KnownGroups
from kafka_mirror.groups.group_offsets import GroupOffsetsResult, GroupOutcome
from kafka_mirror.groups.job import (
    GROUP_STEPS,
    MOST_AT_ONCE,
    ON_WORKERS,
    CheckpointsOfRun,
    GroupStep,
    GroupWork,
    chunks,
    run_for_groups,
    run_group_step,
    run_part,
)
from kafka_mirror.ledger.step import StepResult
from kafka_mirror.spark.run import Spark, runner_by_hand
from tests.spark_session import SparkOfThisProcess
from tests.unit.copy.made_up_mirror import CONFIGURATION

DOWN = ClusterUnreachable("west", "127.0.0.1:1", 30)


@given(st.integers(1, 3 * MOST_AT_ONCE), st.integers(1, 8))
def test_every_group_is_in_one_part_and_no_part_is_too_large(count, cores):
    names = [str(number) for number in range(count)]
    parts = chunks(names, cores)
    assert sorted(name for part in parts for name in part) == sorted(names)
    assert min(count, cores) <= len(parts) <= max(cores, 3)
    assert max(len(part) for part in parts) <= MOST_AT_ONCE
    assert max(map(len, parts)) - min(map(len, parts)) <= 1


def test_the_answer_comes_back_through_files_as_it_was():
    done = StepResult({"written": 3}, {"written": 3}, ("a line",), (DOWN.report(),))
    assert from_document(StepResult, to_document(done)) == done


@pytest.mark.parametrize("step", sorted(GROUP_STEPS))
def test_a_part_that_fails_is_an_answer_and_the_others_count(step, monkeypatch):
    def fails(*_):
        raise DOWN

    monkeypatch.setitem(GROUP_STEPS, step, GroupStep(fails, GROUP_STEPS[step].done))
    failed = run_part(step, None, ["a"], False)
    both = failed + run_part(step, None, ["b"], False)
    assert GROUP_STEPS[step].done(both, False).errors == (DOWN.report(),), "said once"


def test_answers_add_up():
    emitted = CheckpointsResult(2, 5, 1, Counter(exact=6), beyond_map=2) + CheckpointsResult(
        1, 0, 2, Counter(exact=1, early=1), beyond_map=1, over_budget=1
    )
    assert checkpoints.step_result(emitted, False).totals == {
        "groups": 3,
        "written": 5,
        "unchanged": 3,
        "kinds": {"early": 1, "exact": 7},
        "beyond_map": 3,
        "over_budget": 1,
    }
    synced = GroupOffsetsResult((GroupOutcome("b", "synced", 2),)) + GroupOffsetsResult((GroupOutcome("a", "skipped", 0, "why"),))
    done = group_offsets.step_result(synced, True)
    assert (done.result["group"], done.result["reason"]) == (["a", "b"], ["why", ""])
    assert done.totals == {"groups": 2, "states": {"skipped": 1, "synced": 1}, "synced": 2}
    assert done.lines[:2] == ("a: skipped; why", "b: would be synced in 2 partitions")


@pytest.fixture
def spark(monkeypatch: pytest.MonkeyPatch) -> SparkOfThisProcess:
    """A Spark that stays, on which `checkpoints` writes one for each group."""
    server = SparkOfThisProcess()
    monkeypatch.setattr("kafka_mirror.spark.connect.flow_session", server.flow_session)
    monkeypatch.setattr("kafka_mirror.spark.run.submit", server.submit)

    def emit(_context, names, dry_run):
        return CheckpointsResult(len(names), 0 if dry_run else len(names))

    monkeypatch.setitem(GROUP_STEPS, "checkpoints", GroupStep(emit, GROUP_STEPS["checkpoints"].done))
    return server


def flow_of(tmp_path, **properties):
    file = tmp_path / "mm2.properties"
    servers = "east.bootstrap.servers=127.0.0.1:1\nwest.bootstrap.servers=127.0.0.1:2\n"
    more = "".join(f"{name.replace('_', '.')}={value}\n" for name, value in properties.items())
    file.write_text(f"clusters=east, west\n{servers}east->west.enabled=true\n{more}", encoding="utf-8")
    return load([file], {}).flow("east->west")


@pytest.mark.parametrize("dry_run", [False, True])
def test_groups_are_shared_out_to_the_cores_with_what_may_be_read(dry_run, tmp_path, spark):
    flow, shares = flow_of(tmp_path, mirror_translation_count_max_bytes=1000), []

    def run(function, tasks, slices):
        assert slices == len(tasks)
        shares.extend((names, context.count_max_bytes) for _, context, names, _ in tasks)
        return spark.run(function, tasks, slices)

    two_cores = Spark(lambda: 2, run, lambda _seconds: True, lambda _answer: None)
    done = run_for_groups(two_cores, flow, GroupWork("checkpoints", ("a", "b", "c"), dry_run))
    assert (done.totals["groups"], done.totals["written"]) == (3, 0 if dry_run else 3)
    assert shares == [(("a", "c"), 500), (("b",), 500)]
    assert spark.tasks == [(ON_WORKERS, 2, 2)]


def test_a_step_by_hand_for_very_many_groups_runs_on_the_server_of_the_flows_connection(tmp_path, spark, monkeypatch):
    fields = {"conn_type": "spark_connect", "host": "127.0.0.1", "port": "15002"}

    def lookup(_connection, field):
        if field not in fields:
            raise ValueError(f"there is no {field}")
        return fields[field]

    monkeypatch.setattr("kafka_mirror.config.references._lookup", [lookup])
    flow = flow_of(tmp_path, mirror_spark_connection="mirror_spark")
    runner = partial(runner_by_hand, flow)
    done = run_group_step("checkpoints", flow, KnownGroups(("b", "a", "c"), 20_001), False, runner)
    assert done.totals["written"] == 3
    assert spark.sessions == [("checkpoints", "hand", "sc://127.0.0.1:15002/;")]
    few = KnownGroups(("a",), 20_000)
    assert run_group_step("checkpoints", flow, few, False, runner).totals["written"] == 1
    assert (len(spark.sessions), spark.jobs) == (1, []), "few groups are translated here"


def test_a_step_by_hand_without_a_connection_is_a_job_on_this_host(tmp_path, spark):
    flow = flow_of(tmp_path)
    done = run_group_step("checkpoints", flow, KnownGroups(("a", "b", "c"), 20_001), False, partial(runner_by_hand, flow))
    assert done.totals["written"] == 3
    assert (spark.jobs, spark.sessions) == ([("mirror checkpoints east->west", "local[*,4]")], [])


@pytest.mark.parametrize("names", [("a",), ()])
def test_a_step_by_hand_runs_on_the_spark_that_is_named_however_few_groups_there_are(tmp_path, spark, monkeypatch, names):
    flow = flow_of(tmp_path)
    monkeypatch.setattr(job, "known_groups", lambda _flow: KnownGroups(names, 0))
    options = Namespace(command="checkpoints", dry_run=False, master="sc://127.0.0.1:15002")
    assert run_groups(flow, options).result["written"] == len(names)
    assert spark.sessions == [("checkpoints", "hand", options.master)][: len(names)], "no Spark is asked for nothing"


# ---------------------------------------------------------------- beside a copy that follows


@pytest.fixture
def of_run(monkeypatch, tmp_path):
    """Writes checkpoints of a run that is due after 700 seconds, at the times that it is given; gives what was asked for."""
    asked = []

    def find(_flow):
        asked.append("groups")
        return KnownGroups(("billing",), 3, (DOWN.report(),) if len(asked) == 1 else ())

    def emit(_context, names):
        asked.append(names)
        return CheckpointsResult(groups=len(names), written=2)

    monkeypatch.setattr(job, "known_groups", find)
    monkeypatch.setattr(checkpoints, "emit", emit)
    monkeypatch.setattr(job, "group_context", lambda _flow: None)
    file = tmp_path / "mm2.properties"

    def at(*times, line=""):
        file.write_text(CONFIGURATION + line)
        flow, moments = load([file]).flow("east->west"), iter(times)
        writer = CheckpointsOfRun(flow, 700.0, lambda: next(moments))
        return [writer.write() for _ in times], asked

    return at


def test_a_run_looks_for_groups_once_in_their_interval_and_writes_their_checkpoints_each_time(of_run, caplog):
    assert of_run(0.0, 60.0, 120.0, 600.0) == ([True] * 4, ["groups", ("billing",), ("billing",), ("billing",), "groups", ("billing",)])
    assert str(DOWN) in caplog.text


def test_a_group_that_cannot_be_read_is_named_once_in_the_interval(of_run, caplog):
    of_run(0.0, 60.0, 120.0)
    assert caplog.text.count(str(DOWN)) == 1


def test_where_nothing_refreshes_groups_a_run_looks_for_them_each_time(of_run):
    written, asked = of_run(0.0, 60.0, line="east->west.refresh.groups.enabled = false\n")
    assert (written, asked) == ([True, True], ["groups", ("billing",)] * 2)


def test_a_run_that_is_due_leaves_checkpoints_to_the_next_one(of_run):
    assert of_run(640.0, 700.0) == ([True, False], ["groups", ("billing",)])


@pytest.mark.parametrize(
    ("line", "seconds"), [("", 600), ("mirror.follow.seconds = 0", 60), ("emit.checkpoints.interval.seconds = 900", 900)]
)
def test_the_dag_only_makes_up_for_copies_that_follow(tmp_path, line, seconds):
    file = tmp_path / "mm2.properties"
    file.write_text(f"{CONFIGURATION}{line and 'east->west.'}{line}\n")
    assert seconds_between_checkpoint_runs(load([file]).flow("east->west")) == seconds
