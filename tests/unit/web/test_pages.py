"""The pages over made-up snapshots: what they say, what they escape, and how their tables are searched, sorted and paged."""

import math
import re
import sys
from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from html import escape
from html.parser import HTMLParser

import pytest

from kafka_mirror.errors import ErrorReport
from kafka_mirror.errors.runbook import anchor, sections
from kafka_mirror.ledger.control_records import ACCEPT_GAP, PAUSE, Decision
from kafka_mirror.status.airflow_view import AirflowView, Dag
from kafka_mirror.status.snapshot import FlowSnapshot, GroupSnapshot, GroupsSnapshot, SkippedOffsets, StandingDecision
from kafka_mirror.status.throughput import CatchUp
from kafka_mirror.web.tables import failover
from tests.unit.web.made_up import (
    BUSY,
    FLOW,
    GROUPS,
    HEALTHY,
    HOSTILE,
    NOW,
    large,
    made_up,
    partition,
    snapshot,
    stuck,
    topic,
    topic_of,
    with_gap,
)


class Rows(HTMLParser):
    """The rows of the table in the section with an id: the texts of their cells, in one line each."""

    def __init__(self, section: str) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self._section, self._inside, self._cell = section, False, False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "section":
            self._inside = dict(attrs).get("id") == self._section
        if self._inside and tag == "tr":
            self.rows.append([])
        self._cell = self._inside and (tag in ("td", "th") or self._cell)
        if self._inside and tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_endtag(self, tag: str) -> None:
        if tag in ("td", "th"):
            self._cell = False

    def handle_data(self, data: str) -> None:
        if self._cell and self.rows and self.rows[-1]:
            self.rows[-1][-1] = f"{self.rows[-1][-1]} {data.strip()}".strip()


def rows(text: str, section: str = "topics") -> list[list[str]]:
    """The rows of a section's table without its head."""
    parser = Rows(section)
    parser.feed(text)
    return parser.rows[1:]


def names(text: str, section: str = "topics") -> list[str]:
    return [row[0].split(" ")[0] for row in rows(text, section)]


def test_page_says_what_counts_of_a_flow() -> None:
    text = made_up(BUSY).page()

    assert "<strong>Behind, and catching up:</strong> at most 735 records are behind (7.3 kB), the oldest 11 min 40 s old;" in text
    assert "done in about 2 min" in text
    assert "north → east → west" in text
    assert 'href="/dags/east-to-west.copy/runs/scheduled__2" target="_top"' in text
    assert "The values of 1 partition" not in text
    assert "The values of 1 topic carry ids of a schema registry" in text
    assert "schema 1, 7" in text
    assert [row[:3] for row in rows(text)] == [
        ["orders → east.orders", "2 behind", "705"],
        ["clicks → east.clicks", "behind", "30"],
        ["payments → east.payments schema 1, 7", "up to date", "0"],
    ]


def test_groups_say_what_a_failover_now_would_mean() -> None:
    found = {row[0]: row[1] for row in rows(made_up(BUSY).page(), "groups")}
    assert found == {
        "reports": "no position in 2 of 4 partitions",
        HOSTILE: "reads at most 40 records again; 46 ahead of the copy",
        "billing": "exact",
    }
    opened = made_up(BUSY).client().get("/flows/east-to-west", params={"g.open": HOSTILE}).text
    assert "orders-1@7" in opened
    assert "thinned" in opened
    assert names(made_up(BUSY).page("/flows/east-to-west?g.show=inexact"), "groups")[0] == "reports"
    assert len(rows(made_up(BUSY).page("/flows/east-to-west?g.q=BILL"), "groups")) == 1


@pytest.mark.parametrize(
    ("group", "said"),
    [
        (GroupSnapshot("g", 3, 3, beyond_map=2), "exact; counted beyond the offset map in 2 of 3 partitions"),
        (
            GroupSnapshot("g", 2, 1, early=1, reread=9, over_budget=1),
            "reads at most 9 records again; not counted in 1 of 2 partitions, for that would have cost too much",
        ),
    ],
)
def test_groups_say_whether_they_were_counted(group: GroupSnapshot, said: str) -> None:
    assert failover(group) == said


@pytest.mark.parametrize("order, expected", [("%2Bname", ["clicks", "orders", "payments"]), ("-name", ["payments", "orders", "clicks"])])
def test_topics_are_sorted_by_name(order: str, expected: list[str]) -> None:
    assert names(made_up(BUSY).page(f"/flows/east-to-west?t.sort={order}")) == expected


@pytest.mark.parametrize("column", ["lag", "oldest", "bytes", "state", "copied", "partitions", "written", "rate"])
@pytest.mark.parametrize("sign", ["-", "%2B"])
def test_every_column_sorts_and_says_so(column: str, sign: str) -> None:
    text = made_up(BUSY).page(f"/flows/east-to-west?t.sort={sign}{column}")
    way = "descending" if sign == "-" else "ascending"
    head = re.search(rf'aria-sort="(\w+)"><button type="submit" id="t.by-{column}"\s+form="t.sorting" name="t.sort" value="(.)', text)
    assert head
    assert (head[1], head[2]) == (way, "+" if sign == "-" else "-")
    assert len(rows(text)) == 3


def test_what_is_not_known_stands_at_the_end_whichever_way_is_sorted() -> None:
    flow = snapshot(topic("known", 5), topic("unknown", None))
    for sign in ("-", "%2B"):
        assert names(made_up(flow).page(f"/flows/east-to-west?t.sort={sign}lag")) == ["known", "unknown"]


def test_topics_are_searched_by_both_their_names_and_shown_by_what_is_wrong() -> None:
    site = made_up(with_gap())
    assert names(site.page("/flows/east-to-west?t.q=ORD")) == ["orders"]
    assert len(rows(site.page("/flows/east-to-west?t.q=east."))) == 3
    assert names(site.page("/flows/east-to-west?t.show=problems")) == ["orders"]
    assert names(site.page("/flows/east-to-west?t.show=behind")) == ["orders", "clicks"]
    assert names(site.page("/flows/east-to-west?t.show=schemas")) == ["payments"]
    assert "No topic is like that." in site.page("/flows/east-to-west?t.q=nothing")


@pytest.mark.parametrize(
    "nonsense", ["t.page=-3", "t.page=99999999999", "t.page=²", "t.sort=;drop", "t.show=x", "t.open=x&t.opage=z", "x=1"]
)
def test_nonsense_in_the_address_counts_as_not_said(nonsense: str) -> None:
    assert len(rows(made_up(BUSY).page(f"/flows/east-to-west?{nonsense}"))) == 3


def test_five_thousand_partitions_are_paged_here_and_quickly() -> None:
    site, calls = made_up(large()), Counter[str]()
    sys.setprofile(lambda _frame, event, _argument: calls.update([event]))
    try:
        text = site.page("/flows/east-to-west?t.sort=%2Bname&t.page=3")
    finally:
        sys.setprofile(None)

    assert names(text) == [f"topic-{number:04}" for number in range(50, 75)]
    assert "51–75 of 250" in text
    assert len(text) < 150_000
    assert calls["call"] < 4 * 5_000, "the others are counted, and not written"
    assert names(site.page("/flows/east-to-west?t.page=999&t.sort=%2Bname"))[-1] == "topic-0249", "the last page, not none"


def test_partitions_of_a_topic_unfold_and_are_paged_too() -> None:
    site = made_up(snapshot(topic("small", 1), topic("wide", *range(5000))))
    text = site.page("/flows/east-to-west?t.open=wide&t.sort=-lag&t.opage=2")
    assert "Partitions of wide" in text
    assert "26–50 of 5,000" in text
    assert re.findall(r'<th scope="row" class="n">(\d+)</th>', text) == [str(number) for number in range(4974, 4949, -1)]
    assert 'aria-expanded="true"' in text
    assert "Partitions of" not in site.page("/flows/east-to-west?t.sort=-lag")


def test_other_table_keeps_what_it_was_asked_for_when_one_is_sorted() -> None:
    text = made_up(BUSY).page("/flows/east-to-west?t.q=ord&g.q=bill&g.sort=-reread")
    sorting = re.search(r'<form id="t.sorting" data-view>(.*?)</form>', text, re.DOTALL)
    assert sorting
    kept = dict(re.findall(r'name="([^"]+)" value="([^"]+)"', sorting[1]))
    assert kept == {"t.q": "ord", "g.q": "bill", "g.sort": "-reread"}


def test_names_reasons_and_errors_of_other_people_are_text_and_never_markup() -> None:
    error = ErrorReport(HOSTILE, HOSTILE, topic=HOSTILE, partition=0, next=HOSTILE)
    decision = Decision(PAUSE, HOSTILE, NOW, HOSTILE, HOSTILE)
    flow = snapshot(
        topic(HOSTILE, 5),
        errors=(error,),
        groups=GROUPS,
        decisions=(StandingDecision(decision, True),),
        skipped=(SkippedOffsets(HOSTILE, 0, 1, 2, 1, HOSTILE),),
        skipped_in_all=1,
    )
    alert = {
        "key": HOSTILE,
        "kind": HOSTILE,
        "summary": HOSTILE,
        "detail": HOSTILE,
        "next": HOSTILE,
        "since": NOW.isoformat(),
        "flow": FLOW,
    }
    view = replace(HEALTHY, freshness={"time": NOW.isoformat(), "open": [alert]})
    site = made_up(flow, view=view)
    for path in ("/flows/east-to-west", "/flows/east-to-west?t.q=%3Cscript%3Ealert(1)%3C/script%3E&g.q=%22%3E%3Cscript%3E"):
        text = site.page(path)
        assert "<script>alert" not in text
        assert re.findall(r"<script[^>]*>", text) == ['<script src="/static/theme.js">', '<script src="/static/page.js" defer>']
        assert not re.search(r'"[^">]*\s(on\w+)=', text)
    opened = site.client().get("/flows/east-to-west", params={"t.open": HOSTILE, "g.open": HOSTILE}).text
    assert "<script>alert" not in opened
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in opened


def test_error_offers_the_decision_that_it_names_and_many_of_a_topic_are_one() -> None:
    one = made_up(with_gap()).page()
    assert "<strong>Stuck in part:</strong> 1 of 6 partitions: orders-2@300: offsets are gone." in one
    button = re.search(r'data-decision="accept-gap" data-topic="orders"\s+data-partition="(\d*)"', one)
    assert button
    assert button[1] == "2"

    errors = tuple(stuck(number=number) for number in range(30))
    many = made_up(snapshot(topic("orders", 1), errors=errors)).page()
    assert many.count('data-decision="accept-gap"') == 1
    assert re.search(r'data-decision="accept-gap" data-topic="orders"\s+data-partition=""', many), "one decision for all of the topic"
    assert "30 partitions" in many
    assert "and 17 more" in many


def test_an_error_and_what_to_do_stand_once_on_the_page() -> None:
    text = made_up(with_gap()).page()
    assert text.count("orders-2@300: offsets are gone.") == 1
    command = f"<code>{escape(stuck().commands[0], quote=True).replace('&#x27;', '&#39;').replace('&quot;', '&#34;')}</code>"
    assert text.count(command) == text.count(f"If that is right: {command}") == 1, "the command is told from the words around it"
    assert '<a href="#needs">What to do</a>' in text

    two = made_up(snapshot(topic("orders", 1), errors=(stuck(), stuck("RecordRefused", 1)))).page()
    assert two.count("orders-2@300: offsets are gone.") == 1
    assert two.count('<p class="lines">orders-1@300: offsets are gone.</p>') == 1, "the sentence names one error, and the list the others"


def test_what_to_do_stands_with_the_sentence_where_no_list_has_it() -> None:
    text = made_up(BUSY, view=replace(HEALTHY, dags=())).page()
    assert "What to do</a>" not in text
    assert '<p class="do"><strong>Do:</strong>' in text


def test_each_command_has_a_button_that_copies_it() -> None:
    text = made_up(with_gap()).page()
    lines = re.findall(r'<code>([^<]+)</code><button type="button" class="copy" data-line="([^"]+)">Copy</button>', text)
    assert lines
    assert all(shown == copied for shown, copied in lines)


@pytest.mark.parametrize(("seconds", "heading"), [(81.0, "Caught up in"), (0.0, "Caught up"), (None, "Caught up"), (math.inf, "Caught up")])
def test_the_time_until_it_is_caught_up_does_not_read_as_past(seconds: float | None, heading: str) -> None:
    text = made_up(replace(BUSY, catch_up=CatchUp(seconds, "why"))).page()
    assert f"<dt>{heading}</dt>" in text


def test_error_leads_to_its_section_of_the_runbook() -> None:
    site = made_up(with_gap())
    assert re.search(r'<a class="code" href="[^"]*/runbook#sourcegap"[^>]*>SourceGap</a>', site.page())
    runbook = site.page("/runbook")
    assert all(f'<section id="{anchor(code)}"' in runbook for code in sections())
    # A link that cannot write in lower case, such as those of a Grafana table, leads there too.
    assert all(f'<h2 id="{code}"' in runbook for code in sections())
    assert "<code>mirror.on.gap</code>" in runbook
    assert "`" not in runbook


def test_partition_that_unfolds_shows_its_error_and_what_answers_it() -> None:
    text = made_up(with_gap()).page("/flows/east-to-west?t.open=orders")
    partition = text[text.index("Partitions of orders") :]
    assert "orders-2@300: offsets are gone." in partition
    assert 'data-decision="accept-gap"' in partition


def test_partition_that_unfolds_says_which_topics_hold_its_history() -> None:
    shown = topic_of("orders", [partition("orders", 0, history="[0, 48) in history.east.orders-older"), partition("orders", 1)])
    text = made_up(snapshot(shown)).page("/flows/east-to-west?t.open=orders")
    assert text.count("History: [0, 48) in history.east.orders-older") == text.count("History: ") == 1


def test_viewer_reads_everything_and_sees_no_button() -> None:
    text = made_up(with_gap()).page("/flows/east-to-west?t.open=orders", role="viewer")
    assert "offsets are gone" in text
    assert "data-decision" not in text
    assert "<dialog" not in text


def test_standing_decisions_show_who_when_and_why_until_they_are_used_up() -> None:
    standing = Decision(PAUSE, "ada", datetime.now(UTC) - timedelta(minutes=5), "moving house", "orders")
    gone = Decision(ACCEPT_GAP, "bob", NOW, "used up long ago", "clicks", 0, watermark=3)
    flow = replace(BUSY, decisions=(StandingDecision(standing, True), StandingDecision(gone, False)))
    text = made_up(flow).page()
    [[*found, _]] = rows(text, "decided")
    assert (found[:3], found[4]) == (["Pause", "orders", "ada"], "moving house")
    assert found[3].startswith("5 min")
    assert "used up long ago" not in text
    assert 'data-decision="resume" data-topic="orders"' in text


def test_flow_that_nobody_has_looked_at_says_so_and_asks_again_soon() -> None:
    text = made_up(FlowSnapshot(FLOW)).page()
    assert "Being looked at" in text
    assert 'data-refresh="1"' in text
    assert 'data-refresh="5"' in made_up(BUSY).page()


def test_flow_that_was_seen_long_ago_is_not_shown_as_it_were_now_and_asks_again_soon() -> None:
    """Nobody asked overnight: the first page of the morning has what was seen in the evening."""
    old = replace(BUSY, taken=NOW - timedelta(hours=9))
    text = made_up(old).page()
    assert "<strong>Being looked at again:</strong> what was seen last is 9 h" in text
    assert 'data-refresh="1"' in text
    assert 32400 <= int(text.partition('data-age="')[2].partition('"')[0]) < 32500
    overview = made_up(old, replace(BUSY, flow="west->east")).page("/")
    assert 'data-refresh="1"' in overview
    assert 'data-age="324' in overview, "the age of the oldest"
    [short] = made_up(old).client().get("/api/flows").json()["flows"]
    assert short["sentence"].startswith("Being looked at again")


def test_flow_that_cannot_be_seen_now_shows_the_last_good_figures_and_says_of_when() -> None:
    error = ErrorReport("ClusterUnreachable", "Cluster 'east' cannot be reached.", retriable=True, next="Look at its brokers.")
    old = replace(BUSY, taken=NOW - timedelta(minutes=10))
    now = replace(snapshot(errors=(error,)), comparable=False, last_good=old)
    text = made_up(now).page()
    assert "<strong>Stuck:</strong> Cluster &#39;east&#39; cannot be reached. Every run tries again by itself." in text
    assert "The figures below are of" in text
    assert len(rows(text)) == 3


def test_flow_whose_clusters_only_workers_reach_shows_what_freshness_saw_and_says_when() -> None:
    unreachable = ErrorReport("ClusterUnreachable", "Cluster 'west' did not answer at west-1:9092 within 10 s.")
    seen = NOW - timedelta(minutes=10)
    page = made_up(replace(BUSY, taken=seen, not_reached=unreachable)).page()
    assert "Behind, and catching up" in page
    assert "Cluster &#39;west&#39; did not answer at west-1:9092 within 10 s." in page
    assert re.search(r"what the task <code>freshness</code> saw\s+<time[^>]*>10 min[^<]*ago</time>\s*, at [-\d: ]+ UTC", page)
    assert 'class="decide' not in page, "a decision needs a way to the clusters"


def test_overview_has_the_worst_flow_first_and_one_flow_needs_none() -> None:
    fine = replace(snapshot(topic("a", 0)), flow="north->south")
    text = made_up(fine, with_gap()).page("/")
    assert text.index('flows/east-to-west">east') < text.index('flows/north-to-south">north')
    alone = made_up(BUSY).client().get("/", follow_redirects=False)
    assert (alone.status_code, alone.headers["location"]) == (307, "/flows/east-to-west")


def test_configuration_that_is_wrong_is_said_on_the_page() -> None:
    broken = ErrorReport("ConfigurationError", "mm2.properties: clusters is missing.", next="Correct it.")
    assert "clusters is missing" in made_up(errors=(broken,)).page("/")
    flow = FlowSnapshot(FLOW, error=ErrorReport("ConfigurationError", "topics is no regular expression.", next="Correct it."))
    text = made_up(flow).page()
    assert "<strong>Stuck:</strong> topics is no regular expression." in text
    assert "Correct it." in text


def test_json_says_the_same() -> None:
    client = made_up(with_gap()).client("viewer")
    [flow] = client.get("/api/flows").json()["flows"]
    assert (flow["flow"], flow["state"], flow["lag_records"]) == (FLOW, "stuck", 735)
    whole = client.get("/api/flows/east-to-west", params={"t.q": "orders", "t.open": "orders"}).json()
    assert whole["errors"][0]["code"] == "SourceGap"
    assert whole["topics"]["matched"] == 1
    assert [each["state"] for each in whole["topics"]["partitions"]["rows"]].count("gap") == 1
    assert whole["groups"]["total"] == len(GROUPS.groups)


def test_links_and_files_stay_inside_an_airflow_that_has_no_host_of_its_own() -> None:
    from fastapi import FastAPI
    from fastapi.testclient import TestClient

    from kafka_mirror.web.app import PREFIX, create_app

    outside = FastAPI(root_path="/airflow")
    outside.mount(PREFIX, create_app(made_up(BUSY).site))
    text = TestClient(outside).get("/airflow/mirror/flows/east-to-west", headers={"X-Person": "a:viewer", "Accept": "text/html"}).text
    assert 'href="/airflow/mirror/static/page.css"' in text
    assert 'href="/airflow/dags/east-to-west.copy/runs/scheduled__2"' in text


def test_no_group_and_no_heartbeat_are_said_in_words() -> None:
    text = made_up(snapshot(topic("a", 0), groups=GroupsSnapshot(NOW)), view=AirflowView(dags=(Dag("east-to-west.copy", "copy"),))).page()
    assert "No group of the source is translated." in text
    assert "None on the target." in text
    assert "has no run that succeeded" in text


def test_the_newest_copy_with_work_says_how_its_batches_went() -> None:
    said = "done: 5 records, 300 bytes copied; batches of the source: 1 rewritten (a batch is larger than <16 KB>)"
    text = made_up(BUSY, view=replace(HEALTHY, copied=said, copied_by="scheduled__1")).page()
    assert f": {escape(said)}</p>" in text
    assert 'href="/dags/east-to-west.copy/runs/scheduled__1"' in text
    assert "Newest copy with work" not in made_up(BUSY).page(), "none of the newest runs had any"
