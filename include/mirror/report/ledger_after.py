"""The ledger as a run is judged by it: read after the copy, and no older than what the copy itself has seen."""

import time
from collections.abc import Iterable, Mapping

from mirror.config import Flow
from mirror.copy.model import LaneResult
from mirror.errors import DeadlineExceeded, MirrorError, StaleAnswer
from mirror.kafka.cluster import Cluster
from mirror.kafka.connect import ledger_of
from mirror.kafka.ledger import Ledger, LedgerView
from mirror.kafka.servers import beginning_at

_LOOKS = 5


def ledger_after(flow: Flow, target: Cluster, results: Iterable[LaneResult], ledger_id: str) -> LedgerView:
    """The ledger, at least as far as the lanes have seen it. Whoever asks anew may come upon a broker that is cut off from its cluster and
    answers all the same: then the others are asked, one after the other. Raises StaleAnswer if none of them has as much,
    or DeadlineExceeded if the last one did not give all that was told to be there.

    `ledger_id` is the topic id that was planned with. One that was created anew since ends where it does: the lanes name it.
    """
    seen = {result.lane: result.ledger_end for result in results}
    ledger = ledger_of(flow, target)
    view, doubt = _read(ledger, seen)
    if view is not None and ledger_id and doubt is not None and ledger.topic_id() != ledger_id:
        return view
    for turn in range(1, _LOOKS):
        if doubt is None:
            break
        time.sleep(min(0.25 * 2**turn, 2.0))
        with Cluster(flow.target, beginning_at(flow.client("target", "admin"), turn), target.timeout) as other:
            try:
                settings = beginning_at(flow.client("target", "consumer"), turn)
                view, doubt = _read(Ledger(ledger.topic, ledger.lanes, other, settings), seen)
            except MirrorError as error:
                if not error.retriable:
                    raise
    if doubt is not None and (view is None or isinstance(doubt, StaleAnswer)):
        raise doubt
    return view or LedgerView()


def _read(ledger: Ledger, seen: Mapping[int, int]) -> tuple[LedgerView | None, MirrorError | None]:
    """The ledger, and why another broker is asked for it, if one is: also when one told an end that another one, which was read, never
    reached, or does not tell the end of a lane that was written."""
    try:
        view = ledger.read()
    except DeadlineExceeded as late:
        if not seen:
            raise
        return None, late
    return view, _stale(ledger.topic, view, seen) or _untold(view, seen)


def _stale(topic: str, view: LedgerView, seen: Mapping[int, int]) -> StaleAnswer | None:
    """What was told of the lane that was not read as far as it had been seen, if any was not."""
    for lane, end in seen.items():
        if lane in view.ends and view.ends[lane] < end:
            return StaleAnswer((topic, lane), view.ends[lane], end)
    return None


def _untold(view: LedgerView, seen: Mapping[int, int]) -> MirrorError | None:
    """What is wrong with a lane whose end nobody told, if there is one: whoever was asked may not reach its leader, or be no leader."""
    return next((view.unreadable[lane] for lane in seen if lane in view.unreadable and lane not in view.ends), None)
