"""Records read in Python, judged by kafka-python's own builder of batches."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kafka.record.default_records import DefaultRecordBatchBuilder

from kafka_mirror.formats.batches.batch_records import ReadRecord, StoredRecord, records_of, unpack_records
from kafka_mirror.formats.batches.record_batch import batches_in, seal_batch
from kafka_mirror.formats.offsets.partition import TopicPartition

PLAIN, GZIP, UNKNOWN = 0, 1, 5
field = st.none() | st.binary(max_size=300)
records = st.lists(st.tuples(st.integers(0, 2**40), field, field, st.lists(st.tuples(st.text(max_size=5), field), max_size=3)), min_size=1)


def batch(records, codec, base_offset=0):
    builder = DefaultRecordBatchBuilder(2, codec, False, -1, -1, -1, 1 << 30)
    for number, (timestamp, key, value, headers) in enumerate(records):
        builder.append(number, timestamp, key, value, headers)
    (built,) = batches_in(builder.build())
    return built._replace(base_offset=base_offset)


def records_in(batch) -> list[ReadRecord]:
    whole = seal_batch(batch)
    return list(records_of(TopicPartition("orders", 3), whole, unpack_records(whole)))


@given(records, st.sampled_from((PLAIN, GZIP)), st.integers(0, 2**60))
def test_records_have_what_they_were_written_with(records, codec, base_offset):
    read = [(each.offset, each.timestamp, each.key, each.value, each.headers) for each in records_in(batch(records, codec, base_offset))]
    assert read == [
        (base_offset + number, (1, timestamp), key, value, headers or None)
        for number, (timestamp, key, value, headers) in enumerate(records)
    ]


@given(records, st.data())
def test_records_that_are_cut_off_or_go_on_are_refused(records, data):
    whole = batch(records, PLAIN)
    cut = whole._replace(data=whole.data[: data.draw(st.integers(61, len(whole.data) - 1))])
    with pytest.raises(ValueError, match=r".+"):
        records_in(cut)
    with pytest.raises(ValueError, match="more than the records that it counts"):
        records_in(whole._replace(data=memoryview(bytes(whole.data) + b"\0")))


def test_a_codec_that_nobody_knows_is_named():
    plain = batch([(0, b"k", b"v", [])], PLAIN)
    with pytest.raises(ValueError, match="packed by codec 5"):
        records_in(plain._replace(attributes=UNKNOWN))


def test_gzip_that_is_broken_is_refused():
    plain = batch([(0, b"k", b"v", [])], PLAIN)
    with pytest.raises(ValueError, match="not what gzip makes"):
        records_in(plain._replace(attributes=GZIP))


def test_a_record_says_where_it_stands():
    assert str(StoredRecord(TopicPartition("orders", 3), 7, None, None)) == "orders-3@7"
