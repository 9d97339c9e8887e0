"""Which ACLs fence a wave, which are left for the way back, and the DENY on which waves of two flows stand."""

from contextlib import suppress
from dataclasses import replace
from types import SimpleNamespace
from unittest.mock import patch

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kafka_mirror.cutover.steps import fence_acls
from kafka_mirror.cutover.steps.fence_acls import deny_write, find_writers, plan_exceptions, plan_fence
from kafka_mirror.cutover.wave.record import OPENED, UNDER_WAY, read_acls, write_acls
from kafka_mirror.cutover.wave.selection import WaveTopics
from kafka_mirror.cutover.wave.step import FENCE
from kafka_mirror.errors import WaveIsOpen
from kafka_mirror.kafka.model import Acl, PatternAcl
from tests.unit.cutover.wave.wave_world import MemoryFlow, World


def binding(topic, principal, operation="WRITE", permission="ALLOW", pattern="LITERAL"):
    return PatternAcl(Acl(topic, f"User:{principal}", "*", operation, permission), pattern)


WRITER, READER = binding("orders", "writer"), binding("orders", "reader", "READ")
DENIED = PatternAcl(deny_write("orders"), "LITERAL")


def fence(there, noted=(), beside=()):
    """What fencing `orders` takes, by the ACLs of the source and what waves of other flows noted."""
    move = SimpleNamespace(topics=WaveTopics(("orders",)), flow="east->west")
    with patch.multiple(fence_acls, _acls=lambda _move: frozenset(there), find_noted_beside=lambda _flow: frozenset(beside)):
        return plan_fence(move, {"acls": write_acls(noted)})


def test_everybody_is_denied_to_write_to_each_topic_once():
    change = fence([WRITER])
    assert (change.create, change.remove, change.findings) == ((Acl("orders", "User:*", "*", "WRITE", "DENY"),), (), ())
    assert change.ours == change.create


def test_what_was_there_before_is_not_ours_and_what_we_noted_stays_ours():
    assert fence([WRITER, DENIED]).ours == ()
    shared = fence([WRITER, DENIED], beside=[deny_write("orders")])
    assert (shared.create, shared.ours, shared.shared) == ((), change_of_orders(), change_of_orders()), "another flow's wave set it"
    again = fence([WRITER, DENIED], change_of_orders())
    assert (again.create, again.ours) == ((), change_of_orders())


def test_what_was_noted_and_is_not_there_is_created():
    again = fence([WRITER], change_of_orders())
    assert (again.create, again.ours) == (change_of_orders(), change_of_orders())


def change_of_orders():
    return fence([WRITER]).create


@pytest.mark.parametrize(
    ("there", "is_open"),
    [
        ([], True),
        ([binding("payments", "writer")], True),
        ([binding("order", "writer")], True),
        ([DENIED], True),
        ([binding("ord", "writer", pattern="PREFIXED")], False),
        ([binding("*", "writer")], False),
        ([READER], False),
    ],
)
def test_a_topic_without_any_acl_of_somebody_else_is_left_alone(there, is_open):
    change = fence(there, [deny_write("orders")])
    assert [finding.code for finding in change.findings] == (["TopicWithoutAcls"] if is_open else [])
    assert not (is_open and change.create)


def test_writers_are_those_whom_any_pattern_allows_to_write():
    there = [
        WRITER,
        READER,
        binding("ord", "owner", "ALL", pattern="PREFIXED"),
        binding("*", "everywhere"),
        binding("orders", "stranger", permission="DENY"),
        binding("payments", "other"),
        binding("orders.eu", "longer"),
    ]
    assert find_writers("orders", there) == {"User:writer", "User:owner", "User:everywhere"}


def test_the_way_back_may_write_and_every_other_writer_is_denied_by_name():
    change = plan_exceptions(["orders"], [WRITER, READER, binding("orders", "mirror"), DENIED], [deny_write("orders")], "User:mirror")
    assert change.create == (deny_write("orders", "User:writer"),)
    assert change.remove == (deny_write("orders"),)
    assert (change.ours, change.findings) == ((deny_write("orders"), deny_write("orders", "User:writer")), ())


def test_once_more_it_changes_nothing_and_what_others_denied_is_not_ours():
    lifted = PatternAcl(deny_write("orders", "User:writer"), "LITERAL")
    change = plan_exceptions(["orders"], [WRITER, binding("orders", "mirror"), lifted], [], "User:mirror")
    assert (change.create, change.remove, change.ours) == ((), (), ())


@pytest.mark.parametrize(
    ("more", "noted", "code"),
    [
        ([], [deny_write("orders")], "WayBackDenied"),
        ([binding("orders", "*"), binding("orders", "mirror")], [deny_write("orders")], "WayBackDenied"),
        ([binding("orders", "mirror")], [], "WayBackDenied"),
    ],
)
def test_where_only_the_way_back_cannot_be_let_in_nobody_is(more, noted, code):
    change = plan_exceptions(["orders"], [WRITER, DENIED, *more], noted, "User:mirror")
    assert ([finding.code for finding in change.findings], change.create, change.remove) == ([code], (), ())


def test_notes_give_the_bindings_back():
    acls = (deny_write("orders"), deny_write("payments", "User:CN=a, O=b"))
    assert read_acls({"acls": write_acls(acls)}) == acls
    assert read_acls({}) == ()


WEST, NORTH = "east->west", "east->north"
FENCED, OPEN, ROLLED_BACK = "fenced", "open", "rolled back"


class TwoFlows(World):
    """East is mirrored to west, and to north."""

    def __init__(self):
        super().__init__()
        north = MemoryFlow(self, "east", "north")
        north.records = {tp: replace(record, target_cluster_id="west-id") for tp, record in self.flow.records.items()}
        self.flows[NORTH] = north

    def act(self, name, what):
        self.flow = self.flows[name]
        if what == ROLLED_BACK:
            with suppress(WaveIsOpen):
                return self.roll_back() if "w" in self.stored.waves else None
        return self.run(until=FENCE if what == FENCED else None)

    def stands_on_fence(self, name):
        """Whether the flow's wave stands on its fence."""
        self.flow = self.flows[name]
        record = self.stored.waves.get("w")
        return record is not None and record.state in (UNDER_WAY, OPENED) and FENCE in record.steps


acts = st.lists(st.tuples(st.sampled_from([WEST, NORTH]), st.sampled_from([FENCED, FENCED, OPEN, ROLLED_BACK, ROLLED_BACK])), max_size=7)


@given(acts)
@example([(WEST, FENCED), (NORTH, FENCED), (WEST, ROLLED_BACK), (NORTH, ROLLED_BACK)])
@example([(WEST, FENCED), (NORTH, OPEN), (WEST, ROLLED_BACK)])
def test_whatever_two_flows_do_producers_are_held_off_for_as_long_as_one_of_them_needs_it(done):
    world = TwoFlows()
    for name, what in done:
        world.act(name, what)
        assert world.denied == ({"orders"} if world.stands_on_fence(WEST) or world.stands_on_fence(NORTH) else set()), (name, what)


def test_a_deny_that_a_person_set_is_nobodys(monkeypatch):
    world = TwoFlows()
    world.acls.add(deny_write("orders"))
    for name in (WEST, NORTH):
        world.act(name, FENCED)
        assert read_acls(world.stored.waves["w"].steps[FENCE].facts) == ()
    for name in (WEST, NORTH):
        world.act(name, ROLLED_BACK)
    assert world.denied == {"orders"}


def test_one_that_notes_the_deny_while_another_removes_it_has_it_again():
    world = TwoFlows()
    world.act(WEST, FENCED)

    def late(cluster, acls):
        with patch.object(world, "_delete_acls", removing):
            world.act(NORTH, FENCED)
        world.flow = world.flows[WEST]
        return removing(cluster, acls)

    removing, world._delete_acls = world._delete_acls, late
    world.act(WEST, ROLLED_BACK)
    assert world.denied == {"orders"}
