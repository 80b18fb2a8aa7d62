"""One rule for every route with a caller: its query has no unknown member, and numbers in query and path are digits.

FastAPI ignores unknown members, so `limt=5` would mean no limit, and accepts everything that Python's ``int`` does:
`1_0`, blanks, a sign. The rule does not apply to ``/v1``, where clients of other APIs send their own members.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, get_args

from fastapi import Request
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute

from app import errors
from app.errors import FieldError

FOREIGN = ("/v1/", "/ui")
"""Paths where the query is not ours to judge, or not the API's."""
_NUMBER = re.compile(r"-?[0-9]+", re.ASCII)


@dataclass(frozen=True, slots=True)
class KnownMembers:
    """The members that a route accepts, in its query and its path."""

    query: frozenset[str]
    numbers: frozenset[str]
    """Members of the query or the path that are whole numbers."""


_BY_ENDPOINT: dict[Any, KnownMembers] = {}
"""What routes take, by their endpoint: there are as many as routes."""


def check(request: Request) -> None:
    """Check the query and the numbers of a request. Raises Invalid."""
    route = request.scope.get("route")
    if not isinstance(getattr(route, "known", route), KnownMembers | APIRoute):
        return
    known = _known(route)
    is_plain = not request.scope["query_string"] and known.numbers.isdisjoint(request.path_params)
    if is_plain or request.scope["path"].startswith(FOREIGN):
        return
    given = request.query_params
    found: list[FieldError] = [
        {"loc": ["query", name[:100]], "msg": "is not known here"} for name in given if name not in known.query
    ]
    for kind, values in (("query", given), ("path", request.path_params)):
        wrong = (n for n in sorted(known.numbers & values.keys()) if not _NUMBER.fullmatch(str(values[n])))
        found.extend({"loc": [kind, name], "msg": "must be a whole number"} for name in wrong)
    if found:
        raise errors.Invalid(errors=found)


def _known(route: Any) -> KnownMembers:
    if isinstance(own := getattr(route, "known", None), KnownMembers):
        return own
    if (found := _BY_ENDPOINT.get(route.endpoint)) is None:
        found = _BY_ENDPOINT[route.endpoint] = of_route(route)
    return found


def of_route(route: APIRoute) -> KnownMembers:
    """Return the members that a route declares as parameters or in its part of the OpenAPI document."""
    declared = list(_declared(route.dependant))
    shown = (route.openapi_extra or {}).get("parameters", ())
    query = {p["name"]: _is_whole(str(p["schema"])) for p in shown if p["in"] == "query"}
    query |= {field.alias: _is_number(field) for kind, field in declared if kind == "query"}
    paths = {field.alias for kind, field in declared if kind == "path" and _is_number(field)}
    return KnownMembers(frozenset(query), frozenset(name for name, number in query.items() if number) | paths)


def _is_whole(schema: str) -> bool:
    return "integer" in schema and "date-time" not in schema


def _declared(dependant: Dependant) -> Iterator[tuple[str, Any]]:
    for field in dependant.query_params:
        yield "query", field
    for field in dependant.path_params:
        yield "path", field
    for inner in dependant.dependencies:
        yield from _declared(inner)


def _is_number(field: Any) -> bool:
    annotation = field.field_info.annotation
    return annotation is int or int in get_args(annotation)
