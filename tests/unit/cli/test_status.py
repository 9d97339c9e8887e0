"""`status` on the command line: its rows, and one topic of them."""

import argparse
import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from kafka_mirror.__main__ import main
from kafka_mirror.cli import status as command
from kafka_mirror.copy.plan.ranges import SourceOffsets
from kafka_mirror.errors import ClusterUnreachable
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.ledger.record import Writer
from kafka_mirror.status.status import Observation, PartitionStatus, Status, status_of
from tests.unit.cli.command_line import VALID
from tests.unit.ledger_records import ledger_record

NOW = datetime(2026, 11, 21, 8, 0, tzinfo=UTC)
RUN = Writer("", "host-7", "east-to-west.copy / scheduled__2026-11-21T07:59:00+00:00", NOW - timedelta(minutes=1))


@pytest.fixture
def written_by(tmp_path, monkeypatch):
    """`written_by(writer, …)` runs `status` on partitions of these writers."""

    def run(*writers):
        partitions = {TopicPartition("payments.events.v1", number): writer for number, writer in enumerate(writers)}
        seen = Observation(
            "east->west",
            NOW,
            lanes=16,
            source={tp: SourceOffsets(tp, "source-topic-id", 0, 9_000_000_000, 9_000_000_000) for tp in partitions},
            ledger={tp: ledger_record(watermark=8_999_000_000, writer=writer) for tp, writer in partitions.items()},
            oldest=dict.fromkeys(partitions, int((NOW - timedelta(hours=2, minutes=5)).timestamp() * 1000)),
            comparable=True,
        )
        monkeypatch.setattr(command, "status", lambda _flow: status_of(seen))
        (tmp_path / "mm2.properties").write_text(VALID)
        assert main(["--config", str(tmp_path / "mm2.properties"), "status"]) == 0

    return run


def test_rows_fit_a_hundred_columns_and_the_writer_is_named_once(written_by, capsys):
    written_by(RUN, RUN)
    _, summary, *rows = capsys.readouterr().out.splitlines()
    assert summary.endswith(f"last written 07:59:00 UTC by host-7 ({RUN.run})")
    assert max(map(len, rows)) <= 100
    assert rows[0].split() == ["topic", "partition", "state", "watermark", "end", "lag", "oldest", "written"]
    assert rows[1].split() == "payments.events.v1 0 behind 8999000000 9000000000 1000000 2 h 5 min 07:59:00".split()


def test_rows_fit_whoever_wrote_them_and_the_newest_writer_is_named(written_by, capsys):
    other = replace(RUN, host="host-8", time=NOW - timedelta(days=1))
    written_by(RUN, other)
    _, summary, *rows = capsys.readouterr().out.splitlines()
    assert summary.endswith(f"last written 07:59:00 UTC by host-7 ({RUN.run})")
    assert [row.partition("min  ")[2] for row in rows[1:]] == ["07:59:00", "2026-11-20 08:00"]
    assert max(map(len, rows)) <= 100


def test_watched_what_is_not_up_to_date_comes_first(monkeypatch):
    partitions = {TopicPartition("orders", number): 100 - (number == 2) for number in range(4)}
    seen = Observation(
        "east->west",
        NOW,
        lanes=16,
        source={tp: SourceOffsets(tp, "source-topic-id", 0, 100, 100) for tp in partitions},
        ledger={tp: ledger_record(watermark=watermark) for tp, watermark in partitions.items()},
        comparable=True,
    )
    monkeypatch.setattr(command, "status", lambda _flow: status_of(seen))
    orders = {}
    for watch in (None, 5.0):
        answer = command.run(None, argparse.Namespace(topic=None, problems=False, flow=None, watch=watch))
        orders[watch] = [row[1] for row in answer.pieces[1].rows]
    assert orders == {None: ["0", "1", "2", "3"], 5.0: ["2", "0", "1", "3"]}


BOTH = VALID + "west->east.enabled = true\n"


@pytest.fixture
def partitions(monkeypatch):
    """Makes flows have these partitions, each with a lag: `partitions({"east->west": {"orders": 3}})`; with no topic, a silent cluster."""

    def set_partitions(flows):
        def status(flow):
            topics = flows[flow.name]
            found = tuple(PartitionStatus(topic, 0, "behind", lag=lag) for topic, lag in topics.items())
            errors = () if found else (ClusterUnreachable("east", "127.0.0.1:1", 5).report(),)
            return Status(flow.name, NOW, found, errors)

        monkeypatch.setattr(command, "status", status)

    return set_partitions


def test_the_summary_is_that_of_the_topic(run, partitions):
    partitions({"east->west": {"orders": 3, "clicks": 4}})
    _, output, _ = run("status", "--topic", "clicks")
    assert output.splitlines()[1].startswith("1 of 1 partition behind by at most 4 records")
    assert "orders" not in output


def test_a_topic_that_the_named_flow_does_not_mirror_is_an_error_with_the_nearest(run, partitions):
    partitions({"east->west": {"orders": 3}})
    code, output, words = run("status", "--flow", "east->west", "--topic", "ordres")
    assert (code, output) == (2, "")
    assert "east->west mirrors no topic ordres. Next: Did you mean orders? " in words


def test_a_topic_of_one_of_several_flows_is_no_error_and_the_others_say_so(run, partitions):
    partitions({"east->west": {"orders": 3}, "west->east": {"clicks": 4}})
    code, output, _ = run("status", "--topic", "clicks", config=BOTH)
    assert code == 0
    assert "east->west mirrors no topic clicks." in output
    assert run("status", "--topic", "nosuch", config=BOTH)[0] == 1


def test_of_a_cluster_that_is_silent_nobody_knows_the_topics(run, partitions):
    partitions({"east->west": {}})
    code, output, _ = run("status", "--flow", "east->west", "--topic", "orders", "--json")
    (flow,) = json.loads(output)["flows"]
    assert (code, [error["code"] for error in flow["errors"]]) == (1, ["ClusterUnreachable"])
