"""The status page in a real browser: the real Airflow with its scheduler, PostgreSQL, two clusters, and what people do with it.

The tests follow each other on one stack: a backlog that is copied, a gap that is accepted. What each looks like is kept as a picture in
`.run/screenshots`.
"""

import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from playwright.sync_api import FrameLocator, Page, expect

from mirror.config import load
from mirror.report.pools import pools
from services.airflow import AirflowServices
from services.flows import ClusterPair
from services.kafka import KafkaCluster
from services.oracle import Oracle
from tests.integration.consumers import set_offsets

ROOT = Path(__file__).resolve().parents[2]
PICTURES = ROOT / ".run" / "screenshots"
HOSTILE = "<script>alert(1)</script>"
BACKLOG, SMALL_TOPICS = 30_000, 24
SETTINGS = {
    # Runs begin when a test wants them; those without work would only be in the way of the others.
    "source->target.mirror.copy.interval.seconds": "604800",
    "source->target.mirror.status.refresh.seconds": "5",
    "source->target.mirror.lanes": "2",
    # A run copies a part of the backlog, so that it falls under the eyes of who looks.
    "source->target.mirror.run.max.bytes": "1200000",
    "source->target.mirror.transaction.max.bytes": "250000",
}


@dataclass(frozen=True)
class Shown:
    """A running Airflow, the flow that its page shows, and the clusters behind it."""

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
        """Runs `python -m mirror`."""
        command = [sys.executable, "-m", "mirror", "--config", str(self.configuration), *arguments]
        environment = {**os.environ, "PYTHONPATH": str(ROOT / "include")}
        subprocess.run(command, check=True, env=environment, capture_output=True, timeout=60)

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
        answer = httpx.post(f"{self.airflow.url}/auth/token", json={"username": user, "password": self.airflow.password(user)})
        return {"Authorization": f"Bearer {answer.json()['access_token']}"}


@pytest.fixture(scope="module")
def shown(
    make_airflow: Callable[..., AirflowServices],
    east: KafkaCluster,
    west: KafkaCluster,
    oracle: Oracle,
    services_directory: Path,
    heartbeats_removed: None,
) -> Iterator[Shown]:
    """A flow with a gap, a group with a hostile name, many small topics and a backlog, whose copy is paused."""
    pair = ClusterPair("seen-east", "seen-west", east.bootstrap, west.bootstrap, "seen", services_directory)
    file = pair.properties(extra=SETTINGS, file="seen.properties")
    airflow = make_airflow(
        "seen",
        environment={"MIRROR_CONFIG": str(file), "AIRFLOW__DAG_PROCESSOR__MIN_FILE_PROCESS_INTERVAL": "120"},
        users={"admin": "admin", "eve": "viewer"},
        components=("scheduler", "dag-processor", "api-server"),
    )
    shown = Shown(airflow, pair, oracle, file)
    prepare(shown)
    api = shown.airflow.api()
    api.import_pools(pools(load([file]).flows))
    api.wait_for_dags([f"{shown.flow_id}.copy", f"{shown.flow_id}.freshness"])
    yield shown
    api.pause(f"{shown.flow_id}.copy")
    api.close()


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


@pytest.fixture
def picture(page: Page, request: pytest.FixtureRequest) -> Callable[..., None]:
    """Keeps what the page looks like now."""
    PICTURES.mkdir(parents=True, exist_ok=True)

    def take(name: str, **options: Any) -> None:
        page.screenshot(path=PICTURES / f"{name}.png", **{"full_page": True, **options})

    return take


def behind(page: Page) -> int:
    """The records behind, as the page says them."""
    text = page.locator("#figures dd").first.inner_text()
    return int(text.replace(",", "")) if re.fullmatch(r"[\d,]+", text) else -1


def row(page: "Page | FrameLocator", topic: str) -> Any:
    return page.locator("#topics tbody tr", has=page.get_by_role("button", name=topic, exact=True))


def test_nothing_is_answered_without_a_login_and_the_login_leads_back(shown: Shown, page: Page, picture: Callable[..., None]) -> None:
    for path in ("/mirror/", shown.path, "/mirror/api/flows", "/mirror/static/page.js"):
        assert httpx.get(shown.airflow.url + path).status_code == 401
    page.goto(shown.url("?t.q=holes"))
    picture("0-login")
    shown.log_in(page, parameters="?t.q=holes")
    assert page.url == shown.url("?t.q=holes"), "where they wanted to go"
    expect(page.locator("#t-q")).to_have_value("holes")


def test_page_says_what_is_wrong_why_and_what_to_do(shown: Shown, page: Page, picture: Callable[..., None]) -> None:
    shown.log_in(page)
    expect(page.locator("#state")).to_contain_text(f"Not running: the DAG {shown.flow_id}.copy is paused.")
    expect(page.locator("#state")).to_contain_text("Unpause it.")
    expect(page.locator("#needs")).to_contain_text(f"{shown.pair.topic('holes')}-0")
    expect(page.get_by_role("button", name="Accept the gap…").first).to_be_visible()
    expect(page.locator("#groups tbody tr th").first).to_have_text(HOSTILE)
    expect(page.locator("#heartbeats tbody tr")).not_to_have_count(0)
    assert behind(page) > BACKLOG
    picture("1-paused-with-a-gap")


def test_lag_falls_while_the_copy_runs_without_a_touch(shown: Shown, page: Page, picture: Callable[..., None]) -> None:
    shown.log_in(page)
    api = shown.airflow.api()
    api.unpause(f"{shown.flow_id}.freshness")
    api.unpause(f"{shown.flow_id}.copy")
    for _ in range(2):
        api.trigger(f"{shown.flow_id}.copy")
    seen, deadline = [behind(page)], time.monotonic() + 200
    while seen[-1] > 1000:
        assert time.monotonic() < deadline, f"it did not fall: {seen}"
        page.wait_for_timeout(300)
        if behind(page) not in (seen[-1], -1):
            seen.append(behind(page))
            if len(seen) == 2:
                picture("2-catching-up")
    assert len(seen) > 2, f"it fell in one step: {seen}"
    assert seen == sorted(seen, reverse=True)
    expect(row(page, shown.pair.topic("orders"))).to_contain_text("up to date")
    expect(page.locator("#figures .spark").first).to_be_visible()
    expect(page.locator("#state")).to_contain_text("Stuck in part")
    api.close()


def test_tables_are_searched_sorted_paged_and_unfolded_by_keyboard(shown: Shown, page: Page, picture: Callable[..., None]) -> None:
    shown.log_in(page)
    head = page.get_by_role("columnheader", name="Topic")
    head.get_by_role("button").focus()
    page.keyboard.press("Enter")
    expect(head).to_have_attribute("aria-sort", "ascending")
    expect(page.locator("#topics tbody tr th").first).to_contain_text("heartbeats")
    expect(head.get_by_role("button")).to_be_focused()
    page.keyboard.press("Space")
    expect(head).to_have_attribute("aria-sort", "descending")
    expect(page.locator("#topics tbody tr th").first).to_contain_text(shown.pair.topic(f"small-{SMALL_TOPICS - 1}"))

    page.get_by_role("button", name="Next page of topics").press("Enter")
    expect(page.locator("#topics .pager").first).to_contain_text("2 / 2")
    page.locator("#t-q").press_sequentially("orders", delay=30)
    expect(page.locator("#topics tbody tr")).to_have_count(1)
    expect(page.locator("#t-q")).to_be_focused()
    unfold = page.get_by_role("button", name=shown.pair.topic("orders"), exact=True)
    unfold.press("Enter")
    expect(unfold).to_have_attribute("aria-expanded", "true")
    expect(page.locator("#topics tr.unfolded tbody tr")).to_have_count(6)
    picture("3-unfolded")
    assert "t.q=orders" in page.url, "the address leads here again"
    page.reload()
    expect(page.locator("#topics tr.unfolded tbody tr")).to_have_count(6)


def test_page_refreshes_itself_without_losing_place_words_or_focus(shown: Shown, page: Page) -> None:
    shown.log_in(page)
    page.evaluate("document.documentElement.dataset.refresh = 1; document.dispatchEvent(new Event('visibilitychange'))")
    page.evaluate("document.querySelector('#topics tbody tr').marked = true; scrollTo(0, 300)")
    page.locator("#t-q").focus()
    age = page.locator("#age").get_attribute("data-taken")
    expect(page.locator("#age")).not_to_have_attribute("data-taken", str(age))
    assert page.evaluate("document.querySelector('#topics tbody tr').marked") is True, "rows stay the same elements"
    assert page.evaluate("scrollY") == 300
    expect(page.locator("#t-q")).to_be_focused()


def test_gap_is_accepted_by_a_person_who_sees_first_what_will_happen(shown: Shown, page: Page, picture: Callable[..., None]) -> None:
    holes = shown.pair.topic("holes")
    shown.log_in(page)
    page.get_by_role("button", name="Accept the gap…").first.click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_label("Topic")).to_have_value(holes)
    dialog.get_by_role("button", name="Show what would happen").click()
    expect(dialog).to_be_visible()  # the browser asks for the reason
    dialog.get_by_label("Why").fill(f"expired over Christmas {HOSTILE}")
    picture("4-deciding", full_page=False)
    dialog.get_by_role("button", name="Show what would happen").click()
    expect(dialog).to_contain_text(f"{holes}-0: source offsets [100, 150) are passed over")
    picture("5-confirming", full_page=False)
    dialog.get_by_role("button", name="Confirm: Accept the gap").click()
    expect(dialog).to_contain_text("Decided:")
    picture("6-decided", full_page=False)
    dialog.get_by_role("button", name="Close").click()
    shown.airflow.api().trigger(f"{shown.flow_id}.copy")

    expect(page.locator("#state")).to_contain_text("Fine", timeout=150_000)
    expect(page.locator("#skipped summary")).to_contain_text("50 source offsets passed over")
    expect(page.get_by_role("button", name="Accept the gap…")).to_have_count(0)
    picture("7-fine")
    entries = shown.airflow.api().call("GET", "eventLogs", params={"event": "mirror_decide"})["event_logs"]
    assert [(each["owner"], each["dag_id"]) for each in entries] == [("admin", f"{shown.flow_id}.copy")]
    assert HOSTILE in entries[0]["extra"]
    counts = shown.oracle.count(shown.pair.target_bootstrap, shown.pair.remote(holes))
    assert sum(count.records for count in counts) == 150, "what was there before, and what is left behind the gap"


def test_topic_is_paused_and_resumed_and_a_viewer_only_looks(shown: Shown, page: Page, picture: Callable[..., None]) -> None:
    orders = shown.pair.topic("orders")
    shown.log_in(page)
    page.get_by_role("button", name="Decide…", exact=True).click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Decision").select_option("pause")
    dialog.get_by_label("Topic").fill(orders)
    dialog.get_by_label("Why").fill("moving house")
    dialog.get_by_role("button", name="Show what would happen").click()
    dialog.get_by_role("button", name="Confirm: Pause").click()
    expect(dialog).to_contain_text("Decided:")
    page.keyboard.press("Escape")
    expect(page.locator("#decided tbody tr")).to_contain_text("moving house")
    expect(page.locator("#decided tbody tr")).to_contain_text("admin")

    answer = httpx.post(f"{shown.url()}/decisions", json={"decision": "resume", "topic": orders, "reason": "x"}, headers=shown.token("eve"))
    assert answer.status_code == 403
    cookies = {"_token": shown.token("admin")["Authorization"].removeprefix("Bearer ")}
    for foreign in ({"Sec-Fetch-Site": "cross-site"}, {"Origin": "http://evil.example"}):
        body = {"decision": "resume", "topic": orders, "reason": "x"}
        assert httpx.post(f"{shown.url()}/decisions", json=body, cookies=cookies, headers=foreign).status_code == 403

    page.context.clear_cookies()
    shown.log_in(page, "eve")
    expect(page.locator("#decided tbody tr")).to_contain_text("moving house")
    expect(page.get_by_role("button", name="Decide…")).to_have_count(0)
    expect(page.get_by_role("button", name="Resume…")).to_have_count(0)
    picture("8-viewer")

    page.context.clear_cookies()
    shown.log_in(page)
    page.get_by_role("button", name="Resume…").click()
    dialog.get_by_label("Why").fill("moved")
    dialog.get_by_role("button", name="Show what would happen").click()
    dialog.get_by_role("button", name="Confirm: Resume").click()
    expect(dialog).to_contain_text("Decided:")
    page.keyboard.press("Escape")
    expect(page.locator("#decided")).to_contain_text("None is in force.")


def test_page_in_the_dark_and_on_a_phone(shown: Shown, page: Page, picture: Callable[..., None]) -> None:
    shown.log_in(page)
    background = "getComputedStyle(document.body).backgroundColor"
    page.emulate_media(color_scheme="light")
    light = page.evaluate(background)
    picture("9-light")
    page.emulate_media(color_scheme="dark")
    dark = page.evaluate(background)
    picture("9-dark")
    assert light != dark
    page.evaluate("localStorage.setItem('theme', 'light')")
    page.reload()
    assert page.evaluate(background) == light, "the theme that was chosen in Airflow wins"
    page.evaluate("localStorage.removeItem('theme')")

    page.set_viewport_size({"width": 390, "height": 844})
    page.reload()
    picture("9-phone")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390, "nothing is wider than the phone"


def test_page_in_airflows_frame_works_and_its_links_lead_out_of_it(shown: Shown, page: Page, picture: Callable[..., None]) -> None:
    shown.log_in(page)
    page.goto(shown.airflow.url)
    page.get_by_role("link", name="Mirror").first.click()
    frame = page.frame_locator("iframe")
    expect(frame.get_by_role("heading", level=1)).to_contain_text(shown.pair.flow)
    frame.locator("#t-q").fill("orders")
    expect(frame.locator("#topics tbody tr")).to_have_count(1)
    frame.get_by_role("button", name="Decide…", exact=True).click()
    expect(frame.get_by_role("dialog")).to_be_visible()
    frame.get_by_role("button", name="Cancel").click()
    picture("10-in-airflow", full_page=False)
    frame.locator("#runs a", has_text="copy").first.click()
    page.wait_for_url(re.compile(rf"{re.escape(shown.airflow.url)}/dags/{re.escape(shown.flow_id)}\.copy"))
    expect(page.locator("iframe")).to_have_count(0)
