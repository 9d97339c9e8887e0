"""History in the ledger: offsets below a partition's start that a backfill wrote, into which topic, and where they stand in it.

It stands in the ledger's value as the field `history_topics`, a list of objects. Readers that do not know it may ignore it.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from kafka_mirror.formats.documents import count, string, whole
from kafka_mirror.formats.offsets.intervals import Interval, before, merged, without

MAX_PLACES = 64
"""How many places a topic's entry keeps; the newest stay. What is written is known without them, only not where."""

MAX_INTERVALS = 256
"""How many separate intervals of written offsets a topic's entry may have. None is ever dropped: it would be written twice."""


@dataclass(frozen=True)
class History:
    """Source offsets `[start, end)` and the offsets `[target_start, target_end)` of a topic of the target that hold their copies: all
    records that can be seen there, in the source's order, and nothing else."""

    start: int
    end: int
    topic: str
    target_start: int
    target_end: int


@dataclass(frozen=True)
class HistoryTopic:
    """What was written into one topic of the target. `target_next` is the end right after our last record there, `intervals` the source
    offsets that are written, sorted and apart, `places` where they are, in the order of the target."""

    topic: str
    topic_id: str
    target_next: int
    intervals: tuple[Interval, ...] = ()
    places: tuple[History, ...] = ()
    records: int = 0
    bytes: int = 0

    def extended(self, place: History, records: int, size: int) -> "HistoryTopic":
        """The note of this topic after more history was written to `place`. A place that begins at `target_next`, and whose source offsets
        follow those of the last place, continues that one."""
        last = self.places[-1] if self.places else None
        places = (*self.places, place)
        if last is not None and last.end == place.start and last.target_end == self.target_next and place.target_start >= self.target_next:
            places = (*self.places[:-1], replace(last, end=place.end, target_end=place.target_end))
        return replace(
            self,
            target_next=max(self.target_next, place.target_end),
            intervals=merged((*self.intervals, (place.start, place.end))),
            places=places[-MAX_PLACES:],
            records=self.records + records,
            bytes=self.bytes + size,
        )

    def before(self, offset: int) -> "HistoryTopic":
        """What of it lies in front of a source offset; where a place that goes on after it ends is unknown, so it is left out."""
        places = tuple(place for place in self.places if place.end <= offset)
        return replace(self, intervals=before(self.intervals, offset), places=places)

    def before_target(self, offset: int) -> "HistoryTopic":
        """What of it is left when the topic lost all from one of its offsets on."""
        lost = [place for place in self.places if place.target_end > offset]
        intervals = self.intervals
        for place in lost:
            intervals = without(intervals, (place.start, place.end))
        places = tuple(place for place in self.places if place.target_end <= offset)
        return replace(self, target_next=min(self.target_next, offset), intervals=intervals, places=places)


def to_document(history_topic: HistoryTopic) -> dict[str, Any]:
    """An entry as JSON has it."""
    return {
        "topic": history_topic.topic,
        "topic_id": history_topic.topic_id,
        "target_next": history_topic.target_next,
        "intervals": history_topic.intervals,
        "places": [[place.start, place.end, place.target_start, place.target_end] for place in history_topic.places[-MAX_PLACES:]],
        "records": history_topic.records,
        "bytes": history_topic.bytes,
    }


def from_documents(documents: Iterable[Mapping[str, Any]]) -> tuple[HistoryTopic, ...]:
    """Reads the entries that `to_document` gave. Raises ValueError, TypeError or KeyError for any other document."""
    return tuple(_read_topic(dict(document)) for document in documents)


def _read_topic(fields: dict[str, Any]) -> HistoryTopic:
    topic = string(fields, "topic")
    return HistoryTopic(
        topic=topic,
        topic_id=string(fields, "topic_id"),
        target_next=count(fields, "target_next"),
        intervals=tuple((whole(start, "start"), whole(end, "end")) for start, end in fields["intervals"]),
        places=tuple(_read_place(topic, *field) for field in fields["places"]),
        records=count(fields, "records"),
        bytes=count(fields, "bytes"),
    )


def _read_place(topic: str, start: Any, end: Any, target_start: Any, target_end: Any) -> History:
    numbers = (whole(start, "start"), whole(end, "end"), whole(target_start, "target_start"), whole(target_end, "target_end"))
    return History(*numbers[:2], topic, *numbers[2:])
