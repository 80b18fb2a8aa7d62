"""The OpenAPI document: FastAPI's, with our problems and the bodies that FastAPI does not know."""

import base64
import hashlib
import re
from collections.abc import Sequence
from typing import Any

import anyio.to_thread
from fastapi import APIRouter, FastAPI, Request
from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRoute
from pydantic.json_schema import models_json_schema
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from app.api.http import body, model_api_errors, problem
from app.api.http.callers import Needs
from app.api.http.document import DOCUMENT
from app.api.http.writes import Writes
from app.core.edge.caller import KeyScope

TAGS, SECURITY_SCHEMES = DOCUMENT["tags"], DOCUMENT["security"]


INLINE = re.compile(rb"<script>(.*?)</script>", re.DOTALL)
POLICY = (
    "default-src 'none'; script-src 'self' {scripts}; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
"""Swagger UI styles its elements as it goes, and its pictures stand in its style sheet."""

EXAMPLES: dict[str, Any] = DOCUMENT["examples"]
"""What "Try it out" fills in: the conversation and the user of the bodies' examples. An id that Quire makes cannot be
known before; its example only has the right form.
"""


def install(app: FastAPI, routers: Sequence[APIRouter]) -> None:
    """Replace `app.openapi`. The document is made at its first use, in a thread, because it takes a quarter of a
    second.
    """

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            app.openapi_schema = _document(app, routers)
        return app.openapi_schema

    async def document(request: Request) -> Response:
        await anyio.to_thread.run_sync(app.openapi)
        made: Response = await declared[specification](request)
        return made

    async def page(request: Request) -> Response:
        made: Response = await declared["/docs"](request)
        made.headers["Content-Security-Policy"] = policy(bytes(made.body))
        return made

    specification = str(app.openapi_url)
    declared = {route.path: route.endpoint for route in app.routes if isinstance(route, Route)}
    app.openapi = openapi  # type: ignore[method-assign]
    anew = {specification: document, "/docs": page, str(app.swagger_ui_oauth2_redirect_url): None}
    routes: list[BaseRoute] = [Route(path, answer, include_in_schema=False) for path, answer in anew.items() if answer]
    routes += [route for route in app.router.routes if not (isinstance(route, Route) and route.path in anew)]
    app.router.routes[:] = routes


def policy(page: bytes) -> str:
    """Return the Content-Security-Policy of the API's page, which allows our script files and its inline scripts."""
    hashes = (base64.b64encode(hashlib.sha256(script).digest()).decode() for script in INLINE.findall(page))
    return POLICY.format(scripts=" ".join(f"'sha256-{one}'" for one in hashes))


def _document(app: FastAPI, routers: Sequence[APIRouter]) -> dict[str, Any]:
    document = get_openapi(
        title=app.title, version=app.version, summary=app.summary, description=app.description, routes=_routes(routers),
        tags=app.openapi_tags,
    )  # fmt: skip
    schemas = document.setdefault("components", {}).setdefault("schemas", {})
    for name in ("HTTPValidationError", "ValidationError"):
        schemas.pop(name, None)
    schemas["Problem"] = problem.SCHEMA
    schemas |= model_api_errors.SCHEMAS
    models = [(model, "validation") for model in body.BODY_MODELS.values()]
    _, definitions = models_json_schema(models, ref_template="#/components/schemas/{model}")  # type: ignore[arg-type]
    schemas.update(definitions.get("$defs", {}))
    document["components"]["securitySchemes"] = SECURITY_SCHEMES
    declared = {(r.path_format, method.lower()): r for r in _routes(routers) for method in r.methods or ()}
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            if "description" in operation:
                first_sentence = re.split(r"\.(?:\s|$)", operation["description"], maxsplit=1)[0]
                operation["summary"] = first_sentence.replace("\n", " ")
            _answer_with_problems(operation["responses"], path)
            _add_examples(operation)
            operation["operationId"] = declared[path, method].name  # a good name of a method in generated clients
            if (scope := _scope(declared[path, method])) is not None:
                operation["security"] = [{"bearer": [scope]}, {"header": [scope]}, {}]
    return document


def _routes(routers: Sequence[APIRouter]) -> list[APIRoute]:
    return [route for router in routers for route in router.routes if isinstance(route, APIRoute)]


def _scope(route: APIRoute) -> KeyScope | None:
    needs = [
        dependency.call for dependency in route.dependant.dependencies if isinstance(dependency.call, Needs | Writes)
    ]
    return needs[0].scope if needs else None


def _add_examples(operation: dict[str, Any]) -> None:
    """Fill in required parameters, a user (without one, searches fail and lists are long) and an end for streams."""
    for parameter in operation.get("parameters", ()):
        name = parameter["name"]
        wanted = parameter["in"] == "path" or (
            parameter["in"] == "query" and (parameter["required"] or name in ("user_id", "wait"))
        )
        if wanted and name in EXAMPLES:
            parameter["example"] = EXAMPLES[name]


ANTHROPIC = ("/v1/messages",)
"""Paths whose clients read errors in Anthropic's shape."""


def _answer_with_problems(responses: dict[str, Any], path: str) -> None:
    kind, name = problem.MEDIA_TYPE, "Problem"
    if path.startswith(model_api_errors.PREFIX):
        kind, name = "application/json", "AnthropicError" if path.startswith(ANTHROPIC) else "OpenAIError"
    content = {kind: {"schema": {"$ref": f"#/components/schemas/{name}"}}}
    responses.pop("422", None)
    responses["4XX"] = {"description": "The request is wrong; see `detail`.", "content": content}
    responses["5XX"] = {"description": "An error in Quire or its database; retry.", "content": content}
