"""The OpenAPI document: FastAPI's own, with our problems and the bodies that FastAPI does not see."""

from collections.abc import Callable
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRoute
from pydantic.json_schema import models_json_schema

from app.api import body, problem

TAGS = [
    {"name": "messages", "description": "Turns in, window out."},
    {"name": "conversations", "description": "Conversations and their parts."},
    {"name": "notes", "description": "What is always in view."},
    {"name": "archive", "description": "Large tool results, kept whole."},
    {"name": "memories", "description": "Search over everything that was said or archived."},
    {"name": "users", "description": "A user's data as a whole: taken out, put in, erased."},
    {"name": "tools", "description": "What a model recalls with."},
    {"name": "jobs", "description": "What is done in the background, and what could not be."},
    {"name": "operations", "description": "Is it up, is it ready, how is it doing."},
]


def operation_id(route: APIRoute) -> str:
    """Function names: they are unique, short and what a generated client should call."""
    return route.name


def builder(app: FastAPI) -> Callable[[], dict[str, Any]]:
    """A replacement for `app.openapi`; the document is made once."""

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            app.openapi_schema = _document(app)
        return app.openapi_schema

    return openapi


def _document(app: FastAPI) -> dict[str, Any]:
    document = get_openapi(
        title=app.title,
        version=app.version,
        summary=app.summary,
        description=app.description,
        routes=app.routes,
        tags=app.openapi_tags,
    )
    schemas = document.setdefault("components", {}).setdefault("schemas", {})
    for name in ("HTTPValidationError", "ValidationError"):
        schemas.pop(name, None)
    schemas["Problem"] = problem.SCHEMA
    models = [(model, "validation") for model in body.BODY_MODELS.values()]
    _, definitions = models_json_schema(models, ref_template="#/components/schemas/{model}")  # type: ignore[arg-type]
    schemas.update(definitions.get("$defs", {}))
    for operations in document["paths"].values():
        for operation in operations.values():
            _answer_with_problems(operation["responses"])
    return document


def _answer_with_problems(responses: dict[str, Any]) -> None:
    content = {problem.MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}
    responses.pop("422", None)
    responses["4XX"] = {"description": "The request cannot be served as it is.", "content": content}
    responses["5XX"] = {"description": "Something is wrong on our side; try again.", "content": content}
