"""What the application is made of, as its routes find it: the Airflow around it, the snapshots, and who takes decisions."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from fastapi import HTTPException, Request

from mirror.config.names import FlowName
from mirror.report.snapshot import FlowSnapshot, Snapshots
from mirror.web.access import Airflow
from mirror.web.deciding import Decider
from mirror.web.history import History


class Cache(Protocol):
    """The one place where clusters are asked: in the background, and not for a request."""

    def get(self) -> Snapshots:
        """What was seen last, at once. Makes sure that somebody goes on looking."""

    def refresh(self, flow: str) -> None:
        """Has a flow looked at anew, soon."""


@dataclass(frozen=True)
class Site:
    """Everything that a request may ask."""

    airflow: Airflow
    cache: Cache
    decider: Decider
    history: History = field(default_factory=History)

    def snapshots(self) -> Snapshots:
        """What was seen last of all flows; the figures are kept for the curves."""
        found = self.cache.get()
        for each in found.flows:
            self.history.saw(each)
        return found


def site_of(request: Request) -> Site:
    """A dependency: the site of the application that answers."""
    site: Site = request.app.state.site
    return site


def name_of(snapshot: FlowSnapshot) -> FlowName:
    """The flow's name in its parts."""
    source, _, target = snapshot.flow.partition("->")
    return FlowName(source, target)


def by_id(found: Snapshots) -> Mapping[str, FlowSnapshot]:
    """The flows by the name that stands in addresses, such as `east-to-west`."""
    return {name_of(each).airflow_name: each for each in found.flows}


def snapshot_by_id(found: Snapshots, flow_id: str) -> FlowSnapshot:
    """One flow. Raises 404."""
    snapshot = by_id(found).get(flow_id)
    if snapshot is None:
        raise HTTPException(404, f"There is no flow {flow_id!r} in the configuration of this Airflow's api-server.")
    return snapshot
