"""Which pairs of clusters beat (MirrorMaker 2's `clusterPairs`), and how often."""

import pytest

from kafka_mirror.config import load
from kafka_mirror.config.deadlines import seconds_between_beats
from kafka_mirror.errors import UsageError

HEAD = "clusters = a, b, c\na.bootstrap.servers = h:1\nb.bootstrap.servers = h:2\nc.bootstrap.servers = h:3\n"
SIX = (
    "clusters = a, b, c, d, e, f\n"
    + "".join(f"{alias}.bootstrap.servers = h:{port}\n" for port, alias in enumerate("abcdef", start=1))
    + "emit.heartbeats.enabled = false\n"
)


def names(flows):
    return [flow.name for flow in flows]


@pytest.mark.parametrize(
    ("text", "enabled", "beating"),
    [
        (HEAD, 0, 6),
        (HEAD + "emit.heartbeats.enabled = false\n", 0, 0),
        (HEAD + "a->b.emit.heartbeats.enabled = false\na->c.emit.heartbeats.enabled = false\n", 0, 4),
        (SIX + "a->b.enabled = true\na->c.enabled = true\nd->e.enabled = true\n", 3, 0),
        (SIX + "a->b.enabled = true\na->c.enabled = true\nd->e.emit.heartbeats.enabled = true\n", 2, 1),
        (HEAD + "a->b.enabled = true\n", 1, 6),
        (HEAD + "a->b.enabled = true\na->b.emit.heartbeats.enabled = false\n", 1, 5),
        (HEAD + "emit.heartbeats.enabled = ${env:BEAT}\n", 0, 6),
    ],
)
def test_pairs_that_beat_are_mirrormakers(configuration, text, enabled, beating):
    found = configuration(text, {"BEAT": "True"})
    assert (len(found.flows), len(found.for_heartbeats().flows)) == (enabled, beating)
    assert (found.invalid, found.invalid_beating) == ((), ())
    assert not set(names(found.flows)) & set(names(found.only_beating))


@pytest.mark.parametrize("word", ["true ", "yes", ""])
def test_anything_but_the_word_true_is_no_beat_and_is_told(configuration, word):
    found = configuration(f"{HEAD}a->b.emit.heartbeats.enabled={word}")
    assert "a->b" not in names(found.only_beating)
    assert f"a->b.emit.heartbeats.enabled is '{word}', which is not the word true" in found.notices[0]


def test_a_pair_that_only_beats_is_no_flow_and_a_flow_that_does_not_beat_is_named_as_such(configuration):
    found = configuration(HEAD + "a->b.enabled = true\na->b.emit.heartbeats.enabled = false\n")
    assert found.for_heartbeats().flow("b->a").name == "b->a"
    with pytest.raises(UsageError, match="There is no enabled flow 'b->a'"):
        found.flow("b->a")
    with pytest.raises(UsageError, match="There is no beating flow 'a->b'"):
        found.for_heartbeats().flow("a->b")


def test_a_pair_that_only_beats_is_judged_by_what_its_beats_depend_on(configuration):
    found = configuration(
        "clusters = a, b\na.bootstrap.servers = h:1\nb.bootstrap.servers = h:2\nb->a.topics = a(\nb->a.mirror.lanes = no\n"
        "b.consumer.isolation.level = x\na->b.heartbeats.topic.replication.factor = 0\n"
    )
    assert names(found.only_beating) == ["b->a"]
    (invalid,) = found.invalid_beating
    assert [problem.property for problem in invalid.error.problems] == ["a->b.heartbeats.topic.replication.factor"]
    assert found.invalid == ()


def test_nothing_is_asked_of_the_cluster_where_nobody_beats(configuration):
    found = configuration("clusters = a, b\nb.bootstrap.servers = h:2\nb->a.emit.heartbeats.enabled = false\n")
    assert (names(found.only_beating), found.invalid_beating) == (["a->b"], ())


def test_a_pair_of_several_files_beats_once_and_an_enabled_flow_is_never_one_that_only_beats(tmp_path):
    one, two = tmp_path / "one", tmp_path / "two"
    one.write_text(HEAD + "a->b.enabled = true\nemit.heartbeats.interval.seconds = 100\n")
    two.write_text(HEAD + "a->c.enabled = true\nb->a.heartbeats.topic.replication.factor = 1\n")
    found = load([one, two], {})
    assert names(found.flows) == ["a->b", "a->c"]
    assert sorted(names(found.only_beating)) == ["b->a", "b->c", "c->a", "c->b"]
    assert {flow.file for flow in found.only_beating} == {str(one)}


def test_pairs_whose_dags_would_share_an_id_are_refused_and_enabled_flows_live_on(configuration):
    aliases = ("a-to-b", "c", "a", "b-to-c")
    servers = "".join(f"{alias}.bootstrap.servers = h:{port}\n" for port, alias in enumerate(aliases, start=1))
    found = configuration(f"clusters = {', '.join(aliases)}\n{servers}a-to-b->c.enabled = true\n")
    assert (names(found.flows), names(found.invalid_beating)) == (["a-to-b->c"], ["a->b-to-c"])
    assert found.invalid_beating[0].dag_id("heartbeats") == "a-to-b-to-c_2.heartbeats"
    assert "the id of its DAG (a-to-b-to-c.heartbeats) is that of another pair" in str(found.invalid_beating[0].error)


@pytest.mark.parametrize(
    ("lines", "seconds", "told"),
    [
        ("", 300, False),
        ("emit.heartbeats.interval.seconds = 5", 300, True),
        ("emit.heartbeats.interval.seconds = 400", 400, False),
        ("mirror.copy.interval.seconds = 10", 10, False),
        ("mirror.heartbeats.trigger = true", 1, False),
        ("mirror.heartbeats.trigger = true\nemit.heartbeats.interval.seconds = 5", 5, False),
        ("emit.heartbeats.interval.seconds = 5\nemit.heartbeats.enabled = false", 300, False),
    ],
)
def test_beats_come_with_copies_or_at_the_exact_interval(flow, lines, seconds, told):
    found = flow(lines)
    assert seconds_between_beats(found) == seconds
    assert any("mirror.heartbeats.trigger=true beats at the exact interval" in notice for notice in found.notices) is told
