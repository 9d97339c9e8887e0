"""What the series of faults counts in a mirror: what a decision had copied again or left out is right, everything else is not."""

import random

import pytest

from lab.faults.copies import Jump, PartitionCopies

SOURCE = [(offset, 1000 + offset) for offset in range(100) if offset % 7]
"""A source with holes, as transactions' markers leave them."""


def copy(*stretches: tuple[int, int]) -> list[int]:
    """The digests of a mirror that copied these stretches of source offsets, one after the other."""
    return [digest for start, end in stretches for offset, digest in SOURCE if start <= offset < end]


def counted(digests: list[int], *jumps: Jump, planted: tuple[int, ...] = ()) -> tuple[int, int, int, int]:
    """Lost, doubled, foreign and disordered, of target offsets that begin at 500."""
    copies = PartitionCopies()
    copies.read_source(SOURCE)
    for jump in jumps:
        copies.note_decision(jump)
    copies.note_planted(planted)
    copies.read_target([(500 + number, digest) for number, digest in enumerate(digests)])
    account = copies.account(0)
    return account.lost, account.doubled, account.foreign, account.disordered


ALL = copy((0, 100))
RESTARTED = copy((0, 60), (20, 100))


def without(digests: list[int], *places: int) -> list[int]:
    return [digest for place, digest in enumerate(digests) if place not in places]


def test_a_mirror_is_right_with_and_without_a_restart() -> None:
    assert counted(ALL) == (0, 0, 0, 0)
    assert counted(RESTARTED, Jump(60, 20)) == (0, 0, 0, 0)


@pytest.mark.parametrize(
    ("digests", "jumps", "expected"),
    [
        (RESTARTED, (), (0, len(copy((20, 60))), 0, 0)),
        (RESTARTED, (Jump(60, 30),), (0, len(copy((20, 30))), 0, 0)),
        (without(ALL, 30), (), (1, 0, 0, 0)),
        (without(ALL, len(ALL) - 1), (), (1, 0, 0, 0)),
        ([*ALL[:40], ALL[39], *ALL[40:]], (), (0, 1, 0, 0)),
        ([*ALL[:40], 7, *ALL[40:]], (), (0, 0, 1, 0)),
        ([*ALL[:40], ALL[41], ALL[40], *ALL[42:]], (), (0, 0, 0, 1)),
        (without(RESTARTED, 60), (Jump(60, 20),), (1, 0, 0, 0)),
        (copy((0, 60), (20, 50), (40, 100)), (Jump(60, 20),), (0, len(copy((40, 50))), 0, 0)),
        (copy((0, 60), (20, 100), (20, 100)), (Jump(60, 20),), (0, len(copy((20, 100))), 0, 0)),
        ([], (), (len(ALL), 0, 0, 0)),
    ],
)
def test_what_no_decision_explains_is_counted(digests: list[int], jumps: tuple[Jump, ...], expected: tuple[int, int, int, int]) -> None:
    assert counted(digests, *jumps) == expected


def test_what_a_decision_passes_over_is_not_missing_and_what_lies_beside_it_is() -> None:
    assert counted(copy((0, 30), (50, 100)), Jump(30, 50)) == (0, 0, 0, 0)
    assert counted(copy((0, 30)), Jump(30, 100)) == (0, 0, 0, 0)
    assert counted(copy((0, 29), (50, 100)), Jump(30, 50))[0] > 0
    assert counted(copy((0, 30), (51, 100)), Jump(30, 50))[0] > 0


def test_of_two_decisions_the_one_that_was_acted_on_counts_and_one_may_follow_the_other() -> None:
    assert counted(copy((0, 60), (40, 100)), Jump(60, 20), Jump(60, 40)) == (0, 0, 0, 0)
    assert counted(copy((0, 60), (10, 100)), Jump(60, 50), Jump(50, 10)) == (0, 0, 0, 0)
    assert counted(ALL, Jump(60, 20)) == (0, 0, 0, 0), "the copy had passed what the decision was bound to"


def test_records_that_a_person_accepted_are_neither_foreign_nor_in_the_way() -> None:
    assert counted([*ALL[:40], 7, ALL[3], *ALL[40:]], planted=(540, 541)) == (0, 0, 0, 0)
    assert counted([*ALL[:40], 7, ALL[3], *ALL[40:]], planted=(540,)) == (0, 1, 0, 0)


def test_pieces_of_any_size_are_counted_like_the_whole() -> None:
    for seed in range(50):
        chance = random.Random(seed)
        copies, target, at, begun = PartitionCopies(), 0, 0, 0
        for _ in range(8):
            end = chance.randint(copies.source_end, 100)
            copies.read_source([record for record in SOURCE if copies.source_end <= record[0] < end])
            digests = copy((at, end))
            cut = chance.randint(0, len(digests))
            for part in (digests[:cut], digests[cut:]):
                copies.read_target([(target + number, digest) for number, digest in enumerate(part)])
                target += len(part)
            account = copies.account(0)
            assert (account.lost, account.doubled, account.foreign, account.disordered) == (0, 0, 0, 0), seed
            begun, at = at, end
            if chance.random() < 0.5 and end > begun:
                at = chance.randint(0, end)
                copies.note_decision(Jump(end, at))
