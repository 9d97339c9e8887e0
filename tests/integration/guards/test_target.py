"""Every situation of a target in which copying on would lose, double or mix
records: provoked on real brokers, named, and nothing written."""

from services.oracle import Record
from tests.integration.guards.runs import changed, only_error, remote_records


def test_a_remote_topic_that_holds_records_before_the_first_copy_is_not_written(mirroring):
    name = mirroring.pair.topic("orders")
    remote = mirroring.pair.remote(name)
    for bootstrap, created in ((mirroring.source, name), (mirroring.target, remote)):
        mirroring.oracle.create_topic(bootstrap, created, 1)
        mirroring.oracle.produce(bootstrap, created, 20, seed=8)
    before = remote_records(mirroring, name)
    error = only_error(mirroring.copy())
    assert (error.code, error.topic, error.partition, error.offset) == ("UnexplainedTarget", name, 0, 0)
    assert remote in error.message
    assert remote_records(mirroring, name) == before
    assert not mirroring.ledger()


def test_a_remote_topic_that_holds_records_is_appended_to_on_request(pair, make_mirroring):
    mirroring = make_mirroring(pair, {"source->target.mirror.on.unexplained.target": "append"})
    name = pair.topic("orders")
    for bootstrap, created in ((mirroring.source, name), (mirroring.target, pair.remote(name))):
        mirroring.oracle.create_topic(bootstrap, created, 1)
        mirroring.oracle.produce(bootstrap, created, 20, seed=9)
    assert mirroring.copy().records == 20
    assert mirroring.oracle.count(mirroring.target, pair.remote(name))[0].records == 40


def test_records_by_somebody_else_behind_ours_are_noticed(mirroring, topic):
    mirroring.oracle.produce_records(mirroring.target, mirroring.pair.remote(topic), [Record(b"foreign", b"v", partition=0)])
    mirroring.oracle.produce(mirroring.source, topic, 50, seed=10)
    before = remote_records(mirroring, topic)
    error = only_error(mirroring.copy())
    assert (error.code, error.partition) == ("UnexplainedTarget", 0)
    assert [r for r in remote_records(mirroring, topic) if r[0] == 0] == [r for r in before if r[0] == 0]


def test_aborted_records_of_somebody_else_do_no_harm(mirroring, topic):
    remote = mirroring.pair.remote(topic)
    mirroring.oracle.open_transaction(mirroring.target, remote, remote, [Record(b"foreign", b"v", partition=0)])
    mirroring.oracle.end_transaction(remote, "abort")
    mirroring.oracle.produce(mirroring.source, topic, 50, seed=11)
    assert mirroring.copy().state == "done"
    mirroring.assert_mirrored(topic)


def test_a_recreated_remote_topic_is_not_written(mirroring, topic):
    remote = mirroring.pair.remote(topic)
    mirroring.oracle.delete_topic(mirroring.target, remote)
    mirroring.oracle.create_topic(mirroring.target, remote, 2)
    mirroring.oracle.produce(mirroring.source, topic, 50, seed=12)
    judged = mirroring.copy()
    assert {error.code for error in judged.errors} == {"TargetRecreated"}
    assert remote_records(mirroring, topic) == []


def test_a_deleted_remote_topic_is_an_error_and_not_created_by_writing(mirroring, topic):
    mirroring.oracle.delete_topic(mirroring.target, mirroring.pair.remote(topic))
    mirroring.oracle.produce(mirroring.source, topic, 50, seed=13)
    assert {error.code for error in mirroring.copy().errors} == {"TargetMissing"}
    assert mirroring.oracle.topic_id(mirroring.target, mirroring.pair.remote(topic)) is None


def test_another_policy_on_an_existing_flow_is_noticed(mirroring, topic, make_mirroring):
    mirroring.oracle.produce(mirroring.source, topic, 50, seed=14)
    other = changed(mirroring, make_mirroring, {"replication.policy.class": "org.apache.kafka.connect.mirror.IdentityReplicationPolicy"})
    assert {error.code for error in other.refresh().errors} == {"TargetRecreated"}
    assert {error.code for error in other.copy().errors} == {"TargetRecreated"}
    assert mirroring.oracle.topic_id(mirroring.target, topic) is None
