"""A partition as it stands, and what one decision makes of its record."""

from kafka_mirror.formats.offsets.map import OffsetMap, Run
from kafka_mirror.ledger.apply_decisions import PartitionFacts, act_on_decisions
from kafka_mirror.ledger.record import Skipped
from tests.unit.ledger_records import ledger_record

NOW = PartitionFacts("source-topic-id", 0, "east.orders", "target-topic-id", leader_epoch=5)
RECORD = ledger_record(
    watermark=100,
    target_next=100,
    covered=((0, 100),),
    offset_map=OffsetMap((Run(0, 0, 40), Run(60, 41, 40))),
    skipped=(Skipped(40, 60, "gap"),),
)


def acted(made, record=RECORD, now=NOW):
    changed, applied = act_on_decisions(record, [made], now)
    assert (changed is record) == (not applied)
    return changed
