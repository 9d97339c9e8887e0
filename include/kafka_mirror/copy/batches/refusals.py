"""What a broker says of a batch that it refuses for its records, in the words of the lane: which record is meant, as far as it says so."""

from contextlib import suppress

import kafka.errors as errors

from kafka_mirror.copy.engine import BatchRefused, PartitionAssignment, RefusedRecord
from kafka_mirror.formats.batches.batch_rewrite import OutgoingBatch, Record, has_key, read_records
from kafka_mirror.formats.batches.record_batch import sealed
from kafka_mirror.kafka.connection_errors import name_of
from kafka_mirror.kafka.produce_request import Acknowledgement

_TIMESTAMP = (
    "its timestamp is further from the broker's clock than message.timestamp.before.max.ms or message.timestamp.after.max.ms allows"
)
_NO_KEY = "it has no key, and the remote topic is compacted"
_REASONS = {
    errors.MessageSizeTooLargeError.errno: "it is larger than max.message.bytes",
    errors.RecordListTooLargeError.errno: "it is larger than max.message.bytes",
    errors.InvalidTimestampError.errno: _TIMESTAMP,
    errors.InvalidRecordError.errno: f"the broker calls it invalid, as it does if {_TIMESTAMP}",
    errors.UnsupportedCompressionTypeError.errno: "its broker cannot unpack it",
}
REFUSALS = frozenset(_REASONS)
"""Error codes that say something of the records of a batch."""


def refusal_of(work: PartitionAssignment, outgoing: OutgoingBatch, answer: Acknowledgement, largest: int) -> BatchRefused:
    """The refusal of a batch, which is opened if its records have no more than `largest` bytes. The records that the broker names are the
    culprits; a record that is alone in its batch is meant anyway."""
    records: list[Record] = []
    with suppress(ValueError):  # what cannot be opened has no names; the next attempt says so
        read_records(sealed(outgoing.batch), records, largest)
    offsets = [offset for start, length in outgoing.stretches for offset in range(start, start + length)]
    named = [(place, why) for place, why in answer.records if 0 <= place < len(records)]
    culprits = [_culprit(work, answer.error_code, offsets[place], records[place], why) for place, why in sorted(named)]
    detail = culprits[0].detail if culprits else _detail(answer.error_code, answer.message)
    return BatchRefused(work.source, work.start, offsets[0], outgoing.batch.record_count, detail, culprits)


def _culprit(work: PartitionAssignment, code: int, offset: int, record: Record, why: str) -> RefusedRecord:
    _, timestamp, _, rest = record
    lacks_key = work.limits.needs_key and not has_key(rest)
    return RefusedRecord(offset, timestamp, has_key(rest), f"{_NO_KEY} ({name_of(code)})" if lacks_key else _detail(code, why))


def _detail(code: int, why: str | None) -> str:
    return f"{_REASONS[code]} ({name_of(code)}{f': {why}' if why else ''})"
