from pathlib import Path

import pytest

from kafka_mirror.config import load
from kafka_mirror.errors import ConfigurationError, ConfigurationMissing

CLUSTERS = "clusters = a, b, c\na.bootstrap.servers = h:1\nb.bootstrap.servers = h:2\nc.bootstrap.servers = h:3\n"


def names(flows):
    return [flow.name for flow in flows]


EXAMPLE = Path(__file__).parents[3] / "include" / "mm2.properties"


def test_the_shipped_example_is_valid_and_says_nothing():
    found = load([EXAMPLE], {"EAST_KAFKA_PORT": "1", "WEST_KAFKA_PORT": "2"})

    assert names(found.flows) == ["east->west"]
    assert found.invalid == ()
    assert found.notices == ()
    assert found.flows[0].notices == ()
    assert found.flows[0].client("target", "producer")["bootstrap.servers"] == "127.0.0.1:2"


@pytest.mark.parametrize("word", ["true", "TRUE", "True"])
def test_enabled_is_the_word_true_in_any_case(configuration, word):
    assert names(configuration(f"{CLUSTERS}a->b.enabled = {word}").flows) == ["a->b"]


@pytest.mark.parametrize("word", ["true ", "yes", "1", ""])
def test_anything_else_leaves_the_flow_off_and_is_told(configuration, word):
    found = configuration(f"{CLUSTERS}a->b.enabled={word}")

    assert (found.flows, found.invalid) == ((), ())
    assert "a->b.enabled" in found.notices[0]


def test_only_the_flows_own_switch_counts(configuration):
    assert configuration(f"{CLUSTERS}enabled = true\na->b.topics = x").flows == ()


def test_every_enabled_pair_is_a_flow_in_the_order_of_the_clusters(configuration):
    text = CLUSTERS + "c->a.enabled=true\nb->a.enabled=true\na->c.enabled=true\na->b.enabled=false"
    assert names(configuration(text).flows) == ["a->c", "b->a", "c->a"]


def test_clusters_and_switches_may_be_references(configuration):
    text = CLUSTERS.replace("a, b, c", "${env:ALL}") + "a->b.enabled = ${env:ON}\nb->a.enabled = ${env:OFF}"
    found = configuration(text, {"ALL": "a,b", "ON": "true", "OFF": "false"})

    assert names(found.flows) == ["a->b"]


def test_a_switch_that_cannot_be_resolved_is_an_invalid_flow(configuration):
    found = configuration(CLUSTERS + "a->b.enabled = ${env:NOPE}\nb->a.enabled=true\nb->a.emit.checkpoints.enabled = ${env:NOPE}")

    assert names(found.invalid) == ["a->b", "b->a"]
    assert "NOPE is not set" in str(found.invalid[0].error)
    assert found.invalid[1].error.problems[0].property == "b->a.emit.checkpoints.enabled"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "clusters: is missing or empty"),
        ("clusters =", "clusters: is missing or empty"),
        ("clusters = a,,b", "clusters: has an empty member"),
        ("clusters = ${env:NOPE}", "NOPE is not set"),
        (r"clusters = \u12", "line 1: malformed"),
    ],
)
def test_a_file_that_cannot_be_used_at_all_is_an_error_that_names_it(configuration, text, reason):
    with pytest.raises(ConfigurationError, match=reason) as raised:
        configuration(text)
    assert raised.value.file.endswith("mm2.properties")


def test_a_file_that_cannot_be_read_is_an_error_that_names_it():
    with pytest.raises(ConfigurationError, match=r"in /none/x.properties .*No such file"):
        load([Path("/none/x.properties")])


def test_flows_of_other_files_live_on_when_one_file_cannot_be_read(tmp_path):
    (tmp_path / "good").write_text(CLUSTERS + "a->b.enabled = true\n")
    (tmp_path / "bad").write_text("clusters =\n")
    found = load([tmp_path / "none", tmp_path / "good", tmp_path / "bad"], {})

    assert names(found.flows) == ["a->b"]
    assert [error.file for error in found.unreadable] == [str(tmp_path / "none"), str(tmp_path / "bad")]
    assert found.flow("a->b").name == "a->b"
    with pytest.raises(ConfigurationError, match="No such file"):
        found.flow("b->a")


def test_files_of_which_none_can_be_read_are_one_error_that_names_each(tmp_path):
    (tmp_path / "bad").write_text("clusters =\n")
    with pytest.raises(ConfigurationError) as raised:
        load([tmp_path / "none", tmp_path / "bad"], {})
    for part in (f"{tmp_path}/none: --config: the file cannot be read", f"{tmp_path}/bad:1: clusters: is missing"):
        assert part in str(raised.value).splitlines()[1] + str(raised.value).splitlines()[2]


def test_a_file_that_cannot_be_read_is_blamed_on_what_named_it(tmp_path):
    with pytest.raises(ConfigurationError) as by_option:
        load([tmp_path / "none"], {"MIRROR_CONFIG": "/other"})
    with pytest.raises(ConfigurationError) as by_variable:
        load(None, {"MIRROR_CONFIG": str(tmp_path / "none")})
    assert [error.value.problems[0].property for error in (by_option, by_variable)] == ["--config", "MIRROR_CONFIG"]


@pytest.mark.parametrize("listed", [{}, {"MIRROR_CONFIG": ""}, {"MIRROR_CONFIG": " , "}])
def test_no_configuration_is_taken_that_nobody_named(listed):
    with pytest.raises(ConfigurationMissing, match=r"No configuration: MIRROR_CONFIG is not set, and --config was not given\. Next: Name"):
        load(environ=listed)


def test_the_word_for_clusters_misspelt_is_pointed_at(configuration):
    with pytest.raises(ConfigurationError, match="did you mean 'cluster' in line 2"):
        configuration("# x\ncluster = a, b\n")


def test_all_mistakes_show_at_once(problems):
    found = problems("""
east->west.topics = a(
east->west.mirror.lanes = 300
east->west.mirror.lane = 3
east->west.replication.factor = two
west.producer.acks = 1
east.consumer.isolation.level = read-committed
sync.topic.acls.enabled = maybe
mirror.copy.interval.seconds = 9
emit.checkpoints.interval.seconds = -1
topics.exclude = a,,b
offset-syncs.topic.location = Target
topic.filter.class = my.Filter
value.converter = org.apache.kafka.connect.json.JsonConverter
transforms = a
east.consumer.auto.offset.reset = none
west.ssl.truststore.password = ${vault:a:b}
east.ssl.keystore.password = ${conn:a:b}
""")
    assert set(found) == {
        "east->west.topics",
        "east->west.mirror.lanes",
        "east->west.mirror.lane",
        "east->west.replication.factor",
        "west.producer.acks",
        "east.consumer.isolation.level",
        "sync.topic.acls.enabled",
        "mirror.copy.interval.seconds",
        "emit.checkpoints.interval.seconds",
        "topics.exclude",
        "offset-syncs.topic.location",
        "topic.filter.class",
        "value.converter",
        "transforms",
        "east.consumer.auto.offset.reset",
        "west.ssl.truststore.password",
        "east.ssl.keystore.password",
    }


def test_each_mistake_has_the_line_of_its_property_and_they_come_in_the_order_of_the_file(configuration):
    text = (
        CLUSTERS.replace("b.bootstrap.servers = h:2\n", "")
        + "\na->b.enabled = true\nmirror.run.max.seconds = 0\nmirror.lanes = \\\n  many\n"
    )
    (invalid,) = configuration(text + "mirror.lane = 3\n").invalid
    assert [(problem.property, problem.line) for problem in invalid.error.problems] == [
        ("mirror.run.max.seconds", 6),
        ("mirror.lanes", 7),
        ("mirror.lane", 9),
        ("b.bootstrap.servers", None),
    ]
    message, *listed, step = str(invalid.error).splitlines()
    assert message == "The configuration for a->b cannot be used:"
    assert [line.split(": ")[0] for line in listed] == [f"  {invalid.error.file}{place}" for place in (":6", ":7", ":9", "")]
    assert step.startswith("Next: ")


def test_an_invalid_flow_leaves_the_others_alone_and_keeps_its_ids(configuration):
    found = configuration(CLUSTERS + "a->b.enabled=true\na->c.enabled=true\na->c.mirror.lanes=0\na->c.nonsense=1")

    assert names(found.flows) == ["a->b"]
    (invalid,) = found.invalid
    assert invalid.dag_id("copy") == "a-to-c.copy"
    assert invalid.error.flow == "a->c"
    assert "a->c.nonsense" in invalid.notices[0]


def test_missing_bootstrap_servers_are_named_by_cluster(configuration):
    found = configuration("clusters = a, b\na->b.enabled = true")
    assert {problem.property for problem in found.invalid[0].error.problems} == {"a.bootstrap.servers", "b.bootstrap.servers"}


@pytest.mark.parametrize(
    ("line", "name", "reason"),
    [
        ("a->bb.enabled = true", "a->bb", "'bb' is not among the clusters (a, b, c); did you mean 'b'"),
        ("x->b.enabled = true", "x->b", "'x' is not among the clusters (a, b, c)"),
        ("a->a.enabled = true", "a->a", "from one cluster to another"),
    ],
)
def test_a_flow_between_clusters_that_are_not_listed_is_invalid(configuration, line, name, reason):
    found = configuration(CLUSTERS + line)
    assert names(found.invalid) == [name]
    assert reason in str(found.invalid[0].error)


def test_a_cluster_of_another_flows_switch_is_not_taken_for_a_flow(configuration):
    assert configuration(CLUSTERS + "a->b.emit.heartbeats.enabled = true").invalid == ()


@pytest.mark.parametrize(
    ("lines", "name", "reason"),
    [
        ("source.cluster.alias =", "source.cluster.alias", "must be 'east'"),
        ("east->west.source.cluster.alias = other", "east->west.source.cluster.alias", "must be 'east'"),
        ("replication.policy.separator =", "replication.policy.separator", "must not be empty"),
        ("east->west.replication.policy.separator = /", "east->west.replication.policy.separator", "becomes part of topic names"),
        ("replication.policy.separator = - ", "replication.policy.separator", "a blank at its end counts"),
    ],
)
def test_the_tricks_for_unprefixed_topics_are_refused(problems, lines, name, reason):
    assert reason in problems(lines)[name]


@pytest.mark.parametrize("alias", ["mirror", "b/c", "us east"])
def test_aliases_that_cannot_work_are_refused(configuration, alias):
    key = alias.replace(" ", "\\ ")
    text = f"clusters = {alias}, b\n{key}.bootstrap.servers = h:1\nb.bootstrap.servers = h:2\n{key}->b.enabled = true"
    assert "clusters" in {problem.property for problem in configuration(text).invalid[0].error.problems}


def write(directory, name, text):
    path = directory / name
    path.write_text(text)
    return path


def test_several_files_are_several_teams(tmp_path):
    one = write(tmp_path, "one", CLUSTERS + "a->b.enabled=true")
    two = write(tmp_path, "two", CLUSTERS + "a->c.enabled=true\nmirror.lanes=4")

    found = load(environ={"MIRROR_CONFIG": f"{one}, {two}"})

    assert names(found.flows) == ["a->b", "a->c"]
    assert [flow.value("mirror.lanes") for flow in found.flows] == [16, 4]


def test_a_flow_defined_twice_is_refused_with_both_files(tmp_path):
    one = write(tmp_path, "one", CLUSTERS + "a->b.enabled=true\na->c.enabled=true")
    two = write(tmp_path, "two", CLUSTERS + "a->b.enabled=true")

    found = load([one, two])

    assert names(found.flows) == ["a->c"]
    (invalid,) = found.invalid
    assert f"defined 2 times, in {one} and in {two}" in str(invalid.error)


def test_flows_that_would_share_their_dags_are_refused_and_keep_ids_apart(configuration):
    text = """
clusters = a-to-b, c, a, b-to-c
a-to-b.bootstrap.servers = h:1
c.bootstrap.servers = h:2
a.bootstrap.servers = h:3
b-to-c.bootstrap.servers = h:4
a-to-b->c.enabled = true
a->b-to-c.enabled = true
"""
    found = configuration(text)

    assert found.flows == ()
    first, second = found.invalid
    assert "as those of a->b-to-c" in str(first.error)
    assert "as those of a-to-b->c" in str(second.error)
    assert (first.dag_id("copy"), second.dag_id("copy")) == ("a-to-b-to-c.copy", "a-to-b-to-c_2.copy")


def test_no_flow_at_all_is_told(configuration):
    assert "No flow is enabled" in configuration(CLUSTERS).notices[0]
