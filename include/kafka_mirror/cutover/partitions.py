"""What the flow's own state says against a wave: errors, gaps, decisions, partitions that are not copied or too far behind. Pure."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import groupby

from kafka_mirror.cutover.findings import Finding, information, of_error, stop, warning
from kafka_mirror.errors.next_step import Part, Remedy, of_the_flow
from kafka_mirror.errors.words import first_few
from kafka_mirror.status.status import DECIDED, FIRST_SIGHT, GONE, NO_LEADER, NO_REMOTE, PAUSED, UNKNOWN, PartitionStatus, Status


def partition_findings(status: Status, topics: Collection[str], max_lag: int | None) -> Iterator[Finding]:
    """What is said of the partitions of these topics, and of the flow as a whole."""
    partitions = [partition for partition in status.partitions if partition.topic in topics]
    errors = [*status.errors, *(partition.error for partition in partitions if partition.error is not None)]
    yield from (of_error(error) for error in dict.fromkeys(errors) if error.topic is None or error.topic in topics)
    for topic, group in groupby(partitions, key=lambda partition: partition.topic):
        yield from _of_topic(topic, list(group), max_lag)
    lags = [partition.lag for partition in partitions if partition.lag is not None]
    if lags:
        yield information("lag", f"The wave is {sum(lags):,} records behind in all, and {max(lags):,} in one partition, at most.")


def _of_topic(topic: str, partitions: Sequence[PartitionStatus], max_lag: int | None) -> Iterator[Finding]:
    for note, group in groupby(_in_state(partitions, PAUSED), key=lambda partition: partition.note):
        numbers = _numbers(group)
        yield stop("paused", f"{topic}: partitions {numbers} are not copied: {note}.", Remedy("resume", topic), topic=topic)
    decided = _in_state(partitions, DECIDED)
    if decided:
        said = f"{topic}: the next copy acts on a decision about partitions {_numbers(decided)}: {decided[0].note}."
        yield warning("decision-pending", said, of_the_flow("copy"), " acts on it; then plan the wave again.", topic=topic)
    unseen = _in_state(partitions, FIRST_SIGHT)
    if unseen:
        said = f"{topic}: nothing of partitions {_numbers(unseen)} has been copied yet."
        yield warning("not-copied-yet", said, of_the_flow("copy"), topic=topic)
    for state, (words, step) in _lost_states().items():
        lost = [partition for partition in _in_state(partitions, state) if partition.error is None]
        if lost:
            yield _lost(topic, lost, words, step)
    late = [partition for partition in partitions if max_lag is not None and (partition.lag or 0) > max_lag]
    if late:
        behind = first_few([f"{partition.partition} ({partition.lag:,})" for partition in late])
        said = f"{topic}: {len(late)} of {len(partitions)} partitions are more than {max_lag:,} records behind: {behind}."
        yield stop("lag", said, of_the_flow("copy"), ", or wait for the next runs; or raise --max-lag.", topic=topic)


def _lost_states() -> Mapping[str, tuple[str, Sequence[Part]]]:
    """States in which nobody can say that a partition is whole on the target, and what to do."""
    return {
        NO_REMOTE: ("has no remote partition yet", (of_the_flow("refresh-topics"), " creates it; then copy.")),
        NO_LEADER: ("has no leader on the source", ("Bring the source's brokers back.",)),
        GONE: ("was copied and is gone from the source", ("Find out who deleted it; what was copied of it stands on the target.",)),
        UNKNOWN: ("cannot be judged", ("Mend what is named beside this, and ask again.",)),
    }


def _lost(topic: str, partitions: Sequence[PartitionStatus], words: str, step: Sequence[Part]) -> Finding:
    code = partitions[0].state.replace(" ", "-")
    names = first_few([f"{topic}-{partition.partition}" for partition in partitions])
    return stop(code, f"{names} {words}.", *step, topic=topic)


def _in_state(partitions: Iterable[PartitionStatus], state: str) -> list[PartitionStatus]:
    return [partition for partition in partitions if partition.state == state]


def _numbers(partitions: Iterable[PartitionStatus]) -> str:
    return first_few([partition.partition for partition in partitions])
