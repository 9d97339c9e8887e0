"""A copy run in the words of its tasks' logs: what is to be copied, what each lane did, how far the ledger is, and what came of it."""

from collections.abc import Iterable, Sequence

from mirror.copy.model import LaneResult
from mirror.offsets.partition import TopicPartition
from mirror.plan.model import Plan, Range
from mirror.report.publish import Published
from mirror.report.verdict import FAILED, Verdict, others_told

_TOPICS = 20
_PARTITIONS = 8


def plan_lines(plan: Plan) -> list[str]:
    """What there is to copy, topic by topic, those with the most offsets first."""
    topics = sorted(_by_topic(plan.ranges).items(), key=lambda each: (-sum(planned.offsets for planned in each[1]), each[0]))
    lines = [f"{topic}: {_partitions(ranges)}, {_offsets(ranges)}: {_listed(map(_planned, ranges))}." for topic, ranges in topics[:_TOPICS]]
    if len(topics) > _TOPICS:
        rest = [planned for _, ranges in topics[_TOPICS:] for planned in ranges]
        lines.append(f"{len(topics) - _TOPICS:,} more topics: {_partitions(rest)}, {_offsets(rest)}.")
    if plan.time is not None:
        lines.append(f"Planned at {plan.time:%Y-%m-%d %H:%M:%S} UTC, up to where the source was then.")
    left_out = f"; {_count(len(plan.errors), 'error')} about what cannot be copied" if plan.errors else ""
    return [*lines, f"{_partitions(plan.ranges)} of {_count(len(topics), 'topic')} with work, {_offsets(plan.ranges)} in all{left_out}."]


def lanes_line(results: Sequence[LaneResult]) -> str:
    """What the lanes copied, all of them together; each has told its own."""
    records, transactions = sum(each.records for each in results), sum(each.transactions for each in results)
    size = sum(mark.bytes for each in results for mark in each.watermarks)
    return f"{_count(len(results), 'lane')} copied {_count(records, 'record')}, {size:,} bytes in {_count(transactions, 'transaction')}."


def published_lines(plan: Plan, published: Published) -> list[str]:
    """How far the ledger is with what was planned, topic by topic; where a partition is behind, how far."""
    reached = {TopicPartition(mark.topic, mark.partition): mark.source_offset for mark in published.watermarks}
    lines = []
    topics = sorted(_by_topic(plan.ranges).items())
    for topic, ranges in topics[:_TOPICS]:
        behind = [planned for planned in ranges if reached.get(planned.topic_partition, -1) < planned.end]
        done = f"{topic}: the ledger has {len(ranges) - len(behind)} of {_partitions(ranges)} at their planned ends"
        left = _listed(f"{each.topic_partition}@{reached.get(each.topic_partition, each.start)} of {each.end}" for each in behind)
        lines.append(f"{done}{f'; behind: {left}' if left else ''}.")
    if len(topics) > _TOPICS:
        lines.append(f"{len(topics) - _TOPICS:,} more topics are not listed.")
    return lines


def verdict_lines(flow: str, run: str, judged: Verdict) -> list[str]:
    """What came of the run, by its name, and where to look on."""
    owed = f"; {_count(judged.owed, 'offset')} of what was planned are left" if judged.owed else "; all that was planned is reached"
    lines = [f"{flow}: run {run}: {judged.state}: its lanes copied {judged.records:,} records, {judged.bytes:,} bytes{owed}."]
    lines += [f"{told[0].upper()}{told[1:]}." for told in others_told(judged.copied_elsewhere)]
    if judged.state == FAILED:
        lines.append(
            "What failed follows, each with what to do next. What the lanes tried: the log of the task copy. How the flow stands: its page "
            f"/mirror in Airflow, or python -m mirror status --flow '{flow}'."
        )
    return lines


def _by_topic(ranges: Iterable[Range]) -> dict[str, list[Range]]:
    found: dict[str, list[Range]] = {}
    for planned in ranges:
        found.setdefault(planned.topic, []).append(planned)
    return found


def _planned(planned: Range) -> str:
    return f"{planned.partition} from {planned.start} to {planned.end} ({planned.reason})"


def _partitions(ranges: Sequence[Range]) -> str:
    return _count(len(ranges), "partition")


def _offsets(ranges: Sequence[Range]) -> str:
    return _count(sum(planned.offsets for planned in ranges), "offset")


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def _listed(texts: Iterable[str]) -> str:
    found = list(texts)
    more = f" and {len(found) - _PARTITIONS:,} more" if len(found) > _PARTITIONS else ""
    return ", ".join(found[:_PARTITIONS]) + more
