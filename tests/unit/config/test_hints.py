"""What is taken as it stands, and told: it may not be what is meant."""

import pytest

from kafka_mirror.config import load
from kafka_mirror.config.catalogue import CATALOGUE
from kafka_mirror.errors import ConfigurationError
from tests.unit.config.conftest import HEAD

DEFAULT = CATALOGUE["config.properties.exclude"].default


def test_a_list_of_configs_in_place_of_the_default_one_names_what_is_copied_now(flow):
    (notice,) = flow("east->west.config.properties.exclude = remote\\\\..*, .*replicas\n").notices
    lost = [name for name in DEFAULT if not name.endswith("replicas")]
    assert f"default list: {', '.join(lost)} are copied" in notice


@pytest.mark.parametrize("members", [", ".join(DEFAULT), ", ".join([*DEFAULT, "segment.bytes"]), ".*", "", "${env:LIST}"])
def test_a_list_that_has_all_of_the_default_one_and_none_at_all_are_taken_without_a_word(flow, members):
    assert flow(f"config.properties.exclude = {members}\n", {"LIST": "x"}).notices == ()


@pytest.mark.parametrize(
    ("key", "meant"),
    [
        ("topics.whitelist", "topics"),
        ("east->west.topics.whitelist", "east->west.topics"),
        ("east->west.topic.blacklist", "east->west.topics.exclude"),
        ("topic.blacklist", "topics.exclude"),
        ("east->west.groups.whitelist", "east->west.groups"),
        ("east\u2192west.topics", "east->west.topics"),
        ("east-->west.topics", "east->west.topics"),
    ],
)
def test_other_words_and_arrows_are_known(tmp_path, key, meant):
    file = tmp_path / "mm2.properties"
    file.write_text(HEAD + f"{key} = orders\n", "utf-8")
    found = load([file], {})
    (notice,) = [*found.notices, *found.flows[0].notices]
    assert notice.endswith(f"did you mean '{meant}'.")


def test_a_blank_that_ends_a_key_is_told(configuration):
    (notice,) = configuration(HEAD + "east -> west.topics = orders\n").notices
    assert "a blank ends the key" in notice and "did you mean 'east->west.topics'" in notice


def test_a_key_that_stands_twice_is_told_with_its_lines(configuration):
    (notice,) = configuration(HEAD + "topics = a\ntopics.exclude = b\n  topics = c\n").notices
    assert ":8: topics stands in line 6 too; the last one counts." in notice


def test_a_remark_behind_a_value_is_told_where_the_value_is_refused(problems):
    assert "A remark stands on a line of its own" in problems("replication.factor = 1   # remote topics\n")["replication.factor"]
    assert "A remark" in problems("topics = orders # all\n")["topics"]
    assert "A remark" not in problems("replication.factor = 1#\n")["replication.factor"]


def test_a_reference_without_provider_is_told(problems, flow):
    found = problems("east.consumer.bootstrap.servers = ${BROKERS}\n")["east.consumer.bootstrap.servers"]
    assert "${env:BROKERS}" in found
    jaas = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="u" password="${TARGET_KEY}";'
    lines = f"east.security.protocol=SASL_SSL\neast.sasl.mechanism=PLAIN\neast.sasl.jaas.config={jaas}\n"
    (notice,) = flow(lines).notices
    assert notice.startswith("east.sasl.jaas.config: ${…} is taken as it stands") and "TARGET" not in notice


@pytest.mark.parametrize("value", ['X"Y', "Z\\", '"'])
def test_a_password_by_reference_with_a_quote_names_the_reference_and_not_the_password(flow, value):
    jaas = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="u" password="${env:KEY}";'
    lines = f"east.security.protocol=SASL_PLAINTEXT\neast.sasl.mechanism=PLAIN\neast.sasl.jaas.config={jaas}\n"
    with pytest.raises(ConfigurationError) as raised:
        flow(lines, {"KEY": value}).client("source", "consumer")
    (problem,) = raised.value.problems
    assert "what ${env:KEY} gives has a quote or a backslash" in problem.message and 'X"Y' not in problem.message


def test_topics_about_which_the_lists_do_not_decide_are_told(flow):
    (internal,) = flow("topics = __team-connect-config, orders\n").notices
    assert "'__team-connect-config', which is never mirrored" in internal
    (heartbeats,) = flow("topics.exclude = device[.]x, device\\\\.heartbeats\n").notices
    assert "'device.heartbeats', which is mirrored all the same" in heartbeats
    assert flow("topics.exclude = device.heartbeats, __.*\nheartbeats.replication.enabled = false\n").notices == ()
