"""Clusters that allow too little: what is missing is named, the rest is copied; and what docs/operate/permissions.md asks for is enough."""

import time
import uuid
from dataclasses import replace
from types import SimpleNamespace

import pytest

from kafka_mirror.config import load
from kafka_mirror.kafka import producers
from kafka_mirror.status.observe import refused_writes
from services.oracle import Record
from tests.integration.access import (
    LONG_BEFORE,
    acl,
    allow_everything,
    only_error,
    own_topics,
    source_topic,
    syncs_topic,
    topics_of,
    with_user,
)
from tests.integration.left_behind import Left


def refusal(error):
    """What an AuthorizationRefused says, with the names of the test's own topics left as they are."""
    assert (error["code"], error["retriable"]) == ("AuthorizationRefused", False)
    assert error["next"].startswith("Grant the mirror's principal ")
    return error["message"], error["topic"]


def test_what_the_readme_asks_for_is_enough(make_pair, run, secure, oracle, allow):
    pair = replace(make_pair(secure, secure), target=f"target{uuid.uuid4().hex[:6]}")
    topic = source_topic(pair, oracle, "orders")
    allow_everything(allow, secure, pair, topic)
    file = with_user(pair, "source target", secure, extra={"source->target.topics": topic})
    code, flow, words, _ = run(file, "copy", "--without-spark")
    lacking = [line for line in words.splitlines() if "cross the network unencrypted" not in line]
    assert (code, lacking, flow["result"]["records"]) == (0, [], 30)
    assert run(file, "refresh-topics")[0] == 0


def test_what_may_not_be_written_is_known_without_a_write(target_pair, run, secure, oracle, allow):
    pair = target_pair
    topic = source_topic(pair, oracle, "orders")
    remote, ledger = pair.remote(topic), f"mm2-ledger.{pair.source}.internal"
    file = with_user(pair, "target", secure, extra={"source->target.topics": topic})

    def refused(remotes=()):
        return {str(error).split(": Grant")[0] for error in refused_writes(load([file]).flow(pair.flow), remotes)}

    own = [acl("mirror", f"mm2-{kind}.{pair.source}.internal", each) for kind in ("ledger", "control") for each in ("READ", "DESCRIBE")]
    allow(secure, *own)
    assert any(f"refuses CREATE on topic {ledger}" in error for error in refused()), refused()
    before = topics_of(secure.bootstrap, pair)
    oracle.create_topic(secure.bootstrap, remote)
    oracle.create_topic(secure.bootstrap, ledger)
    allow(secure, acl("mirror", remote, "READ"))
    assert any(f"refuses WRITE on topic {remote}" in error for error in refused([remote])), refused([remote])
    assert any(f"refuses WRITE on topic {ledger}" in error for error in refused([remote]))
    created = [
        acl("mirror", name, each) for name in (f"mm2-control.{pair.source}.internal", syncs_topic(pair)) for each in ("CREATE", "WRITE")
    ]
    allow(secure, *created, acl("mirror", ledger, "WRITE"), acl("mirror", remote, "WRITE"))
    assert refused([remote]) == set()
    assert topics_of(secure.bootstrap, pair) - before == {remote, ledger}, "nothing was created by asking"


@pytest.fixture
def source_pair(make_pair, secure, west):
    """The secure cluster is the source."""
    return make_pair(secure, west)


@pytest.fixture
def target_pair(make_pair, east, secure):
    """The secure cluster is the target."""
    return make_pair(east, secure)


def test_a_source_topic_that_may_be_described_but_not_read_is_named_and_the_others_are_copied(source_pair, run, secure, oracle, allow):
    pair = source_pair
    readable, unreadable = source_topic(pair, oracle, "readable"), source_topic(pair, oracle, "unreadable")
    allow(secure, acl("mirror", readable, "READ"), acl("mirror", readable, "DESCRIBE_CONFIGS"))
    allow(secure, acl("mirror", unreadable, "DESCRIBE"), acl("mirror", unreadable, "DESCRIBE_CONFIGS"))
    code, flow, _, seconds = run(with_user(pair, "source", secure), "copy", "--without-spark")
    assert code == 1
    assert refusal(only_error(flow)) == (f"Cluster '{pair.source}' refuses READ on topic {unreadable}.", unreadable)
    assert (flow["result"]["records"], flow["result"]["owed"]) == (30, 30)
    assert seconds < LONG_BEFORE
    allow(secure, acl("mirror", unreadable, "READ"))
    code, flow, _, _ = run(with_user(pair, "source", secure), "copy", "--without-spark")
    assert (code, flow["result"]["records"]) == (0, 30), "with the permission the next run goes on"


def test_without_rights_on_its_transactional_id_the_age_of_an_open_transaction_is_told_by_its_first_record(
    source_pair, run, secure, oracle, allow, monkeypatch
):
    pair = source_pair
    topic = source_topic(pair, oracle, "orders")
    allow(secure, acl("mirror", topic, "READ"), acl("mirror", topic, "DESCRIBE_CONFIGS"))
    file = with_user(pair, "source", secure, extra={"source->target.mirror.open.transaction.max.seconds": "1"})
    assert run(file, "copy", "--without-spark")[0] == 0
    long_ago = int(time.time() * 1000) - 86_400_000
    oracle.open_transaction(pair.source_bootstrap, topic, topic, [Record(b"k", b"v", timestamp=long_ago)])

    error = only_error(run(file, "copy", "--without-spark")[1])
    assert (error["code"], error["topic"], error["offset"]) == ("BlockedByOpenTransaction", topic, 30)
    assert "(producer id " in error["message"]
    assert "has been open for 864" in error["message"]
    assert "by the timestamp of its first record, for Kafka does not tell us more: no coordinator shows us" in error["message"]

    allow(secure, acl("mirror", topic, "DESCRIBE", kind="TRANSACTIONAL_ID"))
    time.sleep(1.1)
    error = only_error(run(file, "copy", "--without-spark")[1])
    assert f"(transactional id '{topic}', producer id " in error["message"]
    assert "has been open for 864" not in error["message"]

    monkeypatch.setattr(producers, "time", SimpleNamespace(time=lambda: time.time() - 7_200))
    assert "has been open for 2 s" in only_error(run(file, "copy", "--without-spark")[1])["message"], "our clock is two hours behind"
    monkeypatch.setattr(producers, "time", SimpleNamespace(time=lambda: time.time() + 7_200))
    file = with_user(pair, "source", secure, extra={"source->target.mirror.open.transaction.max.seconds": "3600"})
    assert run(file, "copy", "--without-spark")[1]["errors"] == [], "it is two hours ahead, and the transaction is young"
    oracle.end_transaction(topic, "commit")
    assert run(file, "copy", "--without-spark")[0] == 0


def test_a_source_topic_that_is_hidden_is_named_if_it_is_spelled_out(source_pair, run, secure, oracle, allow):
    pair = source_pair
    visible, hidden = source_topic(pair, oracle, "visible"), source_topic(pair, oracle, "hidden")
    allow(secure, acl("mirror", visible, "READ"), acl("mirror", visible, "DESCRIBE_CONFIGS"))
    file = with_user(pair, "source", secure, extra={"source->target.topics": f"{visible}, {hidden}"})
    code, flow, _, _ = run(file, "copy", "--without-spark")
    assert code == 1
    assert refusal(only_error(flow)) == (f"Cluster '{pair.source}' refuses DESCRIBE on topic {hidden}.", hidden)
    assert flow["result"]["records"] == 30
    assert topics_of(pair.target_bootstrap, pair) == {pair.remote(visible), syncs_topic(pair), *own_topics(pair)}


def test_a_topic_that_was_mirrored_and_is_hidden_now_does_not_silently_fall_out(source_pair, run, secure, oracle, allow):
    pair = source_pair
    topic = source_topic(pair, oracle, "orders")
    allow(secure, acl("mirror", topic, "READ"), acl("mirror", topic, "DESCRIBE_CONFIGS"))
    file = with_user(pair, "source", secure)
    assert run(file, "copy", "--without-spark")[0] == 0
    allow(secure, acl("mirror", topic, "ALL", "DENY"))
    code, flow, _, _ = run(file, "copy", "--without-spark")
    assert code == 1
    assert refusal(only_error(flow)) == (f"Cluster '{pair.source}' refuses DESCRIBE on topic {topic}.", topic)


@pytest.mark.parametrize("operation", ["WRITE", "CREATE", "DESCRIBE"])
def test_one_remote_topic_that_the_target_refuses_is_named_and_the_others_are_copied(target_pair, run, secure, oracle, allow, operation):
    pair = target_pair
    allowed, refused = source_topic(pair, oracle, "allowed"), source_topic(pair, oracle, "refused")
    allow_everything(allow, secure, pair)
    allow(secure, acl("mirror", pair.remote(refused), operation, "DENY"))
    code, flow, _, seconds = run(with_user(pair, "target", secure), "copy", "--without-spark")
    assert code == 1
    assert refusal(only_error(flow)) == (f"Cluster '{pair.target}' refuses {operation} on topic {pair.remote(refused)}.", refused)
    marks = flow["result"]["watermarks"]
    assert dict(zip(marks["topic"], marks["source_offset"], strict=True)) == {allowed: 30}
    assert seconds < LONG_BEFORE
    assert sum(count.records for count in oracle.count(secure.bootstrap, pair.remote(allowed))) == 30


@pytest.mark.parametrize("operation", ["DESCRIBE", "DESCRIBE_CONFIGS"])
def test_take_over_goes_on_without_a_remote_topic_of_which_the_target_does_not_tell(
    target_pair, run, secure, allow, make_mirroring, operation
):
    pair = target_pair
    left = Left(make_mirroring(pair))
    orders, refused = left.topic("orders"), left.topic("refused")
    left.stored({topic: left.copies(topic, (0, 40))[39] for topic in (orders, refused)})
    allow_everything(allow, secure, pair)
    maker = f"{pair.source}-mm2"
    allow(
        secure,
        acl("mirror", maker, "DESCRIBE", kind="GROUP"),
        acl("mirror", f"{maker}-Mirror", "WRITE", kind="TRANSACTIONAL_ID", pattern="PREFIXED"),
        *(acl("mirror", f"mm2-{each}.{pair.source}.internal", "READ") for each in ("offsets", "configs")),
        acl("mirror", pair.remote(refused), operation, "DENY"),
    )
    code, flow, _, _ = run(with_user(pair, "target", secure), "take-over", "--flow", pair.flow)
    assert code == 1
    assert refusal(only_error(flow)) == (f"Cluster '{pair.target}' refuses {operation} on topic {pair.remote(refused)}.", refused)
    assert flow["result"]["topic"] == [orders]


def test_a_remote_topic_that_may_not_be_read_is_named_when_it_has_to_be_looked_into(target_pair, run, secure, oracle, allow):
    pair = target_pair
    topic, other = source_topic(pair, oracle, "orders"), source_topic(pair, oracle, "other")
    allow_everything(allow, secure, pair)
    file = with_user(pair, "target", secure)
    oracle.create_topic(secure.bootstrap, pair.remote(topic), 1)
    oracle.produce(secure.bootstrap, pair.remote(topic), 1, seed=2)
    allow(secure, acl("mirror", pair.remote(topic), "READ", "DENY"))
    code, flow, _, _ = run(file, "copy", "--without-spark")
    assert code == 1
    assert refusal(only_error(flow)) == (f"Cluster '{pair.target}' refuses READ on topic {pair.remote(topic)}.", topic)
    assert dict(zip(flow["result"]["watermarks"]["topic"], flow["result"]["watermarks"]["source_offset"], strict=True)) == {other: 30}


@pytest.mark.parametrize("own", [0, 1], ids=["ledger", "control"])
@pytest.mark.parametrize("operation", ["CREATE", "DESCRIBE", "READ", "WRITE", "DESCRIBE_CONFIGS"])
def test_a_topic_of_our_own_that_may_not_be_used_stops_the_flow_and_nothing_is_copied(
    target_pair, run, secure, oracle, allow, operation, own
):
    pair = target_pair
    topic = source_topic(pair, oracle, "orders")
    allow_everything(allow, secure, pair)
    topic_of_ours = own_topics(pair)[own]
    allow(secure, acl("mirror", topic_of_ours, operation, "DENY"))
    code, flow, _, seconds = run(with_user(pair, "target", secure), "copy", "--without-spark")
    assert code == 1
    assert refusal(only_error(flow)) == (f"Cluster '{pair.target}' refuses {operation} on topic {topic_of_ours}.", topic_of_ours)
    assert seconds < LONG_BEFORE
    if pair.remote(topic) in topics_of(secure.bootstrap, pair):
        assert sum(count.records for count in oracle.count(secure.bootstrap, pair.remote(topic))) == 0


@pytest.mark.parametrize("operation", ["CREATE", "DESCRIBE", "WRITE"])
def test_offset_syncs_that_may_not_be_written_are_named_and_the_records_are_copied(target_pair, run, secure, oracle, allow, operation):
    pair = target_pair
    topic = source_topic(pair, oracle, "orders")
    allow_everything(allow, secure, pair)
    allow(secure, acl("mirror", syncs_topic(pair), operation, "DENY"))
    code, flow, _, seconds = run(with_user(pair, "target", secure), "copy", "--without-spark")
    message, named = refusal(only_error(flow))
    assert (code, named, flow["result"]["records"], flow["result"]["owed"]) == (1, syncs_topic(pair), 30, 0)
    assert message.startswith("The records are copied, but not all of their offset syncs are written. ")
    assert message.endswith(f"Cluster '{pair.target}' refuses {operation} on topic {named}.")
    assert "emit.offset-syncs.enabled=false writes none." in only_error(flow)["next"]
    assert seconds < LONG_BEFORE
    assert sum(count.records for count in oracle.count(secure.bootstrap, pair.remote(topic))) == 30


def test_transactional_ids_that_may_not_be_used_are_named_once_for_all_lanes(target_pair, run, secure, oracle, allow):
    pair = target_pair
    for name in ("orders", "payments", "shipments"):
        source_topic(pair, oracle, name)
    allow_everything(allow, secure, pair)
    prefix = f"mirror.{len(pair.source)}.{pair.source}.2."
    allow(secure, acl("mirror", prefix, "WRITE", "DENY", "TRANSACTIONAL_ID", "PREFIXED"))
    code, flow, _, _ = run(with_user(pair, "target", secure), "copy", "--without-spark")
    assert code == 1
    assert refusal(only_error(flow)) == (f"Cluster '{pair.target}' refuses WRITE on transactional ids with the prefix {prefix}.", None)
    assert (flow["result"]["records"], flow["result"]["owed"]) == (0, 90)
