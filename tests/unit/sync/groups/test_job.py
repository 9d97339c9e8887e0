"""The Spark job for many groups: how they are divided, what goes in and out, and what becomes of a part that fails."""

from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mirror.errors import ClusterUnreachable, JobFailed, ReportedError
from mirror.spark.files import write_failure
from mirror.sync.groups import checkpoints, offsets
from mirror.sync.groups.checkpoints import CheckpointsResult
from mirror.sync.groups.job import GROUP_STEPS, MOST_AT_ONCE, GroupStep, chunks, read_result, run_part, write_result
from mirror.sync.groups.offsets import GroupOffsetsResult, GroupOutcome
from mirror.sync.step import StepResult

DOWN = ClusterUnreachable("west", "127.0.0.1:1", 30)


@given(st.integers(1, 3 * MOST_AT_ONCE), st.integers(1, 8))
def test_every_group_is_in_one_part_and_no_part_is_too_large(count, cores):
    names = [str(number) for number in range(count)]
    parts = chunks(names, cores)
    assert sorted(name for part in parts for name in part) == sorted(names)
    assert min(count, cores) <= len(parts) <= max(cores, 3)
    assert max(len(part) for part in parts) <= MOST_AT_ONCE
    assert max(map(len, parts)) - min(map(len, parts)) <= 1


def test_the_answer_comes_back_as_it_was(tmp_path: Path):
    done = StepResult({"written": 3}, {"written": 3}, ("a line",), (DOWN.report(),))
    write_result(tmp_path / "result.json", done)
    assert read_result(tmp_path / "result.json", "") == done
    write_failure(tmp_path / "failure.json", DOWN)
    with pytest.raises(ReportedError, match="did not answer"):
        read_result(tmp_path / "failure.json", "")
    with pytest.raises(JobFailed, match="killed"):
        read_result(tmp_path / "nothing.json", "killed")


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
    done = offsets.step_result(synced, True)
    assert (done.result["group"], done.result["reason"]) == (["a", "b"], ["why", ""])
    assert done.totals == {"groups": 2, "states": {"skipped": 1, "synced": 1}, "synced": 2}
    assert done.lines[:2] == ("a: skipped; why", "b: would be synced in 2 partitions")
