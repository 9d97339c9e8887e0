"""Where MirrorMaker 2 goes on with a flow that is handed back: behind the watermarks, but for topics that are others by now."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from mirror.config import Flow
from mirror.errors import ErrorReport, MirrorError
from mirror.formats.control import RESTART
from mirror.formats.ledger import LedgerRecord
from mirror.kafka.cluster import Cluster
from mirror.kafka.model import Topic
from mirror.offsets.partition import TopicPartition
from mirror.plan.acting import is_noted
from mirror.plan.decisions import Decisions

FROM_THE_START = -1
"""What MirrorMaker 2 takes for no offset: it then begins where auto.offset.reset says."""

Records = Mapping[TopicPartition, LedgerRecord]


@dataclass(frozen=True)
class GoingOn:
    """The offset of the last record that was mirrored, by source partition, or FROM_THE_START; `anew`: the partitions of topics that are
    gone or were created anew. In neither are those of topics that we may not look at: `errors` has these."""

    offsets: Mapping[TopicPartition, int]
    anew: frozenset[TopicPartition] = frozenset()
    notices: tuple[str, ...] = ()
    errors: tuple[ErrorReport, ...] = ()


def going_on(flow: Flow, source: Cluster, records: Records) -> GoingOn:
    """Holds the ledger against the source as it is now: an offset of a topic's old records would leave out as many of its new ones."""
    refused: dict[str, MirrorError] = {}
    topics = source.topics({tp.topic for tp in records}, refused)
    same = [tp for tp, record in records.items() if tp.topic in topics and topics[tp.topic].id == record.source_topic_id]
    ends = source.offsets(same, "latest", errors=refused)
    told = {tp: record for tp, record in records.items() if tp.topic not in refused}
    anew = told.keys() - same
    reset = _reset(flow)
    return GoingOn(
        {tp: FROM_THE_START if tp in anew else max(record.watermark - 1, FROM_THE_START) for tp, record in told.items()},
        frozenset(anew),
        (*_of_others({tp: told[tp] for tp in sorted(anew)}, topics, reset), *_of_lost(told, ends, reset)),
        tuple(_told_nothing(error, flow) for error in refused.values()),
    )


def not_acted_on(records: Records, decisions: Decisions) -> tuple[str, ...]:
    """A sentence about each restart that was decided and that no copy has done, before the flow is handed back."""
    return tuple(
        f"{tp}: not done yet, and unknown to MirrorMaker 2: {told}. To have it done, let the copy run before hand-back; afterwards take "
        "over and decide again."
        for tp, told in _waiting(records, decisions)
    )


def used_up(records: Records, decisions: Decisions) -> tuple[str, ...]:
    """The same, before the flow is taken over: a partition goes on where MirrorMaker 2 stopped, and all that was decided is of before."""
    return tuple(
        f"{tp}: not done, and used up by the take-over: {told}. Decide again if it is still wanted."
        for tp, told in _waiting(records, decisions)
    )


def _waiting(records: Records, decisions: Decisions) -> Iterator[tuple[TopicPartition, str]]:
    for tp, record in sorted(records.items()):
        for decision in decisions.of(tp):
            if decision.decision == RESTART and decision.watermark == record.watermark and not is_noted(record, decision):
                yield tp, decision.told_as(f"restart at source offset {decision.offset}")


def _of_others(anew: Records, topics: Mapping[str, Topic], reset: str) -> Iterator[str]:
    """A sentence about each topic that is another one, or none, since it was copied."""
    for name, record in {tp.topic: record for tp, record in anew.items()}.items():
        said, what = "is gone from the source", "a new one of that name"
        if name in topics:
            said, what = f"was created anew on the source (topic id {record.source_topic_id} became {topics[name].id})", "it"
        yield f"{name}: the topic {said}, so no old offset is told. MirrorMaker 2 begins {what} {reset}"


def _of_lost(records: Records, ends: Mapping[TopicPartition, int], reset: str) -> Iterator[str]:
    """A sentence about each partition whose log ends in front of what was copied."""
    for tp in sorted(ends.keys() & records.keys()):
        if ends[tp] < records[tp].watermark:
            lost = f"{tp}: the source ends at {ends[tp]}, in front of the watermark {records[tp].watermark}: it lost records."
            grown = "If it has grown past the watermark when MirrorMaker 2 is started, what is written until then is left out"
            yield f"{lost} {grown}; else MirrorMaker 2 begins {reset}"


def _reset(flow: Flow) -> str:
    """Where MirrorMaker 2 begins without an offset it can use, in words."""
    setting = flow.java_settings("source", "consumer").get("auto.offset.reset")
    reset = "earliest" if setting is None else flow.references.resolve(setting)
    if reset.strip().lower() == "earliest":
        return "from its start (auto.offset.reset=earliest)."
    return f"where auto.offset.reset={reset} says, and leaves out what stands in front of that: earliest would leave out nothing."


def _told_nothing(error: MirrorError, flow: Flow) -> ErrorReport:
    error.next = (
        f"{error.next} Nothing was said to MirrorMaker 2 about this topic, for it may have been created anew: once it can be looked at, "
        "run hand-back again before MirrorMaker 2 is started. Else it goes by what Kafka Connect kept."
    )
    return error.of_flow(flow.name).report()
