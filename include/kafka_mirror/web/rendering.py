"""Templates to HTML. Every value is escaped: names of topics and groups, reasons and errors are other people's text."""

import math
from pathlib import Path
from typing import Any

from fastapi import Request
from fastapi.responses import HTMLResponse
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from kafka_mirror.decide.request import DECISIONS
from kafka_mirror.errors.next_step import program
from kafka_mirror.errors.runbook import anchor
from kafka_mirror.errors.words import count_text
from kafka_mirror.status.airflow_view import COPY
from kafka_mirror.web import chart, decisions, formatting, tables

PREFIX = "/mirror"
"""The application's path in Airflow's api-server."""

REFRESH_SECONDS = 5
WAITING_SECONDS = 1
"""The page reloads this often: usually, and while the clusters are looked at for the first time. A reload costs no Kafka call."""

_FOLDER = Path(__file__).parent / "templates"


def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(_FOLDER), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters.update(
        number=formatting.number,
        short_number=formatting.short_number,
        size=formatting.size,
        seconds=formatting.seconds,
        clock=formatting.clock,
        ago=formatting.ago,
        count_text=count_text,
        failover=tables.failover,
        topic_state=tables.state_of,
        topic_records=tables.records_of,
        level=tables.level,
        decision_title=decisions.title,
        decision_explained=decisions.explain_decision,
        needs_topic=decisions.needs_topic,
        anchor=anchor,
        code_spans=decisions.code_spans,
    )
    environment.globals.update(
        COPY=COPY,
        program=program,
        CHART_WIDTH=chart.WIDTH,
        CHART_HEIGHT=chart.HEIGHT,
        SPANS=chart.SPANS,
        LEVELS=chart.LEVELS,
        infinity=math.inf,
        decisions=DECISIONS,
    )
    return environment


_ENVIRONMENT = _environment()


def html(request: Request, template: str, status: int = 200, **facts: Any) -> HTMLResponse:
    """A page. Templates know `root` (where the application is) and `airflow` (where Airflow is), both without a slash at their end."""
    root = str(request.scope.get("root_path", "")).rstrip("/")
    text = _ENVIRONMENT.get_template(template).render(root=root, airflow=root.removesuffix(PREFIX), request=request, **facts)
    return HTMLResponse(text, status)
