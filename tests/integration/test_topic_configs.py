"""The configs of remote topics between two real clusters of one broker each."""

from kafka_mirror.status.steps import run_step
from kafka_mirror.topics.topic_configs import step
from services.waiting import eventually


def own(mirroring, bootstrap, topic):
    """What was set for the topic itself, as Kafka's own client shows it."""
    return mirroring.oracle.topics(bootstrap, [topic])[topic].configs


def wait_for(mirroring, bootstrap, topic, expected):
    """A broker shows what the controller answered for a moment later."""
    eventually(lambda: own(mirroring, bootstrap, topic) == expected, f"{expected} of {topic}")


def rows(columns):
    return list(zip(*columns.values(), strict=True))


def mirrored(mirroring, name, **configs):
    """A source topic with its remote topic; `_` stands for `.` in the names of configs."""
    topic = mirroring.pair.topic(name)
    mirroring.oracle.create_topic(mirroring.source, topic, 2, {key.replace("_", "."): value for key, value in configs.items()})
    mirroring.refresh()
    return topic, mirroring.pair.remote(topic)


def test_what_is_changed_on_the_source_is_changed_on_the_target_and_then_no_more(mirroring):
    topic, remote = mirrored(mirroring, "orders", cleanup_policy="compact", retention_ms="86400000")
    mirrored(mirroring, "quiet", segment_ms="7200000")
    assert step(mirroring.flow).lines == ("Nothing to change; the configs of 2 remote topics are as they should be.",)

    change = {"cleanup.policy": None, "retention.ms": "3600000", "max.message.bytes": "2000000", "min.insync.replicas": "1"}
    mirroring.oracle.alter_configs(mirroring.source, topic, change)
    mirroring.oracle.alter_configs(mirroring.target, remote, {"segment.bytes": "1048576", "min.insync.replicas": "2"})

    said, done = step(mirroring.flow, dry_run=True), step(mirroring.flow)
    assert said.result == done.result
    assert rows(done.result["changed"]) == [
        (remote, "cleanup.policy", "compact", None),
        (remote, "max.message.bytes", "1048588", "2000000"),
        (remote, "retention.ms", "86400000", "3600000"),
        (remote, "segment.bytes", "1048576", None),
    ]
    assert rows(done.result["drift"]) == [(remote, "min.insync.replicas", "2", "1", "excluded")]
    assert (done.result["unchanged"], done.errors) == (1, ())
    wait_for(mirroring, mirroring.target, remote, {"retention.ms": "3600000", "max.message.bytes": "2000000", "min.insync.replicas": "2"})
    again = step(mirroring.flow)
    assert (rows(again.result["changed"]), again.result["unchanged"]) == ([], 2)


def test_with_the_sources_defaults_they_are_set_on_the_target(mirroring, make_mirroring):
    _, remote = mirrored(mirroring, "orders", retention_ms="86400000")
    chosen = {"source->target.use.defaults.from": "source", "source->target.config.properties.exclude": "(?!retention|segment.bytes).*"}
    assert step(make_mirroring(mirroring.pair, chosen).flow).errors == ()
    # Every other config is excluded.
    wait_for(mirroring, mirroring.target, remote, {"retention.ms": "86400000", "retention.bytes": "-1", "segment.bytes": "1073741824"})


def test_what_was_changed_on_the_sources_brokers_is_carried_and_what_stands_in_their_files_is_not(mirroring):
    """Dynamic defaults of the brokers are set for the remote topic itself, as MirrorMaker 2 does. log.retention.ms is in the test brokers'
    files."""
    _, remote = mirrored(mirroring, "orders")
    mirroring.oracle.alter_configs(mirroring.target, remote, {"retention.ms": "5000"})
    mirroring.oracle.alter_configs(mirroring.source, "", {"log.segment.bytes": "2097152"}, type="BROKER")
    try:
        eventually(lambda: rows(step(mirroring.flow, dry_run=True).result["changed"]))
        done = step(mirroring.flow)
    finally:
        mirroring.oracle.alter_configs(mirroring.source, "", {"log.segment.bytes": None}, type="BROKER")
    assert rows(done.result["changed"]) == [(remote, "segment.bytes", "1073741824", "2097152")]
    assert rows(done.result["drift"]) == [(remote, "retention.ms", "5000", "-1", "from the source brokers' own files")]


def test_a_topic_whose_configs_the_target_refuses_is_named_and_the_others_are_changed(mirroring, make_mirroring):
    """The target's own min.compaction.lag.ms is excluded, and does not go with the source's max.compaction.lag.ms."""
    (bad, remote), (good, other) = mirrored(mirroring, "bad"), mirrored(mirroring, "good")
    mirroring.oracle.alter_configs(mirroring.target, remote, {"min.compaction.lag.ms": "5000"})
    for topic in (bad, good):
        mirroring.oracle.alter_configs(mirroring.source, topic, {"max.compaction.lag.ms": "1000"})
    flow = make_mirroring(mirroring.pair, {"source->target.config.properties.exclude": "min\\.compaction.*, min.insync.replicas"}).flow
    said, done = step(flow, dry_run=True), step(flow)
    assert (said.result, said.errors) == (done.result, done.errors)
    assert rows(done.result["changed"]) == [(other, "max.compaction.lag.ms", "9223372036854775807", "1000")]
    (error,) = done.errors
    assert (error.code, error.topic, error.retriable) == ("RemoteConfigRefused", bad, False)
    assert "min.compaction.lag.ms" in error.message
    assert "config.properties.exclude" in error.next
    assert own(mirroring, mirroring.target, remote) == {"min.compaction.lag.ms": "5000"}


def test_a_min_insync_that_would_stop_all_writing_is_named_and_the_other_entries_are_carried(mirroring, make_mirroring):
    topic, remote = mirrored(mirroring, "orders")
    mirroring.oracle.alter_configs(mirroring.source, topic, {"min.insync.replicas": "2", "retention.ms": "3600000"})
    flow = make_mirroring(mirroring.pair, {"source->target.config.properties.exclude": "unclean.leader.election.enable"}).flow
    done = run_step("topic-configs", flow)
    assert rows(done.result["changed"]) == [(remote, "retention.ms", "-1", "3600000")]
    (error,) = done.errors
    assert (error.code, error.topic, error.retriable) == ("RemoteConfigRefused", topic, False)
    assert "With min.insync.replicas=2 nothing could be written to it, for it has 1 replica." in error.message
    wait_for(mirroring, mirroring.target, remote, {"retention.ms": "3600000"})


def test_a_remote_topic_that_does_not_exist_yet_is_left_to_refresh_topics(mirroring):
    mirroring.oracle.create_topic(mirroring.source, mirroring.pair.topic("new"), 1, {"retention.ms": "86400000"})
    done = step(mirroring.flow)
    assert (rows(done.result["changed"]), done.result["unchanged"], done.errors) == ([], 0, ())
