"""With the offset syncs on the target, the source's principal needs to read and describe, and nothing is ever written there."""

import json
import zlib

import pytest
from confluent_kafka.admin import AdminClient, ConfigResource

from kafka_mirror.__main__ import main
from kafka_mirror.cli.parser import parser
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.kafka.cluster import Cluster
from kafka_mirror.kafka.reader import BoundedReader
from services.consumers import set_offsets
from services.kafka import KafkaCluster
from services.waiting import ADMIN_TIMEOUT_MS, PATIENCE

PASSWORD = "correct horse"

STEPS = (
    ("refresh-topics",),
    ("plan",),
    ("copy", "--without-spark"),
    ("backfill", "--from", "2020-01-01", "--to", "2100-01-01", "--without-spark"),
    ("refresh-groups",),
    ("checkpoints",),
    ("group-offsets",),
    ("topic-configs",),
    ("topic-acls",),
    ("heartbeats",),
    ("translate", "--group", "readers"),
    ("status",),
    ("freshness",),
    ("audit",),
    ("cutover", "plan", "--flow", "FLOW", "--topics", ".*", "--groups", "readers"),
)
"""Every command that looks at the source of a flow, in the order of a day."""

NOT_STEPS = {"config", "decide", "pools", "schemas", "spark", "take-over", "hand-back"}
"""Those that ask no broker, and those that a person runs once."""

NEEDED = (("TOPIC", "READ"), ("TOPIC", "DESCRIBE"), ("TOPIC", "DESCRIBE_CONFIGS"), ("GROUP", "DESCRIBE"), ("CLUSTER", "DESCRIBE"))


@pytest.fixture(scope="module")
def source(services_directory):
    """A cluster whose user `mirror` may do what is NEEDED, and nothing else; its plain listener may do everything."""
    cluster = KafkaCluster(services_directory / "read-only", "source", users={"mirror": PASSWORD})
    cluster.start()
    yield cluster
    cluster.discard()


@pytest.fixture
def pair(make_pair, source, west):
    return make_pair(source, west)


@pytest.fixture
def mirror(pair, source, capsys):
    """Runs a command and gives what it answers for the flow, and its exit code."""
    login = f'org.apache.kafka.common.security.plain.PlainLoginModule required username="mirror" password="{PASSWORD}";'
    extra = {
        "source.bootstrap.servers": source.secure_bootstrap,
        "source.security.protocol": "SASL_PLAINTEXT",
        "source.sasl.mechanism": "PLAIN",
        "source.sasl.jaas.config": login,
        "source->target.offset-syncs.topic.location": "target",
        "source->target.sync.group.offsets.enabled": "true",
        "source->target.mirror.lanes": "2",
        "admin.timeout.ms": ADMIN_TIMEOUT_MS,
    }

    def run(*command):
        code = main(["--config", str(pair.properties(extra=extra)), *command, "--flow", pair.flow, "--json"])
        (flow,) = json.loads(capsys.readouterr().out)["flows"]
        return code, flow

    return run


def everything(cluster):
    """Every topic of a cluster, the brokers' own too: ids, configs, ends, and a checksum of each record; and all ACLs and groups."""
    settings = {"bootstrap.servers": cluster.bootstrap}
    admin = AdminClient(settings)
    with Cluster("seen", settings) as seen:
        names = list(admin.list_topics(timeout=PATIENCE).topics)
        described = seen.topics(names)
        partitions = [TopicPartition(topic.name, each.number) for topic in described.values() for each in topic.partitions]
        ends = seen.offsets(partitions, "latest")
        reader = BoundedReader("seen", settings, committed=False)
        records = [
            (*message.partition, message.offset, zlib.crc32((message.key or b"") + b"\0" + (message.value or b"")))
            for message in reader.read({tp: (0, end) for tp, end in ends.items()}, 30)
        ]
    configs = admin.describe_configs([ConfigResource(ConfigResource.Type.TOPIC, name) for name in names])
    shown = {resource.name: {key: entry.value for key, entry in answer.result(PATIENCE).items()} for resource, answer in configs.items()}
    groups = sorted(group.group_id for group in admin.list_consumer_groups().result(PATIENCE).valid)
    return {"topics": described, "configs": shown, "ends": ends, "records": sorted(records), "groups": groups}


def test_every_command_that_looks_at_a_source_is_run_here():
    commands = parser().commands
    assert {step[0] for step in STEPS} | NOT_STEPS == set(commands)


def test_a_day_of_the_mirror_writes_nothing_to_a_source_that_it_may_only_read(pair, source, mirror, oracle):
    topic = pair.topic("orders")
    oracle.create_topic(source.bootstrap, topic, 2)
    oracle.produce(source.bootstrap, topic, 60, seed=1)
    oracle.create_acls(
        source.bootstrap,
        [
            {
                "principal": "User:mirror",
                "type": kind,
                "name": "kafka-cluster" if kind == "CLUSTER" else "*",
                "operation": operation,
                "pattern": "LITERAL",
            }
            for kind, operation in NEEDED
        ],
    )
    set_offsets(source.bootstrap, "readers", {(topic, 0): 10, (topic, 1): 20})
    before = everything(source)
    for seed in (2, 3):
        for step in STEPS:
            code, flow = mirror(*(pair.flow if word == "FLOW" else word for word in step))
            assert (step, code, flow["errors"]) == (step, 0, [])
        assert everything(source) == before
        oracle.produce(source.bootstrap, topic, 20, seed=seed)
        before = everything(source)
    found = mirror("cutover", "plan", "--flow", pair.flow, "--topics", topic)[1]["result"]["findings"]
    (lacking,) = [each["message"] for each in found if each["code"] == "RightMissing"]
    assert (
        lacking
        == f"Cluster '{pair.source}' does not let the mirror ALTER the cluster, which is for a write fence by ACL. Nothing was changed."
    )
    with Cluster("seen", {"bootstrap.servers": pair.target_bootstrap}) as target:
        assert f"mm2-offset-syncs.{pair.source}.internal" in target.topics([f"mm2-offset-syncs.{pair.source}.internal"])
    assert sum(count.records for count in oracle.count(pair.target_bootstrap, pair.remote(topic))) == 80
