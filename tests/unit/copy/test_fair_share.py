"""Who shares the next transaction: small backlogs soon, nobody left behind, over many runs with a small budget too."""

from datetime import UTC, datetime, timedelta

from hypothesis import given, settings
from hypothesis import strategies as st

from kafka_mirror.copy.next_transaction import PartitionInLine, Turns
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.ledger.record import Writer
from tests.unit.ledger_records import ledger_record

MB = 1024 * 1024


def tp(number):
    return TopicPartition("orders", number)


class Lane:
    """Partitions with backlogs in bytes, copied as an engine does: whoever stands first in a transaction may fill it."""

    def __init__(self, backlogs):
        self.left = dict(enumerate(backlogs))
        self.served = dict.fromkeys(self.left, 0.0)
        self.clock = 0.0

    def run(self, max_bytes, transactions):
        """One run with a budget of so many transactions: the partitions that moved in each."""
        turns, moved = Turns(), []
        for _ in range(transactions):
            candidates = [PartitionInLine(tp(n), size, self.served[n]) for n, size in self.left.items() if size]
            if not candidates:
                break
            room, now = max_bytes, []
            for chosen in sorted(turns.choose(candidates, max_bytes), reverse=True):  # the order that is worst for small backlogs
                taken = min(room, self.left[chosen.partition])
                if taken:
                    self.left[chosen.partition] -= taken
                    room -= taken
                    now.append(chosen.partition)
            self.clock += 1
            self.served.update(dict.fromkeys(now, self.clock))
            turns.count_served(tp(n) for n in now)
            moved.append(now)
        return moved


def test_small_backlogs_are_copied_first_and_together():
    lane = Lane([10_000] * 20 + [1000 * MB])
    assert sorted(lane.run(4 * MB, 2)[0]) == list(range(20))


def test_small_backlogs_come_second_where_the_long_one_has_waited_longer():
    lane = Lane([1000 * MB, *[10_000] * 20])
    lane.served.update(dict.fromkeys(range(1, 21), 1.0))
    lane.clock = 1.0
    first, second = lane.run(4 * MB, 2)
    assert first == [0]
    assert sorted(second) == list(range(1, 21))


def test_long_backlogs_take_turns_where_a_transaction_has_no_room_for_all():
    moved = Lane([100 * MB] * 6).run(MB, 12)
    assert sorted(n for each in moved[:6] for n in each) == sorted(n for each in moved[6:] for n in each) == list(range(6))


def test_with_one_transaction_a_run_long_backlogs_are_served_one_after_the_other():
    lane = Lane([1000 * MB] * 6)
    assert sorted(n for _ in range(6) for each in lane.run(4 * MB, 1) for n in each) == list(range(6))


def test_after_the_one_that_waited_longest_long_backlogs_share_transactions():
    turns, candidates = Turns(), [PartitionInLine(tp(n), 100 * MB, float(n)) for n in range(10)]
    assert turns.choose(candidates, 4 * MB) == [tp(0)]
    turns.count_served([tp(0)])
    candidates[0] = PartitionInLine(tp(0), 100 * MB, 11.0)
    assert turns.choose(candidates, 4 * MB) == [tp(n) for n in range(1, 5)]
    assert len(turns.choose(candidates, 32 * MB)) == 10


def test_one_that_drops_out_before_its_turn_holds_up_nobody():
    turns, candidates = Turns(), [PartitionInLine(tp(n), 100 * MB, float(n)) for n in range(10)]
    assert turns.choose(candidates, 4 * MB) == [tp(0)]
    assert turns.choose(candidates[1:], 4 * MB) == [tp(1)]
    turns.count_served([tp(1)])
    assert len(turns.choose(candidates[1:], 4 * MB)) == 4


def test_what_looked_small_and_was_not_keeps_nobody_waiting():
    turns, looks_small, long = Turns(), PartitionInLine(tp(0), 1000, 0.0), PartitionInLine(tp(1), 100 * MB, 0.0)
    assert turns.choose([looks_small, long], MB) == [tp(0)]
    turns.count_served([tp(0)])
    assert turns.choose([PartitionInLine(tp(0), 1000, 1.0), long], MB) == [tp(1)]


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.integers(1, 50 * MB), min_size=1, max_size=30),
    st.lists(st.integers(0, 2 * MB), min_size=30, max_size=30),
    st.sampled_from([64 * 1024, MB, 4 * MB, 32 * MB]),
)
def test_nobody_starves_over_runs_of_one_transaction_each_however_much_comes_in(backlogs, incoming, max_bytes):
    lane, last_moved = Lane(backlogs), dict.fromkeys(range(len(backlogs)), 0)
    for run in range(1, 200):
        for (moved,) in [lane.run(max_bytes, 1)] if any(lane.left.values()) else []:
            last_moved.update(dict.fromkeys(moved, run))
        for n, size in lane.left.items():
            if not size:
                last_moved[n] = run
            assert run - last_moved[n] <= 3 * len(backlogs) + 3, f"partition {n} has waited since run {last_moved[n]}"
            lane.left[n] += incoming[n]


def test_the_size_of_a_backlog_is_judged_by_what_was_copied_before():
    record = ledger_record(records=10, bytes=5000)
    assert PartitionInLine.of(tp(0), record, 100, 7) == PartitionInLine(tp(0), 50_100, 7)
    fresh = ledger_record(records=0, bytes=0)
    assert PartitionInLine.of(tp(0), fresh, 100, 7).served == 0
    assert PartitionInLine.of(tp(0), fresh, 100, 7).bytes > 100


def test_the_turns_follow_the_order_in_which_the_ledger_was_written_whatever_the_clocks_of_those_who_wrote():
    turns, sizes = Turns(), {tp(number): 100 * MB for number in range(3)}
    now = datetime(2026, 11, 21, tzinfo=UTC)
    records = {
        tp(number): ledger_record(records=10, bytes=10 * MB, writer=Writer("", "host", "run", now + timedelta(days=days)))
        for number, days in ((2, 1), (0, -1), (1, 0))
    }
    turns.begin(records)
    order = []
    for _ in range(6):
        (chosen,) = turns.choose([PartitionInLine.of(each, records[each], 100, turns.written[each]) for each in sizes], MB)[:1]
        turns.count_served([chosen])
        order.append(chosen.partition)
    assert order == [2, 0, 1] * 2
