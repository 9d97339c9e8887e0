"""How often a flow copies and beats, and the limits that follow where they are not set: a mirror that copies once a day is not late after
15 minutes.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from kafka_mirror.config.flow import CLIENTS, Flow, Role, Side
from kafka_mirror.config.setting import DEFAULT

HEARTBEAT_PROPERTIES = (
    "emit.heartbeats.enabled",
    "emit.heartbeats.interval.seconds",
    "heartbeats.topic.replication.factor",
    "mirror.heartbeats.trigger",
    "mirror.copy.interval.seconds",
    "admin.timeout.ms",
    "replication.policy.class",
    "replication.policy.separator",
)
"""The properties that a beat depends on: all that is judged of a pair that is no enabled flow."""

HEARTBEAT_CLIENTS: tuple[tuple[Side, Role], ...] = tuple(
    client for client in CLIENTS if client in (("target", "admin"), ("target", "producer"))
)
"""The clients that a beat needs: none of the source's."""


def seconds_between_beats(flow: Flow) -> int:
    """The exact interval with the trigger; without it, a beat comes with a run, and runs come no more often than copies."""
    exact: int = flow.value("emit.heartbeats.interval.seconds")
    return exact if flow.value("mirror.heartbeats.trigger") else max(exact, flow.value("mirror.copy.interval.seconds"))


def slower_interval_notice(flow: Flow) -> str | None:
    """The notice where an interval is set that only the trigger keeps. The default of a second is not set."""
    setting = flow.connector.get("emit.heartbeats.interval.seconds")
    if setting is None or setting.origin == DEFAULT or not flow.value("emit.heartbeats.enabled"):
        return None
    configured, actual = flow.value("emit.heartbeats.interval.seconds"), seconds_between_beats(flow)
    if configured == actual:
        return None
    return (
        f"{setting.origin} is {configured}, and a heartbeat comes with each run of the DAG: every {actual} s. "
        "mirror.heartbeats.trigger=true beats at the exact interval, in Airflow's triggerer."
    )


_CHECKPOINT_RUN_SECONDS = 600


def seconds_between_checkpoint_runs(flow: Flow) -> int:
    """How often the DAG `checkpoints` runs. Copies that follow write checkpoints at the exact interval; then it makes up for a copy that
    does not run."""
    exact: int = flow.value("emit.checkpoints.interval.seconds")
    return max(exact, _CHECKPOINT_RUN_SECONDS) if hand_over_seconds(flow) else exact


LEAST_SECONDS = 900
INTERVALS = 3
"""How many missed intervals are no coincidence any more."""

_HAND_OVER_SECONDS = 60.0


@dataclass(frozen=True)
class DefaultLimit:
    """A limit made from other properties: which ones, and the seconds between two of what is limited."""

    made_from: tuple[str, ...]
    interval: Callable[[Flow], float]

    def seconds(self, flow: Flow) -> int:
        """Returns the limit. Raises ConfigurationError if a property cannot be read."""
        return max(LEAST_SECONDS, int(INTERVALS * self.interval(flow)))


def _count_copy_seconds(flow: Flow) -> float:
    return float(flow.value("mirror.copy.interval.seconds"))


def _count_longest_seconds(flow: Flow) -> float:
    return max(_count_copy_seconds(flow), seconds_between_beats(flow))


BY_COPIES = DefaultLimit(("mirror.copy.interval.seconds",), _count_copy_seconds)
BY_BEATS = DefaultLimit(
    ("mirror.copy.interval.seconds", "emit.heartbeats.interval.seconds", "mirror.heartbeats.trigger"), _count_longest_seconds
)

DEFAULT_LIMITS: Mapping[str, DefaultLimit] = {
    "mirror.deadline.lag.seconds": BY_COPIES,
    "mirror.deadline.progress.seconds": BY_COPIES,
    "mirror.deadline.copy.seconds": BY_COPIES,
    "mirror.deadline.heartbeats.seconds": BY_BEATS,
}
"""By property; the other limits have defaults of their own in the catalogue."""


def hand_over_seconds(flow: Flow) -> float:
    """How long lanes that follow go on after their run was due, at most: until the next one has planned, started its job and fenced them.
    It is over before a third run is due. 0: a run ends with its plan, or before the next one is due."""
    interval = _count_copy_seconds(flow)
    if not flow.value("mirror.follow.seconds") or flow.value("mirror.run.max.seconds") < interval:
        return 0.0
    return min(_HAND_OVER_SECONDS, interval / 2)


def seconds_between_copies(flow: Flow) -> float:
    """How often what came is copied while the flow is well. Lanes that follow without a gap ask every mirror.follow.seconds."""
    return float(flow.value("mirror.follow.seconds")) if hand_over_seconds(flow) else _count_copy_seconds(flow)


def lag_seconds(flow: Flow) -> int | None:
    """For how long a record may wait on the source before people get an alert; None: for ever."""
    allowed: int | None = flow.value("mirror.deadline.lag.seconds")
    if allowed is None:
        return BY_COPIES.seconds(flow)
    return None if allowed < 0 else allowed
