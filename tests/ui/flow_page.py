"""A running Airflow with the flow whose page is shown, and what the page has to show of it."""

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
from playwright.sync_api import FrameLocator, Page, expect

from services.airflow import AirflowServices
from services.consumers import set_offsets
from services.flows import ClusterPair
from services.oracle import Oracle

ROOT = Path(__file__).resolve().parents[2]
HOSTILE = "<script>alert(1)</script>"
BACKLOG, SMALL_TOPICS = 30_000, 24
PATIENCE = 60  # seconds for an answer of the api-server, which on a busy machine answers no request while it starts
SETTINGS = {
    # Runs begin when a test wants them; those without work would only be in the way of the others.
    "source->target.mirror.copy.interval.seconds": "604800",
    "source->target.mirror.status.refresh.seconds": "5",
    "source->target.mirror.lanes": "2",
    # A run copies a part of the backlog, so that the page shows it under way.
    "source->target.mirror.run.max.bytes": "1200000",
    "source->target.mirror.transaction.max.bytes": "250000",
}


@dataclass(frozen=True)
class Shown:
    """A running Airflow, the flow that its page shows, and the flow's clusters."""

    airflow: AirflowServices
    pair: ClusterPair
    oracle: Oracle
    configuration: Path

    @property
    def flow_id(self) -> str:
        return f"{self.pair.source}-to-{self.pair.target}"

    @property
    def path(self) -> str:
        return f"/mirror/flows/{self.flow_id}"

    def url(self, parameters: str = "") -> str:
        return f"{self.airflow.url}{self.path}{parameters}"

    def mirror(self, *arguments: str) -> None:
        """Runs `python -m kafka_mirror`."""
        command = [sys.executable, "-m", "kafka_mirror", "--config", str(self.configuration), *arguments]
        environment = {**os.environ, "PYTHONPATH": str(ROOT / "include")}
        subprocess.run(command, check=True, env=environment, capture_output=True, timeout=180)

    def log_in(self, page: Page, user: str = "admin", parameters: str = "") -> None:
        """As somebody who opens a bookmark of the page does it."""
        page.goto(self.url(parameters))
        page.get_by_role("link", name="Log in to Airflow").click()
        page.fill("input[name=username]", user)
        page.fill("input[name=password]", self.airflow.password(user))
        page.click("button[type=submit]")
        expect(page.get_by_role("heading", level=1)).to_contain_text(self.pair.flow)

    def token(self, user: str) -> dict[str, str]:
        """The header of a program that logged in."""
        login = {"username": user, "password": self.airflow.password(user)}
        answer = httpx.post(f"{self.airflow.url}/auth/token", json=login, timeout=PATIENCE)
        return {"Authorization": f"Bearer {answer.json()['access_token']}"}


def prepare(shown: Shown) -> None:
    """What the page has to show."""
    source, pair, oracle = shown.pair.source_bootstrap, shown.pair, shown.oracle
    for number in range(SMALL_TOPICS):
        oracle.create_topic(source, pair.topic(f"small-{number:02}"), partitions=1)
    holes, orders = pair.topic("holes"), pair.topic("orders")
    oracle.create_topic(source, holes, partitions=1)
    oracle.create_topic(source, orders, partitions=6)
    oracle.produce(source, holes, 100, seed=1)
    oracle.produce(source, orders, 600, seed=2)
    shown.mirror("copy", "--without-spark")
    shown.mirror("heartbeats")
    set_offsets(source, HOSTILE, {(orders, 0): 50})
    oracle.produce(source, holes, 100, seed=3)
    oracle.delete_records(source, holes, {0: 150})
    oracle.produce(source, orders, BACKLOG, seed=4)


def behind(page: Page) -> int:
    """The records behind, as the page says them."""
    text = page.locator("#figures dd").first.inner_text()
    return int(text.replace(",", "")) if re.fullmatch(r"[\d,]+", text) else -1


def row(page: "Page | FrameLocator", topic: str) -> Any:
    return page.locator("#topics tbody tr", has=page.get_by_role("button", name=topic, exact=True))
