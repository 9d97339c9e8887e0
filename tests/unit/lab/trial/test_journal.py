"""What the trial says of the journals of applications: it has to see each thing that can go wrong."""

from lab.trial.journal import Produced, judge, read_group, read_producer


def acked(*numbers, partition=0, producer="shop"):
    return Produced({(producer, partition, number): ("east", 1) for number in numbers}, frozenset())


def group(*numbers, topic="orders"):
    return read_group(f"read {topic} 0 {offset} shop {number} east" for offset, number in enumerate(numbers))


def test_a_group_that_got_everything_once_and_in_order_is_good():
    verdict = judge("billing", [acked(0, 1, 2)], group(0, 1, 2))
    assert verdict.is_good
    assert str(verdict) == "billing: 3 records, each once and in order"


def test_a_record_that_was_acknowledged_and_never_read_is_lost():
    verdict = judge("billing", [acked(0, 1, 2)], group(0, 2))
    assert (verdict.is_good, verdict.lost) == (False, (("shop", 0, 1),))
    assert str(verdict) == "billing: 2 records; 1 lost (shop-0#1)"


def test_a_record_that_is_known_to_be_lost_is_not_missed():
    assert judge("billing", [acked(0, 1, 2)], group(0, 1), lost_is=[("shop", 0, 2)]).is_good


def test_a_record_that_came_again_was_read_twice_and_does_not_count_as_late():
    verdict = judge("billing", [acked(0, 1)], group(0, 1, 0))
    assert (verdict.twice, verdict.disordered) == ((("shop", 0, 0),), ())


def test_a_record_that_came_after_a_later_one_is_out_of_order():
    assert judge("billing", [acked(0, 1, 2)], group(0, 2, 1)).disordered == (("shop", 0, 1),)


def test_records_of_two_topics_have_no_order_among_them():
    lines = ["read orders 0 0 shop 3 west", "read east.orders 0 0 shop 2 west"]
    assert judge("billing", [acked(2, 3)], read_group(lines, names_kept=False)).is_good


def test_a_topic_and_its_mirror_are_one_log_and_topics_of_the_same_name_are_two():
    lines = ["read orders 0 0 shop 3 east", "read east.orders 0 0 shop 2 west"]
    assert judge("billing", [acked(2, 3)], read_group(lines, names_kept=False)).disordered == (("shop", 0, 2),)
    lines = ["read orders 0 0 shop 3 east", "read orders 0 0 shop 2 west"]
    assert judge("billing", [acked(2, 3)], read_group(lines, names_kept=False)).is_good
    assert judge("billing", [acked(2, 3)], read_group(lines)).disordered == (("shop", 0, 2),)


def test_a_record_in_doubt_may_be_missing_and_may_come_but_not_twice():
    doubtful = read_producer(["doubt orders 0 7 7"], "shop")
    assert judge("billing", [doubtful], group()).is_good
    assert judge("billing", [doubtful], group(7)).is_good
    assert judge("billing", [doubtful], group(7, 7)).twice == (("shop", 0, 7),)


def test_records_of_two_producers_in_one_partition_are_not_confused():
    both = [acked(0), acked(0, producer="web")]
    assert judge("billing", both, group(0)).lost == (("web", 0, 0),)


def test_commits_that_were_refused_are_counted():
    assert read_group(["read orders 0 0 shop 0 east", "uncommitted FENCED"]).uncommitted == 1
