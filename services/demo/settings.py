"""The demo's directory and ports: the same every time, so that addresses stay valid; the environment may choose others."""

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from services.java import ROOT

FLOW = "east->west"
COPY_SECONDS = 15
INBOX = "demo_inbox"
"""The Airflow connection by which alerts are sent."""
DOWNSTREAM = "clicks-of-an-hour"
"""The DAG that starts when an hour is complete."""
SPARK = "demo_spark"
"""The Airflow connection to the Spark that stays."""

PROPERTIES = {
    "source->target.mirror.copy.interval.seconds": str(COPY_SECONDS),
    "source->target.refresh.groups.interval.seconds": "20",
    "source->target.emit.checkpoints.interval.seconds": "20",
    "source->target.sync.group.offsets.interval.seconds": "20",
    "source->target.sync.group.offsets.enabled": "true",
    "source->target.mirror.spark.connection": SPARK,
    "source->target.mirror.assets.topics": "clicks",
    "source->target.mirror.assets.events": "hours",
    "source->target.mirror.backfill.schedule": "0 * * * *",
    "source->target.mirror.alert.connections": INBOX,
    "source->target.mirror.alert.lasting.seconds": "0",
}
"""What the demo's flow has beside the defaults: everything a little sooner, so that there is something to see."""


class DemoFailed(RuntimeError):
    """Raised when the demo cannot go on; the message is for the person who started it."""


class DemoRefused(RuntimeError):
    """Raised before anything was started."""


@dataclass(frozen=True)
class Ports:
    """All on 127.0.0.1. A cluster takes two: the one it is known by, and the next one for its controller."""

    ui: int = 18080
    east: int = 19092
    west: int = 19192
    postgres: int = 15432
    alerts: int = 18090
    spark: int = 15002

    def list_ports(self) -> dict[int, str]:
        """Each port with the service that needs it."""
        return {
            self.ui: "Airflow's UI",
            self.east: "the cluster east",
            self.east + 1: "the controller of the cluster east",
            self.west: "the cluster west",
            self.west + 1: "the controller of the cluster west",
            self.postgres: "PostgreSQL",
            self.alerts: "the inbox of alerts",
            self.spark: "Spark's server",
        }


def variable(port: str) -> str:
    """The environment variable that chooses one of the ports."""
    return f"DEMO_{port.upper()}_PORT"


def directory(environ: Mapping[str, str] = os.environ) -> Path:
    """DEMO_DIRECTORY, else .run/demo."""
    return Path(environ.get("DEMO_DIRECTORY") or ROOT / ".run" / "demo").absolute()


def chosen_ports(environ: Mapping[str, str] = os.environ) -> Ports:
    """The ports that the environment asks for, else the usual ones. Raises DemoRefused."""
    chosen = {}
    for name, usual in asdict(Ports()).items():
        text = environ.get(variable(name), "")
        if text and not (text.isdecimal() and 1024 <= int(text) < 65535):
            raise DemoRefused(f"{variable(name)}={text} is not a port: a number from 1024 to 65534 is needed.")
        chosen[name] = int(text or usual)
    ports = Ports(**chosen)
    if len(ports.list_ports()) < len(Ports().list_ports()):
        said = ", ".join(f"{variable(name)}={port}" for name, port in chosen.items())
        raise DemoRefused(f"Two services of the demo would share a port, for each cluster takes the next one as well: {said}.")
    return ports


def recorded_ports(home: Path) -> Ports:
    """The ports of the last start; the usual ones before the first."""
    file = home / "ports.json"
    return Ports(**json.loads(file.read_text())) if file.exists() else Ports()


def record_ports(home: Path, ports: Ports) -> None:
    """Keeps them for `make stop` and the next `make demo`."""
    home.mkdir(parents=True, exist_ok=True)
    (home / "ports.json").write_text(json.dumps(asdict(ports)))
