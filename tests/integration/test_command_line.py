"""`python -m kafka_mirror` between two real clusters, as a person runs it."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient

from kafka_mirror.__main__ import main
from services.oracle import Side
from services.waiting import ADMIN_TIMEOUT_MS, PATIENCE

ROOT = Path(__file__).parents[2]


@pytest.fixture
def mirror(pair, capsys):
    """`mirror("copy", "--json")` in this process, on the pair's flow: exit code, standard output, standard error."""
    named = {"source->target.mirror.installation": "tests"}
    file = pair.properties(extra={"source->target.mirror.lanes": "4", "admin.timeout.ms": ADMIN_TIMEOUT_MS, **named})

    def run(*arguments):
        code = main(["--config", str(file), *arguments])
        return code, *capsys.readouterr()

    return run


def process(pair, *arguments, path=()):
    """The same as a process of its own, with more directories of Python modules in `path`."""
    modules = ":".join(map(str, (*path, ROOT / "include")))
    variables = {**os.environ, "PYTHONPATH": modules, "MIRROR_CONFIG": str(pair.directory / "mm2.properties")}
    return subprocess.run([sys.executable, "-m", "kafka_mirror", *arguments], env=variables, capture_output=True, text=True, timeout=120)


def target_topics(pair):
    """Everything on the target that this pair's flow could have written."""
    return {
        name for name in AdminClient({"bootstrap.servers": pair.target_bootstrap}).list_topics(timeout=PATIENCE).topics if pair.mark in name
    }


def test_plan_and_copy_speak_of_the_same_work_and_the_second_copy_of_none(pair, oracle, topic, mirror):
    code, output, _ = mirror("plan")
    assert code == 0
    head, *rows = output.splitlines()[1:]
    assert head.split() == ["topic", "partition", "start", "end", "reason"]
    assert [tuple(row.split()[:2]) for row in sorted(rows)] == [(topic, "0"), (topic, "1")]

    code, output, words = mirror("copy", "--without-spark")
    assert (code, words) == (0, "")
    assert output.startswith(f"{pair.flow}: done\n")
    assert "60 records (" in output.splitlines()[-1]

    code, output, _ = mirror("copy", "--without-spark", "--json")
    assert (code, json.loads(output)["flows"][0]["state"]) == (0, "nothing to do")
    assert mirror("plan")[1].splitlines() == [f"{pair.flow}:", "Nothing to copy."]


def test_topics_are_created_and_then_as_they_should_be(pair, oracle, topic, mirror):
    assert f"{pair.remote(topic)}: would be created with 2 partitions" in mirror("refresh-topics", "--dry-run")[1]
    assert mirror("refresh-topics")[1] == f"{pair.flow}: done\n{pair.remote(topic)}: created with 2 partitions\n"
    assert mirror("refresh-topics")[1] == f"{pair.flow}: done\nNothing to create; 1 remote topics are as they should be.\n"
    assert target_topics(pair) == {pair.remote(topic)}


def test_a_copy_by_spark_as_a_process_prints_one_document_whatever_spark_says(pair, oracle, topic, mirror):
    done = process(pair, "copy", "--json")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["command"] == "copy"
    (flow,) = document["flows"]
    assert (flow["flow"], flow["state"], flow["errors"]) == (pair.flow, "done", [])
    assert (flow["result"]["records"], flow["result"]["owed"]) == (60, 0)
    assert sum(flow["result"]["watermarks"]["source_offset"]) == 60


def test_a_red_copy_has_exit_code_1_and_says_why_in_both_forms(pair, oracle, topic, mirror):
    assert mirror("copy", "--without-spark")[0] == 0
    oracle.delete_topic(pair.target_bootstrap, pair.remote(topic))
    oracle.produce(pair.source_bootstrap, topic, 20, seed=2)
    done = process(pair, "copy", "--without-spark", "--json")
    assert done.returncode == 1
    (flow,) = json.loads(done.stdout)["flows"]
    assert flow["state"] == "failed"
    assert {(error["topic"], error["partition"]) for error in flow["errors"]} == {(topic, 0), (topic, 1)}
    assert len([line for line in done.stderr.splitlines() if line.startswith(f"{pair.flow}: TargetMissing: {topic}-")]) == 2


@pytest.mark.parametrize(
    ("command", "with_flow"),
    [
        (("audit", "--topics", "NAME", "--without-spark"), 1),
        (("backfill", "--topics", "NAME", "--from", "2020-01-01", "--to", "2100-01-01", "--without-spark"), 2),
        (("status", "--topic", "NAME"), 2),
        (("translate", "--group", "NAME"), 1),
    ],
    ids=["audit", "backfill", "status", "translate"],
)
def test_a_name_that_nothing_knows_is_never_green(pair, oracle, topic, mirror, command, with_flow):
    assert mirror("copy", "--without-spark")[0] == 0
    nothing = [each.replace("NAME", f"{topic}-that-nobody-has") for each in command]
    code, output, words = mirror(*nothing, "--json")
    of_flow, of_all = json.loads(output)["flows"]
    assert (code, of_flow["flow"], of_all["flow"]) == (1, pair.flow, None)
    assert [error["code"] for error in of_all["errors"]] == ["NothingSelected"]
    assert f"{command[0]} was asked for {topic}-that-nobody-has, and no flow" in words
    assert mirror(*nothing, "--flow", pair.flow)[0] == with_flow
    known = [each.replace("NAME", topic) for each in command]
    assert command[0] == "translate" or mirror(*known)[0] == 0


BROKEN_WORKER = """
from kafka_mirror.copy.batches.source import BatchSource

def assign(self, work):
    return {}[work[0].source]

BatchSource.assign = assign
"""


def test_a_lane_that_fails_unexpectedly_in_a_spark_job_leaves_its_traceback_in_the_jobs_log(pair, oracle, topic, mirror, tmp_path):
    assert mirror("plan")[0] == 0
    (tmp_path / "sitecustomize.py").write_text(BROKEN_WORKER)
    done = process(pair, "copy", "--json", path=(tmp_path,))
    assert done.returncode == 1, done.stderr
    (flow,) = json.loads(done.stdout)["flows"]
    assert {error["code"] for error in flow["errors"]} == {"Unexpected"}
    for error in flow["errors"]:
        assert "failed unexpectedly: KeyError: " in error["message"]
        assert "kafka_mirror/copy/lane.py:" in error["message"]
        assert "sitecustomize.py:5 assign" in error["message"]
    log = done.stderr
    assert "Traceback (most recent call last):" in log
    assert 'sitecustomize.py", line 5, in assign' in log
    (tmp_path / "sitecustomize.py").unlink()
    again = process(pair, "copy", "--json")
    assert (again.returncode, json.loads(again.stdout)["flows"][0]["result"]["records"]) == (0, 60), "nothing was lost, nothing is doubled"


HANGING_WORKER = """
import ctypes, os
import kafka_mirror.watchdog.watch
from kafka_mirror.copy.lane import LaneCopy

kafka_mirror.watchdog.watch.SILENCE_SECONDS = 3.0
run = LaneCopy.run

def hang_with_the_lock(self):
    try:
        os.close(os.open({marker!r}, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return run(self)
    mutex = ctypes.create_string_buffer(64)
    for _ in range(2):  # the second time waits for the first; no signal ends that
        ctypes.PyDLL(None).pthread_mutex_lock(mutex)

LaneCopy.run = hang_with_the_lock
"""


@pytest.mark.parametrize("with_spark", [True, False], ids=["by Spark", "without"])
def test_a_lane_that_hangs_in_c_code_ends_with_a_word_and_the_next_attempt_copies_all_of_it_once(
    pair, oracle, topic, mirror, tmp_path, with_spark
):
    assert mirror("plan")[0] == 0
    (tmp_path / "sitecustomize.py").write_text(HANGING_WORKER.format(marker=str(tmp_path / "hung")))
    how = () if with_spark else ("--without-spark",)
    done = process(pair, "copy", "--json", *how, path=(tmp_path,))
    assert "for 3 s no line of its Python ran, so C code holds Python's lock" in done.stderr
    assert 'sitecustomize.py", line 16 in hang_with_the_lock' in done.stderr, done.stderr
    if not with_spark:
        assert done.returncode == -signal.SIGKILL, "there is nobody who would begin it anew"
        done = process(pair, "copy", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["flows"][0]["result"]["records"] == 60
    assert oracle.assert_mirrored(Side(pair.source_bootstrap, topic), Side(pair.target_bootstrap, pair.remote(topic))).records == 60


def test_one_flow_that_fails_does_not_stop_another(pair, oracle, topic, capsys):
    broken = {"nowhere.bootstrap.servers": "127.0.0.1:1", "clusters": f"{pair.source}, {pair.target}, nowhere", "admin.timeout.ms": "1000"}
    file = pair.properties(extra={**broken, f"{pair.source}->nowhere.enabled": "true", "source->target.admin.timeout.ms": "15000"})
    assert main(["--config", str(file), "copy", "--without-spark", "--json"]) == 1
    flows = {flow["flow"]: flow for flow in json.loads(capsys.readouterr().out)["flows"]}
    assert flows[pair.flow]["state"] == "done"
    assert flows[f"{pair.source}->nowhere"]["errors"][0]["code"] == "ClusterUnreachable"
