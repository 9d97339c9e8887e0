"""What the ledger says of a whole lane: that the flow was handed back to MirrorMaker 2, or taken over since; that it is closed since a
failover, or open again.

The note stands in the lane's ledger partition, under the key of the ledger topic itself and the lane's number, which no source partition
has. It has the form of every ledger record, so a mirror that does not know it reads a partition that was handed back and that the source
does not have, and copies nothing of it. A lane reads it after its fence, with all that the fence guarantees.
"""

from kafka_mirror.formats.offsets.map import OffsetMap
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.ledger.control_records import HANDED_BACK
from kafka_mirror.ledger.record import Decided, LedgerRecord, Writer


def note_key(ledger: str, lane: int) -> TopicPartition:
    """Under which key the note of a lane stands."""
    return TopicPartition(ledger, lane)


def note(ledger: str, ledger_id: str, clusters: tuple[str, str], lanes: int, decided: Decided, writer: Writer) -> LedgerRecord:
    """The note of a decision; `clusters` are the ids of source and target."""
    return LedgerRecord(
        watermark=0,
        leader_epoch=None,
        source_topic_id="",
        target_topic=ledger,
        target_topic_id=ledger_id,
        target_next=0,
        source_cluster_id=clusters[0],
        target_cluster_id=clusters[1],
        lanes=lanes,
        offset_map=OffsetMap(),
        writer=writer,
        decided=decided,
        start=0,
        handed_back=decided if decided.decision == HANDED_BACK else None,
    )
