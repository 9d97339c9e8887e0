"""The ledger as a run is judged by it: read after the copy, and no older than what the copy itself has seen."""

import time
from collections.abc import Iterable, Mapping

from mirror.config import Flow
from mirror.copy.model import LaneResult
from mirror.errors import MirrorError, StaleAnswer
from mirror.kafka.cluster import Cluster
from mirror.kafka.connect import ledger_of
from mirror.kafka.ledger import Ledger, LedgerView
from mirror.kafka.servers import beginning_at

_LOOKS = 5


def ledger_after(flow: Flow, target: Cluster, results: Iterable[LaneResult], ledger_id: str) -> LedgerView:
    """The ledger, at least as far as the lanes have seen it. Whoever asks anew may come upon a broker that is cut off from its cluster and
    answers all the same: then the others are asked, one after the other. Raises StaleAnswer if none of them has as much.

    `ledger_id` is the topic id that was planned with. One that was created anew since ends where it does: the lanes name it.
    """
    seen = {result.lane: result.ledger_end for result in results}
    ledger = ledger_of(flow, target)
    view = ledger.read()
    if _stale(ledger.topic, view, seen) is None or (ledger_id and ledger.topic_id() != ledger_id):
        return view
    for turn in range(1, _LOOKS):
        stale = _stale(ledger.topic, view, seen)
        if stale is None:
            return view
        time.sleep(min(0.25 * 2**turn, 2.0))
        with Cluster(flow.target, beginning_at(flow.client("target", "admin"), turn), target.timeout) as other:
            try:
                view = Ledger(ledger.topic, ledger.lanes, other, beginning_at(flow.client("target", "consumer"), turn)).read()
            except MirrorError as error:
                if not error.retriable:
                    raise
    if (stale := _stale(ledger.topic, view, seen)) is not None:
        raise stale
    return view


def _stale(topic: str, view: LedgerView, seen: Mapping[int, int]) -> StaleAnswer | None:
    """What was told of the lane that was not read as far as it had been seen, if any was not."""
    for lane, end in seen.items():
        if lane in view.ends and view.ends[lane] < end:
            return StaleAnswer((topic, lane), view.ends[lane], end)
    return None
