"""How often a flow copies and beats, and what follows from that: the limits of alerts, how long runs may take, and the slots of pools.

A mirror that copies once a day is not late after 15 minutes.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

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
_BY_COPIES = ("mirror.copy.interval.seconds",)
_BY_BEATS = ("mirror.copy.interval.seconds", "emit.heartbeats.interval.seconds", "mirror.heartbeats.trigger")
DEFAULT_LIMITS: Mapping[str, tuple[str, ...]] = {
    "mirror.deadline.lag.seconds": _BY_COPIES,
    "mirror.deadline.progress.seconds": _BY_COPIES,
    "mirror.deadline.copy.seconds": _BY_COPIES,
    "mirror.deadline.heartbeats.seconds": _BY_BEATS,
}
"""The limits that follow from other properties where they are not set, and from which."""


def derive_limit(flow: Flow, name: str) -> int:
    """The limit in seconds that holds where this property is not set. Raises ConfigurationError if a property cannot be read."""
    interval = flow.value("mirror.copy.interval.seconds")
    if DEFAULT_LIMITS[name] == _BY_BEATS:
        interval = max(interval, seconds_between_beats(flow))
    return max(LEAST_SECONDS, int(INTERVALS * interval))


def read_limit(flow: Flow, name: str) -> int | None:
    """The limit that this property sets; None: there is none, which -1 stands for."""
    value: int | None = flow.value(name)
    if value is None and name in DEFAULT_LIMITS:
        return derive_limit(flow, name)
    return None if value is None or value < 0 else value


@dataclass(frozen=True)
class Limits:
    """What a flow's properties allow before an alert is sent: seconds, but for `lag_records`, and `growth`, how many times as big an alert
    must be to be sent again; None: never."""

    lag: float | None = LEAST_SECONDS
    lag_records: int | None = None
    progress: float | None = LEAST_SECONDS
    copy: float | None = LEAST_SECONDS
    heartbeats: float | None = LEAST_SECONDS
    unreachable: float | None = 300
    for_seconds: float = 30
    repeat: float | None = None
    growth: float | None = 4

    @property
    def of_page(self) -> "Limits":
        """The limits of what is shown: the page shows it also where no alert is to be sent."""
        return replace(self, copy=math.inf if self.copy is None else self.copy, unreachable=self.unreachable or 0.0)


AT_ONE_LOOK = Limits(lag=None, progress=None, copy=math.inf, heartbeats=None)
"""For a single look that knows of no other: how long anything waits is not judged."""


def limits_of(flow: Flow) -> Limits:
    """The limits of a flow, with defaults that follow its intervals."""
    growth: int = flow.value("mirror.alert.growth.factor")
    return Limits(
        lag=read_limit(flow, "mirror.deadline.lag.seconds"),
        lag_records=read_limit(flow, "mirror.deadline.lag.records"),
        progress=read_limit(flow, "mirror.deadline.progress.seconds"),
        copy=read_limit(flow, "mirror.deadline.copy.seconds"),
        heartbeats=read_limit(flow, "mirror.deadline.heartbeats.seconds"),
        unreachable=read_limit(flow, "mirror.deadline.unreachable.seconds"),
        for_seconds=flow.value("mirror.alert.lasting.seconds"),
        repeat=read_limit(flow, "mirror.alert.repeat.seconds"),
        growth=growth if growth >= 2 else None,
    )


def run_seconds(flow: Flow, what: str) -> int | None:
    """How long a run of the flow's DAG `what` may take; None: as long as it takes, as one that beats until the next goes on."""
    seconds = read_limit(flow, "mirror.deadline.run.seconds")
    if seconds is None or (what == "heartbeats" and flow.value("mirror.heartbeats.trigger")):
        return None
    # It copies and hands over; one that a person starts while two others hand over waits for one of them besides.
    copying = int(flow.value("mirror.run.max.seconds") + 2 * hand_over_seconds(flow))
    return seconds + copying if what == "copy" else seconds


_HAND_OVER_SECONDS = 60.0


def hand_over_seconds(flow: Flow) -> float:
    """How long lanes that follow go on after their run was due, at most: until the next one has planned, started its job and fenced them.
    It is over before a third run is due. 0: a run ends with its plan, or before the next one is due."""
    interval = float(flow.value("mirror.copy.interval.seconds"))
    if not flow.value("mirror.follow.seconds") or flow.value("mirror.run.max.seconds") < interval:
        return 0.0
    return min(_HAND_OVER_SECONDS, interval / 2)


def seconds_between_copies(flow: Flow) -> float:
    """How often what came is copied while the flow is well. Lanes that follow without a gap ask every mirror.follow.seconds."""
    return float(flow.value("mirror.follow.seconds")) if hand_over_seconds(flow) else float(flow.value("mirror.copy.interval.seconds"))


DEFAULT_POOL = "default_pool"
"""The pool that every Airflow has."""

SLOTS_TO_FOLLOW = 4
"""The slots of a flow whose runs follow: two for runs that hand over to each other, and one each for a backfill's live part and history."""


def pools(flows: Iterable[Flow], team: str = "") -> dict[str, dict[str, Any]]:
    """Each pool that these flows name, with the slots of all that name it. With a `team` only its DAGs may use them."""
    sharing: dict[str, list[Flow]] = {}
    for flow in flows:
        sharing.setdefault(flow.value("mirror.copy.pool"), []).append(flow)
    sharing.pop(DEFAULT_POOL, None)
    return {
        name: {
            "slots": sum(map(slots_of, its)),
            "description": f"Copies of {', '.join(flow.name for flow in its)}",
            "include_deferred": False,
            **({"team_name": team} if team else {}),
        }
        for name, its in sharing.items()
    }


def slots_of(flow: Flow) -> int:
    """How many slots a flow needs. One where its runs end with their plans: its copies, live and backfill, wait for each other."""
    return SLOTS_TO_FOLLOW if flow.value("mirror.follow.seconds") else 1
