"""The judge of translated offsets agrees with a reader that continues at the translated position and reads to the end."""

import random

import pytest

from lab.faults.copies import Jump, PartitionCopies
from lab.faults.translations import Answer, JudgedAnswer, judge_answers


def mirror(source: list[int], stretches: list[tuple[int, int]], chance: random.Random) -> tuple[PartitionCopies, dict[int, int]]:
    """A mirror that copied these stretches of source offsets, with holes between some records; and the source offset of each copy."""
    copies, origin, target, end = PartitionCopies(), {}, 0, 0
    copies.read_source([(offset, offset) for offset in source])
    for start, until in stretches:
        if start != end:
            copies.note_decision(Jump(end, start))
        end = until
    for start, until in stretches:
        for offset in source:
            if start <= offset < until:
                target += chance.choice((1, 1, 1, 2))
                origin[target] = offset
    copies.read_target(sorted(origin.items()))
    return copies, origin


def verdict(copies: PartitionCopies, offset: int, position: int, kind: str = "") -> JudgedAnswer:
    [found] = judge_answers([Answer("translate", "g", 0, offset, position, kind)], {0: copies})
    return found


@pytest.fixture
def restarted() -> PartitionCopies:
    """Source offsets 0 … 9 at target 0 … 9; then a restart at 4, whose second copy has come to 6 and stands at target 10 … 12."""
    copies = PartitionCopies()
    copies.read_source([(offset, offset) for offset in range(10)])
    copies.note_decision(Jump(10, 4))
    copies.read_target([(number, digest) for number, digest in enumerate([*range(10), 4, 5, 6])])
    return copies


def test_an_answer_after_an_unread_record_is_late(restarted: PartitionCopies) -> None:
    found = verdict(restarted, 5, 10, "exact")
    assert (found.late, found.missed, found.falsely_exact) == (True, 3, True)
    assert str(found) == "translate of g in partition 0@5: exact 10, 3 records late"


def test_an_answer_at_the_older_copy_is_right_while_the_newer_copies_are_not_complete(restarted: PartitionCopies) -> None:
    assert not verdict(restarted, 5, 5).late
    assert not verdict(restarted, 5, 7, "exact").late, "5 and 6 come once more after it"
    assert not verdict(restarted, 5, 7, "exact").falsely_exact
    assert verdict(restarted, 5, 8).late
    restarted.read_target([(13, 7), (14, 8), (15, 9)])
    assert not verdict(restarted, 5, 11, "exact").falsely_exact
    assert verdict(restarted, 5, 12).late


def test_an_early_answer_may_not_call_itself_exact(restarted: PartitionCopies) -> None:
    found = verdict(restarted, 10, 10, "exact")
    assert (found.late, found.again, found.falsely_exact) == (False, 3, True)
    assert not verdict(restarted, 10, 10, "early").falsely_exact
    assert not verdict(restarted, 10, 13, "exact").falsely_exact


def test_every_answer_is_judged_as_a_reader_finds_it() -> None:
    """For random mirrors: what a group would miss is what it has not read, the target holds, and no later position shows."""
    for seed in range(300):
        chance = random.Random(seed)
        source = sorted(chance.sample(range(60), 40))
        stretches, at = [], 0
        for _ in range(chance.randint(1, 4)):
            until = chance.randint(at, 60)
            stretches.append((at, until))
            at = chance.randint(0, until)
        copies, origin = mirror(source, stretches, chance)
        for _ in range(40):
            offset, position = chance.randint(0, 60), chance.randint(0, max(origin, default=0) + 2)
            read = {origin[target] for target in origin if target >= position}
            missed = {held for held in origin.values() if held >= offset} - read
            found = verdict(copies, offset, position)
            assert found.missed == len(missed), (seed, offset, position)
            if not missed:
                later = [target for target in origin if target >= position]
                needless = 0
                while needless < len(later) and {o for o in origin.values() if o >= offset} <= {origin[t] for t in later[needless + 1 :]}:
                    needless += 1
                assert found.again == needless, (seed, offset, position)
