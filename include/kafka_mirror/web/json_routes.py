"""The routes of the page's content as JSON, for scripts of people on call."""

from dataclasses import asdict
from datetime import UTC, datetime
from math import isfinite
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request

from kafka_mirror.formats.documents import to_document
from kafka_mirror.status.snapshot import PartitionSnapshot, TopicSnapshot
from kafka_mirror.web.auth import Signed, person, require
from kafka_mirror.web.context import Site, name_of, site_of, snapshot_by_id
from kafka_mirror.web.page import FlowSummary, flow_page, summaries
from kafka_mirror.web.pagination import Page
from kafka_mirror.web.topics import TopicTable, records_of

router = APIRouter(prefix="/api", dependencies=[Depends(person)])

OfSite = Annotated[Site, Depends(site_of)]


@router.get("/flows")
def flows(site: OfSite, user: Signed) -> dict[str, Any]:
    """Every flow that the person may read, in short."""
    return {"flows": [_short(summary) for summary in summaries(site, user)]}


@router.get("/flows/{flow_id}")
def flow(request: Request, flow_id: str, site: OfSite, user: Signed) -> dict[str, Any]:
    """One flow; its topics as the page's address asks for them (`t.q`, `t.sort`, `t.page`, `t.open` …)."""
    snapshot = snapshot_by_id(site.snapshots(), flow_id)
    require(site.airflow, user, "GET", name_of(snapshot))
    page = flow_page(site, user, snapshot, request.query_params)
    return {
        **_short(page.flow),
        "errors": to_document(snapshot.errors),
        "alerts": to_document(page.alerts),
        "causes": [cause.what for cause in page.causes],
        "copied": page.flow.view.copied or None,
        "groups": _page(page.groups.page, [{**asdict(group), "exact_now": group.is_exact} for group in page.groups.page.rows]),
        "topics": _topics(page.topics),
    }


def _short(flow: FlowSummary) -> dict[str, Any]:
    observed, now = flow.shown, datetime.now(UTC)
    seconds = observed.catch_up.seconds
    return {
        "flow": flow.snapshot.flow,
        "state": flow.state.level,
        "sentence": f"{flow.state.verdict}: {flow.state.because}",
        "next": flow.state.next.text,
        "taken": flow.snapshot.taken,
        "age_seconds": flow.snapshot.age_seconds(now),
        "lag_records": observed.status.lag if observed.status else None,
        "lag_seconds": observed.status.oldest_seconds if observed.status else None,
        "lag_bytes": observed.bytes_behind,
        "records_per_second": observed.throughput.records,
        "bytes_per_second": observed.throughput.bytes,
        "catch_up_seconds": seconds if seconds is not None and isfinite(seconds) else None,
        "partitions": len(observed.status.partitions) if observed.status else 0,
        "states": observed.status.states if observed.status else {},
    }


def _topics(table: TopicTable) -> dict[str, Any]:
    partitions = None if table.partitions is None else _page(table.partitions, [_partition(row) for row in table.partitions.rows])
    return {**_page(table.page, [_topic(row) for row in table.page.rows]), "open": table.listing.open or None, "partitions": partitions}


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


def _partition(partition: PartitionSnapshot) -> dict[str, Any]:
    status = partition.status
    return {
        "partition": partition.partition,
        "state": status.state,
        "lane": partition.lane,
        "watermark": status.watermark,
        "end": status.end,
        "lag": status.lag,
        "oldest_seconds": status.oldest_seconds,
        "error": to_document(status.error),
    }
