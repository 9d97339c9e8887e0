"""`mirror.rename` as the file has it: what it does to a flow's topics, what the opposite flow knows of it, and what is refused."""

import pytest

from kafka_mirror.config.policies import topic_selection
from kafka_mirror.errors import RemoteNameUnusable, RenamedTopicsHandedBack
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.migration.hand_back import require_known_names
from tests.unit.ledger_records import ledger_record

HEAD = "clusters = east, west\neast.bootstrap.servers = h:1\nwest.bootstrap.servers = h:2\neast->west.enabled = true\n"
KEPT = "replication.policy.class = org.apache.kafka.connect.mirror.IdentityReplicationPolicy\n"
RULES = "mirror.rename = shop\\\\.(.+) -> store.$1, clicks -> visits\n"
BACK = "west->east.enabled = true\n"


@pytest.fixture
def selections(configuration):
    """`selections(lines)`: the selection of each flow of the file, by its name."""

    def make(lines):
        found = configuration(HEAD + lines)
        assert not found.invalid
        return {flow.name: topic_selection(flow) for flow in found.flows}

    return make


def test_topics_have_their_new_names_and_are_told_back(selections):
    selection = selections("east->west." + RULES)["east->west"]
    topics = ["shop.orders", "clicks", "other", "heartbeats"]
    remotes = [selection.remote(topic) for topic in topics]
    assert remotes == ["east.store.orders", "east.visits", "east.other", "east.heartbeats"]
    assert [selection.upstream(remote) for remote in remotes] == topics


def test_a_topic_under_its_old_name_on_the_target_is_not_the_flows(selections):
    assert selections("east->west." + RULES)["east->west"].upstream("east.clicks") is None


def test_a_topic_that_has_the_new_name_of_another_is_refused_and_named(selections):
    selection = selections("east->west." + RULES)["east->west"]
    assert selection.takes("visits")
    assert not selection.should_replicate("visits")
    refusal = selection.refusal("visits")
    assert isinstance(refusal, RemoteNameUnusable)
    assert (refusal.topic, refusal.remote) == ("visits", "east.visits")
    assert "is by mirror.rename that of 'clicks', whether there is such a topic or not" in str(refusal)
    assert "mirror.rename" in str(refusal.next)


def test_with_names_that_are_kept_otherwise(selections):
    selection = selections(KEPT + RULES)["east->west"]
    assert [selection.remote(topic) for topic in ("shop.orders", "other")] == ["store.orders", "other"]
    assert (selection.upstream("store.orders"), selection.upstream("shop.orders")) == ("shop.orders", None)


def test_the_opposite_flow_knows_what_its_remote_topics_were_called(selections):
    both = selections("east->west." + RULES + BACK)
    assert both["west->east"].from_target("east.visits") == "clicks"
    assert both["west->east"].remote("clicks") == "west.clicks", "the rules are of one direction"
    assert both["east->west"].from_target("west.visits") == "visits"


def test_the_opposite_flow_is_another_one_when_the_rules_change(configuration):
    hashes = {
        tuple(flow.config_hash for flow in configuration(HEAD + BACK + rules).flows)
        for rules in ("", "east->west." + RULES, "east->west.mirror.rename = a -> b\n")
    }
    assert len({east for east, _ in hashes}) == len({west for _, west in hashes}) == 3


@pytest.mark.parametrize(
    ("rules", "complaint"),
    [
        ("shop.* -> store", "outside of groups only letters"),
        ("clicks", "is no rule; it must be pattern -> replacement"),
        ("(a)(b) -> $1", "each group of the pattern has to stand once"),
    ],
)
def test_a_rule_that_cannot_be_told_back_makes_the_flow_invalid(configuration, rules, complaint):
    (invalid,) = configuration(HEAD + f"mirror.rename = {rules}\n").invalid
    (problem,) = invalid.error.problems
    assert problem.property == "mirror.rename"
    assert complaint in problem.message


@pytest.mark.parametrize(
    "back", [BACK, BACK + "west->east.mirror.way.back = true\n", BACK + "topics = clicks\nwest->east.topics = visits\n"]
)
def test_flows_that_keep_names_and_lead_back_may_not_rename(configuration, back):
    found = configuration(HEAD + KEPT + "east->west." + RULES + back)
    problems = [(each.name, problem.property) for each in found.invalid for problem in each.error.problems]
    assert ("east->west", "east->west.mirror.rename") in problems


def test_with_remote_names_both_directions_may_rename(selections):
    both = selections(RULES + BACK)
    assert both["west->east"].remote("clicks") == "west.visits"
    assert both["east->west"].should_replicate("west.visits") is False, "it came from the target"


RULE = "mirror.rename = clicks -> visits\n"


@pytest.mark.parametrize("settings", [RULE, "", "replication.policy.separator = -\n", "mirror.rename = clicks -> views\n"])
def test_a_flow_that_wrote_a_topic_under_another_name_than_mirrormaker_is_not_handed_back(flow, settings):
    ledger = {TopicPartition("clicks", 0): ledger_record(target_topic="east.visits")}
    with pytest.raises(RenamedTopicsHandedBack, match=r"clicks \(in east\.visits\)") as raised:
        require_known_names(flow(settings), ledger)
    assert raised.value.topics == ("clicks",)


def refused_topics(flow, ledger):
    """The topics for which a flow is not handed back."""
    try:
        require_known_names(flow, ledger)
    except RenamedTopicsHandedBack as refusal:
        return refusal.topics
    return ()


def test_names_that_mirrormaker_gives_too_are_handed_back_and_so_is_a_flow_without_the_others(flow):
    alike = {
        TopicPartition(topic, 0): ledger_record(target_topic=remote)
        for topic, remote in (("heartbeats", "east.heartbeats"), ("other", "east.other"))
    }
    assert refused_topics(flow("mirror.rename = (.+) -> x.$1"), alike) == ()
    ledger = alike | {TopicPartition("clicks", 0): ledger_record(target_topic="east.visits")}
    assert refused_topics(flow(""), ledger) == ("clicks",)
    assert refused_topics(flow("topics.exclude = clicks"), ledger) == ()
    assert refused_topics(flow(RULE), {TopicPartition("clicks", 0): ledger_record(target_topic="east.clicks")}) == ()
