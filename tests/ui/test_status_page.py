"""The status page in a real browser: the real Airflow with its scheduler, PostgreSQL, two clusters, and what people do with it.

The tests follow each other on one stack: a backlog that is copied, a gap that is accepted. What each looks like is kept as a picture in
`.run/screenshots`.
"""

import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from playwright.sync_api import Page, Route, expect

from services.airflow import AirflowServices
from services.flows import ClusterPair
from services.kafka import KafkaCluster
from services.oracle import Oracle
from tests.ui.flow_page import BACKLOG, HOSTILE, PATIENCE, ROOT, SETTINGS, SMALL_TOPICS, Shown, behind, prepare, row

PICTURES = ROOT / ".run" / "screenshots"


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
        environment={"MIRROR_CONFIG": str(file)},
        users={"admin": "admin", "eve": "viewer"},
        components=("scheduler", "dag-processor", "api-server"),
    )
    shown = Shown(airflow, pair, oracle, file)
    prepare(shown)
    api = shown.airflow.api()
    api.wait_for_dags([f"{shown.flow_id}.copy", f"{shown.flow_id}.freshness"])
    yield shown
    api.pause(f"{shown.flow_id}.copy")
    api.close()


@pytest.fixture
def picture(page: Page, request: pytest.FixtureRequest) -> Callable[..., None]:
    """Keeps what the page looks like now."""
    PICTURES.mkdir(parents=True, exist_ok=True)

    def take(name: str, **options: Any) -> None:
        page.screenshot(path=PICTURES / f"{name}.png", **{"full_page": True, **options})

    return take


def test_nothing_is_answered_without_a_login_and_the_login_leads_back(shown: Shown, page: Page, picture: Callable[..., None]) -> None:
    for path in ("/mirror/", shown.path, "/mirror/api/flows", "/mirror/static/page.js"):
        assert httpx.get(shown.airflow.url + path, timeout=PATIENCE).status_code == 401
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
    copy = page.locator("#needs button.copy").first
    expect(copy).to_have_attribute("data-line", re.compile(r" decide accept-gap --flow "))
    copy.click()
    expect(copy).to_have_text("Copied")
    expect(page.locator("#groups tbody tr th").first).to_have_text(HOSTILE)
    expect(page.locator("#heartbeats tbody tr")).not_to_have_count(0)
    assert behind(page) > BACKLOG
    picture("1-paused-with-a-gap")


def test_an_error_leads_to_its_section_of_the_runbook_below_the_bar(shown: Shown, page: Page) -> None:
    shown.log_in(page)
    page.locator("#needs a.code").first.click()
    expect(page).to_have_url(re.compile(r"/mirror/runbook#sourcegap$"))
    expect(page.locator("#sourcegap")).to_be_in_viewport()
    top, bar = page.evaluate("['#sourcegap', '#bar'].map((each) => document.querySelector(each).getBoundingClientRect())")
    assert top["top"] >= bar["bottom"]


def test_lag_falls_while_the_copy_runs_without_a_touch(shown: Shown, page: Page, picture: Callable[..., None]) -> None:
    shown.log_in(page)
    api = shown.airflow.api()
    api.unpause(f"{shown.flow_id}.freshness")
    api.unpause(f"{shown.flow_id}.copy")
    deadline = time.monotonic() + 250
    while behind(page) < 0:  # the first snapshot is being taken
        assert time.monotonic() < deadline, "the page has no figures"
        page.wait_for_timeout(300)
    seen = [behind(page)]
    while seen[-1] > 1000:
        assert time.monotonic() < deadline, f"it did not fall: {seen}"
        page.wait_for_timeout(300)
        if behind(page) not in (seen[-1], -1):
            seen.append(behind(page))
            if len(seen) == 2:  # what the first run copied was seen before the next ones begin
                picture("2-catching-up")
                for _ in range(2):
                    api.trigger(f"{shown.flow_id}.copy")
    assert len(seen) > 2, f"it fell in one step: {seen}"
    assert seen == sorted(seen, reverse=True)
    expect(row(page, shown.pair.topic("orders"))).to_contain_text("up to date")
    page.locator("#chart svg").hover()
    expect(page.locator("#under")).to_have_text(re.compile(r"^\d\d:\d\d:\d\d UTC: lag .*, .* records/s copied$"))
    page.get_by_role("button", name="6 h").click()
    expect(page.get_by_role("button", name="6 h")).to_have_attribute("aria-pressed", "true")
    assert "span=6h" in page.url
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
    assert sum(count.records for count in counts) == 150, "the records that were there before, and those after the gap"


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

    body = {"decision": "resume", "topic": orders, "reason": "x"}
    answer = httpx.post(f"{shown.url()}/decisions", json=body, headers=shown.token("eve"), timeout=PATIENCE)
    assert answer.status_code == 403
    cookies = {"_token": shown.token("admin")["Authorization"].removeprefix("Bearer ")}
    for foreign in ({"Sec-Fetch-Site": "cross-site"}, {"Origin": "http://evil.example"}):
        answer = httpx.post(f"{shown.url()}/decisions", json=body, cookies=cookies, headers=foreign, timeout=PATIENCE)
        assert answer.status_code == 403

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


def test_page_knows_its_age_though_the_clock_of_the_browser_is_wrong(shown: Shown, page: Page) -> None:
    page.clock.set_system_time("2001-01-01T00:00:00Z")
    shown.log_in(page)
    assert page.evaluate("new Date().getFullYear()") == 2001
    expect(page.locator("#age .since")).to_have_text(re.compile(r"^\d+ s ago$"))


def test_answer_that_comes_when_the_dialog_is_about_something_else_is_nobodys(shown: Shown, page: Page) -> None:
    held: list[Route] = []
    shown.log_in(page)
    page.route("**/decisions", lambda route: held.append(route))
    decide, dialog = page.get_by_role("button", name="Decide…", exact=True), page.get_by_role("dialog")
    decide.click()
    dialog.get_by_label("Decision").select_option("pause")
    dialog.get_by_label("Topic").fill(shown.pair.topic("orders"))
    dialog.get_by_label("Why").fill("it was meant otherwise")
    dialog.get_by_role("button", name="Show what would happen").click()
    expect(dialog).to_contain_text("Asking both clusters")
    page.keyboard.press("Escape")
    decide.click()
    expect(dialog).not_to_contain_text("Asking both clusters")
    expect(dialog.get_by_role("button", name="Show what would happen")).to_be_enabled()
    with page.expect_response("**/decisions") as answer:
        held[0].continue_()
    assert answer.value.status == 200
    page.evaluate("fetch(location.href).then((answer) => answer.text())")  # what came before it is dealt with by then
    expect(dialog.get_by_label("Why")).to_have_value("")
    expect(dialog).not_to_contain_text("This would happen")


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
