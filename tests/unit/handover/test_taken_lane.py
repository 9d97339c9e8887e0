"""A lane that is taken over, looked at once more after another broker told something else."""

from datetime import UTC, datetime
from types import SimpleNamespace

from mirror.formats.control import HANDED_BACK
from mirror.formats.ledger import Decided
from mirror.handover.evidence import Left
from mirror.handover.left import Found
from mirror.handover.taken_lane import TakenLane
from mirror.offsets.partition import TopicPartition
from mirror.plan.model import Plan
from tests.unit.ledger_records import ledger_record

TP, REMOTE = TopicPartition("orders", 0), TopicPartition("east.orders", 0)


def test_what_a_deposed_leader_made_look_like_a_change_is_no_error_of_the_next_look():
    target = SimpleNamespace(offsets=lambda *_: {REMOTE: 7}, topics=lambda _: {})
    left = {TP: Left(TP, REMOTE, None, 0, 7, 0, 7)}
    taken = TakenLane(target, Plan("east->west", ()), 1, Found(), left, {}, Decided(HANDED_BACK, "ana", datetime.now(UTC), "why"))
    for _ in range(2):
        assert taken.change({TP: ledger_record(watermark=7)}, None) == {}
        assert [error.code for error in taken.errors] == ["TakeOverRefused"]
