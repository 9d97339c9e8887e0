"""Errors of the jobs beside the copy: a backfill's times and history, an audit's findings, and schema registries."""

from collections.abc import Collection, Sequence

from kafka_mirror.errors.base import DeclaredError, OffsetError, PartitionError
from kafka_mirror.errors.next_step import Part, backfill_again, the_plan


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
        "Let it go into a topic of its own that is not compacted (`--into`, in Airflow the parameter `into`; for all "
        "`mirror.backfill.into`)."
    )
    lost = "No, nothing was written."
    more = "Behind newer records, old values would win there."


class HistoryTopicRefused(DeclaredError):
    """History may not go where it was asked for: the name is not allowed, internal, or another topic's."""

    topic: str
    into: str
    why: str
    text = "{topic}: its history cannot go into '{into}', which {why}. Nothing was written."
    next_text = (
        "Name another topic (`--into`, in Airflow the parameter `into`; for all `mirror.backfill.into`), or allow this "
        "one (`mirror.backfill.into.allowed`)."
    )
    lost = "No, nothing was written."


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


class HistoryWithoutStart(PartitionError):
    """The copy has not begun with the partition, so nothing says where its history ends."""

    retriable = True
    text = "{topic}-{partition}: the ledger does not know this partition, so nothing says where its history ends. Nothing was written."
    next_text = "Let the copy begin with it; a backfill does so by itself when it is run again."
    lost = "No, nothing was written."


class AuditDifferent(DeclaredError):
    """Source and target are not the same where one should be the copy of the other."""

    difference: str
    topic: str
    partition: int
    offset: int | None
    text = "{difference}. The audit changed nothing."
    next_text = (
        "Look at both records (the audit's result shows them; their contents: {mirror:audit --flow '<flow>' --topics {topic} "
        "--show-payload}), and find out who wrote to the target. To have the source's records there again, delete the remote topic, run "
        "refresh-topics, and copy it again with decide restart."
    )
    lost = "It depends on the kind: a `missing record` or a `truncated tail` is."
    do = (
        "Look at both records (`audit --show-payload`), and find out who writes to the target. To have the source's records there again, "
        "delete the remote topic, run `refresh-topics`, and decide `restart`."
    )
    more = "The message names the kind and the offsets."


class AuditIncomplete(DeclaredError):
    """`--complete` was asked for, and something is not copied yet or could not be compared."""

    why: str
    text = "The audit was to prove that everything is copied, and cannot. {why}"
    do = "Wait until the copy has it (`status`), and audit again."
    more = "What was compared is equal, if no other error says otherwise."

    def _advise(self) -> Sequence[Part]:
        return "See what waits and what blocks it: ", *the_plan(), ". Then audit again."


class LogMoved(DeclaredError):
    """Retention deleted records while an audit read them, three times in a row."""

    cluster: str
    topic: str
    partition: int
    detail: str
    retriable = True
    text = "Cluster '{cluster}': {topic}-{partition} no longer has what was being read: {detail}."
    next_text = "Run it again: it begins where the log starts now."
    do = "Run the audit again, for fewer topics at once."


class RecordUnreadable(DeclaredError):
    """A record has a header key that is not UTF-8, so the audit did not compare its partition."""

    cluster: str
    topic: str
    partition: int
    offset: int
    text = (
        "Cluster '{cluster}': {topic}-{partition}@{offset} has a header key that is not UTF-8, which the client cannot read. Its partition "
        "was not compared."
    )
    next_text = "Audit what lies before it and after it: `--from` and `--to`, in Airflow the parameters `from` and `to` of the DAG audit."


class NothingAudited(DeclaredError):
    """An audit was asked about topics by name, and the flow has never copied them."""

    topics: Collection[str]
    text = "Nothing was ever copied of {topics}, so the audit left it out. It audited what else was asked for."
    do = "Check the names, which are those of the source."

    def _advise(self) -> Sequence[Part]:
        return "Check the names, which are those of the source, and what the flow takes: ", *the_plan(), "."


class RegistryUnreachable(DeclaredError):
    """A schema registry did not answer, or cannot serve now."""

    side: str
    urls: str
    detail: str
    retriable = True
    text = "The schema registry of the {side} did not answer at {urls}: {detail}."
    next_text = "Check the registry, the network and `mirror.schemas.{side}.url`; the next run goes on by itself."
    lost = "No: schemas are only late. Records go on being copied."


class RegistryRefused(DeclaredError):
    """A schema registry refused a request.

    `status` is HTTP's. It refused the login, a right, or what was asked.
    """

    side: str
    request: str
    status: int
    said: str
    advice: str = ""
    text = "The schema registry of the {side} refused to {request}: {status} {said}."
    next_text = "Check `mirror.schemas.{side}.*` and what that login may do in the registry; then run the flow's schemas again."
    lost = "No: schemas are only late. Records go on being copied."

    def _advise(self) -> Sequence[Part]:
        return (self.advice,) if self.advice else super()._advise()


class SchemaConflict(DeclaredError):
    """The target's registry has another schema under a version or an id of the source's, so ids cannot be kept.

    It is only reported, never raised.
    """

    version: str
    why: str
    text = "The schema {version} cannot be had on the target: {why}."
    next_text = "Put the schemas into a context of their own (`mirror.schemas.contexts`), or delete permanently what stands in the way."
    lost = "No. But records of the source that name this id would be read on the target by another schema."


class SchemaIdChanged(DeclaredError):
    """The target's registry does not keep the ids that it is given."""

    version: str
    given: int
    text = "The target's registry gave {version} the id {given}, so records that name its id cannot be read there."
    next_text = "Use a registry whose mode IMPORT keeps ids; delete the subject on the target permanently before the next try."
    lost = "No. But records of the source name ids that the target does not have."
