"""What the properties say of a flow's metrics: which token opens them, how many series there may be, and the limits of alert rules."""

import hashlib
import hmac
import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from fastapi import HTTPException

from kafka_mirror.config import Flow
from kafka_mirror.errors import ConfigurationError
from kafka_mirror.status.limits import Limits, limits_of
from kafka_mirror.web.metric_names import LEGACY

TOKEN_VARIABLE = "MIRROR_METRICS_TOKEN"  # noqa: S105 — the name of it
_REREAD_SECONDS = 60.0

log = logging.getLogger(__name__)

CLOSED = (
    f"The metrics are closed: no token is set that could be read. Set {TOKEN_VARIABLE} in the environment of Airflow's api-server, or "
    "mirror.metrics.token in mm2.properties, and let Prometheus send it (authorization: credentials)."
)
REFUSED = "The metrics want a token that is set here, as 'Authorization: Bearer <token>'."


@dataclass(frozen=True)
class MetricSettings:
    """What a flow's properties say about its metrics. `series_max`: how many partitions, topics and groups of it have series of their
    own."""

    series_max: int = 0
    formats: tuple[str, ...] = (LEGACY,)
    """Under which names MirrorMaker 2's metrics stand: `metric.names.formats`."""
    limits: Limits | None = None
    """None for a flow with an invalid configuration."""


class MetricAccess:
    """What the flows' properties say about their metrics, and which token opens those of which flows. It has only digests of tokens, and
    compares them in constant time."""

    def __init__(self, flows: Callable[[], tuple[Flow, ...]], environ: Mapping[str, str]) -> None:
        self._flows = flows
        self._environ = environ
        self._digests: Mapping[str, bytes] = {}
        self._read_at: float | None = None
        self.settings: Mapping[str, MetricSettings] = {}
        """Of the valid flows, as read for the last answer."""

    def opened_by(self, authorization: str) -> set[str] | None:
        """The flows that the header opens; None: all. Raises HTTPException 403 where nothing could open them, and 401 for a wrong one."""
        self._read()
        digest_of_all = _digest(self._environ.get(TOKEN_VARIABLE, ""))
        if digest_of_all is None and not self._digests:
            raise HTTPException(403, CLOSED)
        scheme, _, token = authorization.partition(" ")
        offered = _digest(token.strip()) if scheme.lower() == "bearer" else None
        if offered is not None:
            if digest_of_all is not None and hmac.compare_digest(offered, digest_of_all):
                return None
            flows = {flow for flow, digest in self._digests.items() if hmac.compare_digest(offered, digest)}
            if flows:
                return flows
        raise HTTPException(401, REFUSED, headers={"WWW-Authenticate": "Bearer"})

    def _read(self) -> None:
        """Reads the properties, and resolves their references again each minute: somebody may replace a token. A token that cannot be read
        opens nothing."""
        if self._read_at is not None and time.monotonic() - self._read_at < _REREAD_SECONDS:
            return
        digests, settings = {}, {}
        for flow in self._flows():
            try:
                settings[flow.name] = MetricSettings(
                    int(flow.value("mirror.metrics.series.max")), tuple(flow.value("metric.names.formats")), limits_of(flow)
                )
                digest = _digest(flow.value("mirror.metrics.token"))
            except ConfigurationError as error:
                log.warning("The metrics of %s open with no token of its own: %s", flow.name, error)
                continue
            if digest is not None:
                digests[flow.name] = digest
        self._digests, self.settings, self._read_at = digests, settings, time.monotonic()


def _digest(token: str) -> bytes | None:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest() if token else None
