"""What both clusters are asked about the topics of a wave."""

from types import SimpleNamespace as Answer

import pytest

from kafka_mirror.config import load
from kafka_mirror.config.policies import topic_selection
from kafka_mirror.cutover.steps import topic_settings
from kafka_mirror.cutover.steps.topic_settings import survey_acls, survey_rights, survey_topics
from kafka_mirror.cutover.wave.findings import WARNING
from kafka_mirror.errors import AuthorizationRefused
from kafka_mirror.kafka.model import LITERAL, PREFIXED, Acl, Partition, PatternAcl, Topic
from tests.unit.cli.command_line import VALID


@pytest.fixture
def flow(tmp_path):
    file = tmp_path / "mm2.properties"
    file.write_text(VALID)
    return load([file]).flow("east->west")


def topic(name, partitions):
    return Topic(name, "id", tuple(Partition(number, 1, (1,), (1,)) for number in range(partitions)))


class Side:
    """A cluster with these topics; the configs of a topic are its name."""

    def __init__(self, alias, *topics):
        self.alias = alias
        self.there = {topic.name: topic for topic in topics}
        self.operations = []

    def topics(self, names, _refused, operation="DESCRIBE"):
        self.operations += [(name, operation) for name in names]
        return {name: self.there[name] for name in names if name in self.there}

    def configs(self, names, _refused):
        return {name: {"is": name} for name in names}


def test_a_topic_stands_beside_its_remote_topic_and_one_without_is_left_to_the_state_of_its_partitions(flow):
    source, target = Side("east"), Side("west", topic("east.orders", 3))
    topics = {"orders": topic("orders", 2), "payments": topic("payments", 1)}
    (found,) = survey_topics(topics, topic_selection(flow), source, target, {})
    assert (found.topic, found.remote, found.partitions, found.remote_partitions) == ("orders", "east.orders", 2, 3)
    assert (found.configs, found.remote_configs) == ({"is": "orders"}, {"is": "east.orders"})


def test_acls_that_remote_topics_lack_are_those_of_the_waves_topics(flow, monkeypatch):
    read, write, other = (Acl(*row) for row in (_row("orders", "READ"), _row("orders", "WRITE"), _row("payments", "READ")))
    acls = {"east": _literal(read, write, other), "west": frozenset()}
    monkeypatch.setattr(topic_settings, "pattern_acls", lambda cluster: acls[cluster.alias])
    found, lacking = survey_acls(["orders"], topic_selection(flow), Side("east"), Side("west"))
    assert found.missing == {Acl(*_row("east.orders", "READ")): "orders"}
    assert lacking == ()
    assert found.remotes == {"orders": "east.orders"}
    carried = Acl(*_row("east.orders", "READ"))
    acls["west"] = frozenset([PatternAcl(carried, PREFIXED)])
    assert survey_acls(["orders"], topic_selection(flow), Side("east"), Side("west"))[0].missing == {carried: "orders"}
    acls["west"] = _literal(carried)
    assert survey_acls(["orders"], topic_selection(flow), Side("east"), Side("west"))[0].missing == {}


def _literal(*acls):
    return frozenset(PatternAcl(each, LITERAL) for each in acls)


def _row(name, operation):
    return name, "User:app", "*", operation, "ALLOW"


@pytest.mark.parametrize("hidden", ["east", "west"])
def test_acls_that_a_cluster_hides_are_a_right_that_is_lacking(flow, monkeypatch, hidden):
    def read(cluster):
        if cluster.alias == hidden:
            raise AuthorizationRefused(cluster.alias, "DESCRIBE", "the cluster")
        return frozenset()

    monkeypatch.setattr(topic_settings, "pattern_acls", read)
    found, (lacking,) = survey_acls(["orders"], topic_selection(flow), Side("east"), Side("west"))
    assert (found, lacking.kind, lacking.code) == (None, WARNING, "RightMissing")
    assert f"Cluster '{hidden}' does not let the mirror DESCRIBE" in lacking.message


@pytest.mark.parametrize(
    ("operations", "lacking"),
    [({"DESCRIBE", "ALTER"}, []), ({"DESCRIBE"}, ["ALTER"]), ({"ALTER"}, ["DESCRIBE"]), (set(), ["DESCRIBE", "ALTER"])],
)
def test_rights_on_the_source_are_named_and_the_control_topic_has_to_be_writable(flow, operations, lacking):
    source, target = Answer(alias="east", operations=lambda: frozenset(operations)), Side("west")
    warnings = [*survey_rights(flow, source, target, {})]
    assert {each.kind for each in warnings} <= {WARNING}
    assert [each.message.partition("does not let the mirror ")[2].split()[0] for each in warnings] == lacking
    assert target.operations == [("mm2-control.east.internal", "WRITE")]
