"""The offset map of a partition that was taken over: whatever syncs there are, a translation is early and never late."""

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from mirror.handover.maps import taken_map
from mirror.offsets.map import OffsetMap, Run, Translation, decoded
from mirror.offsets.sync_store import Pair
from tests.unit.handover.mirror_maker import World, found
from tests.unit.handover.test_tail import STEPS


def test_what_lies_in_front_of_all_syncs_begins_at_the_beginning():
    made = taken_map(OffsetMap(), [Pair(100, 90)], [Pair(150, 140), Pair(151, 141)], Pair(152, 142))
    assert made.translate(20) == Translation(0, False)
    assert made.translate(100) == Translation(90, True)
    assert made.translate(120) == Translation(91, False)
    assert made.translate(151) == Translation(141, True)
    assert made.translate(152) == Translation(142, True)
    assert made.source_of(10) == 0


def test_a_range_that_was_mirrored_twice_is_known_by_its_newest_copy():
    made = taken_map(OffsetMap(), [Pair(0, 0), Pair(50, 50), Pair(90, 90), Pair(41, 91)], [Pair(60, 110)], Pair(61, 111))
    assert made.runs == (Run(0, 0, 1, True), Run(41, 91, 1, True), Run(60, 110, 1, True))


def test_our_own_part_stays_exact():
    ours = OffsetMap((Run(0, 0, 100), Run(110, 101, 40)))
    made = taken_map(ours, [Pair(99, 99), Pair(149, 140), Pair(160, 150)], [Pair(170, 160)], Pair(171, 161))
    assert made.runs == (*ours.runs, Run(160, 150, 1, True), Run(170, 160, 1, True))


def test_without_anything_known_the_map_is_empty():
    assert taken_map(OffsetMap(), [], [], Pair(5, 7)) == OffsetMap()


@given(st.integers(0, 2**32).map(Random), STEPS)
def test_a_translation_is_never_late(random, steps):
    world = World()
    world.produce(random, 5)
    for step in steps:
        match step:
            case "copy" | "marker":
                world.copy(random.randint(1, 4), step == "marker")
            case "flush":
                world.flush()
            case "sync":
                world.sync()
            case "kill":
                world.start_again()
            case "produce":
                world.produce(random, random.randint(1, 6))
    made = taken_map(OffsetMap(), world.syncs, found(world).pairs, Pair(world.watermark, world.target_end))
    # What the copy then does: the next record of the source goes right behind the end.
    following = [record.offset for record in world.source if record.offset >= world.watermark]
    behind = [Pair(offset, world.target_end + number) for number, offset in enumerate(following)]
    made = decoded(made.extended([Run(pair.upstream, pair.downstream, 1) for pair in behind]).encoded())
    pairs = [*world.pairs, *behind]
    for group in range(world.source_end + 2):
        translation = made.translate(group)
        if translation is None:
            assert not pairs
            continue
        needed = {pair.upstream for pair in pairs if pair.upstream >= group}
        seen = {pair.upstream for pair in pairs if pair.downstream >= translation.target}
        assert needed <= seen, (group, translation, made)
