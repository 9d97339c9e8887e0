"""Templates to HTML. Everything that stands in them is escaped: names of topics and groups, reasons and errors are other people's text."""

import math
from pathlib import Path
from typing import Any

from fastapi import Request
from fastapi.responses import HTMLResponse
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from mirror.decide.request import DECISIONS
from mirror.web import answers, groups, sparkline, topics, words
from mirror.web.access import COPY

PREFIX = "/mirror"
"""Where Airflow's api-server has the application."""

REFRESH_SECONDS = 5
WAITING_SECONDS = 1
"""How often the page asks for itself anew: usually, and while the clusters are looked at for the first time. Asking costs no Kafka call."""

_FOLDER = Path(__file__).parent / "templates"


def _environment() -> Environment:
    made = Environment(loader=FileSystemLoader(_FOLDER), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    made.filters.update(
        number=words.number,
        short_number=words.short_number,
        size=words.size,
        seconds=words.seconds,
        clock=words.clock,
        ago=words.ago,
        plural=words.plural,
        failover=groups.failover,
        topic_state=topics.state_of,
        topic_records=topics.records_of,
        level=topics.level,
        decision_title=answers.title,
        decision_explained=answers.explained,
        needs_topic=answers.needs_topic,
        parts=answers.parts,
    )
    made.globals.update(COPY=COPY, SPARK_WIDTH=sparkline.WIDTH, SPARK_HEIGHT=sparkline.HEIGHT, infinity=math.inf)
    made.globals.update(decisions=DECISIONS, short_number=words.short_number, size_text=words.size, seconds_text=words.seconds)
    return made


_ENVIRONMENT = _environment()


def html(request: Request, template: str, status: int = 200, **facts: Any) -> HTMLResponse:
    """A page. Templates know `root` (where the application is) and `airflow` (where Airflow is), both without a slash at their end."""
    root = str(request.scope.get("root_path", "")).rstrip("/")
    text = _ENVIRONMENT.get_template(template).render(root=root, airflow=root.removesuffix(PREFIX), request=request, **facts)
    return HTMLResponse(text, status)
