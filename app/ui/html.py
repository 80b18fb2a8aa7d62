"""Templates, and the answers they become."""

from __future__ import annotations

import json
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import quote, urlencode

import anyio.to_thread
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from app import __version__, errors
from app.core.model import Language
from app.ui import language
from app.ui.shown import shown
from app.ui.words import translate

SECURITY = {
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",  # with no-referrer, browsers would not say where our own forms come from
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
PRIVATE = {**SECURITY, "Cache-Control": "no-store", "Vary": "Accept-Language, Cookie"}


def _finalize(value: Any) -> Any:
    """Make a template expression's value printable, before it is escaped."""
    if value is None:
        return ""
    return shown(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _percent(value: float) -> str:
    return f"{value:.0f} %" if value >= 10 or value == 0 else f"{value:.1f} %"


def _moment(value: str | datetime) -> str:
    text = value if isinstance(value, str) else value.isoformat()
    return text[:16].replace("T", " ")


def _dollars(value: float | None) -> str:
    return "–" if value is None else f"${value:,.4f}"


def _pretty(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=1)


ENVIRONMENT = Environment(
    loader=PackageLoader("app.ui"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
    finalize=_finalize,
)
ENVIRONMENT.filters |= {
    "number": "{:,}".format, "percent": _percent, "moment": _moment, "dollars": _dollars, "pretty": _pretty,
}  # fmt: skip
ENVIRONMENT.tests["plain"] = lambda text: shown(text) == text
"""A text that can be edited: it has no characters that pages spell out."""


@dataclass(frozen=True, slots=True)
class Addresses:
    """Addresses inside the inspector, wherever the app is mounted."""

    root: str

    def __call__(self, *segments: object, **query: object) -> str:
        return f"{self.root}{self.call('ui', *segments, **query)}"

    def call(self, *segments: object, **query: object) -> str:
        """Return a path of the API, below where the app is mounted."""
        path = "".join(f"/{quote(str(segment), safe='')}" for segment in segments)
        given = {name: value for name, value in query.items() if value not in (None, "")}
        return f"{path}?{urlencode(given)}" if given else path

    def api(self, path: str) -> str:
        return f"{self.root}{path}"

    def conversation(self, conversation_id: str, *rest: object, **query: object) -> str:
        return self("conversations", conversation_id, *rest, **query)


def addresses(request: Request) -> Addresses:
    return Addresses(str(request.scope.get("root_path", "")).rstrip("/"))


def inside(url: Addresses, target: str | None, else_to: str | None = None) -> str:
    """Return where a form leads: an address inside the inspector, else another one or its first page."""
    home, there = url(), target or ""
    is_inside = there == home or there.startswith((f"{home}/", f"{home}?"))
    return there if is_inside and there.isprintable() and "\\" not in there else else_to or home


async def page(request: Request, template: str, *, status: int = 200, **values: Any) -> Response:
    """Render a page in the requested language, in a thread because a long one takes a while."""
    chosen = language.language(request)
    parameters = [(name, value) for name, value in request.query_params.multi_items() if name != "lang"]
    common = {
        "lang": chosen,
        "t": _translator(chosen),
        "url": addresses(request),
        "path": request.url.path,
        "base": str(request.base_url).rstrip("/"),
        "other_language": f"?{urlencode([*parameters, ('lang', 'en' if chosen == 'zh' else 'zh')])}",
        "version": __version__,
        "section": None,
        "viewer": None,
        "heading": None,
    }
    body = await anyio.to_thread.run_sync(_render, template, {**common, **values})
    response = Response(body, status, media_type="text/html")
    if language.asked(request):
        response.set_cookie(
            language.COOKIE, chosen, path=addresses(request)(), max_age=31_536_000, httponly=True, samesite="strict"
        )
    return response


def _render(template: str, values: dict[str, Any]) -> bytes:
    return ENVIRONMENT.get_template(template).render(values).encode("utf-8", "replace")


def _translator(chosen: Language) -> Callable[..., str]:
    def t(text: str, **values: object) -> str:
        return translate(text, chosen).format(**values) if values else translate(text, chosen)

    return t


Handler = Callable[[Request], Coroutine[Any, Any, Response]]


class HtmlRoute(APIRoute):
    """A route whose errors are HTML pages, and whose responses all carry the headers of SECURITY."""

    def get_route_handler(self) -> Handler:
        inner = super().get_route_handler()

        async def handler(request: Request) -> Response:
            try:
                response = await inner(request)
            except errors.Unauthorized:
                here = request.url.path + (f"?{request.url.query}" if request.url.query else "")
                response = RedirectResponse(addresses(request)("sign-in", next=here), 303)
            except errors.QuireError as error:
                response = await _error_page(request, error)
            except RequestValidationError:
                response = await _error_page(request, errors.Invalid("The address contains an invalid part."))
            for name, value in PRIVATE.items():
                response.headers.setdefault(name, value)
            return response

        return handler


async def _error_page(request: Request, error: errors.QuireError) -> Response:
    return await page(request, "error.html", status=error.status, error=error, heading=error.title)


def query_of(request: Request, names: Mapping[str, int]) -> dict[str, str]:
    """Return the query parameters by name, "" for missing ones. Raises Invalid for one that is too long."""
    values = {}
    for name, longest in names.items():
        value = request.query_params.get(name, "").strip()
        if len(value) > longest or "\x00" in value:
            raise errors.Invalid(f"`{name}` must have at most {longest} characters and no U+0000.")
        values[name] = value
    return values
