"""What the trial says of a failover: it must see each loss that the report does not name, and each record that came again too often."""

import pytest

from lab.trial.losses import Acknowledged, Place, Reading, Said, find_disorder, judge_group, judge_losses, read_acknowledged, read_readings

SAID = {0: Said(watermark=10, end=14, complete_until=1_000.0)}


def number(value, partition=0):
    return ("shop", partition, value)


def acked(value, offset, time=900, partition=0):
    return Acknowledged(number(value, partition), offset, time)


def test_a_record_after_the_watermark_may_be_missing():
    verdict = judge_losses([acked(1, 9), acked(2, 10), acked(3, 13)], {number(1)}, SAID)
    assert [*verdict.wrong()] == []
    assert (verdict.acknowledged, verdict.lost, verdict.said, verdict.later) == (3, {number(2), number(3)}, 4, 0)


def test_a_record_after_the_known_end_may_be_missing_if_it_was_acknowledged_after_that_was_read():
    later, earlier = judge_losses([acked(1, 14, 1_001)], set(), SAID), judge_losses([acked(1, 14, 1_000)], set(), SAID)
    assert (later.unsaid, later.later) == ((), 1)
    assert (earlier.unsaid, earlier.later) == ((number(1),), 1)


@pytest.mark.parametrize(("record", "said"), [(acked(1, 9), SAID), (acked(1, 20, 5_000, partition=1), SAID)])
def test_a_missing_record_that_the_report_does_not_name_is_wrong(record, said):
    verdict = judge_losses([record], set(), said)
    assert verdict.unsaid == (record.number,)
    assert "of which nothing was said: shop-" in next(iter(verdict.wrong()))


def test_what_was_said_to_be_missing_and_is_there_is_wrong():
    verdict = judge_losses([acked(1, 10)], {number(1)}, SAID)
    assert verdict.there == (number(1),)
    assert "said to be missing" in next(iter(verdict.wrong()))


def test_a_record_without_a_known_offset_may_be_missing_where_its_partition_has_a_report():
    assert judge_losses([acked(1, -1)], set(), SAID).unsaid == ()


def group(before, after, places, on_target=()):
    """Before in the source's log, each number at its own offset; after on the target."""
    read_after = [Reading(number(each), 0) for each in after]
    return judge_group("billing", [Reading(number(each), each) for each in before], read_after, on_target, places)


def test_what_a_group_read_from_its_checkpoint_on_it_may_read_again():
    verdict = group(range(10), [8, 9, 10], {0: Place(8, 0)}, {number(10)})
    assert (verdict.again, verdict.early, [*verdict.wrong()]) == (2, 0, [])


def test_a_group_may_read_as_many_records_before_its_checkpoint_again_as_were_said():
    assert [*group(range(10), [6, 7], {0: Place(8, 2)}).wrong()] == []
    assert [*group(range(10), [5, 6, 7], {0: Place(8, 2)}).wrong()] == ["billing: partition 0: 3 records were read again, and 2 were said"]
    assert group(range(10), [0], {0: Place(8, None)}).early == 1
    assert [*group(range(10), range(10), {}).wrong()] == []


def test_a_record_of_the_target_that_a_group_never_got_is_skipped_and_one_that_came_twice_there_is_named():
    verdict = group([0], [2, 2], {0: Place(1, 0)}, {number(0), number(1), number(2)})
    assert (verdict.skipped, verdict.twice) == ((number(1),), (number(2),))
    assert len([*verdict.wrong()]) == 2


def test_a_log_has_each_record_once_and_in_order():
    assert find_disorder([number(0), number(1), number(0, 1), ("web", 0, 0)]) == []
    assert find_disorder([number(1), number(0)]) == [number(0)]
    assert find_disorder([number(1), number(1)]) == [number(1)]


def test_journals_say_what_was_acknowledged_and_what_was_read_where():
    lines = ["acked orders 1 7 40 east 900", "doubt orders 1 8 8", "failed  _TRANSPORT"]
    assert read_acknowledged(lines, "shop") == [Acknowledged(("shop", 1, 7), 40, 900)]
    lines = ["read orders 1 40 shop 7 east", "read orders 1 41 shop 8 west", "uncommitted X"]
    assert read_readings(lines, "west") == [Reading(("shop", 1, 8), 41)]
