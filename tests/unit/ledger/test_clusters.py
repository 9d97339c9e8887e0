"""When two aliases lead to one cluster."""

from contextlib import nullcontext
from datetime import UTC, datetime
from types import SimpleNamespace as Answer

import pytest
from kafka.protocol.consumer import FetchRequest
from kafka.protocol.producer import EndTxnRequest

from kafka_mirror.config import load
from kafka_mirror.copy.plan.run import plan
from kafka_mirror.errors import ClusterTooOld, ClusterUnreachable, SameCluster
from kafka_mirror.ledger import clusters
from kafka_mirror.ledger.clusters import check_answering_clusters, check_two_clusters, selection_by
from kafka_mirror.ledger.control_records import MOVED, RETURNED, Decision
from kafka_mirror.ledger.decisions import Decisions
from tests.unit.copy.batches.wire_broker import WireBroker
from tests.unit.copy.batches.wire_protocol import KAFKA_2_1, KAFKA_2_8

WHEN = datetime(2026, 11, 21, tzinfo=UTC)


def side(alias, *ids):
    return Answer(alias=alias, find_ids=lambda: frozenset(ids), settings={"bootstrap.servers": f"{alias}-1:9092,{alias}-2:9092"})


@pytest.mark.parametrize("ids", [("a",), ("b", "a"), ("a", "b")])
def test_brokers_of_both_aliases_that_tell_one_id_are_an_error_that_names_all_of_it(ids):
    with pytest.raises(SameCluster) as refused:
        check_two_clusters(side("dc1", "a"), side("dc2", *ids), may_be_one=False)
    error = refused.value
    assert (error.source, error.target, error.cluster_id) == ("dc1", "dc2", "a")
    addresses = error.source_address, error.target_address
    assert addresses == ("dc1-1:9092,dc1-2:9092", "dc2-1:9092,dc2-2:9092")
    assert all(each in error.message for each in ("'dc1'", "'dc2'", *addresses, "cluster, a:"))
    assert "dc1->dc2.mirror.one.cluster=true" in error.next


@pytest.mark.parametrize(("source", "target"), [(("a",), ("b",)), ((), ()), (("None",), ("None",)), (("",), ("",)), (("a",), ())])
def test_others_and_those_that_tell_no_id_are_none(source, target):
    check_two_clusters(side("dc1", *source), side("dc2", *target), may_be_one=False)


def test_one_that_is_meant_is_none():
    check_two_clusters(side("dc1", "a"), side("dc2", "a"), may_be_one=True)


class Side:
    """A cluster that tells its id, or does not answer."""

    def __init__(self, cluster_id):
        self._id = cluster_id

    def __call__(self, alias, settings, seconds):
        self.alias, self.settings = alias, settings
        return self

    def __enter__(self):
        return self

    def __exit__(self, *_):
        return None

    def cluster_id(self):
        if self._id is None:
            raise ClusterUnreachable(self.alias, "bootstrap", 5.0)
        return self._id

    def find_ids(self):
        return frozenset((self.cluster_id(),))


@pytest.mark.parametrize(("source", "target", "is_refused"), [("a", "a", True), ("a", "b", False), (None, "a", False), ("a", None, False)])
def test_steps_that_go_on_without_an_answer_are_refused_where_both_tell_one_id(tmp_path, monkeypatch, source, target, is_refused):
    def flow(**properties):
        lines = {"clusters": "east, west", "east.bootstrap.servers": "a:1", "west.bootstrap.servers": "b:1", "east->west.enabled": "true"}
        file = tmp_path / "mm2.properties"
        file.write_text("".join(f"{name} = {value}\n" for name, value in (lines | properties).items()))
        return load([file]).flow("east->west")

    sides = {"east": Side(source), "west": Side(target)}
    monkeypatch.setattr(clusters, "Cluster", lambda alias, *rest: sides[alias](alias, *rest))
    with pytest.raises(SameCluster) if is_refused else nullcontext():
        check_answering_clusters(flow())
    check_answering_clusters(flow(**{"mirror.one.cluster": "true"}))


@pytest.mark.parametrize(
    ("side", "versions", "facts"),
    [
        ("east", KAFKA_2_1 | {FetchRequest: 8}, ("2.1", "FetchRequest", 8, 10)),
        ("west", KAFKA_2_1, ("2.8", "ProduceRequest", 7, 9)),
        ("west", KAFKA_2_8 | {EndTxnRequest: -1}, ("2.8", "EndTxnRequest", -1, 3)),
    ],
)
def test_a_plan_refuses_a_cluster_that_is_too_old_before_anything_is_written(tmp_path, side, versions, facts):
    brokers = {"east": WireBroker(), "west": WireBroker()}
    brokers[side].versions = dict(versions)
    file = tmp_path / "mm2.properties"
    addresses = "".join(f"{alias}.bootstrap.servers=127.0.0.1:{broker.port}\n" for alias, broker in brokers.items())
    file.write_text(f"clusters=east,west\neast->west.enabled=true\n{addresses}")
    with pytest.raises(ClusterTooOld) as refused:
        plan(load([file]).flow("east->west"))
    for broker in brokers.values():
        broker.close()
    error = refused.value
    assert (error.cluster, error.oldest, error.request, error.newest, error.needed) == (side, *facts)
    assert not error.retriable


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
    assert decisions.find_moved("orders") is None
    assert selection_by(flow("true"), decisions).should_replicate("orders")
