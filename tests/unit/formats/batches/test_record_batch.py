"""Batches of kafka-python's encoder, read and set anew without being opened; judged by its decoder."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kafka.record.default_records import DefaultRecordBatch, DefaultRecordBatchBuilder

from kafka_mirror.formats.batches.record_batch import AbortedTransactions, Attribute, OldMagic, RecordBatch, batches_in, next_sequence

NONE, GZIP = 0, 1  # the codecs for which kafka-python needs nothing else

records = st.tuples(
    st.integers(0, 2**42),
    st.none() | st.binary(max_size=20),
    st.none() | st.binary(max_size=200),
    st.lists(st.tuples(st.text(max_size=5), st.none() | st.binary(max_size=5)), max_size=3),
)
filled = st.tuples(st.sampled_from((NONE, GZIP)), st.integers(0, 2**40), st.lists(records, min_size=1, max_size=8))
offsets = st.integers(0, 2**60)


def built(codec, offset, rows, epoch=3):
    builder = DefaultRecordBatchBuilder(2, codec, False, -1, -1, -1, 1 << 24)
    for number, (timestamp, key, value, headers) in enumerate(rows):
        builder.append(number, timestamp, key, value, headers)
    made = builder.build()
    struct.pack_into(">q", made, 0, offset)
    struct.pack_into(">i", made, 12, epoch)
    return bytes(made)


def one(data) -> RecordBatch:
    (batch,) = batches_in(data)
    return batch


def plain(records=2, offset=0):
    return built(NONE, offset, [(1_000 + number, b"k", b"v", []) for number in range(records)])


def opened(data):
    return [(each.offset, each.timestamp, each.key, each.value, each.headers) for each in DefaultRecordBatch(data)]


@given(st.lists(filled, min_size=1, max_size=5), st.integers(0, 60))
def test_an_answer_is_cut_into_its_whole_batches(batches, cut_off):
    whole = [built(*each) for each in batches]
    sent = b"".join(whole) + whole[0][: min(cut_off, len(whole[0]) - 1)]
    found = list(batches_in(sent))
    assert [bytes(each.data) for each in found] == whole
    for batch, (_, offset, rows) in zip(found, batches, strict=True):
        judge = DefaultRecordBatch(bytes(batch.data))
        assert (batch.base_offset, batch.next_offset, batch.record_count) == (offset, offset + len(rows), len(rows))
        assert (batch.crc, batch.max_timestamp, batch.attributes) == (judge.crc, judge.max_timestamp, judge.attributes)
        assert (batch.leader_epoch, batch.is_control, batch.is_intact, batch.find_obstacle()) == (3, False, True, None)


@given(filled, st.integers(0, 2**62), st.integers(0, 2**15 - 1), st.integers(0, 2**31 - 1))
def test_a_producers_header_leaves_the_records_as_they_were(batch, producer_id, epoch, sequence):
    source = built(*batch)
    made = b"".join(one(source).stamp_producer(producer_id, epoch, sequence))
    judge = DefaultRecordBatch(made)
    assert judge.validate_crc()
    assert made[61:] == source[61:]
    assert (judge.base_offset, judge.leader_epoch, judge.is_transactional) == (0, -1, True)
    assert (judge.producer_id, judge.producer_epoch, judge.base_sequence) == (producer_id, epoch, sequence)
    first = DefaultRecordBatch(source)
    assert [each[1:] for each in opened(made)] == [each[1:] for each in opened(source)]
    assert (judge.compression_type, judge.first_timestamp, judge.max_timestamp) == (
        first.compression_type,
        first.first_timestamp,
        first.max_timestamp,
    )


@given(filled, st.data())
def test_a_byte_that_changed_behind_the_checksum_is_noticed(batch, data):
    spoilt = bytearray(built(*batch))
    spoilt[data.draw(st.integers(21, len(spoilt) - 1))] ^= data.draw(st.integers(1, 255))
    assert not one(spoilt).is_intact


@pytest.mark.parametrize(
    ("at", "value", "why"),
    [
        (slice(57, 61), (1).to_bytes(4, "big"), "holes"),
        (slice(21, 23), int(Attribute.LOG_APPEND_TIME).to_bytes(2, "big"), "LogAppendTime"),
        (slice(21, 23), int(Attribute.DELETE_HORIZON).to_bytes(2, "big"), "tombstones"),
        (slice(21, 23), (5).to_bytes(2, "big"), "0x0005"),
        (slice(21, 23), (0x80).to_bytes(2, "big"), "0x0080"),
    ],
)
def test_what_would_be_another_batch_on_the_target_is_never_made(at, value, why):
    spoilt = bytearray(plain())
    spoilt[at] = value
    assert why in one(spoilt).find_obstacle()
    with pytest.raises(ValueError, match=why):
        one(spoilt).stamp_producer(1, 0, 0)


def test_messages_of_an_older_format_are_named_by_their_offset_behind_the_batches_in_front_of_them():
    old = bytearray(plain(offset=2))
    old[16] = 1
    found = batches_in(plain() + old)
    assert next(found).next_offset == 2
    with pytest.raises(OldMagic) as refused:
        next(found)
    assert (refused.value.offset, refused.value.magic) == (2, 1)


def test_bytes_that_are_no_batch_are_an_error_and_not_an_endless_loop():
    with pytest.raises(ValueError, match="-12 bytes"):
        list(batches_in(struct.pack(">qi", 0, -12) + b"\x02" * 100))


def test_codec_has_the_name_that_a_topics_property_uses():
    assert one(plain()).codec == "uncompressed"
    assert one(built(GZIP, 0, [(0, None, b"a" * 200, [])])).codec == "gzip"


def is_held(aborted, batch):
    return aborted.hold(batch.next_offset, batch.producer_id, batch.attributes)


def transactional(producer, offset, records=1, control=False):
    bits = Attribute.TRANSACTIONAL | (Attribute.CONTROL if control else 0)
    return one(plain(records, offset))._replace(producer_id=producer, attributes=int(bits))


def test_batches_of_aborted_transactions_are_told_from_those_beside_them():
    """0        1        2         3 4      5      6         7      8
    7 aborted        7        7 marker           7 (committed)    7 marker
             8                          8 marker
    """
    aborted = AbortedTransactions([(7, 1)])
    log = [
        (transactional(8, 0), False),
        (transactional(7, 1, 2), True),
        (transactional(8, 3), False),
        (transactional(7, 4, control=True), True),
        (transactional(8, 5, control=True), False),
        (transactional(7, 6), False),
        (transactional(7, 7, control=True), False),
        (one(plain(1, 8))._replace(producer_id=7), False),
    ]
    assert [is_held(aborted, batch) for batch, _ in log] == [expected for _, expected in log]


def test_a_transaction_that_was_aborted_before_the_answer_begins_is_known_by_its_first_offset():
    aborted = AbortedTransactions([(7, 3), (7, 90)])
    assert is_held(aborted, transactional(7, 50))
    assert is_held(aborted, transactional(7, 51, control=True))
    assert not is_held(aborted, transactional(7, 52))
    assert is_held(aborted, transactional(7, 90))


def test_sequence_numbers_begin_again_behind_the_largest():
    assert next_sequence(0, 5) == 5
    assert next_sequence(2**31 - 1, 1) == 0
    assert next_sequence(2**31 - 3, 10) == 7
