"""The ledger's bytes: written down, and kept through reading and writing."""

import json
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_mirror.errors import LedgerDamaged, LedgerTooNew
from kafka_mirror.formats.offsets.map import OffsetMap, Run
from kafka_mirror.formats.offsets.older_copies import OlderCopies
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.ledger.codec import decode, decode_key, encode, encode_key
from kafka_mirror.ledger.record import (
    Blocked,
    Decided,
    LastRecord,
    LedgerRecord,
    Skipped,
    SourceEnd,
    Writer,
    merge_skips,
)
from tests.unit.formats.offsets.flows import PAIRED

AT = datetime(2026, 11, 21, 8, 0, 0, 123000, tzinfo=UTC)
RECORD = LedgerRecord(
    watermark=102,
    leader_epoch=3,
    source_topic_id="AAAA",
    target_topic="east.orders",
    target_topic_id="BBBB",
    target_next=101,
    source_cluster_id="CCCC",
    target_cluster_id="DDDD",
    lanes=16,
    offset_map=OffsetMap((Run(0, 0, 100),)),
    writer=Writer("prod", "host-1", "scheduled__1", AT),
    covered=((0, 102),),
    skipped=(Skipped(5, 7, "gap"),),
    history=((0, 1),),
    records=100,
    bytes=1000,
    blocked=Blocked(102, "RecordRefused", "too large", AT, 2),
)

THINNED_BEHIND = OffsetMap((Run(0, 0, 100),), thinned_behind=True)
offsets = st.integers(0, 2**62)
times = st.integers(0, 7_000_000_000_000).map(lambda ms: datetime.fromtimestamp(ms // 1000, UTC).replace(microsecond=ms % 1000 * 1000))
codes = st.from_regex(r"[A-Za-z]*", fullmatch=True)
older_maps = st.builds(OffsetMap.with_mark, st.sampled_from([OffsetMap((Run(0, 0, 100),)), PAIRED]), st.booleans())
records = st.builds(
    LedgerRecord,
    watermark=offsets,
    leader_epoch=st.none() | st.integers(0, 2**31 - 1),
    source_topic_id=st.text(),
    target_topic=st.text(),
    target_topic_id=st.text(),
    target_next=offsets,
    source_cluster_id=st.text(),
    target_cluster_id=st.text(),
    lanes=st.integers(1, 256),
    offset_map=st.lists(st.integers(1, 50), max_size=20).map(
        lambda lengths: OffsetMap().with_runs([Run(100 * i, 90 * i, length) for i, length in enumerate(lengths)])
    )
    | older_maps,
    writer=st.builds(Writer, st.text(), st.text(), st.text(), times),
    covered=st.lists(st.tuples(offsets, offsets), max_size=5).map(tuple),
    skipped=st.lists(st.builds(Skipped, offsets, offsets, st.text(), st.none() | offsets), max_size=5).map(merge_skips),
    history=st.lists(st.tuples(offsets, offsets), max_size=5).map(tuple),
    records=offsets,
    bytes=offsets,
    blocked=st.none()
    | st.builds(Blocked, offsets, codes, st.text(), times, st.integers(0, 1000), st.none() | times, st.text(), st.none() | offsets),
    decided=st.none() | st.builds(Decided, st.text(), st.text(), times, st.text()),
    last=st.none() | st.builds(LastRecord, offsets, offsets, offsets),
    older=st.none() | st.builds(OlderCopies, offsets, offsets, offsets, offsets, st.none() | older_maps),
    handed_back=st.none() | st.builds(Decided, st.text(), st.text(), times, st.text()),
    earlier=st.tuples(offsets, offsets),
    source_end=st.none() | st.builds(SourceEnd, offsets, times),
)


def test_the_bytes_are_for_keeps():
    assert encode(RECORD) == (
        b'{"v":1,"watermark":102,"leader_epoch":3,"source_topic_id":"AAAA","target_topic":"east.orders","target_topic_id":"BBBB",'
        b'"target_next":101,"source_cluster_id":"CCCC","target_cluster_id":"DDDD","lanes":16,"covered":[[0,102]],"skipped":[[5,7,"gap"]],'
        b'"history":[[0,1]],"records":100,"bytes":1000,"offset_map":"AADIAQ==","writer":{"installation":"prod","host":"host-1",'
        b'"run":"scheduled__1","time":"2026-11-21T08:00:00.123Z"},"blocked":{"offset":102,"error":"RecordRefused: too large",'
        b'"since":"2026-11-21T08:00:00.123Z","tries":2}}'
    )
    assert encode_key(TopicPartition("orders", 3)) == b'["orders",3]'


@pytest.mark.parametrize(
    ("message", "text"), [("too large: 5 > 4", "RecordRefused: too large: 5 > 4"), ("", "RecordRefused: "), (": x", "RecordRefused: : x")]
)
def test_the_first_colon_parts_code_and_message_of_the_error(message, text):
    blocked = Blocked(102, "RecordRefused", message, AT, 2)
    value = encode(replace(RECORD, blocked=blocked))
    assert json.loads(value)["blocked"]["error"] == text
    assert decode(value, "here").blocked == blocked


def test_the_limits_under_which_a_record_was_refused_stand_behind_the_rest_of_the_note():
    noted = replace(RECORD, blocked=replace(RECORD.blocked, limits="max.message.bytes=1"))
    assert encode(noted) == encode(RECORD)[:-2] + b',"limits":"max.message.bytes=1"}}'


@given(records)
def test_a_record_survives_its_encoding(record):
    assert decode(encode(record), "here") == record


@given(st.text(min_size=1), st.integers(0, 2**31 - 1))
def test_a_key_survives_its_encoding(topic, partition):
    assert decode_key(encode_key(TopicPartition(topic, partition)), "here") == TopicPartition(topic, partition)


BACK = Decided("handed-back", "ana@ops", AT, "seen")
OLDER = b'"older":{"start":40,"end":100,"restarted":40,"lacking":'


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"source_end": SourceEnd(120, AT)}, b'"source_end":{"offset":120,"time":"2026-11-21T08:00:00.123Z"}'),
        (
            {"decided": Decided("accept-gap", "ana@ops", AT, "expired")},
            b'"decided":{"decision":"accept-gap","who":"ana@ops","when":"2026-11-21T08:00:00.123Z","why":"expired"}',
        ),
        ({"last": LastRecord(100, 160, 170)}, b'"last":{"timestamp":100,"read":160,"acknowledged":170}'),
        ({"offset_map": THINNED_BEHIND}, b'"thinned_behind":true'),
        ({"older": OlderCopies(40, 100, 40, 0, THINNED_BEHIND)}, OLDER + b'0,"offset_map":"AADIAQ==","thinned_behind":true}'),
        ({"older": OlderCopies(40, 100, 40, 60)}, OLDER + b"60}"),
        (
            {"handed_back": BACK},
            b'"handed_back":{"decision":"handed-back","who":"ana@ops","when":"2026-11-21T08:00:00.123Z","why":"seen"}',
        ),
        ({"earlier": (90, 9_000)}, b'"earlier":{"records":90,"bytes":9000}'),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_what_not_every_record_has_stands_behind_everything_else(change, text):
    noted = replace(RECORD, **change)
    assert encode(noted) == encode(RECORD)[:-1] + b"," + text + b"}"
    assert decode(encode(noted), "here") == noted


PAIRS = b',"offset_map_pairs":"lv4vSCEBCQEA"'


def test_the_pairs_of_the_map_stand_behind_everything_else_and_a_record_without_them_is_the_same_but_coarser():
    paired = replace(RECORD, offset_map=PAIRED)
    plain = encode(paired).replace(PAIRS, b"")
    assert plain == encode(RECORD).replace(b'"AADIAQ=="', b'"AADIAewOig8V"')
    assert encode(paired) == plain[:-1] + PAIRS + b"}"
    assert decode(encode(paired), "here") == paired
    assert decode(plain, "here") == replace(RECORD, offset_map=OffsetMap((Run(0, 0, 100), Run(2000, 2030, 10, True))))
    waits = replace(RECORD, older=OlderCopies(40, 100, 40, 0, PAIRED))
    assert encode(waits) == encode(RECORD)[:-1] + (
        b',"older":{"start":40,"end":100,"restarted":40,"lacking":0,"offset_map":"AADIAewOig8V"' + PAIRS + b"}}"
    )
    assert decode(encode(waits), "here") == waits


def test_a_newer_version_is_refused_by_name():
    value = json.dumps({**json.loads(encode(RECORD)), "v": 2}).encode()
    with pytest.raises(LedgerTooNew, match="version 2"):
        decode(value, "ledger-3@7")


@pytest.mark.parametrize("field", [name for name in json.loads(encode(RECORD)) if name != "v"])
def test_a_record_that_lacks_a_field_is_damaged(field):
    fields = json.loads(encode(RECORD))
    del fields[field]
    with pytest.raises(LedgerDamaged, match="ledger-3@7"):
        decode(json.dumps(fields).encode(), "ledger-3@7")


@pytest.mark.parametrize(
    ("field", "values"),
    [
        ("watermark", [-1, "7", True]),
        ("lanes", [1.5]),
        ("writer", [3]),
        ("v", [0]),
        ("blocked", [0]),
        ("offset_map", ["?", "AADIAR==", "gAAAAg=="]),
        ("offset_map_pairs", [None, "lv4vSCEBCQEA"]),
        ("thinned_behind", [False, 1]),
        ("older", [{}, 7, None]),
        ("handed_back", [{}]),
        ("earlier", [{}]),
        ("covered", [[[1]], [[0, 1.5]], [["0", 1]], [[-1, 1]], [[0, float("inf")]]]),
        ("history", [["12"]]),
        ("skipped", [["12c"], [[1, 2, 3]], [[1, 2, "gap", 1.5]]]),
        ("last", [{"timestamp": 1, "read": 2}, {"timestamp": -1, "read": 2, "acknowledged": 3}, [1, 2, 3], 0, "x"]),
        ("history_topics", [[{}], [{"topic": 1}], {"a": 1}, [["x"]], "text"]),
    ],
)
def test_a_field_that_only_looks_right_is_damage(field, values):
    for value in values:
        with pytest.raises(LedgerDamaged, match="ledger-3@7"):
            decode(json.dumps({**json.loads(encode(RECORD)), field: value}).encode(), "ledger-3@7")


@given(st.binary(max_size=200))
def test_garbage_is_damaged_and_nothing_else(garbage):
    with pytest.raises((LedgerDamaged, LedgerTooNew)):
        decode(garbage, "here")


@pytest.mark.parametrize("key", [None, b"", b"[]", b'["orders"]', b'["orders","0"]', b"[1,0]", b'["orders",true]', b"{}", b"\xff"])
def test_a_wrong_key_is_damaged(key):
    with pytest.raises(LedgerDamaged):
        decode_key(key, "here")


def test_skipped_offsets_are_joined_when_they_are_written():
    skipped = tuple(Skipped(2 * i, 2 * i + 1, "gap") for i in range(100))
    assert decode(encode(replace(RECORD, skipped=skipped)), "here").skipped == merge_skips(skipped)


def test_only_the_newest_intervals_are_kept():
    many = tuple((10 * i, 10 * i + 5) for i in range(100))
    assert decode(encode(replace(RECORD, covered=many)), "here").covered == many[-64:]


def test_a_partition_that_was_moved_says_so_and_to_older_mirrors_that_it_was_handed_back():
    moved = Decided("moved", "somebody", datetime(2026, 11, 21, 8, tzinfo=UTC), "because")
    record = replace(RECORD, moved=moved)
    document = json.loads(encode(record))
    assert document["moved"] == document["handed_back"]
    assert decode(encode(record), "here") == record
    both = replace(record, handed_back=replace(moved, decision="handed-back"))
    assert decode(encode(both), "here") == both
