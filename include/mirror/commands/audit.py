"""`audit`: compares what is copied with what stands on the target."""

import argparse
from typing import TYPE_CHECKING

from mirror.audit.asked import names, times
from mirror.audit.model import DIFFERENT
from mirror.audit.report import errors_of, lines_of
from mirror.commands.answer import DONE, FAILED, Answer
from mirror.config import Flow

if TYPE_CHECKING:
    from mirror.audit.run import Compare


def add_arguments(command: argparse.ArgumentParser) -> None:
    """What the command takes."""
    command.add_argument("--topics", metavar="A,B", help="only these source topics (default: all that the flow mirrors)")
    command.add_argument("--from", metavar="TIME", dest="start", help="ISO 8601, UTC unless it says otherwise; needs --to")
    command.add_argument("--to", metavar="TIME", dest="end", help="the interval ends in front of it")
    command.add_argument("--show-payload", action="store_true", help="show values and headers of records that differ, not only their sizes")
    command.add_argument("--without-spark", action="store_true", help="compare in this process, however much it is")
    command.add_argument("--master", metavar="URL", help="compare on this Spark cluster, however little it is")


def run(flow: Flow, options: argparse.Namespace) -> Answer:
    """Compares, and writes nothing. A difference is a failure, and what both sides no longer have is none.

    A topic that was never copied is a failure of the flow that is named; without a name it has to be a topic of one of them.
    """
    from mirror.audit.run import audit

    topics = names(options.topics)
    result = audit(
        flow,
        topics,
        times=times(options.start, options.end),
        show_payload=options.show_payload,
        compare=comparing(flow, options),
    )
    errors = errors_of(result, topics if options.flow else ())
    failed = bool(errors) or result.state == DIFFERENT
    known = frozenset(topics) & {each.topic for each in result.partitions}
    return Answer(FAILED if failed else DONE, result.as_document(), errors, "\n".join(lines_of(result)), known)


def comparing(flow: Flow, options: argparse.Namespace) -> "Compare":
    """What compares: this process with `--without-spark`, a Spark job with `--master`, else the one or the other by how much it is."""
    from mirror.audit.job import by_hand, by_size
    from mirror.audit.stretch_audit import audit_stretches

    submitted = by_hand(flow, options.master)
    return audit_stretches if options.without_spark else submitted if options.master else by_size(flow, submitted)
