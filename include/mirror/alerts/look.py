"""Looks at both clusters for a check: as `status` does, with the target's heartbeats beside it. Whatever goes wrong is an answer too."""

import logging
import threading
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from mirror.alerts.seen import Beats, Seen
from mirror.errors import MirrorError
from mirror.kafka.cluster import Cluster
from mirror.policy import replication_policy
from mirror.report.heartbeat_paths import heartbeat_paths
from mirror.report.observe import observe
from mirror.report.status import Status, status_of

if TYPE_CHECKING:
    from mirror.config import Flow

SECONDS = 240.0
"""How long a check looks; usually it takes a second, and each question to a cluster has a deadline of its own."""

log = logging.getLogger(__name__)


def look(flow: "Flow", seconds: float = SECONDS) -> Seen:
    """What there is to see of the flow now. Raises nothing: a check that cannot look, or takes longer, is a problem like any other.

    It looks in a thread that is left alone after that time: a client that hangs cannot be ended, and a check that waits for it tells nobody
    anything.
    """
    found: list[Seen] = []
    thread = threading.Thread(target=lambda: found.append(_look(flow)), name=f"mirror-look {flow.name}", daemon=True)
    thread.start()
    thread.join(seconds)
    if found:
        return found[0]
    return Seen(Status(flow.name, datetime.now(UTC)), comparable=False, failure=f"Looking at both clusters took longer than {seconds:g} s.")


def _look(flow: "Flow") -> Seen:
    try:
        seen = observe(flow)
        beats = None if flow.target in seen.silent else _beats(flow)
        starts = {tp: each.log_start for tp, each in (seen.source or {}).items()}
        return Seen(status_of(seen), seen.comparable, seen.silent, beats, starts)
    except MirrorError as error:
        return Seen(Status(flow.name, datetime.now(UTC), errors=(error.report().of_flow(flow.name),)), comparable=False)
    except Exception as failure:
        log.exception("%s: the check failed unexpectedly", flow.name)
        return Seen(Status(flow.name, datetime.now(UTC)), comparable=False, failure=f"{type(failure).__name__}: {failure}")


def _beats(flow: "Flow") -> list[Beats] | None:
    """The newest heartbeat of each topic that has some: the flow's own, and those that it mirrors. None if one of them cannot be seen: it
    would be taken for one that never came, and an alert of it for over."""
    own = replication_policy(flow).heartbeats_topic()
    try:
        with Cluster(flow.target, flow.client("target", "admin"), flow.value("admin.timeout.ms") / 1000) as target:
            paths = heartbeat_paths(flow, target)
    except MirrorError as error:
        log.warning("%s: its heartbeats cannot be read: %s", flow.name, error)
        return None
    newest: dict[str, datetime] = {}
    for each in paths:
        newest[each.topic] = max(newest.get(each.topic, each.time), each.time)
    if not flow.value("emit.heartbeats.enabled"):
        newest.pop(own, None)
    return [Beats(topic, time, mirrored=topic != own) for topic, time in sorted(newest.items())]
