"""Parts of a flow that a backfill cannot have: each is an error, at the start and between slices, and keeps no other part waiting."""

import pytest

from kafka_mirror.__main__ import main
from kafka_mirror.backfill.history import history_slice
from kafka_mirror.backfill.live import live_slice
from kafka_mirror.backfill.model import BackfillRequest, summarize
from kafka_mirror.backfill.resolve import resolve
from kafka_mirror.copy.run import copy_in_process
from kafka_mirror.formats.offsets.partition import TopicPartition
from tests.integration.access import acl, only_error, source_topic, with_user
from tests.integration.backfill_flow import ALL, DAYS, PARTITIONS, Backfilling, day
from tests.integration.decisions import recreate

BEFORE_ALL = ("--from", "2020-01-01", "--to", "2020-01-02")
SINCE = ("--from", "2020-01-01", "--to", "2100-01-01")


def told(errors):
    return [(error.code, error.topic, error.partition) for error in errors]


def decided(backfilling, *words):
    config = ["--config", str(backfilling.mirroring.pair.directory / "mm2.properties")]
    assert main([*config, "decide", *words, "--flow", backfilling.mirroring.pair.flow, "--reason", "a test"]) == 0


def test_a_remote_topic_that_was_deleted_makes_it_red_and_the_other_topics_are_filled(backfilling):
    deleted, other = (backfilling.topic(name, backfilling.records) for name in ("deleted", "other"))
    backfilling.mirroring.copy()
    backfilling.oracle.delete_topic(backfilling.mirroring.target, backfilling.mirroring.pair.remote(deleted))

    done = backfilling.fill(ALL, deleted, other)

    judged = summarize(done.resolution, done.live, done.history)
    assert (judged.state, judged.history_records, judged.not_had) == ("failed", DAYS * 40, ())
    assert told(judged.errors) == [("TargetMissing", deleted, number) for number in range(PARTITIONS)], "each is told once"
    assert backfilling.fill(ALL, other).resolution.errors == (), "it is no matter of a backfill of others"


@pytest.fixture
def between(backfilling):
    """Slices of a backfill behind its first step: `between(happening)` gives the topic, the live part and the history of all five days and
    a sixth that is not copied yet, where that happens in between."""

    def run(happening):
        topic, flow = backfilling.topic("orders", backfilling.records), backfilling.mirroring.flow
        backfilling.mirroring.copy()
        backfilling.records(topic, DAYS)
        request = BackfillRequest(day(0, DAYS + 1), (topic,))
        resolution = resolve(flow, request)
        assert (resolution.errors, len(resolution.intervals)) == ((), PARTITIONS)
        happening(topic)
        slices = (live_slice, (flow, resolution)), (history_slice, (flow, request, resolution))
        return topic, *(one(*given, lambda plan: copy_in_process(flow, plan)) for one, given in slices)

    return run


def test_a_remote_topic_that_is_deleted_in_between_leaves_all_owed(backfilling, between):
    mirroring = backfilling.mirroring
    topic, live, history = between(lambda topic: backfilling.oracle.delete_topic(mirroring.target, mirroring.pair.remote(topic)))
    assert (live.owed, history.owed) == (40, DAYS * 40)
    for part in (live, history):
        assert told(part.errors) == [("TargetMissing", topic, number) for number in range(PARTITIONS)]


def test_a_source_topic_that_is_deleted_in_between_leaves_all_owed(backfilling, between):
    topic, live, history = between(lambda topic: backfilling.oracle.delete_topic(backfilling.mirroring.source, topic))
    assert (live.owed, history.owed) == (40, DAYS * 40)
    for part in (live, history):
        assert told(part.errors) == [("SourceUnreadable", topic, number) for number in range(PARTITIONS)]


def test_a_topic_that_is_paused_in_between_is_left_out_and_named(backfilling, between):
    topic, live, history = between(lambda topic: decided(backfilling, "pause", "--topic", topic))
    for part in (live, history):
        assert (part.records, part.owed, part.errors) == (0, 0, ())
        assert [text.split(" is left out: pause by ")[0] for text in part.not_had] == [f"{topic}-0", f"{topic}-1"]


@pytest.fixture
def small(make_mirroring, pair):
    """A flow that begins at the end of its topics and copies a few records in each run."""
    settings = {"start": "latest", "transaction.max.bytes": "200", "run.max.bytes": "10"}
    return Backfilling(make_mirroring(pair, {f"source->target.mirror.{name}": value for name, value in settings.items()}))


def watermarks(backfilling, topic):
    return [backfilling.mirroring.ledger()[TopicPartition(topic, number)].watermark for number in range(PARTITIONS)]


def test_what_a_restart_will_copy_again_is_live_and_awaited_before_any_copy_has_acted_on_it(small):
    topic = small.topic("orders", small.records)
    small.mirroring.copy()
    for number in range(PARTITIONS):
        decided(small, "restart", "--topic", topic, "--partition", str(number), "--to-earliest")

    done = small.fill(day(0, 2), topic)

    assert (done.live.errors, done.live.owed, done.history.offsets, done.history.errors) == ((), 0, 0, ())
    assert min(watermarks(small, topic)) >= 40
    assert done.live.records >= 80


def test_a_topic_that_was_recreated_is_filled_once_a_restart_is_decided(small):
    topic = small.topic("orders", small.records)
    small.mirroring.copy()
    recreate(small.mirroring, small.mirroring.source, topic, PARTITIONS)
    for number in range(3):
        small.records(topic, number)
    decided(small, "restart", "--topic", topic)

    done = small.fill(day(0, 2), topic)

    assert (done.live.errors, done.live.owed, done.history.offsets, done.history.errors) == ((), 0, 0, ())
    assert min(watermarks(small, topic)) >= 40


def test_of_a_topic_that_was_recreated_and_is_to_be_taken_up_at_its_end_all_is_history(backfilling):
    topic = backfilling.topic("orders", backfilling.records)
    backfilling.mirroring.copy()
    recreate(backfilling.mirroring, backfilling.mirroring.source, topic, PARTITIONS)
    backfilling.records(topic, 0)
    decided(backfilling, "restart", "--topic", topic, "--to-latest")

    done = backfilling.fill(ALL, topic)

    assert (done.live.errors, done.live.owed, done.history.errors, done.history.owed) == ((), 0, (), 0)
    assert (done.live.records, done.history.records) == (0, 40)
    assert backfilling.assert_history(topic) == 40


@pytest.fixture
def copied(make_pair, run, secure, west, oracle, allow):
    """A flow from the guarded cluster with a topic that was copied, and its properties: `(topic, file)`."""
    pair = make_pair(secure, west)
    topic = source_topic(pair, oracle, "orders")
    allow(secure, acl("mirror", topic, "READ"), acl("mirror", topic, "DESCRIBE"), acl("mirror", topic, "DESCRIBE_CONFIGS"))
    file = with_user(pair, "source", secure)
    assert run(file, "copy", "--without-spark")[0] == 0
    assert run(file, "backfill", *SINCE, "--without-spark")[0] == 0
    return topic, file


def test_a_topic_that_the_source_hides_makes_it_red_whether_it_is_named_or_not(copied, run, secure, allow):
    topic, file = copied
    allow(secure, acl("mirror", topic, "ALL", "DENY"))
    for named in ((), ("--topics", topic)):
        code, flow, _, _ = run(file, "backfill", *SINCE, *named, "--without-spark")
        error = only_error(flow)
        assert (code, error["code"], error["topic"]) == (1, "AuthorizationRefused", topic)
        assert "refuses DESCRIBE on topic" in error["message"]


def test_a_topic_that_may_not_be_read_behind_an_empty_interval_makes_it_red(copied, run, secure, allow):
    topic, file = copied
    assert run(file, "backfill", *BEFORE_ALL, "--without-spark")[0] == 0
    allow(secure, acl("mirror", topic, "READ", "DENY"))
    code, flow, _, _ = run(file, "backfill", *BEFORE_ALL, "--without-spark")
    error = only_error(flow)
    assert (code, error["code"], error["topic"]) == (1, "AuthorizationRefused", topic)
    assert "refuses READ on topic" in error["message"]
