"""Positions of groups in a transaction, over the wire: all of them at the end, or none once somebody else began."""

import pytest
from kafka.protocol.consumer import OffsetFetchRequest

from kafka_mirror.errors import AuthorizationRefused
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.kafka.cluster import Cluster
from kafka_mirror.kafka.groups import Groups, GroupTransaction
from kafka_mirror.kafka.model import Committed
from kafka_mirror.kafka.transactions import Fenced
from tests.unit.copy.batches.wire_protocol import KAFKA_2_8
from tests.unit.kafka.group_broker import GroupBroker

ZERO, ONE = (TopicPartition("orders", number) for number in range(2))
WANTED = {ZERO: Committed(3, "by ä\x00"), ONE: None}
TRANSACTIONAL_ID_DENIED, GROUP_DENIED, CONCURRENT, MOVED, UNKNOWN_TOPIC = 53, 30, 51, 16, 3


@pytest.fixture(params=["4.3", "2.8"])
def broker(request):
    made = GroupBroker()
    if request.param == "2.8":
        made.versions.update(KAFKA_2_8)
        made.transaction_version = 0
    made.offsets = {"billing": {("orders", 1): (5, "there", -1)}}
    yield made
    made.close()


@pytest.fixture
def cluster(broker):
    with Cluster("west", broker.settings, 10.0) as made:
        yield made


def begin(cluster):
    return GroupTransaction(cluster, "mirror.test")


def standing(cluster):
    return Groups(cluster).read_committed(["billing"], {})["billing"]


def test_positions_are_there_at_the_end_and_one_that_was_taken_away_is_none(cluster):
    transaction = begin(cluster)
    assert transaction.add({"billing": WANTED}, {}) == {"billing": {}}
    assert standing(cluster) == {ONE: Committed(5, "there")}
    transaction.commit()
    assert standing(cluster) == {ZERO: WANTED[ZERO]}


def test_nothing_is_there_of_one_that_is_aborted(cluster):
    transaction = begin(cluster)
    transaction.add({"billing": WANTED}, {})
    transaction.abort()
    assert standing(cluster) == {ONE: Committed(5, "there")}


@pytest.mark.parametrize("calls", [0, 1])
def test_once_another_writer_began_every_step_is_refused_and_nothing_is_changed(cluster, calls):
    transaction = begin(cluster)
    steps = [lambda: transaction.add({"billing": WANTED}, {}), transaction.commit]
    for step in steps[:calls]:
        step()
    begin(cluster)
    with pytest.raises(Fenced):
        steps[calls]()
    transaction.abort()
    assert standing(cluster) == {ONE: Committed(5, "there")}


def test_one_that_is_fenced_between_its_two_coordinators_is_fenced_too(broker, cluster):
    transaction = begin(cluster)
    told = broker.answers.copy()

    def add(request):
        answer = told[type(request)](request)
        broker.owners["mirror.test"].epoch += 1
        return answer

    broker.answers[next(kind for kind in told if kind.__name__ == "AddOffsetsToTxnRequest")] = add
    with pytest.raises(Fenced):
        transaction.add({"billing": WANTED}, {})


def test_its_end_is_told_once_everybody_reads_the_positions(broker, cluster):
    transaction = begin(cluster)
    transaction.add({"billing": WANTED}, {})
    broker.marker_fetches = 2
    transaction.commit()
    assert broker.marker_fetches == 0
    assert sum(request.require_stable for request in broker.of(OffsetFetchRequest)) == 3


def test_what_is_refused_of_a_partition_or_of_a_group_is_said_and_the_rest_stands(broker, cluster):
    broker.codes, errors = {"hidden": [GROUP_DENIED], ("billing", "orders", 0): [UNKNOWN_TOPIC], "shipping": [MOVED, 0]}, {}
    transaction = begin(cluster)
    refused = transaction.add({"billing": WANTED, "hidden": WANTED, "shipping": WANTED}, errors)
    assert refused == {"billing": {ZERO: "UNKNOWN_TOPIC_OR_PARTITION"}, "shipping": {}}
    assert "READ on the group hidden" in errors["hidden"].message
    transaction.commit()
    assert (standing(cluster), Groups(cluster).read_committed(["shipping"], {})) == ({}, {"shipping": {ZERO: WANTED[ZERO]}})


def test_the_end_of_the_transaction_before_is_waited_for_and_a_right_that_lacks_is_named(broker, cluster):
    broker.codes = {"*": [CONCURRENT, CONCURRENT, 0]}
    transaction = begin(cluster)
    transaction.add({"billing": WANTED}, {})
    transaction.commit()
    broker.codes = {"*": [TRANSACTIONAL_ID_DENIED]}
    with pytest.raises(AuthorizationRefused, match=r"WRITE on the transactional id mirror\.test"):
        begin(cluster).add({"billing": WANTED}, {})
