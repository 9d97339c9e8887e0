"""A Spark job's log on its way to whoever submitted it: level, order, tracebacks, workers elsewhere, and Spark's noise."""

import logging
from datetime import UTC, datetime, timedelta

from kafka_mirror.spark import log
from kafka_mirror.spark.log import drop_noise, level_for_job, relay_log, wanted_level, worker_log, write_lines

NOISE = """\
WARNING: Using incubator modules: jdk.incubator.vector
Using Spark's default log4j profile: org/apache/spark/log4j2-defaults.properties
26/11/22 21:40:24 INFO SparkContext: Running Spark version 4.2.0
26/11/22 21:40:24 WARN NativeCodeLoader: Unable to load native-hadoop library for your platform... using builtin-java classes
Setting Spark log level to "WARN".
"""


def clock(seconds=0):
    return f"{datetime.now(UTC) - timedelta(seconds=seconds):%H:%M:%S}"


def test_lines_keep_level_and_order_and_what_is_not_ours_goes_on(caplog):
    caplog.set_level("DEBUG")
    lines = [
        f"{clock()}.001 WARNING kafka_mirror.copy.lane: lane 3: one\n",
        "of Spark\n",
        f"{clock()}.002 INFO kafka_mirror.copy.lane: lane 3: two\n",
    ]
    assert list(relay_log(lines)) == ["of Spark\n"]
    assert [(each.levelname, each.name, each.getMessage()) for each in caplog.records] == [
        ("WARNING", "kafka_mirror.job.copy.lane", "lane 3: one"),
        ("INFO", "kafka_mirror.job.copy.lane", "lane 3: two"),
    ]


def test_a_line_that_comes_late_keeps_its_time(caplog):
    caplog.set_level("INFO")
    then = clock(60)
    assert list(relay_log([f"{then}.000 INFO kafka_mirror.copy.lane: lane 3: one\n"])) == []
    assert caplog.messages == [f"[{then} UTC] lane 3: one"]


def test_what_spark_says_at_every_start_is_left_out():
    lines = [*NOISE.splitlines(keepends=True), "26/11/22 21:40:24 WARN TaskSetManager: Lost task 0.0\n"]
    assert list(relay_log(lines)) == list(drop_noise(lines)) == lines[-1:]


def test_a_whole_traceback_arrives_at_its_level(caplog, capsys):
    with worker_log("INFO", hand_over=False):
        try:
            raise ZeroDivisionError("of a lane")
        except ZeroDivisionError:
            logging.getLogger("kafka_mirror.copy.run").exception("Lane 3 failed unexpectedly")
    said = capsys.readouterr().err.splitlines()
    logging.getLogger("kafka_mirror").propagate = True
    caplog.clear()
    assert list(relay_log(said)) == []
    assert {record.levelname for record in caplog.records} == {"ERROR"}
    assert "test_a_whole_traceback_arrives_at_its_level" in caplog.text
    assert caplog.messages[-1].endswith("ZeroDivisionError: of a lane")


def test_workers_elsewhere_hand_their_lines_over_and_they_are_written_in_the_order_of_time(capsys):
    with worker_log("INFO", hand_over=True) as lines:
        logging.getLogger("kafka_mirror.copy.lane").info("lane 1\nof two lines")
        logging.getLogger("kafka_mirror.copy.lane").debug("no more than was asked for")
    assert len(lines) == 2
    capsys.readouterr()
    other = ["00:00:00.000 INFO kafka_mirror.copy.lane: lane 2 was first"]
    write_lines([lines, other])
    assert capsys.readouterr().err.splitlines() == [*other, *lines]


def test_a_worker_hands_over_no_more_than_so_many_lines(monkeypatch):
    monkeypatch.setattr(log, "_MOST_LINES", 3)
    with worker_log("INFO", hand_over=True) as lines:
        for number in range(10):
            logging.getLogger("kafka_mirror.copy.lane").info("line %d", number)
    assert len(lines) == 4
    assert "executor's own log has all" in lines[-1]


def test_a_job_logs_as_much_as_its_submitter(monkeypatch):
    logging.getLogger("kafka_mirror").setLevel("INFO")
    assert level_for_job() == {"MIRROR_LOG_LEVEL": "INFO"}
    logging.getLogger("kafka_mirror").setLevel("DEBUG")
    assert level_for_job() == {"MIRROR_LOG_LEVEL": "DEBUG"}
    monkeypatch.setenv("MIRROR_LOG_LEVEL", "nonsense")
    assert wanted_level() == "INFO"
