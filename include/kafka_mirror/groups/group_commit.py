"""Writes positions of groups on the target, and reads them back."""

from collections.abc import Collection, Iterator, Mapping, Sequence

from kafka_mirror.errors import MirrorError
from kafka_mirror.formats.offsets.partition import TopicPartition
from kafka_mirror.groups.group_move import Positions, is_same
from kafka_mirror.kafka.groups import Groups
from kafka_mirror.kafka.model import Committed

Wanted = Mapping[str, Mapping[TopicPartition, Committed | None]]
"""Where each group is to stand; None: it is to have no position there."""


def positions_on(groups: Groups, names: Collection[str]) -> Mapping[str, Positions]:
    """What the groups committed. Raises what the cluster says against one of them: it is unknown then where it stands."""
    errors: dict[str, MirrorError] = {}
    committed = groups.committed(names, errors)
    for error in errors.values():
        raise error
    return committed


def write_positions(
    groups: Groups, commit: Mapping[str, Positions], delete: Mapping[str, Sequence[TopicPartition]]
) -> dict[str, list[str]]:
    """Commits each group's positions in one request and deletes others in one; gives what was refused, in words, by group."""
    errors: dict[str, MirrorError] = {}
    refused = groups.commit({name: positions for name, positions in commit.items() if positions}, errors)
    reasons = {name: [f"{tp} ({why})" for tp, why in sorted(of_group.items())] for name, of_group in refused.items()}
    deleted = groups.delete({name: partitions for name, partitions in delete.items() if partitions and name not in errors}, errors)
    for name, of_group in deleted.items():
        reasons.setdefault(name, []).extend(f"{tp} ({why})" for tp, why in sorted(of_group.items()))
    for name, error in errors.items():
        reasons.setdefault(name, []).append(error.message)
    return {name: words for name, words in reasons.items() if words}


def unlike(wanted: Wanted, there: Mapping[str, Positions]) -> Iterator[tuple[str, list[str]]]:
    """The groups that do not stand where they should, with each such place."""
    for name, positions in wanted.items():
        places = [
            f"{tp}@{'nothing' if present is None else present.offset} instead of {'nothing' if committed is None else committed.offset}"
            for tp, committed in sorted(positions.items(), key=lambda pair: pair[0])
            if not is_same(present := there.get(name, {}).get(tp), committed)
        ]
        if places:
            yield name, places
