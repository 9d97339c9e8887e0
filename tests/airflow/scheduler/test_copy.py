"""Runs of the copy, scheduled and triggered: their tasks, their XCom, green, idle and red."""

from collections.abc import Callable
from itertools import count

from kafka_mirror.errors import ErrorReport
from kafka_mirror.formats.documents import from_document
from services.oracle import Record
from services.waiting import eventually
from tests.airflow.scheduler.in_airflow import GREEN, TASKS, InAirflow

RANGES = {"topic", "partition", "topic_id", "start", "end", "reason", "leader_epoch", "records", "bytes"}
WATERMARKS = {"topic", "partition", "source_offset", "target_offset", "records", "bytes"}


def test_scheduled_run_mirrors_and_its_xcom_holds_ranges_and_watermarks(scheduled: InAirflow) -> None:
    topic = scheduled.create_topic("orders")
    scheduled.produce(topic, 900, seed=1, transactions=50, abort_percent=20)
    earlier = scheduled.ended_runs()
    scheduled.api.unpause(scheduled.dag)

    run = scheduled.next_run(earlier, verdict="done")

    assert (run["run_type"], run["state"]) == ("scheduled", "success")
    assert scheduled.states(run["dag_run_id"]) == GREEN
    planned, copied = (scheduled.xcom(run["dag_run_id"], task) for task in TASKS)
    assert (set(planned["ranges"]), set(copied["watermarks"])) == (RANGES, WATERMARKS)
    ranges, reached = planned["ranges"], copied["watermarks"]
    assert ranges["topic"] == [topic] * 3
    assert ranges["topic_id"] == [scheduled.oracle.topic_id(scheduled.pair.source_bootstrap, topic)] * 3
    assert sorted(zip(ranges["partition"], ranges["end"], strict=True)) == [
        (count.partition, count.end) for count in scheduled.oracle.count(scheduled.pair.source_bootstrap, topic)
    ]
    assert ranges["start"] == [0, 0, 0]
    assert (reached["partition"], reached["source_offset"]) == (ranges["partition"], ranges["end"])
    assert (copied["errors"], [notice for notice in copied["notices"] if "the ledger counts" in notice]) == ([], [])
    assert scheduled.assert_mirrored(topic) == sum(reached["records"])


def test_idle_run_is_green_and_starts_no_spark(scheduled: InAirflow) -> None:
    scheduled.api.unpause(scheduled.dag)

    run = scheduled.next_run(scheduled.ended_runs(), verdict="nothing to do")

    assert (run["run_type"], run["state"]) == ("scheduled", "success")
    assert scheduled.states(run["dag_run_id"]) == GREEN
    said = scheduled.api.log(scheduled.dag, run["dag_run_id"], "copy")
    assert "nothing to do: no partition had new records." in said
    assert scheduled.xcom(run["dag_run_id"], "plan")["ranges"]["topic"] == []
    assert "spark-submit" not in scheduled.api.log(scheduled.dag, run["dag_run_id"], "copy").lower()


def test_runs_that_follow_hand_over_without_an_end_and_nothing_is_copied_twice(following: InAirflow) -> None:
    topic, number = following.create_topic("orders"), count(1)
    following.produce(topic, 60, seed=1)
    following.api.unpause(following.dag)

    def produced(is_so: Callable[[], bool]) -> Callable[[], bool]:
        """Produces something for each lane and looks."""

        def look() -> bool:
            following.produce(topic, 30, seed=next(number))
            return is_so()

        return look

    def copies() -> list[str]:
        """The runs whose copy goes on, the oldest first."""
        runs = sorted(following.api.runs(following.dag), key=lambda run: str(run["start_date"]))
        return [run["dag_run_id"] for run in runs if following.states(run["dag_run_id"]).get("copy") == "running"]

    eventually(produced(lambda: len(copies()) == 2), "a second run beside the first", 400, longest=1)
    first = copies()[0]
    eventually(produced(lambda: first not in copies()), "the end of the first", 400, longest=1)
    assert following.ended(first) == "success"
    assert following.states(first) == GREEN
    assert following.xcom(first, "copy")["copied_elsewhere"] == []
    expected = 60 + 30 * (next(number) - 1)
    eventually(lambda: following.mirrored(topic) == expected, "the rest", longest=1)
    assert following.assert_mirrored(topic) == expected


def test_trigger_without_a_logical_date_copies_what_is_new_by_an_airflow_connection(flow: Callable[[str], InAirflow]) -> None:
    triggered = flow("triggered")
    topic = triggered.create_topic("orders")
    triggered.produce(topic, 300, seed=2)

    run = triggered.api.trigger(triggered.dag)

    assert triggered.ended(run) == "success"
    assert triggered.api.run(triggered.dag, run)["logical_date"] is None
    assert triggered.states(run) == GREEN
    assert triggered.assert_mirrored(topic) == 300
    assert [triggered.xcom(run, "copy")[name] for name in ("state", "records")] == ["done", 300]


def test_red_run_says_in_the_log_of_its_copy_what_failed_where_and_what_to_do(flow: Callable[[str], InAirflow]) -> None:
    tampered = flow("tampered")
    topic = tampered.create_topic("orders")
    tampered.produce(topic, 100, seed=5, partition=1)
    assert tampered.ended(tampered.api.trigger(tampered.dag)) == "success"
    foreign = Record(value=b"not ours", partition=1)
    tampered.oracle.produce_records(tampered.pair.target_bootstrap, tampered.pair.remote(topic), [foreign])
    tampered.produce(topic, 100, seed=6, partition=1)

    run = tampered.api.trigger(tampered.dag)

    assert tampered.ended(run) == "failed"
    assert tampered.states(run) == {"plan": "success", "copy": "failed"}
    errors = tampered.xcom(run, "copy")["errors"]
    assert [error["code"] for error in errors] == ["UnexplainedTarget"], errors
    [error] = errors
    assert f"{topic}-1@" in error["message"]
    lines, shown = from_document(ErrorReport, error).lines, tampered.api.log(tampered.dag, run, "copy")
    assert [line for line in lines if line.strip() not in shown] == []
    assert any("kafka_mirror decide" in line for line in lines), "a command has a line of its own"
