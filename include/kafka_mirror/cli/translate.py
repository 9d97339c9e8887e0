"""`translate`: where a group would go on on the target."""

import argparse
from typing import Any

from kafka_mirror.cli.answer import DONE, FAILED, NOTHING_TO_DO, Answer, table
from kafka_mirror.config import Flow
from kafka_mirror.errors import NoGroupOffsets
from kafka_mirror.groups.group_translation import GroupOffset
from kafka_mirror.groups.translation import BY_MAP
from kafka_mirror.status.snapshot_groups import group_position

_HEAD = ("topic", "partition", "offset", "remote topic", "position", "answer", "read again", "ahead")


def run(flow: Flow, options: argparse.Namespace) -> Answer:
    """Translates the group's offsets now and writes nothing. A partition without an answer is no failure: the reason stands beside it.

    Where no flow is named, the group may be one of another flow's source.
    """
    try:
        position = group_position(flow, options.group)
    except NoGroupOffsets as error:
        if options.flow is not None:
            raise
        return Answer(NOTHING_TO_DO, text=error.message)
    lines = table(_HEAD, [_row(offset) for offset in position.offsets])
    lines += [
        f"{offset.source}@{offset.committed.offset}: {offset.translated.reason}" for offset in position.offsets if offset.translated.reason
    ]
    result = {"group": options.group, "partitions": [_document(offset) for offset in position.offsets]}
    return Answer(
        FAILED if position.errors else DONE, result, position.errors, [*lines, _summary(position.offsets)], frozenset((options.group,))
    )


def _row(offset: GroupOffset) -> tuple[object, ...]:
    answer = offset.translated
    numbers = ("-" if number is None else number for number in (answer.target, answer.reread))
    position, reread = numbers
    kind = answer.kind if answer.by == BY_MAP else f"{answer.kind} (by {answer.by})"
    return (*offset.source, offset.committed.offset, offset.remote.topic, position, kind, reread, answer.ahead)


def _document(offset: GroupOffset) -> dict[str, Any]:
    answer = offset.translated
    return {
        "topic": offset.source.topic,
        "partition": offset.source.partition,
        "offset": offset.committed.offset,
        "remote_topic": offset.remote.topic,
        "position": answer.target,
        "answer": answer.kind,
        "by": answer.by,
        "over_budget": answer.is_over_budget,
        "reread": answer.reread,
        "ahead": answer.ahead,
        "reason": answer.reason,
    }


def _summary(offsets: tuple[GroupOffset, ...]) -> str:
    answers = [offset.translated for offset in offsets]
    reread = sum(answer.reread or 0 for answer in answers)
    open_ones = sum(1 for answer in answers if answer.target is not None and answer.reread is None)
    missing = sum(1 for answer in answers if answer.target is None)
    parts = [f"Failed over now, it would read {f'at most {reread:,} records' if reread else 'no record'} again"]
    parts += [f"in {open_ones} partitions how many is unknown"] if open_ones else []
    parts += [f"and {missing} of {len(answers)} partitions have no answer"] if missing else []
    ahead = sum(answer.ahead for answer in answers)
    wait = f"\nIt is {ahead:,} offsets ahead of the copy: what it has read there it reads again if it moves before the copy has passed it."
    return f"{', '.join(parts)}.{wait if ahead else ''}"
