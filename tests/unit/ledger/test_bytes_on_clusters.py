"""Ledger and control topic: records that stand on people's clusters are read as they were meant, and keep their bytes."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from kafka_mirror.formats.offsets.map import OffsetMap, Run
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.ledger import control_records
from kafka_mirror.ledger.codec import decode, decode_key, encode, encode_key
from kafka_mirror.ledger.record import Decided, LedgerRecord, Skipped, Writer
from tests.unit.decision_records import decision

KEPT = json.loads((Path(__file__).parent / "bytes_on_clusters.json").read_text(encoding="utf-8"))
AT = datetime(2026, 11, 21, 8, 0, 0, 123000, tzinfo=UTC)


def test_records_of_the_ledger_say_what_they_said() -> None:
    writer = Writer("prod", "host-1", "scheduled__1", AT)
    plain = LedgerRecord(
        *(102, 3, "AAAA", "east.orders", "BBBB", 101, "CCCC", "DDDD", 16, OffsetMap((Run(0, 0, 100),)), writer),
        *(((0, 102),), (Skipped(5, 7, "gap"),), ((0, 1),), 100, 1000),
    )
    found = {name: decode(value.encode(), "here") for name, (_, value) in KEPT["ledger"].items()}
    assert found["plain"] == plain
    assert found["handed back"].handed_back == Decided("handed-back", "ana@ops", AT, "back")
    assert found["everything"].offset_map.runs == (Run(0, 0, 40, thinned=True), Run(45, 40, 57))
    older = found["everything"].older
    assert older is not None
    assert older.offset_map == OffsetMap((Run(0, 0, 50),), True)
    assert found["many runs"].offset_map.translate(2900).target == 2610
    assert all(decode_key(key.encode(), "here") == TopicPartition("orders", 3) for key, _ in KEPT["ledger"].values())


@pytest.mark.parametrize("name", KEPT["ledger"])
def test_a_ledger_record_that_nothing_changes_keeps_its_bytes(name: str) -> None:
    key, value = KEPT["ledger"][name]
    assert encode(decode(value.encode(), "here")) == value.encode()
    assert encode_key(decode_key(key.encode(), "here")) == key.encode()


@pytest.mark.parametrize("word", KEPT["control"])
def test_a_decision_is_what_it_was_and_keeps_its_bytes(word: str) -> None:
    key, value = KEPT["control"][word]
    found = control_records.decode(value.encode(), "here")
    assert found == decision(word)
    assert (control_records.encode_key(found), control_records.encode(found)) == (key.encode(), value.encode())
