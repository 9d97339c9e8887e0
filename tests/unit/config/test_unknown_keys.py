"""Which keys are unknown, and above all: which are not."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_mirror.config.properties import parse
from kafka_mirror.config.setting import Setting
from kafka_mirror.config.unknown_keys import edits, nearest, unknown_keys

FROM_KAFKAS_DOCUMENTATION = """
clusters = us-west, us-east
us-west.bootstrap.servers = h:1
us-east.bootstrap.servers = h:2
us-west->us-east.enabled = true
us-west->us-east.topics = foo.*, bar.*
us-east->us-west.enabled = false
us-west->us-east.emit.heartbeats.enabled = true
replication.factor = 3
checkpoints.topic.replication.factor = 1
heartbeats.topic.replication.factor = 1
offset-syncs.topic.replication.factor = 1
offset.storage.replication.factor = 1
status.storage.replication.factor = 1
config.storage.replication.factor = 1
us-west.config.storage.replication.factor = 1
us-east.offset.storage.replication.factor = 1
us-west.status.storage.replication.factor = 1
replication.policy.separator = _
sync.topic.acls.enabled = false
emit.heartbeats.interval.seconds = 5
us-west.consumer.isolation.level = read_committed
us-east.exactly.once.source.support = enabled
us-east.producer.compression.type = gzip
us-west->us-east.consumer.fetch.min.bytes = 1
us-east.admin.retry.backoff.ms = 5
dedicated.mode.enable.internal.rest = true
listeners = http://localhost:8080
tasks.max = 10
"""

# As operators render it for Kubernetes, and as hosted services document it.
RENDERED = """
clusters=source,target
config.providers=env,secrets
config.providers.env.class=org.apache.kafka.common.config.provider.EnvVarConfigProvider
config.providers.secrets.class=org.apache.kafka.common.config.provider.FileConfigProvider
config.providers.secrets.param.allowed.paths=/opt/secrets
source.bootstrap.servers=h:1
source.security.protocol=SASL_SSL
source.sasl.mechanism=SCRAM-SHA-512
source.sasl.jaas.config=${secrets:/opt/secrets/jaas.properties:config}
source.ssl.truststore.location=/t.p12
source.ssl.truststore.password=${env:P}
source.ssl.truststore.type=PKCS12
source.ssl.endpoint.identification.algorithm=
source.consumer.max.poll.records=2000
source.consumer.auto.offset.reset=latest
source.consumer.max.partition.fetch.bytes=10485760
source.admin.request.timeout.ms=30000
target.bootstrap.servers=h:2
target.ssl.keystore.location=/k.p12
target.ssl.keystore.password=x
target.ssl.key.password=x
target.producer.max.request.size=10485760
target.producer.buffer.memory=1
target.producer.batch.size=1
target.producer.linger.ms=1
target.producer.acks=all
target.producer.ssl.truststore.location=/t.p12
target.group.id=mm2
target.client.id=mm2
target.offset.flush.timeout.ms=1
target.offset.storage.cleanup.policy=compact
target.rebalance.timeout.ms=1
target.plugin.path=/p
source->target.enabled=true
source->target.topics=a
source->target.groups=b
source->target.tasks.max=4
source->target.use.defaults.from=source
source->target.producer.override.linger.ms=1
source->target.source.consumer.fetch.max.bytes=1
source->target.target.producer.linger.ms=1
source->target.source.cluster.ssl.key.password=x
source->target.consumer.poll.timeout.ms=1
source->target.exactly.once.support=required
source->target.offsets.storage.topic=x
source->target.topic.creation.default.partitions=3
source->target.transforms.a.type=x
source->target.key.converter.schemas.enable=false
source->target.mirror.lanes=4
source->target.mirror.start=latest
mirror.copy.interval.seconds=60
key.converter=org.apache.kafka.connect.converters.ByteArrayConverter
value.converter.schemas.enable=false
consumer.poll.timeout.ms=1
admin.timeout.ms=1
security.protocol=SSL
ssl.truststore.location=/t
sasl.mechanism=PLAIN
bootstrap.servers=h:3
metric.reporters=x
"""


def unknown(text):
    raw = {key: Setting(value, key) for key, value in parse(text).items()}
    clusters = [part.strip() for part in raw["clusters"].text.split(",")] if "clusters" in raw else ["east", "west"]
    return {each.key: each for each in unknown_keys(raw, clusters)}


@pytest.mark.parametrize("text", [FROM_KAFKAS_DOCUMENTATION, RENDERED])
def test_no_wolf_is_cried_over_the_files_that_people_have(text):
    assert unknown(text) == {}


@pytest.mark.parametrize(
    ("key", "meant"),
    [
        ("tpoics", "topics"),
        ("emit.heartbeats", "emit.heartbeats.enabled"),
        ("east->west.enable", "east->west.enabled"),
        ("east->west.refresh.topic.interval.seconds", "east->west.refresh.topics.interval.seconds"),
        ("west.sasl.mechansim", "west.sasl.mechanism"),
        ("west.producer.compresion.type", "west.producer.compression.type"),
        ("east->west.producer.override.linger", "east->west.producer.override.linger.ms"),
        ("east->west.source.consumer.fetch.min.byte", "east->west.source.consumer.fetch.min.bytes"),
        ("topics.blacklist", "topics.exclude"),
        ("east->west.groups.blacklist", "east->west.groups.exclude"),
        ("use.defaults.from", "<source>-><target>.use.defaults.from"),
        ("producer.linger.ms", "<cluster>.producer.linger.ms"),
        ("west.tasks.max", "tasks.max"),
        ("east.request.timeout.ms", "east.consumer.request.timeout.ms"),
        ("esat.bootstrap.servers", "east.bootstrap.servers"),
        ("east->wset.topics", "east->west.topics"),
        ("east->west.ssl.key.password", None),
        ("completely.different", ""),
        ("use.incremental.alter.configs", ""),
    ],
)
def test_the_nearest_name_is_offered(key, meant):
    found = unknown(f"{key} = x")[key]
    if meant is not None:
        assert found.suggestion == meant
    assert found.message.startswith("has no effect, in MirrorMaker 2 neither")
    assert ("did you mean" in found.message) == bool(found.suggestion)


@pytest.mark.parametrize(
    ("key", "message"),
    [
        ("mirror.lane", "is not a property of the mirror; did you mean 'mirror.lanes'"),
        ("east->west.mirror.strat", "is not a property of the mirror; did you mean 'east->west.mirror.start'"),
        ("west.mirror.lanes", "belongs to a flow and not to a cluster; did you mean 'mirror.lanes'"),
    ],
)
def test_our_own_are_errors(key, message):
    found = unknown(f"{key} = 3")[key]
    assert found.is_own
    assert found.message == message


def test_unknown_keys_are_notices_of_the_file_or_the_flow(configuration):
    head = "clusters=a,b\na.bootstrap.servers=h:1\nb.bootstrap.servers=h:2\na->b.enabled=true\n"
    found = configuration(head + "tpoics=x\na->b.tpoics=y\nb->a.tpoics=z")

    (of_the_file,), (of_the_flow,) = found.notices, found.flows[0].notices
    assert of_the_file.endswith("mm2.properties:5: tpoics has no effect, in MirrorMaker 2 neither; did you mean 'topics'.")
    assert of_the_flow.endswith("mm2.properties:6: a->b.tpoics has no effect, in MirrorMaker 2 neither; did you mean 'a->b.topics'.")


def test_a_class_of_the_users_own_may_read_any_property_of_its_flow(flow, tmp_path, monkeypatch):
    (tmp_path / "our_topics.py").write_text("from kafka_mirror.policy.filters import TopicFilter\nclass Ours(TopicFilter):\n    pass\n")
    monkeypatch.syspath_prepend(tmp_path)

    assert flow("east->west.topic.filter.class = our_topics.Ours\neast->west.our.mark = x").notices == ()
    assert flow("east->west.our.mark = x").notices != ()


def test_what_only_a_connect_worker_would_read_is_told_once_a_file(configuration):
    head = "clusters=a,b\na.bootstrap.servers=h:1\nb.bootstrap.servers=h:2\na->b.enabled=true\n"
    (notice,) = configuration(head + "dedicated.mode.enable.internal.rest=true\nlisteners=http://h:1").notices
    assert notice.endswith(
        "dedicated.mode.enable.internal.rest, listeners: no effect here, because there is no Connect worker and no REST server."
    )


@pytest.mark.parametrize("switch", ["mirror.strict = true", "east->west.mirror.strict = TRUE"])
def test_strict_makes_them_errors(problems, switch):
    found = problems(f"{switch}\ntpoics = x\neast->west.enable = true\nwest.x = y\nwest->east.enable = true")
    assert set(found) == {"tpoics", "east->west.enable", "west.x"}


def test_what_has_no_effect_here_is_a_notice_that_says_why_even_when_strict(flow):
    made = flow("""
mirror.strict = true
tasks.max = 4
west.offset.flush.interval.ms = 5
west.status.storage.partitions = 1
east.consumer.group.id = x
""")

    assert made.notices == (
        "tasks.max: no effect here, because there are no Connect tasks; the work is spread over mirror.lanes.",
        "west.offset.flush.interval.ms, west.status.storage.partitions: no effect here, because there is no Connect worker.",
        "east.consumer.group.id: no effect here, because no consumer group is joined; the ledger holds the offsets.",
    )


@pytest.mark.parametrize(
    ("one", "other", "distance"),
    [("", "", 0), ("a", "", 1), ("esat", "east", 1), ("esat", "west", 2), ("topics", "topic", 1), ("ab", "ba", 1)],
)
def test_edits(one, other, distance):
    assert edits(one, other) == distance


@given(st.text("abc", max_size=6), st.text("abc", max_size=6))
def test_edits_are_symmetric_and_zero_only_for_the_same(one, other):
    assert edits(one, other) == edits(other, one)
    assert (edits(one, other) == 0) == (one == other)


def test_a_swap_is_nearer_than_another_letter():
    assert nearest("esat", ["west", "east"]) == "east"


def test_nothing_is_offered_for_what_is_like_nothing():
    assert nearest("completely.different", ["topics", "groups"]) is None
