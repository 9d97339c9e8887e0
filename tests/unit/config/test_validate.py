"""What is wrong with a flow, what it hardly means, and what it leaves open to others: all of it at once, and without a secret."""

import pytest

from kafka_mirror.config import load
from kafka_mirror.config.catalogue import CATALOGUE
from kafka_mirror.config.validate import check_readable, unreadable, with_unreadable
from kafka_mirror.errors import ConfigurationError
from tests.unit.config.conftest import HEAD

JAAS = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="mirror" password="%s";'
SASL = "{alias}.security.protocol = SASL_PLAINTEXT\n{alias}.sasl.mechanism = PLAIN\n{alias}.sasl.jaas.config = " + JAAS + "\n"


def test_a_flow_whose_references_lead_somewhere_is_readable(flow):
    made = flow(SASL.format(alias="east") % "${env:PASSWORD}" + "mirror.lanes = ${env:LANES}\n", {"PASSWORD": "x", "LANES": "4"})
    assert unreadable(made) == []
    check_readable(made)


def test_secrets_of_both_clusters_and_values_are_reported_together_and_once(flow, tmp_path):
    lines = SASL.format(alias="east") % "${env:PASSWORD}" + SASL.format(alias="west") % f"${{dir:{tmp_path}:password}}"
    made = flow(lines + f"mirror.lanes = ${{file:{tmp_path}/lanes:lanes}}\nreplication.factor = ${{env:MANY}}\n", {"MANY": "many"})
    with pytest.raises(ConfigurationError) as raised:
        check_readable(made)
    assert [problem.property for problem in raised.value.problems] == [
        "east.sasl.jaas.config",
        "west.sasl.jaas.config",
        "mirror.lanes",
        "replication.factor",
    ]
    assert raised.value.flow == "east->west"


def test_what_else_is_wrong_with_a_client_is_told_beside_an_unreadable_secret(flow, tmp_path):
    store = f"east.security.protocol = SSL\neast.ssl.truststore.type = PEM\neast.ssl.truststore.location = {tmp_path}/none.pem\n"
    found = unreadable(flow(store + "east.ssl.key.password = ${env:NOWHERE}\nwest.client.rack = ${env:NOPE}\n", {}))
    assert {"east.ssl.truststore.location", "east.ssl.key.password"} <= {problem.property for problem in found}


def test_mistakes_of_all_kinds_of_an_invalid_flow_come_in_one_round(configuration):
    lines = (SASL.format(alias="west") % "${env:NO_SUCH}").replace(
        "PLAIN\n", "SCRAM-SHA-1024\n"
    ) + "mirror.lane = 3\nmirror.installation = ${env:NOPE}\n"
    made = with_unreadable(configuration(HEAD.replace("west.boot", "wset.boot") + lines, {}))
    (invalid,) = made.invalid
    assert [(problem.property, problem.line) for problem in invalid.error.problems] == [
        ("west.sasl.mechanism", 7),
        ("west.sasl.jaas.config", 8),
        ("mirror.lane", 9),
        ("mirror.installation", 10),
        ("west.bootstrap.servers", None),
    ]
    assert made.notices[0].partition(": ")[0].endswith(":4"), "the misspelt one"


def test_a_secret_of_the_producer_alone_is_found_before_anything_is_written(flow):
    (problem,) = unreadable(flow("west.producer.ssl.key.password = ${env:NOWHERE}\n", {}))
    assert problem.property == "west.producer.ssl.key.password"
    assert "NOWHERE is not set" in problem.message


def test_what_a_reference_leads_to_stands_in_no_message(flow):
    (problem,) = unreadable(flow("mirror.lanes = ${env:LANES}\n", {"LANES": "hunter2"}))
    assert "hunter2" not in str(problem)


def test_the_token_of_the_metrics_need_not_be_known_where_tasks_run(flow):
    assert unreadable(flow("mirror.metrics.token = ${env:NOWHERE}\n", {})) == []


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


FLOW = ("clusters = east, west", "east.bootstrap.servers = e:9093", "west.bootstrap.servers = w:9092", "east->west.enabled = true")
LOGIN = "org.apache.kafka.common.security.plain.PlainLoginModule required username='u' password='p';"
SASL_LINES = ("east.sasl.mechanism = PLAIN", f"east.sasl.jaas.config = {LOGIN}")
OAUTH = (
    "east.security.protocol = SASL_SSL",
    "east.sasl.mechanism = OAUTHBEARER",
    "east.sasl.oauthbearer.client.credentials.client.id = me",
    "east.sasl.oauthbearer.client.credentials.client.secret = s",
    "east.sasl.login.callback.handler.class = org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginCallbackHandler",
)
REGISTRIES = ("mirror.schemas.source.url = {}", "mirror.schemas.target.url = https://w.example")


@pytest.fixture
def notices(tmp_path):
    def read(*lines):
        file = tmp_path / "mm2.properties"
        file.write_text("\n".join((*FLOW, *lines)))
        return [
            notice for notice in load([file], {}).flow("east->west").notices if "unencrypted" in notice or "taken for a broker" in notice
        ]

    return read


@pytest.mark.parametrize(
    ("lines", "key", "what"),
    [
        (("east.security.protocol = SASL_PLAINTEXT", *SASL_LINES), "east.security.protocol", "the login and all records"),
        (("east.security.protocol = SSL", "east.ssl.endpoint.identification.algorithm ="), "east.ssl.endpoint.identification", "any host"),
        (
            (*OAUTH, "east.sasl.oauthbearer.token.endpoint.url = http://id.example/token"),
            "east.sasl.oauthbearer.token.endpoint.url",
            "the client's login and its tokens",
        ),
        (
            (REGISTRIES[0].format("http://e.example"), REGISTRIES[1], "mirror.schemas.source.basic.auth.user.info = u:p"),
            "mirror.schemas.source.url",
            "the registry's login",
        ),
    ],
)
def test_what_is_open_is_said_once_without_any_secret(notices, lines, key, what):
    (notice,) = notices(*lines)
    assert notice.startswith(key)
    assert what in notice
    assert "password" not in notice


@pytest.mark.parametrize(
    "lines",
    [
        (),
        ("east.security.protocol = SASL_SSL", *SASL_LINES),
        ("east.security.protocol = SSL", "east.ssl.endpoint.identification.algorithm = https"),
        (*OAUTH, "east.sasl.oauthbearer.token.endpoint.url = https://id.example/token"),
        (REGISTRIES[0].format("http://e.example"), REGISTRIES[1]),
    ],
)
def test_what_is_closed_is_not_talked_about(notices, lines):
    assert notices(*lines) == []


TOPICS = ("topics", "topics.exclude", "mirror.assets.topics", "mirror.backfill.into.allowed")


@pytest.mark.parametrize("name", TOPICS)
@pytest.mark.parametrize("member", ['"orders', "'pay'", "a b", r".*\replica", "[ ;]", "x;y", "$ENV-orders", "orders:.*"])
def test_a_member_that_no_topic_can_match_is_an_error_that_names_it(problems, name, member):
    found = problems(f"{name} = orders.*, {member}\n")
    assert "no topic can ever match '" in found[name] and "letters, digits" in found[name]


@pytest.mark.parametrize("member", ['min.insync.replicas"', "min insync"])
def test_a_member_that_no_config_can_match_is_an_error(problems, member):
    assert "no config can ever match" in problems(f"config.properties.exclude = {member}\n")["config.properties.exclude"]


@pytest.mark.parametrize("name", ["groups", "groups.exclude", "mirror.schemas.subjects"])
def test_a_member_that_no_text_at_all_can_match_is_an_error(problems, name):
    assert "can ever match 'shop-$ENV'" in problems(f"{name} = shop-$ENV\n")[name]


@pytest.mark.parametrize("name", ["mirror.start", "mirror.on.gap"])
def test_a_rule_by_topic_that_is_for_no_topic_is_an_error(problems, name):
    word = "latest" if name == "mirror.start" else "fail"
    assert "no topic can ever match" in problems(f"{name} = or ders={word}\n")[name]


def test_a_renamed_group_that_no_topic_can_match_is_an_error(problems):
    assert "no topic can ever match" in problems("mirror.rename = shop[.]([ ]+) -> store.$1\n")["mirror.rename"]


def test_what_a_member_cannot_match_because_of_an_escape_is_shown(problems):
    found = problems(".*".join(["topics.exclude = ", "\\replica\n"]))["topics.exclude"]
    assert r"'.*\replica'" in found and "\r" not in found and r" \\ for one" in found and r"\\\ for" not in found


@pytest.mark.parametrize("topics", ["", ".*", "(a,b)", "^$", "(?i)ORDERS, x", r"shop\\..*", "a{2}, (b", "^(?!__.*$).*"])
def test_lists_that_may_match_are_taken(problems, flow, topics):
    if topics == "a{2}, (b":
        assert "cannot be used" in problems(f"topics = {topics}\n")["topics"]
    else:
        flow(f"topics = {topics}\ntopics.exclude =\n")


def test_a_list_torn_by_a_comma_is_judged_as_it_is_joined(problems, flow):
    flow("topics = (orders,pay)[.]v1\n")
    assert "no topic can ever match" in problems("topics = (or ders,p ay)[.]v1\n")["topics"]


@pytest.mark.parametrize(("name", "member"), [("groups", '"shop'), ("groups", r"a\rb"), ("groups.exclude", "'connect-.*'")])
def test_quotes_and_control_characters_in_patterns_of_groups_are_taken_and_told(flow, name, member):
    (notice,) = flow(f"{name} = .*, {member}\n").notices
    assert name in notice and "belong to the name" in notice


def test_groups_of_any_other_text_are_taken_without_a_word(flow):
    assert flow("groups = my group, gr\\u00fcppe, a/b$\n").notices == ()


def test_what_a_reference_leads_to_is_judged_when_it_is_read(flow):
    from kafka_mirror.config.validate import unreadable

    (problem,) = unreadable(flow("topics = ${env:TOPICS}\n", {"TOPICS": '"orders"'}))
    assert problem.property == "topics" and "orders" not in problem.message
