"""Our own properties about how a flow runs beside its copy: how fast it may be, and what is shown of it."""

from mirror.config.property import Property
from mirror.config.values import Valid, between

_GROUP = "mirror"


def _rate() -> Valid:
    return Valid("-1 or at least 1", lambda value: None if value == -1 or value >= 1 else "has to be -1 (no limit) or at least 1")


RUNNING = (
    Property(
        "mirror.max.bytes.per.second",
        "LONG",
        -1,
        "How many bytes of keys, values and headers a second the flow copies at most; -1: no limit. `decide throttle` overrides it.",
        _GROUP,
        _rate(),
    ),
    Property(
        "mirror.status.refresh.seconds",
        "LONG",
        15,
        "How often the status page and the metrics look at the clusters at most, while somebody asks for them.",
        _GROUP,
        between(5, 240),
    ),
    Property(
        "mirror.metrics.token",
        "PASSWORD",
        "",
        "The token with which Prometheus may read the flow's metrics; best a reference. MIRROR_METRICS_TOKEN opens those of all flows.",
        _GROUP,
    ),
    Property(
        "mirror.metrics.series.max",
        "INT",
        1000,
        "Of how many partitions, topics and groups each there are metrics of their own; with more of a kind, that kind is left out.",
        _GROUP,
        between(0),
    ),
)
