"""Routes of every turn read their path, query and headers themselves.

FastAPI looks at each declared parameter and each dependency anew with every request, which took 130 of a window's 410
µs. So such a route takes the request and its caller, reads the query as one model, and says by `parameters` what the
OpenAPI document is to say of it. All other routes declare what they take.
"""

from __future__ import annotations

from typing import Any, TypeVar

from fastapi import Request
from pydantic import BaseModel

from app.api.body import parse_model
from app.api.paths import CONVERSATION_ID
from app.api.scope import IDEMPOTENCY_KEY

Query = TypeVar("Query", bound=BaseModel)


def read_query(request: Request, model: type[Query]) -> Query:
    """Raises Invalid. Of a name that is there twice the last value counts."""
    return parse_model(model, dict(request.query_params), ["query"])


def idempotency_key(request: Request) -> str | None:
    """As it was sent; `flows.once` says what it may be."""
    return request.headers.get(IDEMPOTENCY_KEY["name"])


def parameters(query: type[BaseModel] | None = None, *, keyed: bool = False) -> dict[str, Any]:
    """`openapi_extra` of a route of one conversation that reads this query and, `keyed`, an Idempotency-Key."""
    asked = query.model_json_schema()["properties"] if query is not None else {}
    return {
        "parameters": [
            CONVERSATION_ID,
            *(_parameter(name, schema) for name, schema in asked.items()),
            *([IDEMPOTENCY_KEY] if keyed else []),
        ]
    }


def _parameter(name: str, schema: dict[str, Any]) -> dict[str, Any]:
    shown = {key: value for key, value in schema.items() if (key, value) != ("default", None)}
    found = {"name": name, "in": "query", "required": False, "schema": shown}
    return {**found, "description": schema["description"]} if "description" in schema else found
