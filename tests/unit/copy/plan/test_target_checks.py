"""What must hold of a remote partition before anything is written to it."""

from dataclasses import replace

from kafka_mirror.copy.engine import PartitionProgress
from kafka_mirror.copy.ledger_updates import went_back
from kafka_mirror.copy.plan.target_checks import RemotePartition, hidden, unusable, window
from kafka_mirror.formats.offsets.map import OffsetMap, Run
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.kafka.model import Partition, Topic
from tests.unit.ledger_records import ledger_record

TOPIC = Topic("east.orders", "target-topic-id", (Partition(0, 1, (1, 2, 3), (1, 2, 3)),))
FOUND = RemotePartition(TopicPartition("orders", 0), "east.orders", TOPIC, min_insync=2, log_start=0, last_stable=101, end=101)
RECORD = ledger_record(offset_map=OffsetMap((Run(0, 0, 100),)))


def with_partition(**changes):
    return replace(FOUND, topic=replace(TOPIC, partitions=(TOPIC.partitions[0]._replace(**changes),)))


def test_a_healthy_partition_may_be_written():
    assert unusable(FOUND, None) is None
    assert unusable(FOUND, RECORD) is None


def test_a_missing_topic_or_partition_is_said():
    assert unusable(replace(FOUND, topic=None), None).code == "TargetMissing"
    assert unusable(replace(FOUND, source=TopicPartition("orders", 1)), None).code == "TargetMissing"


def test_a_partition_without_leader_is_left_out():
    assert unusable(with_partition(leader=None), None).code == "TargetUnavailable"
    assert unusable(replace(FOUND, end=-1), None).code == "TargetUnavailable"


def test_a_partition_below_min_insync_is_left_out():
    assert "min.insync.replicas is 2" in unusable(with_partition(isr=(1,)), None).message


def test_another_name_or_topic_id_is_a_recreated_target():
    assert unusable(FOUND, replace(RECORD, target_topic="old.orders")).code == "TargetRecreated"
    assert unusable(FOUND, replace(RECORD, target_topic_id="old")).code == "TargetRecreated"


def test_a_topic_that_is_missing_under_its_new_name_has_another_one_in_the_ledger():
    error = unusable(replace(FOUND, topic=None), replace(RECORD, target_topic="old.orders"))
    assert (error.code, error.expected, error.actual) == ("TargetRecreated", "name old.orders", "east.orders")
    assert unusable(replace(FOUND, topic=None), RECORD).code == "TargetMissing"


def test_an_end_below_what_was_written_is_lost_records():
    error = unusable(replace(FOUND, end=99), RECORD)
    assert (error.code, error.offset) == ("TargetLostRecords", 99)


def test_what_was_written_and_stands_behind_an_open_transaction_is_hidden():
    error = hidden(replace(FOUND, last_stable=60), RECORD)
    assert (error.code, error.offset, error.retriable) == ("TargetHidden", 60, True)
    assert "[60, 100)" in error.message


def test_a_transaction_that_is_open_behind_what_was_written_hides_nothing():
    assert hidden(replace(FOUND, last_stable=100, end=150), RECORD) is None
    assert hidden(replace(FOUND, last_stable=0), None) is None


def test_neither_what_is_lost_nor_what_is_unknown_is_hidden():
    assert hidden(replace(FOUND, last_stable=40, end=40), RECORD) is None
    assert hidden(replace(FOUND, last_stable=-1), RECORD) is None


def written(*runs: Run) -> PartitionProgress:
    return PartitionProgress(TopicPartition("orders", 0), 200, runs=runs)


def test_records_that_follow_what_was_written_are_in_order():
    assert went_back(RECORD, "east.orders", written(Run(100, 101, 20), Run(120, 125, 5))) is None
    assert went_back(RECORD, "east.orders", written()) is None


def test_a_record_that_lands_in_front_of_what_was_written_shows_a_loss():
    error = went_back(RECORD, "east.orders", written(Run(100, 80, 20)))
    assert (error.code, error.offset, error.retriable) == ("TargetLostRecords", 80, False)
    assert "[80, 100)" in error.message


def test_a_record_that_lands_in_front_of_another_of_its_transaction_shows_a_loss():
    error = went_back(RECORD, "east.orders", written(Run(100, 101, 20), Run(120, 110, 5)))
    assert (error.code, error.offset) == ("TargetLostRecords", 110)


def test_an_acknowledgement_without_an_offset_is_tried_again():
    error = went_back(RECORD, "east.orders", written(Run(100, -1001, 1)))
    assert (error.code, error.partition, error.retriable) == ("KafkaFailure", 0, True)


def test_our_own_commit_marker_needs_no_look():
    assert window(FOUND, RECORD) is None


def test_anything_more_than_one_marker_is_looked_at():
    assert window(replace(FOUND, last_stable=102, end=102), RECORD) == (100, 102)


def test_one_entry_is_looked_at_where_we_never_wrote():
    assert window(FOUND, replace(RECORD, offset_map=OffsetMap())) == (100, 101)


def test_one_entry_is_looked_at_behind_records_of_somebody_else_that_were_accepted():
    assert window(replace(FOUND, last_stable=104, end=104), replace(RECORD, target_next=103)) == (103, 104)


def test_what_was_accepted_in_an_unknown_partition_is_not_looked_at():
    assert window(replace(FOUND, log_start=7), None, accepted=40) == (40, 101)
    assert window(FOUND, None, accepted=101) is None


def test_one_entry_is_looked_at_while_a_transaction_is_open_behind_it():
    assert window(replace(FOUND, last_stable=101, end=105), RECORD) == (100, 101)


def test_an_unknown_partition_is_looked_at_whole():
    assert window(replace(FOUND, log_start=7), None) == (7, 101)


def test_an_empty_or_expired_partition_needs_no_look():
    assert window(replace(FOUND, log_start=101), None) is None
    assert window(replace(FOUND, log_start=101), RECORD) is None
