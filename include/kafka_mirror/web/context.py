"""What a request needs: the Airflow around the application, the snapshots, and the decider."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from fastapi import HTTPException, Request

from kafka_mirror.config.flow import FlowName
from kafka_mirror.status.lag_history import OwnPoints
from kafka_mirror.status.snapshot import FlowSnapshot, Snapshots
from kafka_mirror.web.auth import Airflow
from kafka_mirror.web.decisions import Decider


class SnapshotsInBackground(Protocol):
    """The cache of snapshots: it asks the clusters in the background, and never for a request."""

    def get(self) -> Snapshots:
        """The newest snapshots, at once. Keeps the background thread looking."""

    def refresh(self, flow: str) -> None:
        """Asks for a new snapshot of a flow, soon."""


@dataclass(frozen=True)
class Site:
    """The parts of the application."""

    airflow: Airflow
    cache: SnapshotsInBackground
    decider: Decider
    points: OwnPoints = field(default_factory=OwnPoints)

    def snapshots(self) -> Snapshots:
        """The newest snapshot of each flow. Their lags are points of the charts."""
        snapshots = self.cache.get()
        for snapshot in snapshots.flows:
            self.points.add(snapshot)
        return snapshots


def site_of(request: Request) -> Site:
    """A dependency: the site of the application that answers."""
    site: Site = request.app.state.site
    return site


def name_of(snapshot: FlowSnapshot) -> FlowName:
    """The flow's name in its parts."""
    source, _, target = snapshot.flow.partition("->")
    return FlowName(source, target)


def index_by_id(snapshots: Snapshots) -> Mapping[str, FlowSnapshot]:
    """The flows by the name that stands in addresses, such as `east-to-west`."""
    return {name_of(snapshot).airflow_name: snapshot for snapshot in snapshots.flows}


def snapshot_by_id(snapshots: Snapshots, flow_id: str) -> FlowSnapshot:
    """One flow. Raises 404."""
    snapshot = index_by_id(snapshots).get(flow_id)
    if snapshot is None:
        raise HTTPException(404, f"There is no flow {flow_id!r} in the configuration of this Airflow's api-server.")
    return snapshot
