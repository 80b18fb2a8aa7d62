"""Fast routes: routes of every turn read path, query and headers themselves and bypass FastAPI's machinery.

FastAPI analyses each declared parameter and dependency again for every request, which took 130 of a window's 410 µs;
its nested contexts and the search through the routers took 70 more. So such a route takes only the request and its
caller, reads the query as one model, and documents it with `parameters` for OpenAPI. It is declared like any other
route and with `every_turn`; `served` makes the route that serves it. All other routes declare their parameters.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import cache, partial
from typing import Any, TypeAlias, TypeVar, get_origin, get_type_hints

from fastapi import APIRouter, Request
from fastapi.routing import APIRoute
from pydantic import BaseModel
from starlette.responses import Response
from starlette.routing import BaseRoute, Match, Route
from starlette.types import Scope

from app.api.http.body import parse_model
from app.api.http.callers import IDEMPOTENCY_KEY, Needs, look_up
from app.api.http.path_ids import BRANCH, CONVERSATION_ID, query_of
from app.api.http.query_members import of_route
from app.core.edge.caller import Caller
from app.postgres.admission import Admission

Query = TypeVar("Query", bound=BaseModel)
Endpoint: TypeAlias = Callable[[Request, Caller], Awaitable[Response]]

_FAST: dict[Endpoint, Needs] = {}


class EveryTurn(Route):
    """A route as Starlette serves it, its caller found first."""

    def __init__(self, declared: APIRoute, needs: Needs) -> None:
        answer: Callable[[Request, Caller], Awaitable[Response]] = declared.endpoint

        # What is about a conversation begins with a statement; others may ask a model first.
        begins_with_statement = CONVERSATION_ID["name"] in declared.param_convertors

        async def endpoint(request: Request) -> Response:
            if not begins_with_statement:
                return await answer(request, await needs(request))
            async with Admission(partial(look_up, request)):
                return await answer(request, await needs(request))

        super().__init__(declared.path, endpoint, methods=declared.methods, include_in_schema=False)
        self.methods = declared.methods  # none that FastAPI would not take
        self.known = of_route(declared)

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        match, child_scope = super().matches(scope)
        return match, {**child_scope, "route": self}


def every_turn(endpoint: Endpoint) -> Endpoint:
    """Declare a fast route. Its endpoint takes `request` and `caller`, nothing else."""
    _FAST[endpoint] = _needs(endpoint)
    return endpoint


def served(routers: Sequence[APIRouter]) -> list[BaseRoute]:
    """Return the routes as they are served: those of every turn first, since routes are tried in order."""
    declared = [route for router in routers for route in router.routes]
    fast = [route for route in declared if isinstance(route, APIRoute) and route.endpoint in _FAST]
    return [*(EveryTurn(one, _FAST[one.endpoint]) for one in fast), *(one for one in declared if one not in fast)]


def _needs(endpoint: Endpoint) -> Needs:
    taken = get_type_hints(endpoint, include_extras=True)
    assert list(taken) == ["request", "caller", "return"], f"{endpoint.__name__} takes more than request and caller"
    [dependency] = taken["caller"].__metadata__
    assert isinstance(dependency.dependency, Needs)
    return dependency.dependency


def read_query(request: Request, model: type[Query]) -> Query:
    """Read the query. Raises Invalid. If a name occurs twice, the last value counts; of a list all do."""
    given, lists = query_of(request), _lists(model)
    own = {n: given.getlist(n) if n in lists else given[n] for n in given if n != BRANCH["name"]}
    return parse_model(model, own, ["query"], strict=False)


@cache
def _lists(model: type[BaseModel]) -> frozenset[str]:
    return frozenset(name for name, field in model.model_fields.items() if get_origin(field.annotation) is list)


def idempotency_key(request: Request) -> str | None:
    """Return the header as sent; `services.idempotency` validates it."""
    return request.headers.get(IDEMPOTENCY_KEY["name"])


def parameters(*own: dict[str, Any], query: type[BaseModel] | None = None) -> dict[str, Any]:
    """Return the `openapi_extra` of a route that reads these parameters and this query.

    Those that are required come first. Objects among a query's members are left out: only a body can have them.
    """
    schema = query.model_json_schema() if query is not None else {"properties": {}}
    members = ((name, of) for name, of in schema["properties"].items() if of.get("type") != "object")
    shown = [_parameter(name, of, required=name in schema.get("required", ())) for name, of in members]
    return {"parameters": [*own, *sorted(shown, key=lambda one: not one["required"])]}


def _parameter(name: str, schema: dict[str, Any], *, required: bool) -> dict[str, Any]:
    shown = {key: value for key, value in schema.items() if (key, value) != ("default", None)}
    parameter = {"name": name, "in": "query", "required": required, "schema": shown}
    return {**parameter, "description": schema["description"]} if "description" in schema else parameter
