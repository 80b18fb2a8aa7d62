"""Routes of every turn read their path, query and headers themselves, and are served without FastAPI's part.

FastAPI looks at each declared parameter and each dependency anew with every request, which took 130 of a window's 410
µs; its stacks of contexts and its way from router to router took 70 more. So such a route takes the request and its
caller, reads the query as one model, and says by `parameters` what the OpenAPI document is to say of it. It is declared
as all others are, and `served_first` makes of it what serves it. All other routes declare what they take.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import Any, TypeVar, get_type_hints

from fastapi import APIRouter, Request
from fastapi.routing import APIRoute
from pydantic import BaseModel
from starlette.responses import Response
from starlette.routing import Match, Route
from starlette.types import Scope

from app.api.body import parse_model
from app.api.paths import CONVERSATION_ID
from app.api.scope import IDEMPOTENCY_KEY, Needs
from app.core.caller import Caller

Query = TypeVar("Query", bound=BaseModel)


class EveryTurn(Route):
    """A route as Starlette serves it, its caller found first."""

    def __init__(self, declared: APIRoute, needs: Needs) -> None:
        answer: Callable[[Request, Caller], Awaitable[Response]] = declared.endpoint

        async def endpoint(request: Request) -> Response:
            return await answer(request, await needs(request))

        super().__init__(declared.path, endpoint, methods=declared.methods, include_in_schema=False)
        self.methods = declared.methods  # none that FastAPI would not take

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Also says which route it is, for whoever counts."""
        match, found = super().matches(scope)
        return match, {**found, "route": self}


def served_first(routers: Sequence[APIRouter]) -> Iterator[EveryTurn]:
    """Of the routes those that take the request and its caller, and nothing else."""
    for router in routers:
        for route in router.routes:
            if isinstance(route, APIRoute) and (needs := _needs(route.endpoint)) is not None:
                yield EveryTurn(route, needs)


def _needs(endpoint: Callable[..., Awaitable[Response]]) -> Needs | None:
    taken = get_type_hints(endpoint, include_extras=True)
    del taken["return"]
    if taken.pop("request", None) is not Request or list(taken) != ["caller"]:
        return None
    [dependency] = taken["caller"].__metadata__
    assert isinstance(dependency.dependency, Needs)
    return dependency.dependency


def read_query(request: Request, model: type[Query]) -> Query:
    """Raises Invalid. Of a name that is there twice the last value counts."""
    return parse_model(model, dict(request.query_params), ["query"])


def idempotency_key(request: Request) -> str | None:
    """As it was sent; `services.idempotency` says what it may be."""
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
