"""Errors of a backfill: times that do not become offsets, and history that cannot be written where it was asked for."""

from collections.abc import Sequence

from kafka_mirror.errors.declaration import DeclaredError, OffsetError, PartitionError
from kafka_mirror.errors.next_step import Part, backfill_again


class WildTimestamp(OffsetError):
    """A wrong clock stamped a record far ahead.

    The record takes the place of the records of an interval.
    """

    stamped: str
    times: str
    text = (
        "{topic}-{partition}@{offset}: this record is stamped {stamped}, and records behind it are stamped earlier. So the interval "
        "{times} ends in front of it, and the records behind it count as later. Nothing of this partition was filled."
    )
    lost = "No. The backfill filled nothing of that partition; the copy is not affected."
    do = (
        "Take an interval that ends after the record's time, or take this one as it is: `--accept-wild-timestamps` (in Airflow "
        "`accept_wild_timestamps`), for good `mirror.backfill.on.wild.timestamp`."
    )
    more = "So a backfill's interval ends before that record, or is empty."

    def _advise(self) -> Sequence[Part]:
        return (
            f"To fill the records behind it too, take an interval that ends after {self.stamped}. To take the interval as it is: ",
            *backfill_again(self.topic, "--accept-wild-timestamps", "accept_wild_timestamps = true"),
            f", or mirror.backfill.on.wild.timestamp={self.topic}=accept",
        )


class HistoryIntoCompacted(DeclaredError):
    """The topic that history is to go to is compacted."""

    topic: str
    partition: int | None
    into: str
    text = (
        "{topic}: its history cannot go into {into}, which is compacted: the topic keeps the last value of each key, and that would be an "
        "old one. Nothing was written to it."
    )
    next_text = (
        "Let it go into a topic of its own that is not compacted (--into, in Airflow the parameter into; for all mirror.backfill.into)."
    )
    lost = "No, nothing was written."
    do = "Let the history go into its own topic: `--into` (in Airflow `into`), for all topics `mirror.backfill.into`."
    more = "Behind newer records, old values would win there."


class HistoryTopicRefused(DeclaredError):
    """History may not go where it was asked for: the name is not allowed, internal, or another topic's."""

    topic: str
    into: str
    why: str
    text = "{topic}: its history cannot go into '{into}', which {why}. Nothing was written."
    next_text = (
        "Name another topic (--into, in Airflow the parameter into; for all mirror.backfill.into), or allow this one "
        "(mirror.backfill.into.allowed)."
    )
    lost = "No, nothing was written."
    do = "Name another topic (`--into`, in Airflow `into`), or allow this one: `mirror.backfill.into.allowed`."


class HistoryOutOfOrder(OffsetError):
    """The topic has newer history already, and older history would come after it.

    Time order was not given up. `another` is a topic that may take the older history, as `--into` has it.
    """

    end: int
    into: str
    newer: int
    another: str
    text = (
        "{topic}-{partition}@{offset}: {into}-{partition} already holds newer history (from source offset {newer} on), so the history "
        "[{offset}, {end}) would come after it. Nothing was written."
    )
    lost = "No, nothing was written."
    do = (
        "Let the older days go into another topic (`--into 'history.{remote}-older'`, in Airflow `into`), take `--order any` (`order`), "
        "or delete the topic and begin again."
    )

    def _advise(self) -> Sequence[Part]:
        return (
            "Let the older time go into a topic of its own: ",
            *backfill_again(self.topic, f"--into '{self.another}'", f"into = {self.another}"),
            f"; or, if the order of the records in {self.into} does not matter, after what is there: ",
            *backfill_again(self.topic, "--order any", "order = any"),
            f"; or delete {self.into}, if nothing reads it any more, and backfill the whole time into a new one.",
        )


class HistoryTooScattered(PartitionError):
    """The ledger cannot note one more gap in the history of a partition."""

    into: str
    intervals: int
    text = (
        "{topic}-{partition}: {intervals} separate intervals of its history are in {into}, and the ledger notes no more of them. Nothing "
        "was written."
    )
    next_text = "Fill the gaps between them first, with one backfill over the whole time; then go on."
    lost = "No, nothing was written."
    do = "Run one backfill over the whole time, which closes the gaps. Then go on."


class HistoryWithoutStart(PartitionError):
    """The copy has not begun with the partition, so nothing says where its history ends."""

    retriable = True
    text = "{topic}-{partition}: the ledger does not know this partition, so nothing says where its history ends. Nothing was written."
    next_text = "Let the copy begin with it; a backfill does so by itself when it is run again."
    lost = "No, nothing was written."
    do = "Wait for the next run, or run the backfill again."
