"""Which engine copies what, turn by turn."""

from dataclasses import replace

import pytest

from mirror.copy.engine import LaneEngines, Reencoding
from mirror.copy.engine_turns import EngineTurns
from mirror.copy.lane import LaneCopy
from mirror.copy.model import AUTO, BATCHES, RECORDS
from mirror.offsets.partition import TopicPartition
from tests.unit.copy.conftest import MemoryEngine
from tests.unit.copy.happenings import watermarks

ORDERS, PAYMENTS = TopicPartition("orders", 0), TopicPartition("payments", 0)


def test_with_one_engine_everything_is_its_own_and_it_has_one_turn():
    turns = EngineTurns()
    assert turns.end(ORDERS, 100, 7) == 100
    assert not turns.next()


def test_what_was_handed_over_is_left_alone_in_this_turn_and_copied_up_to_its_end_in_the_next():
    turns = EngineTurns(BATCHES)
    turns.hand_over(ORDERS, Reencoding(40, "an edge"))
    assert (turns.end(ORDERS, 100, 7), turns.end(PAYMENTS, 100, 7)) == (7, 100)
    assert turns.next()
    assert turns.turn == RECORDS
    assert (turns.end(ORDERS, 100, 7), turns.end(PAYMENTS, 100, 7)) == (40, 7)


def test_behind_an_edge_the_batches_go_on():
    turns = EngineTurns(BATCHES)
    turns.hand_over(ORDERS, Reencoding(40, "an edge"))
    assert turns.next()
    assert turns.next()
    assert turns.turn == BATCHES
    assert turns.end(ORDERS, 100, 40) == 100
    assert not turns.next()


def test_what_was_handed_over_to_the_end_of_its_range_stays_so_for_the_run():
    turns = EngineTurns(BATCHES)
    turns.hand_over(ORDERS, Reencoding(None, "holes"))
    assert turns.next()
    assert turns.end(ORDERS, 100, 7) == 100
    assert not turns.next()
    turns.begin()
    assert turns.end(ORDERS, 200, 100) == 100


def test_an_end_that_another_run_has_passed_meanwhile_leaves_nothing_to_do():
    turns = EngineTurns(BATCHES)
    turns.hand_over(ORDERS, Reencoding(40, "an edge"))
    turns.next()
    assert turns.end(ORDERS, 100, 60) == 60


def test_other_ranges_begin_with_the_batches():
    turns = EngineTurns(BATCHES)
    turns.hand_over(ORDERS, Reencoding(None, "holes"))
    turns.next()
    turns.begin()
    assert turns.turn == BATCHES
    assert turns.end(PAYMENTS, 100, 0) == 100


# ---------------------------------------------------------------- a lane with two engines


class UpToFour(MemoryEngine):
    """Carries nothing of orders-0 from offset 4 on."""

    def copy(self, work, limits):
        moved = super().copy([replace(each, end=4) if each.source == ORDERS else each for each in work], limits)
        return [replace(each, reencoding=Reencoding(None, "closed")) if each.source == ORDERS else each for each in moved]


def test_a_lane_leaves_to_its_second_engine_what_the_first_does_not_carry_in_an_epoch_of_its_own(world, lane_task):
    engines = []

    def opened(kind):
        def factory(_task, _limit):
            engines.append(kind.__name__)
            return kind(world)

        return factory

    result = LaneCopy(replace(lane_task, engine=BATCHES), LaneEngines(opened(MemoryEngine), opened(UpToFour))).run()
    assert watermarks(result) == {("orders", 10), ("payments", 10)}
    assert engines == ["UpToFour", "MemoryEngine"]
    assert result.errors == ()
    assert world.ledger[ORDERS].records == 10


def test_a_lane_whose_time_is_up_leaves_the_second_engines_part_to_the_next_run(world, lane_task):
    result = LaneCopy(
        replace(lane_task, engine=BATCHES, max_seconds=0.0), LaneEngines(lambda *_: MemoryEngine(world), lambda *_: UpToFour(world))
    ).run()
    assert watermarks(result) == {("orders", 4), ("payments", 10)}
    assert world.engines == 1


# ---------------------------------------------------------------- mirror.engine=auto


def auto(*records):
    """Turns over orders-0 and payments-0, of which these begin with records."""
    turns = EngineTurns(AUTO)
    turns.choose([ORDERS, PAYMENTS], dict.fromkeys(records, "small"))
    return turns


def test_partitions_begin_with_the_engine_that_was_chosen_batches_first():
    turns = auto(PAYMENTS)
    assert (turns.turn, turns.end(ORDERS, 100, 7), turns.end(PAYMENTS, 100, 7)) == (BATCHES, 100, 7)
    assert turns.next()
    assert (turns.turn, turns.end(ORDERS, 100, 7), turns.end(PAYMENTS, 100, 7)) == (RECORDS, 7, 100)
    assert not turns.next()


def test_an_engine_without_work_has_no_turn():
    assert (auto(ORDERS, PAYMENTS).turn, auto().turn) == (RECORDS, BATCHES)
    assert not auto(ORDERS, PAYMENTS).next()
    assert not auto().next()


def test_a_partition_goes_over_to_batches_in_their_turn():
    turns = auto(ORDERS, PAYMENTS)
    assert turns.may_take_batches(ORDERS)
    turns.take_batches(ORDERS)
    assert (turns.end(ORDERS, 100, 7), turns.end(PAYMENTS, 100, 7)) == (7, 100)
    assert turns.next()
    assert (turns.turn, turns.end(ORDERS, 100, 7)) == (BATCHES, 100)
    assert not turns.may_take_batches(ORDERS), "what they cannot open themselves ends the partition: else the lane begins anew for ever"
    assert not turns.next()


def test_a_batch_that_batches_give_back_does_not_go_over_to_them_again():
    turns = auto(ORDERS, PAYMENTS)
    turns.take_batches(ORDERS)
    turns.next()
    turns.hand_over(ORDERS, Reencoding(40, "an edge"))
    assert turns.next()
    assert (turns.turn, turns.end(ORDERS, 100, 7), turns.may_take_batches(ORDERS), turns.keeps(ORDERS)) == (RECORDS, 40, False, False)


def test_what_batches_gave_back_unseen_goes_over_to_them_for_a_record_that_only_they_carry():
    turns = auto()
    turns.hand_over(ORDERS, Reencoding(None, "another codec"))
    assert turns.next()
    assert (turns.end(ORDERS, 100, 7), turns.may_take_batches(ORDERS), turns.keeps(ORDERS)) == (100, True, True)
    turns.take_batches(ORDERS)
    assert turns.next()
    assert (turns.turn, turns.end(ORDERS, 100, 7), turns.needs_batches(ORDERS)) == (BATCHES, 100, True)
    turns.hand_over(ORDERS, Reencoding(None, "messages of an older format"))
    assert turns.next()
    assert (turns.may_take_batches(ORDERS), turns.keeps(ORDERS)) == (False, False)


@pytest.mark.parametrize("for_good", [False, True])
def test_a_run_without_batches_leaves_records_that_only_they_carry_to_a_later_run_that_has_them(for_good):
    turns = auto(ORDERS)
    turns.do_without_batches("two attempts failed", [ORDERS], for_good=for_good)
    assert (turns.may_take_batches(ORDERS), turns.keeps(ORDERS)) == (False, not for_good)


def test_a_partition_is_given_back_batch_by_batch_only_so_often():
    turns = auto(ORDERS)
    turns.take_batches(ORDERS)
    for rounds in range(100):
        turns.next()
        turns.hand_over(ORDERS, Reencoding(10 * rounds + 10, "holes"))
        turns.next()
        if turns.end(ORDERS, 10_000, 10 * rounds) == 10_000:
            break
    assert rounds < 20


def test_without_the_engine_for_batches_everything_is_encoded_anew_and_nothing_goes_over():
    turns = auto()
    turns.hand_over(ORDERS, Reencoding(40, "an edge"))
    turns.do_without_batches("too old", [ORDERS, PAYMENTS])
    assert (turns.turn, turns.end(ORDERS, 100, 7), turns.end(PAYMENTS, 100, 7)) == (RECORDS, 100, 100)
    assert not turns.may_take_batches(ORDERS)
    assert not turns.next()
    turns.begin()
    assert (turns.turn, turns.is_chosen) == (RECORDS, True)


@pytest.mark.parametrize("engine", [RECORDS, BATCHES])
def test_an_engine_that_was_asked_for_by_name_is_not_left_for_a_record(engine):
    assert not EngineTurns(engine).may_take_batches(ORDERS)
    assert not EngineTurns(engine).keeps(ORDERS)
