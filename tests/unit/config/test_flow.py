import pytest

from kafka_mirror.config.flow import FlowName
from kafka_mirror.errors import ConfigurationError, UsageError


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("mirror.copy.interval.seconds", 300),
        ("mirror.follow.seconds", 1),
        ("mirror.lanes", 16),
        ("mirror.run.max.seconds", 300),
        ("mirror.run.max.bytes", -1),
        ("mirror.transaction.max.bytes", 33_554_432),
        ("mirror.transaction.timeout.ms", 60_000),
        ("mirror.open.transaction.max.seconds", 900),
        ("mirror.installation", ""),
        ("mirror.spark.connection", ""),
        ("mirror.strict", False),
        ("mirror.ledger.replication.factor", 3),
        ("topics", (".*",)),
        ("topics.exclude", (r"mm2.*\.internal", r".*\.replica", "__.*")),
        ("groups.exclude", ("console-consumer-.*", "connect-.*", "__.*")),
        ("replication.factor", 2),
        ("replication.policy.separator", "."),
        ("offset-syncs.topic.location", "source"),
        ("offset.lag.max", 100),
        ("refresh.topics.interval.seconds", 600),
        ("sync.group.offsets.enabled", False),
        ("emit.checkpoints.interval.seconds", 60),
        ("use.defaults.from", "target"),
        ("enabled", True),
        ("source.cluster.alias", "east"),
    ],
)
def test_defaults(flow, name, value):
    assert flow().value(name) == value


def test_values_are_typed(flow):
    made = flow("replication.factor = 5\nsync.topic.acls.enabled = False \neast->west.topics = a , b\nreplication.policy.separator = -")

    assert made.value("replication.factor") == 5
    assert made.value("sync.topic.acls.enabled") is False
    assert made.value("topics") == ("a", "b")
    assert made.value("replication.policy.separator") == "-"


@pytest.mark.parametrize(
    ("text", "committed"),
    [
        ("", True),
        ("consumer.isolation.level = read_committed", True),
        ("east.consumer.isolation.level = read_uncommitted", False),
        ("west.consumer.isolation.level = read_uncommitted", True),
    ],
)
def test_committed_records_alone_are_read_unless_the_sources_consumer_is_told_otherwise(flow, text, committed):
    assert flow(text).reads_committed is committed


def test_a_request_may_take_the_admins_timeout_in_seconds(flow):
    assert flow().request_seconds == 60.0
    assert flow("admin.timeout.ms = 1500").request_seconds == 1.5


def test_the_ledgers_replication_factor_follows_that_of_the_offset_syncs(flow):
    assert flow("offset-syncs.topic.replication.factor = 1").value("mirror.ledger.replication.factor") == 1
    assert (
        flow("offset-syncs.topic.replication.factor = 1\nmirror.ledger.replication.factor = 2").value("mirror.ledger.replication.factor")
        == 2
    )


def test_a_name_that_the_catalogue_does_not_have_is_a_key_error(flow):
    with pytest.raises(KeyError):
        flow().value("mirror.nope")


def test_a_value_is_resolved_when_it_is_asked_for(flow):
    environ = {}
    made = flow("mirror.lanes = ${env:LANES}", environ)

    with pytest.raises(ConfigurationError, match=r"mirror\.lanes: the reference \$\{env:LANES\} cannot be read"):
        made.value("mirror.lanes")
    environ["LANES"] = "4"
    assert made.value("mirror.lanes") == 4


@pytest.mark.parametrize("hidden", ["hidden", "hidden,", "timestamp:hidden", "hidden("])
@pytest.mark.parametrize("name", ["mirror.lanes", "mirror.start", "topics"])
def test_what_a_reference_leads_to_is_never_shown(flow, name, hidden):
    made = flow(f"{name} = ${{env:X}}", {"X": hidden})
    try:
        made.value(name)
    except ConfigurationError as error:
        assert "hidden" not in str(error) + repr(error.problems)
        assert name in str(error)


def test_the_start_by_a_reference_is_never_shown(flow):
    made = flow("east.consumer.auto.offset.reset = ${env:X}", {"X": "hidden"})
    with pytest.raises(ConfigurationError) as raised:
        made.per_topic("mirror.start", "a")
    assert "hidden" not in str(raised.value)


def test_secrets_are_in_no_text_of_a_flow(configuration):
    text = """
clusters = a, b
a.bootstrap.servers = h:1
b.bootstrap.servers = h:2
a->b.enabled = true
a.security.protocol = SASL_SSL
a.sasl.mechanism = PLAIN
a.sasl.jaas.config = org.apache.kafka.common.security.plain.PlainLoginModule required username="u" password="hidden";
a.ssl.truststore.password = hidden
b.producer.client.id = ${env:X}
"""
    found = configuration(text, {"X": "hidden"})
    made = found.flow("a->b")

    shown = (found, made, made.references, made.connector, made.worker_settings, vars(made), made.notices)
    assert "hidden" not in "".join(f"{each!r}{each!s}" for each in shown)
    assert made.client("source", "admin")["sasl.password"] == "hidden"


def test_secrets_are_in_no_problem(problems):
    found = problems('east.security.protocol = SASL_SSL\neast.sasl.mechanism = PLAIN\neast.sasl.jaas.config = x required password="hidden"')
    assert "hidden" not in repr(found)
    assert "semicolon" in found["east.sasl.jaas.config"]


def test_names_for_airflow(flow):
    made = flow()
    assert made.name == "east->west"
    assert made.dag_id("copy") == "east-to-west.copy"
    assert made.tags == ("mirror", "east->west")


def test_characters_that_airflow_does_not_take_become_underscores():
    assert FlowName("us east", "é/b.c").dag_id("copy") == "us_east-to-__b.c.copy"


def test_bootstrap_is_resolved_when_it_is_asked_for(configuration):
    made = configuration("clusters=a,b\na.bootstrap.servers=h:${env:P}\nb.bootstrap.servers=h:2\na->b.enabled=true", {"P": "1"}).flow(
        "a->b"
    )
    assert (made.find_bootstrap("source"), made.find_bootstrap("target")) == ("h:1", "h:2")


def test_the_hash_follows_the_properties_and_not_what_references_lead_to(flow):
    assert flow("mirror.lanes = 4").config_hash != flow("mirror.lanes = 5").config_hash
    assert flow("west.producer.linger.ms = 4").config_hash != flow("west.producer.linger.ms = 5").config_hash
    assert flow("mirror.lanes = ${env:X}", {"X": "1"}).config_hash == flow("mirror.lanes = ${env:X}", {"X": "2"}).config_hash
    assert flow("# comment").config_hash == flow().config_hash


def test_flows_can_be_compared_and_hashed(flow):
    assert hash(flow("mirror.lanes = 4")) == hash(flow("mirror.lanes = 4"))


def test_an_unknown_flow_is_a_usage_error_with_the_nearest_name(configuration, flow):
    found = configuration("clusters=east,west\neast.bootstrap.servers=h:1\nwest.bootstrap.servers=h:2\neast->west.enabled=true")
    with pytest.raises(UsageError, match="Did you mean 'east->west'"):
        found.flow("esat->west")
    with pytest.raises(UsageError, match="No flow is enabled"):
        configuration("clusters=east,west").flow("east->west")


def test_an_invalid_flow_raises_what_is_wrong_with_it(configuration):
    found = configuration("clusters=east,west\neast->west.enabled=true")
    with pytest.raises(ConfigurationError, match=r"east\.bootstrap\.servers: is missing"):
        found.flow("east->west")
