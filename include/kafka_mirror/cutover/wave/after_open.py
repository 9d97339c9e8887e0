"""What was written on the source since waves opened: what the commands and the report of a wave say of it."""

from typing import TYPE_CHECKING

from kafka_mirror.copy.plan.left_on_source import written_since_moved
from kafka_mirror.cutover.wave.step import PLANNED
from kafka_mirror.cutover.wave.stored_waves import StoredWaves
from kafka_mirror.errors import ErrorReport
from kafka_mirror.ledger.clusters import clusters, ledger_of

if TYPE_CHECKING:
    from kafka_mirror.config import Flow


def written_since_open(flow: "Flow", stored: StoredWaves, wave: str | None = None) -> tuple[ErrorReport, ...]:
    """WrittenOnSource of each partition that planned waves moved, or this one, and on whose source records stand that nobody copies; or why
    it could not be found out. Of a failover nothing: its source is lost, and `cutover compare` looks at one that is back."""
    waves = {name for name, record in stored.waves.items() if record.mode == PLANNED and wave in (None, name)}
    topics = {topic for topic, decision in stored.decisions.moved_topics.items() if decision.wave in waves}
    if not topics:
        return ()
    with clusters(flow) as (source, target):
        return tuple(
            error.of_flow(flow.name) for error in written_since_moved(flow, source, ledger_of(flow, target).read().records, topics)
        )
