"""The control topic's records: they survive their encoding, and what is not exactly one is refused."""

import json
from dataclasses import fields
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_mirror.errors import ControlUnreadable
from kafka_mirror.ledger.control_records import Decision, decode, encode, encode_key
from tests.unit.decision_records import decision

WORDS = (
    "accept-gap",
    "skip-record",
    "restart",
    "accept-records",
    "pause",
    "resume",
    "adopt-cluster",
    "take-ownership",
    "begin-ledger",
    "ledger",
    "moved",
    "returned",
    "wave",
    "wave-group",
    "group-offsets",
)
OF_A_PARTITION = ("accept-gap", "skip-record", "restart", "accept-records")
moments = st.integers(0, 2**42).map(lambda milliseconds: datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=milliseconds))


@given(st.sampled_from(WORDS), st.text(), st.text(), moments, st.integers(0, 2**62), st.text())
def test_a_decision_survives_its_encoding(word, who, why, when, number, text):
    made = decision(word, who=who, why=why, when=when, watermark=number, offset=number, target_end=number, source_topic_id=text, until=when)
    assert decode(encode(made), "here") == made


def test_the_bytes_are_for_keeps():
    made = decision("accept-gap", who="ana@ops", why="expired", when=datetime(2026, 11, 21, 8, 0, 0, 1000, UTC), watermark=7)
    assert encode_key(made) == b'["accept-gap","orders",0]'
    assert encode(made) == (
        b'{"v":1,"decision":"accept-gap","topic":"orders","partition":0,"watermark":7,'
        b'"who":"ana@ops","when":"2026-11-21T08:00:00.001Z","why":"expired"}'
    )


@pytest.mark.parametrize("rate", [None, -1, 1, 2**40])
def test_a_throttle_has_a_rate_or_none(rate):
    made = decision("throttle", bytes_per_second=rate)
    assert decode(encode(made), "here") == made


def test_decisions_of_which_the_newer_counts_share_a_key_and_others_do_not():
    assert encode_key(decision("pause")) == encode_key(decision("resume"))
    assert encode_key(decision("moved", partition=None)) == encode_key(decision("returned", partition=None)) == b'["moved","orders",null]'
    assert encode_key(decision("adopt-cluster", alias="east")) != encode_key(decision("adopt-cluster", alias="west"))
    assert encode_key(decision("throttle")) == b'["throttle",null,null]'


@pytest.mark.parametrize("rate", [0, -2, 1.5, "1", True, [1]])
def test_a_rate_that_is_none_is_refused(rate):
    with pytest.raises(ControlUnreadable):
        decode(json.dumps({**json.loads(encode(decision("throttle"))), "bytes_per_second": rate}).encode(), "here")


@pytest.mark.parametrize(
    "value", [b"", b"null", b"[]", b"garbage", b"{}", b'{"v":2}', b'{"v":"1"}', b'{"v":1,"decision":"dance"}', b"\xff"]
)
def test_what_is_no_decision_is_refused_with_its_place(value):
    with pytest.raises(ControlUnreadable, match="mm2-control-0@7"):
        decode(value, "mm2-control-0@7")


@pytest.mark.parametrize("word", WORDS)
def test_a_decision_that_lacks_a_fact_or_has_a_wrong_one_is_refused(word):
    whole = json.loads(encode(decision(word)))
    for name in whole:
        for damaged in ({key: fact for key, fact in whole.items() if key != name}, {**whole, name: [1]}, {**whole, name: -1}):
            with pytest.raises(ControlUnreadable):
                decode(json.dumps(damaged).encode(), "here")


@pytest.mark.parametrize("word", OF_A_PARTITION)
def test_a_decision_about_offsets_is_about_one_partition(word):
    whole = json.loads(encode(decision(word)))
    for name in ("topic", "partition"):
        with pytest.raises(ControlUnreadable):
            decode(json.dumps({**whole, name: None}).encode(), "here")


def test_every_fact_belongs_to_some_decision():
    common = {"decision", "who", "when", "why", "topic", "partition"}
    written = {name for word in (*WORDS, "throttle") for name in json.loads(encode(decision(word)))}
    assert {field.name for field in fields(Decision)} == (written - {"v"}) | common
