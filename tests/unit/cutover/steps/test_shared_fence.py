"""Two flows of one source, each with a wave over the same topic: the DENY on which both stand goes with the last of them."""

from contextlib import suppress
from dataclasses import replace
from unittest.mock import patch

from hypothesis import example, given
from hypothesis import strategies as st

from kafka_mirror.cutover.steps.fence_acls import deny_write
from kafka_mirror.cutover.wave.record import OPENED, UNDER_WAY, read_acls
from kafka_mirror.cutover.wave.step import FENCE
from kafka_mirror.errors import WaveIsOpen
from tests.unit.cutover.wave.wave_world import MemoryFlow, World

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

    def fences(self, name):
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
        assert world.denied == ({"orders"} if world.fences(WEST) or world.fences(NORTH) else set()), (name, what)


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
