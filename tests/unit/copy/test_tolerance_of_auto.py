"""What mirror.engine=auto copies with errors.tolerance=all contains what it copies with none, after as many runs as that takes."""

from dataclasses import dataclass

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.copy.memory_brokers import COMMITTED, HOLE, RECORD, RECORD_BYTES
from tests.unit.copy.test_interleaved_attempts import PARTITIONS, AttemptsThatChooseTheEngine, remote

ORDERS = PARTITIONS[0]
RUNS = 40
offsets = st.sets(st.integers(0, 13), max_size=5)


@dataclass(frozen=True)
class Log:
    """What stands at each offset, and what of it no batch carries, what only batches do, what the target refuses."""

    entries: tuple[str, ...]
    closed: frozenset[int]
    uncarried: frozenset[int]
    refused: frozenset[int]
    large: tuple[bool, ...]
    transaction: int


logs = st.builds(
    Log,
    st.lists(st.sampled_from([RECORD, RECORD, RECORD, HOLE]), min_size=1, max_size=14).map(tuple),
    offsets.map(frozenset),
    offsets.map(frozenset),
    st.sets(st.integers(0, 13), max_size=1).map(frozenset),
    st.lists(st.booleans(), min_size=1, max_size=3).map(tuple),
    st.sampled_from([1, 4, 100]),
)


def copied(log: Log, tolerates: bool) -> set[int]:
    """The source offsets of what stands on the target when further runs bring nothing more."""
    lane = AttemptsThatChooseTheEngine()
    try:
        lane.neither_engine_carries_everything(
            closed={(ORDERS, at) for at in log.closed}, uncarried={(ORDERS, at) for at in log.uncarried}, large=list(log.large)
        )
        lane.brokers.source[ORDERS] = list(log.entries)
        lane.brokers.refused = {(ORDERS, at) for at in log.refused}
        for _ in range(RUNS):
            lane._run(skip_refused=tolerates, transaction_max_bytes=log.transaction * RECORD_BYTES)
        found = [entry.source for entry in lane.brokers.log(remote(ORDERS)) if (entry.kind, entry.state) == (RECORD, COMMITTED)]
        assert len(found) == len(set(found))
        assert found == sorted(found)
        if tolerates:
            assert lane.brokers.ledger[ORDERS].watermark == len(log.entries)
        return set(found)
    finally:
        lane.teardown()


@given(logs)
@settings(max_examples=150, deadline=None)
def test_tolerance_takes_nothing_that_comes_without_it(log: Log) -> None:
    tolerated = copied(log, tolerates=True)
    assert copied(log, tolerates=False) <= tolerated
    if not log.refused:
        records = {at for at, kind in enumerate(log.entries) if kind == RECORD}
        assert records - tolerated <= log.uncarried & log.closed
