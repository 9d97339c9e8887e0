"""Rules about the ledger as a whole that planning and every lane apply alike."""

from collections.abc import Iterable
from datetime import datetime

from mirror.errors import ForeignWriter, OtherCluster
from mirror.formats.ledger import LedgerRecord

FOREIGN_WRITER_INTERVALS = 10
"""For how many copy intervals a record by another installation keeps a lane from being written."""


def check_clusters(records: Iterable[LedgerRecord], source: str, source_id: str, target: str, target_id: str) -> None:
    """Raises OtherCluster if the ledger was written for other clusters than the aliases `source` and `target` lead to now."""
    for record in records:
        if record.source_cluster_id != source_id:
            raise OtherCluster(source, record.source_cluster_id, source_id)
        if record.target_cluster_id != target_id:
            raise OtherCluster(target, record.target_cluster_id, target_id)


def check_writer(
    records: Iterable[LedgerRecord], ledger: str, lane: int, installation: str, interval_seconds: float, now: datetime
) -> None:
    """Raises ForeignWriter if another installation wrote to the lane within the last ten copy intervals.

    Two installations would fence each other for ever. Without `mirror.installation` on either side nothing can be told apart.
    """
    if not installation:
        return
    for record in records:
        age = (now - record.writer.time).total_seconds()
        if record.writer.installation not in ("", installation) and age < FOREIGN_WRITER_INTERVALS * interval_seconds:
            raise ForeignWriter(ledger, lane, record.writer.installation, record.writer.host, age)
