"""What must hold of a remote partition before anything is written to it."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from kafka_mirror.copy.ledger_updates import check_write_order
from kafka_mirror.copy.model import PartitionProgress
from kafka_mirror.copy.plan.planner import with_other_limits
from kafka_mirror.copy.plan.target_checks import RemotePartition, find_hidden, limits_text, unusable, window
from kafka_mirror.errors import AuthorizationRefused
from kafka_mirror.formats.offsets.map import OffsetMap, Run
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.kafka.model import ConfigEntry, Partition, Topic
from kafka_mirror.ledger.record import Blocked
from tests.unit.ledger_records import ledger_record

TOPIC = Topic("east.orders", "target-topic-id", (Partition(0, 1, (1, 2, 3), (1, 2, 3)),))
FOUND = RemotePartition(TopicPartition("orders", 0), "east.orders", TOPIC, min_insync=2, log_start=0, last_stable=101, end=101)
RECORD = ledger_record(offset_map=OffsetMap((Run(0, 0, 100),)))


def with_partition(**changes):
    return replace(FOUND, topic=replace(TOPIC, partitions=(TOPIC.partitions[0]._replace(**changes),)))


def test_a_healthy_partition_may_be_written():
    assert unusable(FOUND, None) is None
    assert unusable(FOUND, RECORD) is None


@pytest.mark.parametrize(
    ("found", "record", "code"),
    [
        (replace(FOUND, topic=None), None, "TargetMissing"),
        (replace(FOUND, topic=None), RECORD, "TargetMissing"),
        (replace(FOUND, source=TopicPartition("orders", 1)), None, "TargetMissing"),
        (with_partition(leader=None), None, "TargetUnavailable"),
        (replace(FOUND, end=-1), None, "TargetUnavailable"),
        (FOUND, replace(RECORD, target_topic="old.orders"), "TargetRecreated"),
        (FOUND, replace(RECORD, target_topic_id="old"), "TargetRecreated"),
    ],
)
def test_what_may_not_be_written_is_told_apart(found, record, code):
    assert unusable(found, record).code == code


def test_a_partition_below_min_insync_is_left_out():
    assert "min.insync.replicas is 2" in unusable(with_partition(isr=(1,)), None).message


def test_a_topic_that_is_missing_under_its_new_name_has_another_one_in_the_ledger():
    error = unusable(replace(FOUND, topic=None), replace(RECORD, target_topic="old.orders"))
    assert (error.code, error.expected, error.actual) == ("TargetRecreated", "name old.orders", "east.orders")


def test_an_end_below_what_was_written_is_lost_records():
    error = unusable(replace(FOUND, end=99), RECORD)
    assert (error.code, error.offset) == ("TargetLostRecords", 99)


def test_what_was_written_and_stands_behind_an_open_transaction_is_hidden():
    error = find_hidden(replace(FOUND, last_stable=60), RECORD)
    assert (error.code, error.offset, error.retriable) == ("TargetHidden", 60, True)
    assert "[60, 100)" in error.message


def test_a_transaction_that_is_open_behind_what_was_written_hides_nothing():
    assert find_hidden(replace(FOUND, last_stable=100, end=150), RECORD) is None
    assert find_hidden(replace(FOUND, last_stable=0), None) is None


def test_neither_what_is_lost_nor_what_is_unknown_is_hidden():
    assert find_hidden(replace(FOUND, last_stable=40, end=40), RECORD) is None
    assert find_hidden(replace(FOUND, last_stable=-1), RECORD) is None


def written(*runs: Run) -> PartitionProgress:
    return PartitionProgress(TopicPartition("orders", 0), 200, runs=runs)


def test_records_that_follow_what_was_written_are_in_order():
    assert check_write_order(RECORD, "east.orders", written(Run(100, 101, 20), Run(120, 125, 5))) is None
    assert check_write_order(RECORD, "east.orders", written()) is None


def test_a_record_that_lands_in_front_of_what_was_written_shows_a_loss():
    error = check_write_order(RECORD, "east.orders", written(Run(100, 80, 20)))
    assert (error.code, error.offset, error.retriable) == ("TargetLostRecords", 80, False)
    assert "[80, 100)" in error.message


def test_a_record_that_lands_in_front_of_another_of_its_transaction_shows_a_loss():
    error = check_write_order(RECORD, "east.orders", written(Run(100, 101, 20), Run(120, 110, 5)))
    assert (error.code, error.offset) == ("TargetLostRecords", 110)


def test_an_acknowledgement_without_an_offset_is_tried_again():
    error = check_write_order(RECORD, "east.orders", written(Run(100, -1001, 1)))
    assert (error.code, error.partition, error.retriable) == ("KafkaFailure", 0, True)


EXPIRED = replace(FOUND, log_start=101)
YOUNG = replace(FOUND, log_start=7)


@pytest.mark.parametrize(
    ("found", "record", "accepted", "looked_at"),
    [
        pytest.param(FOUND, RECORD, None, None, id="our own commit's marker"),
        pytest.param(replace(FOUND, last_stable=102, end=102), RECORD, None, (100, 102), id="more than one marker"),
        pytest.param(FOUND, replace(RECORD, offset_map=OffsetMap()), None, (100, 101), id="one entry where we never wrote"),
        pytest.param(
            *(replace(FOUND, last_stable=104, end=104), replace(RECORD, target_next=103), None, (103, 104)),
            id="one entry after records of somebody else that were accepted",
        ),
        pytest.param(replace(FOUND, end=105), RECORD, None, (100, 101), id="one entry in front of an open transaction"),
        pytest.param(YOUNG, None, None, (7, 101), id="an unknown partition is looked at whole"),
        pytest.param(YOUNG, None, 40, (40, 101), id="but for what was accepted in it"),
        pytest.param(FOUND, None, 101, None, id="all of it was accepted"),
        pytest.param(EXPIRED, None, None, None, id="empty and unknown"),
        pytest.param(EXPIRED, RECORD, None, None, id="expired"),
    ],
)
def test_what_stands_on_the_target_and_may_not_be_ours_is_looked_at(found, record, accepted, looked_at):
    assert window(found, record, **({} if accepted is None else {"accepted": accepted})) == looked_at


STUCK, OTHER, OLD, HIDDEN, FREE = (TopicPartition(name, 0) for name in ("stuck", "other", "old", "hidden", "free"))


def configs(**values):
    return {name.replace("_", "."): ConfigEntry(name.replace("_", "."), value, "", False, False) for name, value in values.items()}


class Target:
    """Shows the configs of topics, and refuses those of one."""

    def __init__(self, shown):
        self.shown, self.asked = shown, set()

    def configs(self, names, errors):
        self.asked = set(names)
        errors.update(
            {name: AuthorizationRefused("west", "DESCRIBE_CONFIGS", name, topic=name) for name in names if name not in self.shown}
        )
        return {name: self.shown[name] for name in names if name in self.shown}


def stuck(tp, limits):
    blocked = Blocked(0, "RecordRefused", "x", datetime.now(UTC), 1, limits=limits)
    return replace(ledger_record(), target_topic=f"east.{tp.topic}", blocked=blocked)


def test_only_what_decides_about_a_single_record_counts():
    found = configs(max_message_bytes="10", retention_ms="5", message_timestamp_type="CreateTime")
    assert limits_text(found) == "max.message.bytes=10 message.timestamp.type=CreateTime"
    assert limits_text({}) == ""


def test_a_changed_limit_is_noticed_and_nothing_is_asked_of_topics_without_a_note():
    target = Target({f"east.{name}": configs(max_message_bytes="20") for name in ("stuck", "other", "old")})
    records = {
        STUCK: stuck(STUCK, "max.message.bytes=10"),
        OTHER: stuck(OTHER, "max.message.bytes=20"),
        OLD: stuck(OLD, ""),
        HIDDEN: stuck(HIDDEN, "max.message.bytes=10"),
        FREE: ledger_record(),
    }
    assert with_other_limits(target, [STUCK, OTHER, OLD, HIDDEN, FREE, TopicPartition("new", 0)], records) == {STUCK}
    assert target.asked == {"east.stuck", "east.other", "east.hidden"}
