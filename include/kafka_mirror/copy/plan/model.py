"""What a plan says: the ranges with work and the partitions that cannot be copied; and the same as JSON takes it.

As JSON it is columns instead of a list of objects, which is a fifth of the size. So it stands in XCom and in the job's file.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from kafka_mirror.errors import ErrorReport
from kafka_mirror.formats import documents
from kafka_mirror.formats.offsets.partition import TopicPartition, lane_of
from kafka_mirror.ledger.control_records import Decision, as_document, from_document

FIRST_SIGHT = "first sight"
BEHIND = "behind"
GAP = "gap"
BLOCKED = "blocked"
DECIDED = "decided"
HISTORY = "history"


@dataclass(frozen=True)
class Range:
    """Source offsets `[start, end)` of one partition, as of planning.

    `start` is where the plan believes the watermark is; a lane begins at the watermark of its ledger, whatever stands here. Only for a
    partition that the ledger does not know (`reason` is `first sight`) does `start` decide, and it is committed even if the range is empty.
    A range that is `blocked` begins with a record that the target refused before: it is tried last and alone. One of `history` lies below
    the watermark, and a lane writes what of it is missing.
    """

    topic: str
    partition: int
    topic_id: str
    start: int
    end: int
    reason: str
    skip_to: int | None = None
    """With `mirror.on.gap=skip-and-record`: the log start up to which a lane may move the watermark without records."""
    leader_epoch: int | None = None
    """The source partition's leader epoch when `end` was asked for: no offset below `end` belongs to a newer one."""
    records: int = 0
    """The ledger's running total of records as of planning, and of `bytes`: what a run copied is what they grew by."""
    bytes: int = 0
    decisions: tuple[Decision, ...] = ()
    """What people decided about the partition and is in force, for all the plan can see. A lane holds it against its own ledger record."""
    log_end: int | None = None
    """Where the partition's log ends after `end`: there stands a transaction that was open when the plan was made. None: at `end`."""

    @property
    def topic_partition(self) -> TopicPartition:
        """The partition of the source that this range belongs to."""
        return TopicPartition(self.topic, self.partition)

    @property
    def is_work(self) -> bool:
        """Whether there is anything to copy or to commit. The empty range of a partition that is only followed has nothing."""
        return bool(self.offsets) or self.reason != BEHIND

    @property
    def offsets(self) -> int:
        """The number of offsets between start and end: an upper bound of the records."""
        return self.end - self.start


@dataclass(frozen=True)
class Plan:
    """The work of one run of one flow."""

    flow: str
    ranges: tuple[Range, ...] = ()
    errors: tuple[ErrorReport, ...] = ()
    notices: tuple[str, ...] = field(default=())
    config_hash: str = ""
    source_cluster_id: str = ""
    target_cluster_id: str = ""
    ledger_id: str = ""
    """The topic id of the ledger that was read; '' in a dry run that found none."""
    decisions: tuple[Decision, ...] = ()
    """Decisions in force that concern the whole flow: clusters that were adopted, ownership that was taken."""
    into: Mapping[str, str] = field(default_factory=dict)
    """For a plan of history, whose ranges all are: the topics of the target that it goes to, by source topic."""
    in_time_order: bool = True
    """Whether history may only stand after older history of its partition."""
    time: datetime | None = None
    """When the plan was made, by the clock that will plan the next run too; None: a plan that does not say."""
    by_person: bool = False
    """Whether a person started the run, rather than its schedule."""
    follow_for: float = 0.0
    """For how many seconds the lanes of the run copy and then follow their partitions; 0: they end with their ranges. A plan that is
    followed has a range, if an empty one, of every partition that may be copied."""
    hand_over_for: float = 0.0
    """For how many seconds after that its lanes go on, unless the next run takes them over before."""
    is_busy: bool = False
    """Whether the ledger was written within the last interval. A run that follows then starts its job, though nothing is to be copied."""
    control_end: int = 0
    """Up to where the control topic was read."""
    source_topics: str = ""
    """A digest of the source's topics that the flow means; '' of a plan that is not followed, or looks for none."""

    @property
    def has_work(self) -> bool:
        """Whether a copy job has anything to do."""
        return bool(self.ranges)

    @property
    def is_idle(self) -> bool:
        """Whether nothing is to be copied, now or soon."""
        return not (self.ranges and self.is_busy) and not any(planned.is_work for planned in self.ranges)


def sort_by_lane(ranges: Iterable[Range], lanes: int) -> dict[int, list[Range]]:
    """The ranges by the lane that copies them, each in the order in which they come."""
    by_lane: dict[int, list[Range]] = {}
    for planned in ranges:
        by_lane.setdefault(lane_of(planned.topic, planned.partition, lanes), []).append(planned)
    return by_lane


_COLUMNS = ("topic", "partition", "topic_id", "start", "end", "reason", "leader_epoch", "records", "bytes")


def to_columns(plan: Plan) -> dict[str, Any]:
    """The plan with its ranges by column. `skip_to` is there for the few ranges that pass over a gap, `decided` for those about which
    somebody decided something, `log_end` for those after which a transaction is open, by their place in the columns."""
    ranges = list(enumerate(plan.ranges))
    rest: dict[str, Any] = documents.to_document(replace(plan, ranges=(), decisions=()))
    return rest | {
        "ranges": documents.to_columns(_COLUMNS, plan.ranges),
        "skip_to": {str(index): planned.skip_to for index, planned in ranges if planned.skip_to is not None},
        "decided": {str(index): _write_documents(planned.decisions) for index, planned in ranges if planned.decisions},
        "log_end": {str(index): planned.log_end for index, planned in ranges if planned.log_end is not None},
        "decisions": _write_documents(plan.decisions),
    }


def from_columns(document: Mapping[str, Any]) -> Plan:
    """Gives the plan whose ranges and decisions stand as columns in the document."""
    plan = documents.from_document(Plan, {**document, "ranges": [], "decisions": []})
    ranges = list(documents.from_columns(Range, document["ranges"]))
    for index in map(int, document["skip_to"].keys() | document["decided"].keys() | document["log_end"].keys()):
        skip_to, decided, log_end = (document[name].get(str(index)) for name in ("skip_to", "decided", "log_end"))
        ranges[index] = replace(ranges[index], skip_to=skip_to, decisions=_read_decisions(decided or ()), log_end=log_end)
    return replace(plan, ranges=tuple(ranges), decisions=_read_decisions(document["decisions"]))


def _write_documents(decisions: Iterable[Decision]) -> list[dict[str, Any]]:
    return [as_document(decision) for decision in decisions]


def _read_decisions(documents: Iterable[Mapping[str, Any]]) -> tuple[Decision, ...]:
    return tuple(from_document(document) for document in documents)
