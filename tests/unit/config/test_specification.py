r"""The catalogue against MirrorMaker 2 of Kafka 4.3.1: every property of its connectors, with type, default and who reads it.

The table was written from what the released classes define (MirrorSourceConfig, MirrorCheckpointConfig, MirrorHeartbeatConfig, the
default filters, SourceConnectorConfig) and does not come from the catalogue. A default of `-` is an empty list, `null` none;
`@` stands for org.apache.kafka.connect.mirror.
"""

import pytest

from kafka_mirror.config.catalogue import CATALOGUE, CONNECTORS, OF_THE_FILE, TOP_LEVEL, connectors_reading
from kafka_mirror.config.catalogue.mm2 import WORKER_NAMES

TABLE = r"""
admin.timeout.ms LONG all 60000
config.action.reload STRING all restart
config.properties.exclude LIST source follower.replication.throttled.replicas, leader.replication.throttled.replicas, message.timestamp.difference.max.ms, log.message.timestamp.before.max.ms, log.message.timestamp.after.max.ms, message.timestamp.type, unclean.leader.election.enable, min.insync.replicas
config.property.filter.class CLASS source @DefaultConfigPropertyFilter
connector.class STRING all null
connector.plugin.version STRING all null
consumer.poll.timeout.ms LONG source+checkpoint 1000
emit.offset-syncs.enabled BOOLEAN source true
enabled BOOLEAN all true
errors.log.enable BOOLEAN all false
errors.log.include.messages BOOLEAN all false
errors.retry.delay.max.ms LONG all 60000
errors.retry.timeout LONG all 0
errors.tolerance STRING all none
forwarding.admin.class CLASS all org.apache.kafka.clients.admin.ForwardingAdmin
header.converter CLASS all null
header.converter.plugin.version STRING all null
heartbeats.replication.enabled BOOLEAN source true
key.converter CLASS all null
key.converter.plugin.version STRING all null
metric.names.formats LIST source+checkpoint legacy
metric.reporters LIST all org.apache.kafka.common.metrics.JmxReporter
name STRING all null
offset-syncs.topic.location STRING source+checkpoint source
offset-syncs.topic.replication.factor SHORT source 3
offset.lag.max LONG source 100
predicates LIST all -
refresh.topics.enabled BOOLEAN source true
refresh.topics.interval.seconds LONG source 600
replication.factor INT source 2
replication.policy.class CLASS all @DefaultReplicationPolicy
replication.policy.internal.topic.separator.enabled BOOLEAN all true
replication.policy.separator STRING all .
source.cluster.alias STRING all null
sync.topic.acls.enabled BOOLEAN source true
sync.topic.acls.interval.seconds LONG source 600
sync.topic.configs.enabled BOOLEAN source true
sync.topic.configs.interval.seconds LONG source 600
target.cluster.alias STRING all target
task.assigned.groups LIST checkpoint null
task.assigned.partitions LIST source null
task.index INT source+checkpoint null
tasks.max INT all 1
tasks.max.enforce BOOLEAN all true
topic.filter.class CLASS source+checkpoint @DefaultTopicFilter
topics LIST source+checkpoint .*
topics.exclude LIST source+checkpoint mm2.*\.internal, .*\.replica, __.*
transforms LIST all -
value.converter CLASS all null
value.converter.plugin.version STRING all null
checkpoints.topic.replication.factor SHORT checkpoint 3
emit.checkpoints.enabled BOOLEAN checkpoint true
emit.checkpoints.interval.seconds LONG checkpoint 60
group.filter.class CLASS checkpoint @DefaultGroupFilter
groups LIST checkpoint .*
groups.exclude LIST checkpoint console-consumer-.*, connect-.*, __.*
refresh.groups.enabled BOOLEAN checkpoint true
refresh.groups.interval.seconds LONG checkpoint 600
sync.group.offsets.enabled BOOLEAN checkpoint false
sync.group.offsets.interval.seconds LONG checkpoint 60
emit.heartbeats.enabled BOOLEAN heartbeat true
emit.heartbeats.interval.seconds LONG heartbeat 1
heartbeats.topic.replication.factor SHORT heartbeat 3
exactly.once.support STRING all requested
offsets.storage.topic STRING all null
topic.creation.groups LIST all -
transaction.boundary STRING all poll
transaction.boundary.interval.ms LONG all null
use.defaults.from STRING source target
"""  # noqa: E501

DRIVER = """
access.control.allow.methods STRING
access.control.allow.origin STRING
clusters LIST null
config.providers LIST -
dedicated.mode.enable.internal.rest BOOLEAN false
listeners LIST http://:8083
response.http.headers.config STRING
rest.advertised.host.name STRING null
rest.advertised.listener STRING null
rest.advertised.port INT null
ssl.client.auth STRING none
"""

# What Connect's driver and worker put in the place of the connectors' own defaults.
FILLED_IN = {
    "enabled": "false",
    "target.cluster.alias": "null",
    **{f"{part}.converter": "org.apache.kafka.connect.converters.ByteArrayConverter" for part in ("key", "value", "header")},
}

# They reach a connector behind `S->T.` alone.
NOT_FROM_THE_TOP = {
    *("exactly.once.support", "offsets.storage.topic", "topic.creation.groups", "transaction.boundary"),
    *("transaction.boundary.interval.ms", "use.defaults.from", "task.assigned.partitions", "task.assigned.groups", "task.index"),
}

WORKER = """
access.control.allow.methods access.control.allow.origin admin.listeners client.id config.storage.replication.factor config.storage.topic
connect.protocol connector.client.config.override.policy exactly.once.source.support group.id header.converter heartbeat.interval.ms
inter.worker.key.generation.algorithm inter.worker.key.size inter.worker.key.ttl.ms inter.worker.signature.algorithm
inter.worker.verification.algorithms key.converter listeners offset.flush.interval.ms offset.flush.timeout.ms offset.storage.partitions
offset.storage.replication.factor offset.storage.topic plugin.discovery plugin.path rebalance.timeout.ms response.http.headers.config
rest.advertised.host.name rest.advertised.listener rest.advertised.port rest.extension.classes scheduled.rebalance.max.delay.ms
session.timeout.ms ssl.client.auth status.storage.partitions status.storage.replication.factor status.storage.topic
task.shutdown.graceful.timeout.ms topic.creation.enable topic.tracking.allow.reset topic.tracking.enable value.converter
worker.sync.timeout.ms worker.unsync.backoff.ms header.converter.plugin.version key.converter.plugin.version
value.converter.plugin.version
"""


def rows(table: str) -> dict[str, list[str]]:
    split = (line.split(" ", 3) for line in table.strip().splitlines())
    return {name: rest for name, *rest in split}


def as_java(default: object) -> str:
    if default is None:
        return "null"
    if isinstance(default, tuple):
        return ", ".join(default) or "-"
    return str(default).lower() if isinstance(default, bool) else str(default)


def test_no_property_is_missing_and_none_is_invented():
    assert {name for name in CATALOGUE if not name.startswith("mirror.")} == set(rows(TABLE))
    assert set(OF_THE_FILE) == set(rows(DRIVER))


@pytest.mark.parametrize("name", rows(TABLE))
def test_type_default_and_readers_are_mirrormakers(name):
    type_, readers, default = rows(TABLE)[name]
    found = CATALOGUE[name]
    expected = FILLED_IN.get(name, default.replace("@", "org.apache.kafka.connect.mirror."))
    assert (found.type, as_java(found.default)) == (type_, expected)
    assert connectors_reading(name) == (CONNECTORS if readers == "all" else tuple(readers.split("+")))
    assert (name in TOP_LEVEL) is (name not in NOT_FROM_THE_TOP)


@pytest.mark.parametrize("name", rows(DRIVER))
def test_the_drivers_properties_are_mirrormakers(name):
    type_, *default = rows(DRIVER)[name]
    assert (OF_THE_FILE[name].type, as_java(OF_THE_FILE[name].default)) == (type_, default[0] if default else "")


def test_the_workers_names_are_those_of_connect():
    assert set(WORKER.split()) == WORKER_NAMES
