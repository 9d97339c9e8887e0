"""The real MirrorMaker 2 and this mirror on one source, each into a target of its own: what stands on the targets afterwards is the same.

Records and translated offsets are compared elsewhere; here it is everything beside them. Where the two differ on purpose,
docs/reference/differences-from-mirrormaker2.md says why.
"""

import re
import time
from dataclasses import replace

import pytest

from kafka_mirror.__main__ import main
from kafka_mirror.cli.parser import parser
from services.consumers import groups_of, read_offsets, set_offsets
from services.kafka import KafkaCluster
from services.mirrormaker import MirrorMaker

COMMANDS = (
    ["copy", "--without-spark"],
    ["refresh-topics"],
    ["topic-configs"],
    ["topic-acls"],
    ["heartbeats"],
    ["refresh-groups"],
    ["checkpoints"],
    ["group-offsets"],
)
"""What MirrorMaker 2 does all the time, once."""

SETTINGS = {
    f"{what}.interval.seconds": "1"
    for what in (
        "refresh.topics",
        "refresh.groups",
        "sync.topic.configs",
        "sync.topic.acls",
        "sync.group.offsets",
        "emit.heartbeats",
        "emit.checkpoints",
    )
} | {
    "sync.group.offsets.enabled": "true",
    # On the source both would write to one topic.
    "offset-syncs.topic.location": "target",
}

OWN_TOPICS = (
    re.compile(r"mm2-(configs|offsets|status)\..*\.internal"),  # Kafka Connect's, in which MirrorMaker 2 keeps its state
    re.compile(r"mm2-(ledger|control)\..*\.internal"),  # this mirror's
)


BY_THE_HOUR = {"segment.ms": "3600000"}
"""What only this mirror sets for the topics of offset syncs and checkpoints, so that they are compacted sooner."""

WITHOUT_WRITING = {"READ", "CREATE", "DELETE", "ALTER", "DESCRIBE_CONFIGS", "ALTER_CONFIGS"}
"""What this mirror denies where the source denies ALL."""


def acl(name, user, operation, permission="ALLOW", pattern="LITERAL"):
    return {
        "type": "TOPIC",
        "name": name,
        "pattern": pattern,
        "principal": f"User:{user}",
        "operation": operation,
        "permission": permission,
    }


# ---------------------------------------------------------------- what is compared


def topics(oracle, target, pair):
    """Every topic of this flow but those in which each mirror keeps its state: partitions, and what was set for the topic itself."""
    ours = {name: each for name, each in oracle.topics(target).items() if pair.mark in name or name == "heartbeats"}
    found = {name: each for name, each in ours.items() if not any(own.fullmatch(name) for own in OWN_TOPICS)}
    for name in {f"mm2-offset-syncs.{pair.source}.internal", f"{pair.source}.checkpoints.internal"} & found.keys():
        meant = {key: value for key, value in found[name].configs.items() if (key, value) not in BY_THE_HOUR.items()}
        found[name] = replace(found[name], configs=meant)
    return found


def acls(oracle, target, pair):
    """The ALLOWs of this flow's remote topics; what becomes of denials differs on purpose."""
    return sorted(sorted(each.items()) for each in of_remote_topics(oracle, target, pair) if each["permission"] == "ALLOW")


def denied(oracle, target, pair):
    """The operations that are denied on this flow's remote topics."""
    return {each["operation"] for each in of_remote_topics(oracle, target, pair) if each["permission"] == "DENY"}


def of_remote_topics(oracle, target, pair):
    return [each for each in oracle.acls(target) if each["name"].startswith(f"{pair.source}.")]


def groups(oracle, target, pair):
    """The groups that have committed offsets, and for which partitions."""
    with groups_of(target) as found:
        names = [name for name in found.list_groups() if pair.mark in name]
    offsets = {name: sorted(read_offsets(target, name)) for name in names}
    return {name: partitions for name, partitions in offsets.items() if partitions}


COMPARED = (topics, acls, groups)
"""Each gives one aspect of a target. What a new step leaves there is either seen by these or added here."""


# ---------------------------------------------------------------- the two mirrors


@pytest.fixture(scope="module")
def third(services_directory):
    """The target of this mirror; that of MirrorMaker 2 is one of the guarded clusters."""
    cluster = KafkaCluster(services_directory / "side-by-side", "side-by-side", users={"mirror": "mirror"})
    cluster.start()
    yield cluster
    cluster.discard()


@pytest.fixture
def theirs(guarded, make_pair):
    """The flow as MirrorMaker 2 has it."""
    return make_pair(*guarded)


@pytest.fixture
def ours(theirs, third, tmp_path):
    """The same flow, under the same aliases, into the other target."""
    (tmp_path / "ours").mkdir()
    return replace(theirs, target_bootstrap=third.bootstrap, directory=tmp_path / "ours")


@pytest.fixture
def mirror(ours):
    """Runs each of this mirror's steps once."""
    one_way = {f"{ours.target}->{ours.source}.emit.heartbeats.enabled": "false"}
    file = ours.properties(extra={"source->target.mirror.lanes": "4", "mirror.installation": "this", **one_way, **SETTINGS})
    commands = parser().commands

    def run():
        for command in COMMANDS:
            if command[0] in commands:
                assert main(["--config", str(file), *command]) == 0, command

    return run


@pytest.fixture
def assert_same(oracle, theirs, ours):
    """Waits until MirrorMaker 2 has come as far as this mirror; shows what differs if it never does."""

    def wait(seconds=240):
        deadline = time.monotonic() + seconds
        while True:
            left = {look.__name__: look(oracle, theirs.target_bootstrap, theirs) for look in COMPARED}
            right = {look.__name__: look(oracle, ours.target_bootstrap, ours) for look in COMPARED}
            if left == right:
                return right
            assert time.monotonic() < deadline, "\n".join(differences(left, right))
            time.sleep(0.5)

    return wait


def differences(theirs, ours):
    """Each thing that is not the same, on both sides."""
    for look, left in theirs.items():
        right = ours[look]
        names = sorted({*left, *right}) if isinstance(left, dict) else []
        rows = [(name, left.get(name), right.get(name)) for name in names] or [(look, left, right)]
        yield from (f"{name}: MirrorMaker 2 {a}, this mirror {b}" for name, a, b in rows if a != b)


def test_both_leave_the_same_topics_configs_acls_and_groups(oracle, theirs, ours, mirror, assert_same):
    source, name = theirs.source_bootstrap, theirs.topic
    configs = {
        "plain": {},
        "compacted": {"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.1"},
        "both": {"cleanup.policy": "compact,delete", "segment.ms": "7200000"},
        "expiring": {"retention.ms": "86400000", "retention.bytes": "1000000"},
        "large": {"max.message.bytes": "2000000", "compression.type": "zstd"},
        "excluded": {"min.insync.replicas": "1", "unclean.leader.election.enable": "true", "message.timestamp.type": "LogAppendTime"},
        "timestamps": {"message.timestamp.before.max.ms": "9000000000000"},  # copied: the default list spells it as brokers do
    }
    for number, (topic, settings) in enumerate(configs.items()):
        oracle.create_topic(source, name(topic), 1 + number % 3, settings)
        oracle.produce(source, name(topic), 20, seed=number, null_keys=False)
    oracle.create_topic(source, f"north.{name('orders')}", 2)
    oracle.create_topic(source, "heartbeats", 1, {"cleanup.policy": "compact"})
    oracle.create_topic(source, f"{theirs.target}.{name('looped')}")
    set_offsets(source, f"group-{theirs.mark}", {(name("plain"), 0): 10})
    given = [
        acl(name("plain"), "reader", "READ"),
        acl(name("plain"), "writer", "WRITE"),
        acl(name("plain"), "owner", "ALL"),
        acl(name("plain"), "stranger", "ALL", "DENY"),
        acl(name("plain"), "stranger", "WRITE", "DENY"),
        *(acl(name("large"), "owner", each) for each in ("DESCRIBE", "DESCRIBE_CONFIGS", "ALTER_CONFIGS", "DELETE", "CREATE", "ALTER")),
        acl(name("lar"), "reader", "READ", pattern="PREFIXED"),
        acl(f"{theirs.target}.{name('looped')}", "reader", "READ"),
        acl(name("not there yet"), "reader", "READ"),
    ]
    oracle.create_acls(source, given)
    try:
        with MirrorMaker(theirs, SETTINGS):
            mirror()
            before = assert_same()
            assert {theirs.remote(name(each)) for each in configs} | {theirs.remote(f"north.{name('orders')}")} <= set(before["topics"])
            own = {f"{theirs.source}.heartbeats", f"{theirs.source}.checkpoints.internal", f"mm2-offset-syncs.{theirs.source}.internal"}
            assert own | {"heartbeats"} <= set(before["topics"])
            assert len(before["acls"]) == 9
            assert denied(oracle, theirs.target_bootstrap, theirs) == {"ALL", "WRITE"}
            assert denied(oracle, ours.target_bootstrap, ours) == WITHOUT_WRITING, "no denial keeps the mirror from writing"
            assert before["groups"] == {f"group-{theirs.mark}": [(theirs.remote(name("plain")), 0)]}

            for target in (theirs.target_bootstrap, ours.target_bootstrap):
                # The first is set back. The others stay: excluded, and given in the source brokers' own files.
                own = {"segment.bytes": "2000000", "min.insync.replicas": "1", "retention.ms": "5000000"}
                oracle.alter_configs(target, theirs.remote(name("plain")), own)
            oracle.alter_configs(source, name("expiring"), {"retention.ms": "3600000", "retention.bytes": None})
            oracle.alter_configs(source, name("compacted"), {"cleanup.policy": None})
            oracle.create_partitions(source, name("plain"), 4)
            oracle.create_topic(source, name("new"), 2, {"delete.retention.ms": "1000"})
            oracle.delete_acls(source, given[:1])
            given.append(acl(name("new"), "reader", "READ"))
            oracle.create_acls(source, given[-1:])
            # MirrorMaker 2 sends the configs of all topics at once: with this one a round is over that saw all of the above.
            oracle.alter_configs(source, name("large"), {"max.message.bytes": "2000001"})
            wait_for_round(oracle, theirs, name("large"), {"max.message.bytes": "2000001", "compression.type": "zstd"})
            mirror()
            after = assert_same()
    finally:
        oracle.delete_acls(source, given)
        oracle.delete_topic(source, "heartbeats")
    remote = {topic: dict(after["topics"][theirs.remote(name(topic))].configs) for topic in ("plain", "expiring", "compacted", "new")}
    assert remote == {
        "plain": {"min.insync.replicas": "1", "retention.ms": "5000000"},
        "expiring": {"retention.ms": "3600000"},
        "compacted": {"min.cleanable.dirty.ratio": "0.1"},
        "new": {"delete.retention.ms": "1000"},
    }
    assert after["topics"][theirs.remote(name("plain"))].partitions == 4
    assert len(after["acls"]) == 10, "one more, and the one that the source has no more"


def wait_for_round(oracle, theirs, topic, configs):
    deadline = time.monotonic() + 240
    remote = theirs.remote(topic)
    while (found := oracle.topics(theirs.target_bootstrap, [remote])[remote].configs) != configs:
        assert time.monotonic() < deadline, found
        time.sleep(0.2)
