"""`translate`: where a group would go on on the target."""

import argparse
from typing import TYPE_CHECKING, Any

from kafka_mirror.cli.answer import DONE, FAILED, NOTHING_TO_DO, Answer, table
from kafka_mirror.cli.options import Parser
from kafka_mirror.config import Flow
from kafka_mirror.errors import NoGroupOffsets
from kafka_mirror.groups.translation import BY_MAP

if TYPE_CHECKING:
    from kafka_mirror.groups.group_translation import GroupOffset

_HEAD = ("topic", "partition", "offset", "remote topic", "position", "answer", "read again", "ahead")


def add_arguments(command: Parser) -> None:
    """What the command takes."""
    command.add_argument("--group", metavar="GROUP", help="the consumer group of the source")
    command.need("--group")


def run(flow: Flow, options: argparse.Namespace) -> Answer:
    """Translates the group's offsets now and writes nothing. A partition without an answer is no failure: the reason stands beside it.

    Where no flow is named, the group may be one of another flow's source.
    """
    from kafka_mirror.status.snapshot_groups import group_position

    try:
        found = group_position(flow, options.group)
    except NoGroupOffsets as error:
        if options.flow is not None:
            raise
        return Answer(NOTHING_TO_DO, text=error.message)
    lines = table(_HEAD, [_row(offset) for offset in found.offsets])
    lines += [
        f"{offset.source}@{offset.committed.offset}: {offset.translated.reason}" for offset in found.offsets if offset.translated.reason
    ]
    result = {"group": options.group, "partitions": [_document(offset) for offset in found.offsets]}
    return Answer(FAILED if found.errors else DONE, result, found.errors, [*lines, _summary(found.offsets)], frozenset((options.group,)))


def _row(each: "GroupOffset") -> tuple[object, ...]:
    answer = each.translated
    numbers = ("-" if number is None else number for number in (answer.target, answer.reread))
    position, reread = numbers
    kind = answer.kind if answer.by == BY_MAP else f"{answer.kind} (by {answer.by})"
    return (*each.source, each.committed.offset, each.remote.topic, position, kind, reread, answer.ahead)


def _document(each: "GroupOffset") -> dict[str, Any]:
    answer = each.translated
    return {
        "topic": each.source.topic,
        "partition": each.source.partition,
        "offset": each.committed.offset,
        "remote_topic": each.remote.topic,
        "position": answer.target,
        "answer": answer.kind,
        "by": answer.by,
        "over_budget": answer.is_over_budget,
        "reread": answer.reread,
        "ahead": answer.ahead,
        "reason": answer.reason,
    }


def _summary(offsets: "tuple[GroupOffset, ...]") -> str:
    answers = [offset.translated for offset in offsets]
    known = sum(answer.reread or 0 for answer in answers)
    open_ones = sum(1 for answer in answers if answer.target is not None and answer.reread is None)
    missing = sum(1 for answer in answers if answer.target is None)
    told = [f"Failed over now, it would read {f'at most {known:,} records' if known else 'no record'} again"]
    told += [f"in {open_ones} partitions how many is unknown"] if open_ones else []
    told += [f"and {missing} of {len(answers)} partitions have no answer"] if missing else []
    return ", ".join(told) + "." + _count_ahead(sum(answer.ahead for answer in answers))


def _count_ahead(offsets: int) -> str:
    """What to wait for; empty if there is nothing."""
    return (
        f"\nIt is {offsets:,} offsets ahead of the copy: what it has read there it reads again if it moves before the copy has passed it."
        if offsets
        else ""
    )
