"""The application: its routes, the headers of every response, and what it says where it refuses."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from http import HTTPStatus

from fastapi import APIRouter, Depends, FastAPI, HTTPException, Request
from fastapi.responses import JSONResponse, Response
from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException as AnyHttpException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from kafka_mirror.status.snapshot_cache import shared_cache
from kafka_mirror.web.context import Airflow, Site, person, site_of
from kafka_mirror.web.decisions import Decider
from kafka_mirror.web.metrics import metrics_router
from kafka_mirror.web.rendering import PREFIX, html
from kafka_mirror.web.routes import router

__all__ = ["PREFIX", "create_app", "whole_app"]

HEADERS = {
    # frame-ancestors: Airflow shows the page in a frame of its own origin.
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; "
    "form-action 'self'; frame-ancestors 'self'; base-uri 'none'",
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
"""Of every response."""


def create_app(site: Site, open_routers: Sequence[APIRouter] = ()) -> FastAPI:
    """The application. Every route requires a login, but those of `open_routers`, which check access themselves."""

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        site.decider.close()

    app = FastAPI(title="Mirror", docs_url=None, redoc_url=None, openapi_url=None, lifespan=lifespan)
    app.state.site = site
    app.add_middleware(SafeHeaders)
    app.add_exception_handler(AnyHttpException, _show_refusal)
    app.add_exception_handler(Exception, _show_failure)
    for route in (*open_routers, router, _nothing):
        app.include_router(route)
    return app


def whole_app(airflow: Airflow) -> FastAPI:
    """The application with its metrics and with the snapshots of this process."""
    cache = shared_cache(airflow.read_last_check)
    return create_app(Site(airflow, cache, Decider()), [metrics_router(cache)])


_nothing = APIRouter(dependencies=[Depends(person)])


@_nothing.get("/{rest:path}")
def refuse_path(rest: str) -> Response:
    """Any other URL: only who is logged in learns which ones exist."""
    raise HTTPException(404, f"There is nothing at {rest!r}.")


async def _show_refusal(request: Request, error: Exception) -> Response:
    """A refusal, as a page for a person and as JSON for a program."""
    status = error.status_code if isinstance(error, AnyHttpException) else 500
    message = str(error.detail) if isinstance(error, AnyHttpException) else "This failed; the log of Airflow's api-server says why."
    if "text/html" not in request.headers.get("accept", ""):
        return JSONResponse({"message": message, "next": ""}, status, getattr(error, "headers", None))
    login = site_of(request).airflow.make_login_url(str(request.url)) if status == HTTPStatus.UNAUTHORIZED else ""
    title = "Log in" if login else HTTPStatus(status).phrase
    message = "The mirror's status page is for people who are logged in to Airflow." if login else message
    return html(request, "refused.html", status, title=title, message=message, login=login)


async def _show_failure(request: Request, error: Exception) -> Response:
    """An unexpected error; the log of the api-server has its traceback."""
    response = await _show_refusal(request, error)
    response.headers.update(HEADERS)
    return response


class SafeHeaders:
    """ASGI middleware: adds HEADERS to every response."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Passes the request on."""

        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(HEADERS)
            await send(message)

        await self._app(scope, receive, sending if scope["type"] == "http" else send)
