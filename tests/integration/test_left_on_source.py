"""What is written on the source behind the opening of a wave is named by whoever looks, for as long as it stands there."""

from confluent_kafka import TopicPartition as ClientTopicPartition
from confluent_kafka.admin import AdminClient

from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.kafka.cluster import Cluster
from kafka_mirror.status.observe import status
from services.oracle import Record
from services.waiting import PATIENCE
from tests.integration.moving_waves import both_ways

FAST = ("--quiet-seconds", "1", "--wait", "30", "--reason", "a test")


def written(flow):
    return {
        (error.topic, error.partition): error.message.partition(": ")[2] for error in status(flow).errors if error.code == "WrittenOnSource"
    }


def late(oracle, bootstrap, topic, partition, records):
    oracle.produce_records(bootstrap, topic, [Record(b"late", b"%d" % number, partition=partition) for number in range(records)])


def test_what_a_forgotten_producer_writes_is_named_by_status_waves_and_report_until_somebody_deletes_it(pair, oracle, topic, mirror):
    assert mirror("copy", "--without-spark")[0] == 0
    code, flow = mirror("cutover", "run", "--topics", topic, *FAST)
    assert (code, flow["result"]["report"]["written_on_source"]) == (0, []), flow
    wave = flow["result"]["wave"]["wave"]
    assert mirror("status")[0] == mirror("cutover", "status")[0] == 0
    place = TopicPartition(topic, 1)
    with Cluster("source", {"bootstrap.servers": pair.source_bootstrap}) as cluster:
        first = cluster.offsets([place], "latest")[place]
    last = first + 3

    oracle.produce(pair.source_bootstrap, topic, 4, seed=9, partition=0, transactions=1, abort_percent=100)
    assert mirror("status")[0] == 0, "nobody reads what was aborted"
    late(oracle, pair.source_bootstrap, topic, 1, 3)
    for command in (("status",), ("cutover", "status"), ("cutover", "status", "--wave", wave), ("audit", "--without-spark")):
        code, flow = mirror(*command)
        (error,) = flow["errors"]
        assert (code, error["code"], error["partition"], error["offset"]) == (1, "WrittenOnSource", 1, first), command
        assert f"[{first}, {last})" in error["message"]
    code, flow = mirror("freshness")
    assert (code, [(alert["kind"], alert["severity"]) for alert in flow["result"]["over"]]) == (1, [("WrittenOnSource", "critical")])
    (error,) = mirror("cutover", "report", "--wave", wave)[1]["result"]["written_on_source"]
    assert error["code"] == "WrittenOnSource"
    assert mirror("copy", "--without-spark")[1]["result"]["records"] == 0

    admin = AdminClient({"bootstrap.servers": pair.source_bootstrap})
    for deleted in admin.delete_records([ClientTopicPartition(topic, 1, last)]).values():
        deleted.result(PATIENCE)
    assert mirror("status")[0] == mirror("cutover", "status")[0] == mirror("audit", "--without-spark")[0] == 0


def test_with_names_kept_what_the_way_back_writes_is_none_of_them_and_what_somebody_else_writes_is(pair, oracle):
    ways = both_ways(pair, oracle)
    orders = pair.topic("orders")
    oracle.create_topic(pair.source_bootstrap, orders, 2)
    oracle.produce(pair.source_bootstrap, orders, 20, seed=1, transactions=3, abort_percent=30)
    assert ways.there.copy().errors == ()
    assert ways.open(ways.there, orders).is_done
    for seed in (2, 3):
        oracle.produce(pair.target_bootstrap, orders, 20, seed=seed, transactions=3, abort_percent=30)
        assert written(ways.there.flow) == {}
        assert ways.back.copy().errors == ()
        assert written(ways.there.flow) == {}
    late(oracle, pair.source_bootstrap, orders, 0, 2)
    assert set(written(ways.there.flow)) == {(orders, 0)}
