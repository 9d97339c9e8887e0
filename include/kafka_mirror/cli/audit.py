"""`audit`: compares what is copied with what stands on the target."""

import argparse
from collections.abc import Sequence

from kafka_mirror.audit.compare_ranges import compare_audit_ranges
from kafka_mirror.audit.copied_ranges import AuditRange, Outcome
from kafka_mirror.audit.model import DIFFERENT
from kafka_mirror.audit.parallel import choose_by_size, compare_by_hand
from kafka_mirror.audit.reader import AuditContext
from kafka_mirror.audit.report import errors_of, lines_of
from kafka_mirror.audit.run import Compare, audit, times
from kafka_mirror.cli.answer import DONE, FAILED, Answer
from kafka_mirror.cli.options import split_names
from kafka_mirror.cli.terminal import Counter, progress
from kafka_mirror.config import Flow


def run(flow: Flow, options: argparse.Namespace) -> Answer:
    """Compares, and writes nothing. A difference is a failure, and what both sides no longer have is none. What is not copied yet is said,
    and with `--complete` it is a failure too.

    A topic that was never copied is a failure of the flow that is named; without a name it must be a topic of one of them.
    """
    topics = split_names(options.topics)
    result = audit(
        flow,
        topics,
        times=times(options.start, options.end),
        show_payload=options.show_payload,
        compare=choose_comparison(flow, options),
    )
    errors = errors_of(result, topics if options.flow else (), options.complete)
    failed = bool(errors) or result.state == DIFFERENT
    known_topics = frozenset(topics) & {partition.topic for partition in result.partitions}
    return Answer(FAILED if failed else DONE, result.as_document(), errors, lines_of(result), known_topics)


def choose_comparison(flow: Flow, options: argparse.Namespace) -> Compare:
    """Returns the comparison to use: this process with `--without-spark`, Spark with `--master`, else by the amount."""
    # What is asked for: the same command once more is the next try of it.
    way = " ".join([options.command, *split_names(options.topics), *filter(None, (options.start, options.end))])
    spark = compare_by_hand(flow, options.master, way)

    def compare_in_process(context: AuditContext, stretches: Sequence[AuditRange]) -> list[Outcome]:
        read = Counter()
        with progress(_begins(flow, stretches), sum(map(_offsets, stretches)), read.follow):
            return compare_audit_ranges(context, stretches, read.add)

    def compare_on_spark(context: AuditContext, stretches: Sequence[AuditRange]) -> list[Outcome]:
        with progress(f"{_begins(flow, stretches)} A Spark job does it.", sum(map(_offsets, stretches))):
            return spark(context, stretches)

    return (
        compare_in_process
        if options.without_spark
        else compare_on_spark
        if options.master
        else choose_by_size(flow, compare_on_spark, compare_in_process)
    )


def _begins(flow: Flow, stretches: Sequence[AuditRange]) -> str:
    partitions = len({stretch.source for stretch in stretches})
    offsets = sum(stretch.offsets for stretch in stretches)
    return f"{flow.name}: comparing up to {offsets:,} records of {partitions:,} partitions with their copies."


def _offsets(stretch: AuditRange) -> int:
    """How many offsets are read of both sides."""
    return stretch.offsets + max(0, stretch.target_read_end - stretch.target_start)
