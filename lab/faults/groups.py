"""Consumer groups of the source that stand at random offsets, and all that the mirror says of where they go on."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from kafka_mirror.config import Flow
from kafka_mirror.errors import ErrorReport
from kafka_mirror.formats import mm2
from kafka_mirror.groups.checkpoints import emit
from kafka_mirror.groups.context import GroupContext, group_clusters, group_context
from kafka_mirror.groups.find import read_group_offsets
from kafka_mirror.groups.group_offsets import synchronise
from kafka_mirror.groups.group_translation import translate_groups
from kafka_mirror.groups.mm2_topics import read_topic
from kafka_mirror.kafka.cluster import Cluster
from lab.faults.translations import Answer
from services.consumers import groups_of, set_offsets

_TRIES = 4


@dataclass
class Groups:
    """Groups that commit once and never again, so that all later answers are about the same offsets."""

    flow: Flow
    topic: str
    source: str
    target: str
    committed: dict[str, dict[int, int]] = field(default_factory=dict)
    placed: int = 0
    """How many groups there were, with those that are no longer judged."""

    def commit(self, group: str, offsets: Mapping[int, int]) -> None:
        """Commits these offsets of the topic's partitions for a group."""
        set_offsets(self.source, group, {(self.topic, partition): offset for partition, offset in offsets.items()})
        self.committed[group] = dict(offsets)

    def answers(self) -> Iterator[Answer]:
        """Writes checkpoints and group offsets as their tasks do, and gives these and what `translate` says now."""
        context, names = group_context(self.flow), list(self.committed)
        if not names:
            return
        errors = _run_both_steps(context, names)
        assert not errors, errors
        yield from self._ask_translation(context, names)
        yield from self._read_checkpoints(context)
        yield from self._read_group_offsets(context, names)

    def _ask_translation(self, context: GroupContext, names: list[str]) -> Iterator[Answer]:
        with group_clusters(context) as (source, target, groups, _):
            offsets = read_group_offsets(groups, names, context.selection.topic_filter).offsets
            translated = translate_groups(context, offsets, source, target)
        for offset in translated.offsets:
            answer = offset.translated
            if answer.target is not None:
                yield Answer("translate", offset.group, offset.source.partition, offset.committed.offset, answer.target, answer.kind)

    def _read_checkpoints(self, context: GroupContext) -> Iterator[Answer]:
        with Cluster("target", context.clients.target_admin) as target:
            written = read_topic(target, context.clients.target_consumer, context.checkpoints_topic, mm2.decode_checkpoint).records
        newest = {(record.group, record.topic, record.partition): record for record in written if record.group in self.committed}
        for record in newest.values():
            yield Answer("checkpoint", record.group, record.partition, record.upstream, record.downstream)

    def _read_group_offsets(self, context: GroupContext, names: list[str]) -> Iterator[Answer]:
        remote = context.selection.remote(self.topic)
        with groups_of(self.target) as groups:
            by_group = groups.read_committed(names, {})
        for group, positions in by_group.items():
            for tp, position in positions.items():
                if tp.topic == remote:
                    yield Answer("group offset", group, tp.partition, self.committed[group][tp.partition], position.offset)


def _run_both_steps(context: GroupContext, names: list[str]) -> list[ErrorReport]:
    """Runs `checkpoints` and `group-offsets`, again as often as Airflow would while all errors are retriable; gives the last errors."""
    errors: list[ErrorReport] = []
    for _ in range(_TRIES):
        errors = [*emit(context, names).errors, *synchronise(context, names).errors]
        if not errors or not all(error.retriable for error in errors):
            break
    return errors
