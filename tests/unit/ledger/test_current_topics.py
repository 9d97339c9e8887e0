"""Which topics a flow mirrors once cutovers moved some: the flow none of those, its way back those alone."""

from datetime import UTC, datetime

import pytest

from kafka_mirror.config import load
from kafka_mirror.ledger.control_records import MOVED, RETURNED, Decision
from kafka_mirror.ledger.current_topics import selection_by
from kafka_mirror.ledger.decisions import Decisions

WHEN = datetime(2026, 11, 21, tzinfo=UTC)


@pytest.fixture
def flow(tmp_path):
    def make(way_back):
        file = tmp_path / "mm2.properties"
        clusters = "clusters=east,west\neast.bootstrap.servers=localhost:1\nwest.bootstrap.servers=localhost:2\neast->west.enabled=true\n"
        file.write_text(f"{clusters}replication.factor=1\nmirror.way.back={way_back}")
        return load([file], {}).flow("east->west")

    return make


def decided(word, topic):
    return Decision(word, "somebody", WHEN, "because", topic=topic, wave="wave-1")


@pytest.mark.parametrize(("way_back", "mirrored"), [("false", {"orders", "clicks", "heartbeats"}), ("true", {"orders", "heartbeats"})])
def test_topics_that_moved_are_left_out_and_a_way_back_has_no_others_than_those_that_returned(flow, way_back, mirrored):
    selection = selection_by(flow(way_back), Decisions([decided(MOVED, "payments"), decided(RETURNED, "orders")]))
    assert {name for name in ("orders", "payments", "clicks", "heartbeats") if selection.should_replicate(name)} == mirrored


def test_of_one_topic_the_newest_decision_counts(flow):
    decisions = Decisions([decided(MOVED, "orders"), decided(RETURNED, "orders")])
    assert decisions.moved("orders") is None
    assert selection_by(flow("true"), decisions).should_replicate("orders")
