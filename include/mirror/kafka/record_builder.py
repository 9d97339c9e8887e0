"""Record batches of a few records of our own, for whoever writes them without a producer."""

from collections.abc import Iterator, Sequence

from kafka.record.default_records import DefaultRecordBatchBuilder

from mirror.formats.record_batch import MAGIC, RecordBatch, batches_in

_UNCOMPRESSED = 0
_NO_PRODUCER = -1


def keyed_batches(entries: Sequence[tuple[bytes, bytes]], max_bytes: int) -> Iterator[RecordBatch]:
    """Keyed records of now, in their order, in batches of at most `max_bytes`; a larger record has one to itself."""
    rest = list(entries)
    while rest:
        builder = DefaultRecordBatchBuilder(MAGIC, _UNCOMPRESSED, False, _NO_PRODUCER, _NO_PRODUCER, _NO_PRODUCER, max_bytes)
        taken = 0
        for key, value in rest:
            if builder.append(taken, None, key, value, []) is None:
                break
            taken += 1
        del rest[:taken]
        yield from batches_in(builder.build())
