"""The same as JSON, for scripts of people on call."""

from dataclasses import asdict
from datetime import UTC, datetime
from math import isfinite
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request

from mirror.report.snapshot import PartitionSnapshot, TopicSnapshot
from mirror.web.access import Signed, person, require
from mirror.web.listing import Page
from mirror.web.page import Summary, flow_page, summaries
from mirror.web.site import Site, name_of, site_of, snapshot_by_id
from mirror.web.topics import TopicTable, records_of

router = APIRouter(prefix="/api", dependencies=[Depends(person)])

OfSite = Annotated[Site, Depends(site_of)]


@router.get("/flows")
def flows(site: OfSite, who: Signed) -> dict[str, Any]:
    """Every flow that the person may read, in short."""
    return {"flows": [_short(each) for each in summaries(site, who)]}


@router.get("/flows/{flow_id}")
def flow(request: Request, flow_id: str, site: OfSite, who: Signed) -> dict[str, Any]:
    """One flow; its topics as the page's address asks for them (`t.q`, `t.sort`, `t.page`, `t.open` …)."""
    snapshot = snapshot_by_id(site.snapshots(), flow_id)
    require(site.airflow, who, "GET", name_of(snapshot))
    page = flow_page(site, who, snapshot, request.query_params)
    return {
        **_short(page.flow),
        "errors": [each.as_dict() for each in snapshot.errors],
        "alerts": [each.as_document() for each in page.alerts],
        "causes": [cause.what for cause in page.causes],
        "groups": _page(page.groups.page, [{**asdict(each), "exact_now": each.is_exact} for each in page.groups.page.rows]),
        "topics": _topics(page.topics),
    }


def _short(flow: Summary) -> dict[str, Any]:
    shown, now = flow.shown, datetime.now(UTC)
    seconds = shown.catch_up.seconds
    return {
        "flow": flow.snapshot.flow,
        "state": flow.state.level,
        "sentence": f"{flow.state.verdict}: {flow.state.because}",
        "next": flow.state.next,
        "taken": flow.snapshot.taken,
        "age_seconds": flow.snapshot.age_seconds(now),
        "lag_records": shown.status.lag if shown.status else None,
        "lag_seconds": shown.status.oldest_seconds if shown.status else None,
        "lag_bytes": shown.bytes_behind,
        "records_per_second": shown.throughput.records,
        "bytes_per_second": shown.throughput.bytes,
        "catch_up_seconds": seconds if seconds is not None and isfinite(seconds) else None,
        "partitions": len(shown.status.partitions) if shown.status else 0,
        "states": shown.status.states if shown.status else {},
    }


def _topics(table: TopicTable) -> dict[str, Any]:
    opened = None if table.partitions is None else _page(table.partitions, [_partition(each) for each in table.partitions.rows])
    return {**_page(table.page, [_topic(each) for each in table.page.rows]), "open": table.asked.open or None, "partitions": opened}


def _page(page: Page[Any], rows: list[dict[str, Any]]) -> dict[str, Any]:
    return {"rows": rows, "page": page.number, "pages": page.pages, "matched": page.matched, "total": page.total}


def _topic(topic: TopicSnapshot) -> dict[str, Any]:
    return {
        "topic": topic.topic,
        "remote": topic.remote,
        "partitions": len(topic.partitions),
        "states": topic.states,
        "lag": topic.lag,
        "oldest_seconds": topic.oldest_seconds,
        "bytes_behind": topic.bytes_behind,
        "records": records_of(topic),
        "schema_ids": list(topic.schema_ids.ids) if topic.schema_ids else None,
    }


def _partition(each: PartitionSnapshot) -> dict[str, Any]:
    status = each.status
    return {
        "partition": each.partition,
        "state": status.state,
        "lane": each.lane,
        "watermark": status.watermark,
        "end": status.end,
        "lag": status.lag,
        "oldest_seconds": status.oldest_seconds,
        "error": status.error.as_dict() if status.error else None,
    }
