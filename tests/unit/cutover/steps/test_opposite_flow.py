"""Which topics of a wave flow back, and how; and which ACLs of earlier waves of the opposite flow go when a wave opens."""

from types import SimpleNamespace

import pytest

from kafka_mirror.config import load
from kafka_mirror.cutover.steps import opposite_flow
from kafka_mirror.cutover.steps.fence_acls import deny_write
from kafka_mirror.cutover.steps.opposite_flow import (
    OppositeFlow,
    check_age,
    check_merging,
    find_opposite_flow,
    list_fence_acls,
    survey_opposite_fence,
)
from kafka_mirror.cutover.wave.record import OPENED, ROLLED_BACK, UNDER_WAY, StepNote, WaveRecord, write_acls
from kafka_mirror.cutover.wave.step import DONE, FENCE, PLANNED
from kafka_mirror.errors import ConfigurationError, TopicGoesRound

IDENTITY = "replication.policy.class=org.apache.kafka.connect.mirror.IdentityReplicationPolicy"


@pytest.fixture
def opposite(tmp_path):
    """`opposite(lines, topics)`: of the flow east->west, and the flow itself."""

    def make(lines, *topics):
        file = tmp_path / "mm2.properties"
        clusters = ["clusters=east,west", "east.bootstrap.servers=localhost:1", "west.bootstrap.servers=localhost:2"]
        file.write_text("\n".join([*clusters, "replication.factor=1", "east->west.enabled=true", *lines]))
        flow = load([file], {}).flow("east->west")
        return find_opposite_flow(flow, topics), flow

    return make


def test_without_an_opposite_flow_nothing_flows_back(opposite):
    assert opposite([], "orders")[0] is None


def test_it_may_stand_in_another_file_of_the_configuration(tmp_path):
    clusters = "clusters=east,west\neast.bootstrap.servers=localhost:1\nwest.bootstrap.servers=localhost:2\nreplication.factor=1\n"
    there, back = tmp_path / "there.properties", tmp_path / "back.properties"
    there.write_text(f"{clusters}east->west.enabled=true\n")
    back.write_text(f"{clusters}west->east.enabled=true\n")
    flow = load([there, back], {}).flow("east->west")
    assert flow.files == (str(there), str(back))
    assert find_opposite_flow(flow, ("orders",)).flow.file == str(back)
    assert find_opposite_flow(load([there], {}).flow("east->west"), ("orders",)) is None


@pytest.mark.parametrize("topics", ["orders", "orders.*"])
def test_of_a_flow_that_is_no_way_back_and_takes_the_same_topics_no_wave_is_planned(opposite, topics):
    with pytest.raises(TopicGoesRound, match=r"orders: .*\(east -> west -> east\)"):
        opposite([IDENTITY, "west->east.enabled=true", f"west->east.topics={topics}"], "payments", "orders")
    assert opposite([IDENTITY, "west->east.enabled=true", f"west->east.topics={topics}"], "payments")[0].topics == ()


def test_with_remote_names_producers_begin_the_topics_anew(opposite):
    way, _ = opposite(["west->east.enabled=true", "west->east.topics=orders.*"], "orders", "payments")
    assert (way.flow.name, way.own, way.same, way.not_replicated) == ("west->east", ("orders",), (), ("payments",))
    assert way.topics == ("orders",)


def test_with_names_that_are_kept_they_go_on_behind_what_was_copied(opposite):
    way, flow = opposite([IDENTITY, "west->east.enabled=true", "west->east.mirror.way.back=true"], "orders")
    assert (way.own, way.same) == ((), ("orders",))
    assert check_merging(way, flow) == []


def test_a_topic_that_is_merged_with_others_has_no_way_back(opposite):
    lines = [IDENTITY, "west->east.enabled=true", "west->east.mirror.way.back=true", "mirror.on.unexplained.target=orders=append,fail"]
    way, flow = opposite(lines, "orders", "payments")
    assert [(found.code, found.topic) for found in check_merging(way, flow)] == [("WayBackOfMergedTopic", "orders")] * 2


@pytest.mark.parametrize(("takes", "codes"), [(True, []), (False, ["WayBackTooOld"])])
def test_no_way_back_leads_to_a_source_to_which_the_mirror_cannot_write(opposite, takes, codes):
    source = SimpleNamespace(takes_batches=takes)
    way, flow = opposite(["west->east.enabled=true", "west->east.topics=orders.*"], "orders")
    assert [found.code for found in check_age(way, flow, source)] == codes
    assert check_age(opposite(["west->east.enabled=true", "west->east.topics=orders.*"], "bills")[0], flow, source) == []
    assert check_age(None, flow, source) == [], "there is none"


def test_an_opposite_flow_that_is_wrong_is_an_error(opposite):
    with pytest.raises(ConfigurationError):
        opposite([IDENTITY, "west->east.enabled=true", "west->east.mirror.way.back=true", "west->east.mirror.lanes=0"], "orders")


def wave(name, state, *acls):
    note = StepNote(DONE, "ada", 1, facts={"acls": write_acls(acls)})
    return WaveRecord(name, ("orders",), (), PLANNED, "ada", "why", 1, state, steps={FENCE: note})


def test_of_open_waves_those_of_the_topics_go_each_once_whoever_they_deny():
    everybody, writer, other = deny_write("orders"), deny_write("orders", "User:writer"), deny_write("payments")
    waves = [wave("one", OPENED, everybody, other), wave("two", OPENED, everybody, writer)]
    assert list_fence_acls(waves, ["orders"]) == (everybody, writer)


def test_a_wave_that_is_not_open_keeps_its_fence():
    waves = [wave("one", UNDER_WAY, deny_write("orders")), wave("two", ROLLED_BACK)]
    assert list_fence_acls(waves, ["orders"]) == ()


@pytest.mark.parametrize(("claimed", "acls", "codes"), [((), 1, []), ((deny_write("orders"),), 0, ["FenceOfAnotherFlow"])])
def test_one_on_which_a_wave_of_another_flow_stands_stops_the_wave(monkeypatch, claimed, acls, codes):
    east, deny = SimpleNamespace(alias="east", list_operations=lambda: {"ALTER"}), deny_write("orders")
    stored = SimpleNamespace(waves={"one": wave("one", OPENED, deny)})
    monkeypatch.setattr(opposite_flow, "WaveStore", lambda *_: SimpleNamespace(read=lambda: stored))
    monkeypatch.setattr(opposite_flow, "topic_acls", lambda *_: frozenset((deny,)))
    monkeypatch.setattr(opposite_flow, "find_claimed_beside", lambda flow: frozenset(claimed) if flow == "east->west" else frozenset())
    found, findings = survey_opposite_fence(OppositeFlow("east->west", same=("orders",)), ["orders"], SimpleNamespace(alias="west"), east)
    assert (len(found), [finding.code for finding in findings]) == (acls, codes)
