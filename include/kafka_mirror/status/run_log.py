"""A copy run in the words of its tasks' logs: what is to be copied, what each lane did, how far the ledger is, and what came of it."""

from collections.abc import Iterable, Sequence

from kafka_mirror.copy.model import LaneResult, Watermark, batches_text
from kafka_mirror.copy.plan.model import Plan, Range
from kafka_mirror.copy.run_result import FAILED, NOTHING_TO_DO, Verdict, describe_other_runs
from kafka_mirror.errors.next_step import program
from kafka_mirror.errors.words import count_text, first_few
from kafka_mirror.formats.offsets.partition import TopicPartition

_TOPICS = 20
_PARTITIONS = 8


def plan_lines(plan: Plan) -> list[str]:
    """What there is to copy, topic by topic, those with the most offsets first."""
    topics = sorted(_group_by_topic(plan.ranges).items(), key=lambda item: (-sum(planned.offsets for planned in item[1]), item[0]))
    lines = [
        f"{topic}: {_partitions(ranges)}, {_offsets(ranges)}: {first_few(map(_describe, ranges), most=_PARTITIONS)}."
        for topic, ranges in topics[:_TOPICS]
    ]
    if len(topics) > _TOPICS:
        rest = [planned for _, ranges in topics[_TOPICS:] for planned in ranges]
        lines.append(f"{len(topics) - _TOPICS:,} more topics: {_partitions(rest)}, {_offsets(rest)}.")
    if plan.time is not None:
        lines.append(f"Planned at {plan.time:%Y-%m-%d %H:%M:%S} UTC, up to where the source was then.")
    return [*lines, work_line(plan)]


def work_line(plan: Plan) -> str:
    """How much there is to be copied, in one line."""
    topics = count_text(len({planned.topic for planned in plan.ranges}), "topic")
    left_out = f"; {count_text(len(plan.errors), 'error')} about what cannot be copied" if plan.errors else ""
    return f"{_partitions(plan.ranges)} of {topics} with work, {_offsets(plan.ranges)} in all{left_out}."


def lanes_line(results: Sequence[LaneResult]) -> str:
    """What the lanes copied, all of them together; each logs its own."""
    records, transactions = sum(result.records for result in results), sum(result.transactions for result in results)
    size = sum(mark.bytes for result in results for mark in result.watermarks)
    slowest = f"; the slowest took {max(result.seconds for result in results):.1f} s" if results else ""
    copied = f"{count_text(records, 'record')}, {size:,} bytes in {count_text(transactions, 'transaction')}"
    return f"{count_text(len(results), 'lane')} copied {copied}{slowest}."


def reached_lines(plan: Plan, watermarks: Iterable[Watermark]) -> list[str]:
    """How far the ledger is with what was planned: each topic that is behind, and how many partitions have reached their ends. None where
    nothing was planned."""
    work = [planned for planned in plan.ranges if planned.is_work]
    if not work:
        return []
    reached = {TopicPartition(mark.topic, mark.partition): mark.source_offset for mark in watermarks}
    late = _group_by_topic(planned for planned in work if reached.get(planned.topic_partition, -1) < planned.end)
    lines = []
    for topic, ranges in sorted(late.items())[:_TOPICS]:
        at = ((planned, reached.get(planned.topic_partition, planned.start)) for planned in ranges)
        places = first_few((f"{planned.topic_partition}@{offset} of {planned.end}" for planned, offset in at), most=_PARTITIONS)
        lines.append(f"{topic} is behind: {places}.")
    if len(late) > _TOPICS:
        lines.append(f"{len(late) - _TOPICS:,} more topics are behind.")
    done = len(work) - sum(map(len, late.values()))
    topics = count_text(len(_group_by_topic(work)), "topic")
    return [*lines, f"The ledger has {done:,} of {_partitions(work)} of {topics} at their planned ends."]


def verdict_lines(flow: str, run: str, judged: Verdict) -> list[str]:
    """What came of the run, by its name, and where to look on."""
    if judged.state == NOTHING_TO_DO:
        return [f"{flow}: run {run}: nothing to do: no partition had new records."]
    owed = f"; {count_text(judged.owed, 'offset')} of what was planned are left" if judged.owed else "; all that was planned is reached"
    lines = [f"{flow}: run {run}: {judged.state}: its lanes copied {judged.records:,} records, {judged.bytes:,} bytes{owed}."]
    sentences = [*batches_text(judged.batches, judged.rewritten), *describe_other_runs(judged.copied_elsewhere)]
    lines += [f"{sentence[0].upper()}{sentence[1:]}." for sentence in sentences]
    lines += [f"{count_text(judged.offset_syncs, 'offset sync')} {'was' if judged.offset_syncs == 1 else 'were'} written."]
    if judged.state == FAILED:
        lines.append(
            "What failed follows, each with what to do next. How the flow stands: its page /mirror in Airflow, or "
            f"{program()} status --flow '{flow}'."
        )
    return lines


def _group_by_topic(ranges: Iterable[Range]) -> dict[str, list[Range]]:
    by_topic: dict[str, list[Range]] = {}
    for planned in ranges:
        by_topic.setdefault(planned.topic, []).append(planned)
    return by_topic


def _describe(planned: Range) -> str:
    return f"{planned.partition} from {planned.start} to {planned.end} ({planned.reason})"


def _partitions(ranges: Sequence[Range]) -> str:
    return count_text(len(ranges), "partition")


def _offsets(ranges: Sequence[Range]) -> str:
    return count_text(sum(planned.offsets for planned in ranges), "offset")
