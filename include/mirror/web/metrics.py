"""`/mirror/metrics`: what Prometheus scrapes, for whoever has the token. It shows snapshots alone and asks no cluster."""

import hashlib
import hmac
import logging
import os
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Annotated, Protocol

from fastapi import APIRouter, Header, HTTPException, Response
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import choose_encoder

from mirror.config import Flow
from mirror.errors import ConfigurationError
from mirror.report.snapshot import Snapshots
from mirror.web.metric_families import SnapshotCollector

TOKEN_VARIABLE = "MIRROR_METRICS_TOKEN"  # noqa: S105 — the name of it
_KEPT_SECONDS = 60.0

log = logging.getLogger(__name__)

CLOSED = (
    f"The metrics are closed: no token is set that could be read. Set {TOKEN_VARIABLE} in the environment of Airflow's api-server, or "
    "mirror.metrics.token in mm2.properties, and let Prometheus send it (authorization: credentials)."
)
REFUSED = "The metrics want a token that is set here, as 'Authorization: Bearer <token>'."


class Cache(Protocol):
    """Where snapshots come from: see `report.snapshot_cache.SnapshotCache`."""

    def get(self) -> Snapshots:
        """The newest ones, at once."""

    def flows(self) -> tuple[Flow, ...]:
        """The valid flows of the configuration."""


def metrics_router(cache: Cache, environ: Mapping[str, str] | None = None) -> APIRouter:
    """The route. It guards itself, so it has to be mounted without the page's login."""
    router = APIRouter()
    door = _Door(cache.flows, os.environ if environ is None else environ)

    @router.get("/metrics")
    def metrics(authorization: Annotated[str, Header()] = "", accept: Annotated[str, Header()] = "") -> Response:
        """The newest snapshots of the flows that the token opens, in the format that is asked for. 401 or 403 without the right token."""
        opened = door.opened_by(authorization)
        snapshots = cache.get()
        flows = [each for each in snapshots.flows if opened is None or each.flow in opened]
        registry = CollectorRegistry(auto_describe=False)
        registry.register(SnapshotCollector(flows, len(snapshots.errors), door.series_max, datetime.now(UTC)))
        encoder, content_type = choose_encoder(accept)
        return Response(encoder(registry), media_type=None, headers={"content-type": content_type, "cache-control": "no-store"})

    return router


class _Door:
    """Who may see the metrics of which flows. Only digests of tokens are kept, and compared in constant time."""

    def __init__(self, flows: Callable[[], tuple[Flow, ...]], environ: Mapping[str, str]) -> None:
        self._flows = flows
        self._environ = environ
        self._digests: Mapping[str, bytes] = {}
        self._read_at: float | None = None
        self.series_max: Mapping[str, int] = {}

    def opened_by(self, authorization: str) -> set[str] | None:
        """The flows that the header opens; None: all. Raises HTTPException 403 where nothing could open them, and 401 for a wrong one."""
        self._read()
        whole = _digest(self._environ.get(TOKEN_VARIABLE, ""))
        if whole is None and not self._digests:
            raise HTTPException(403, CLOSED)
        scheme, _, token = authorization.partition(" ")
        offered = _digest(token.strip()) if scheme.lower() == "bearer" else None
        if offered is not None:
            if whole is not None and hmac.compare_digest(offered, whole):
                return None
            opened = {flow for flow, digest in self._digests.items() if hmac.compare_digest(offered, digest)}
            if opened:
                return opened
        raise HTTPException(401, REFUSED, headers={"WWW-Authenticate": "Bearer"})

    def _read(self) -> None:
        """What the properties say. References are resolved anew now and then, for a token may be replaced; one that cannot be read opens
        nothing."""
        if self._read_at is not None and time.monotonic() - self._read_at < _KEPT_SECONDS:
            return
        digests, series_max = {}, {}
        for flow in self._flows():
            try:
                series_max[flow.name] = int(flow.value("mirror.metrics.series.max"))
                digest = _digest(flow.value("mirror.metrics.token"))
            except ConfigurationError as error:
                log.warning("The metrics of %s open with no token of its own: %s", flow.name, error)
                continue
            if digest is not None:
                digests[flow.name] = digest
        self._digests, self.series_max, self._read_at = digests, series_max, time.monotonic()


def _digest(token: str) -> bytes | None:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest() if token else None
