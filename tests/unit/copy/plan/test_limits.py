"""Which stuck partitions are worth another try, because their remote topic has other limits now."""

from dataclasses import replace
from datetime import UTC, datetime

from kafka_mirror.copy.plan.planner import with_other_limits
from kafka_mirror.copy.plan.target_checks import limits_text
from kafka_mirror.errors import AuthorizationRefused
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.kafka.model import ConfigEntry
from kafka_mirror.ledger.record import Blocked
from tests.unit.ledger_records import ledger_record

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
