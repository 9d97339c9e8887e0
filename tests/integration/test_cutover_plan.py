"""`cutover plan` on real brokers: a wave with everything against it at once, and one that may move."""

import json

from kafka_mirror.__main__ import main
from services.consumers import member, read, set_offsets
from services.oracle import Record
from services.waiting import ADMIN_TIMEOUT_MS
from tests.integration.access import CLUSTER, acl, logged_in


def findings(flow, kind):
    """Code and message of the findings of one kind."""
    return {each["code"]: each["message"] for each in flow["result"]["findings"] if each["kind"] == kind}


def test_a_wave_that_is_copied_and_read_to_its_end_may_move(pair, oracle, topic, mirror):
    group = f"billing-{pair.mark}"
    with member(pair.source_bootstrap, group, topic) as consumer:
        read(consumer, 60)
    assert mirror("copy", "--without-spark")[0] == 0
    code, flow = mirror("cutover", "plan", "--topics", topic, "--groups", f"billing-{pair.mark}", "--max-lag", "0")
    assert (code, flow["state"], findings(flow, "stop")) == (0, "done", {}), flow["result"]["findings"]
    result = flow["result"]
    assert (result["may_move"], result["topics"], [each["lag"] for each in result["partitions"]]) == (True, [topic], [0, 0])
    (of_group,) = result["groups"]
    assert (of_group["group"], {each["answer"] for each in of_group["positions"]}, of_group["members"]) == (group, {"exact"}, [])


def test_everything_against_a_wave_is_said_at_once(pair, oracle, topic, mirror):
    other, stray = pair.topic("payments"), f"stray-{pair.mark}-topic"
    for name in (other, stray):
        oracle.create_topic(pair.source_bootstrap, name, 1)
    oracle.produce(pair.source_bootstrap, other, 10, seed=2)
    splitting, reader, transaction = f"splitting-{pair.mark}", f"reader-{pair.mark}", f"tx-{pair.mark}"
    assert mirror("copy", "--without-spark")[0] == 0
    set_offsets(pair.source_bootstrap, splitting, {(topic, 0): 1, (other, 0): 1})
    oracle.produce(pair.source_bootstrap, topic, 30, seed=3)
    oracle.open_transaction(pair.source_bootstrap, topic, transaction, [Record(b"k", b"v")])
    oracle.alter_configs(pair.source_bootstrap, topic, {"segment.bytes": "2097152"})
    try:
        with member(pair.source_bootstrap, reader, topic) as here, member(pair.target_bootstrap, reader, pair.remote(topic), "consumer"):
            read(here, 60)
            code, flow = mirror("cutover", "plan", "--topics", f"{topic},{stray},nothing-at-all", "--max-lag", "5")
    finally:
        oracle.end_transaction(transaction, "abort")
    assert (code, flow["result"]["may_move"]) == (1, False)
    stops, warnings = findings(flow, "stop"), findings(flow, "warning")
    assert set(stops) == {
        *("PatternMatchesNothing", "TopicNotReplicated", "WaveBehind", "ConfigsDiffer", "GroupSplit", "GroupActiveOnTarget"),
    }
    assert "nothing-at-all" in stops["PatternMatchesNothing"]
    assert stops["TopicNotReplicated"].startswith(stray)
    assert "2 of 2 partitions are more than 5 records behind" in stops["WaveBehind"]
    assert stops["ConfigsDiffer"].endswith("segment.bytes 1073741824 -> 2097152.")
    assert stops["GroupSplit"] == f"{splitting}: it also has positions in topics that stay on the source: {other}."
    assert set(warnings) == {"GroupActive", "TransactionOpen", "ActiveProducers"}
    assert warnings["GroupActive"] == f"{reader}: it has 1 member (rdkafka on 127.0.0.1) on {pair.source}."
    assert f"{topic}-0: a transaction is open from offset" in warnings["TransactionOpen"]
    assert f"transactional id '{transaction}'" in warnings["TransactionOpen"]
    assert all(each["next"] for each in flow["result"]["findings"] if each["kind"] != "information")


USERS = ("writer", "reader", "analyst", "loader", "auditor", "insider", "mirror")


def test_rights_and_acls_that_the_move_needs_are_named(guarded, make_pair, oracle, allow, capsys):
    source, target = guarded
    pair = make_pair(source, target)
    settings = {**logged_in(guarded), "source->target.mirror.lanes": "4", "admin.timeout.ms": ADMIN_TIMEOUT_MS}
    file, topic, group = pair.properties(extra=settings), pair.topic("orders"), f"billing-{pair.mark}"
    oracle.create_topic(source.bootstrap, topic, 1)
    oracle.produce(source.bootstrap, topic, 10, seed=1)
    set_offsets(source.bootstrap, group, {(topic, 0): 10})
    everything = [acl("mirror", "*", "ALL"), acl("mirror", "*", "ALL", kind="TRANSACTIONAL_ID")]
    allow(source, *everything, *(acl("mirror", name, "DESCRIBE", kind=kind) for kind, name in (("GROUP", "*"), ("CLUSTER", CLUSTER))))
    allow(target, *everything, acl("mirror", CLUSTER, "DESCRIBE", kind="CLUSTER"), acl("mirror", group, "DELETE", kind="GROUP"))
    allow(source, acl("writer", topic, "WRITE"), acl("reader", topic, "READ"))
    begins, there = topic[:-1], pair.remote(topic)[:-1]  # of prefixes that this topic has, and its remote topic
    by_prefix = [acl(user, begins, operation, pattern="PREFIXED") for user, operation in (("analyst", "READ"), ("loader", "ALL"))]
    allow(source, *by_prefix, acl("auditor", "*", "READ"), *(acl("insider", "*", each) for each in ("READ", "WRITE")))
    allow(target, acl("insider", there, "READ", pattern="PREFIXED"), acl("insider", begins, "WRITE", pattern="PREFIXED"))
    command = ["--config", str(file), "--json"]
    assert main([*command, "copy", "--without-spark"]) == 0
    capsys.readouterr()
    code = main([*command, "cutover", "plan", "--flow", pair.flow, "--topics", topic])
    (flow,) = json.loads(capsys.readouterr().out)["flows"]
    stops, warnings = findings(flow, "stop"), findings(flow, "warning")
    assert (code, set(stops)) == (1, {"AclsDiffer", "RightMissing"}), stops
    assert f"the mirror READ the group {group}, which is for committing its positions there" in stops["RightMissing"]
    assert f"{topic}: its remote topic lacks ACLs: {pair.remote(topic)}: ALLOW READ for User:reader from *." == stops["AclsDiffer"]
    assert set(warnings) == {"ActiveProducers", "RightMissing", "ReadersWithoutAcl", "WritersWithoutAcl"}
    assert "the mirror ALTER the cluster" in warnings["RightMissing"]
    assert warnings["WritersWithoutAcl"].startswith(f"{topic}: these may write to it on {pair.source}")
    assert "ALLOW WRITE for User:writer from * on " in warnings["WritersWithoutAcl"]
    named = {code: {user for user in USERS if f"User:{user} " in warnings[code]} for code in ("ReadersWithoutAcl", "WritersWithoutAcl")}
    assert named == {"ReadersWithoutAcl": {"analyst", "auditor", "loader"}, "WritersWithoutAcl": {"writer", "loader"}}, warnings


def test_a_group_without_a_name_stops_no_wave_and_is_seen_for_what_it_is(pair, topic, oracle, mirror):
    """Old clients committed under the empty id (KIP-289), and brokers keep it. Nobody can be a member of such a group."""
    set_offsets(pair.source_bootstrap, "", {(topic, 0): 10})
    try:
        assert mirror("copy", "--without-spark")[0] == 0
        code, flow = mirror("cutover", "plan", "--topics", topic)
        assert (code, findings(flow, "stop")) == (0, {}), flow
        assert [(group["group"], len(group["positions"])) for group in flow["result"]["groups"]] == [("", 1)]
        code, flow = mirror("cutover", "run", "--topics", topic, "--wave", f"unnamed-{pair.mark}", "--dry-run", "--reason", "a test")
        assert '"kind": "stop"' not in json.dumps(flow), flow
    finally:
        oracle.delete_topic(pair.source_bootstrap, topic)  # Kafka deletes no positions of such a group by themselves
