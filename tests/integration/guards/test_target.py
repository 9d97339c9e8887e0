"""Every situation of a target in which copying on would lose, double or mix
records: provoked on real brokers, named, and nothing written."""

from services.oracle import Record


def test_a_remote_topic_that_holds_records_is_appended_to_on_request(pair, make_mirroring):
    mirroring = make_mirroring(pair, {"source->target.mirror.on.unexplained.target": "append"})
    name = pair.topic("orders")
    for bootstrap, created in ((mirroring.source, name), (mirroring.target, pair.remote(name))):
        mirroring.oracle.create_topic(bootstrap, created, 1)
        mirroring.oracle.produce(bootstrap, created, 20, seed=9)
    assert mirroring.copy().records == 20
    assert mirroring.oracle.count(mirroring.target, pair.remote(name))[0].records == 40


def test_aborted_records_of_somebody_else_do_no_harm(mirroring, topic):
    remote = mirroring.pair.remote(topic)
    mirroring.oracle.open_transaction(mirroring.target, remote, remote, [Record(b"foreign", b"v", partition=0)])
    mirroring.oracle.end_transaction(remote, "abort")
    mirroring.oracle.produce(mirroring.source, topic, 50, seed=11)
    assert mirroring.copy().state == "done"
    mirroring.assert_mirrored(topic)
