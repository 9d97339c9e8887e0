"""What every answer and every change is held to: headers that let nothing foreign in, and no change from another site."""

from urllib.parse import urlsplit

from fastapi import HTTPException, Request
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})

# frame-ancestors: Airflow shows the page in a frame of its own origin.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; "
    "form-action 'self'; frame-ancestors 'self'; base-uri 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


class SafeHeaders:
    """ASGI middleware: the headers above on every answer."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Passes the request on."""

        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(HEADERS)
            await send(message)

        await self._app(scope, receive, sending if scope["type"] == "http" else send)


def same_origin(request: Request) -> None:
    """A dependency: refuses a change that a page of another site may have sent with the cookie of whoever is logged in.

    Airflow has no CSRF token, so the request has to show where it comes from: an Authorization header, which no page can add to a foreign
    request, or the browser's own word (Sec-Fetch-Site, else Origin).
    """
    if request.method not in SAFE_METHODS and not _ours(request.headers):
        raise HTTPException(403, "A change is taken from a page of this Airflow alone, or with a Bearer token; this request shows neither.")


def _ours(headers: Headers) -> bool:
    if headers.get("authorization", "").lower().startswith("bearer "):
        return True
    site = headers.get("sec-fetch-site")
    if site is not None:
        return site == "same-origin"
    origin = headers.get("origin")
    return origin is not None and bool(headers.get("host")) and urlsplit(origin).netloc == headers["host"]
