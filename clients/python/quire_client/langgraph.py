"""A LangGraph store that keeps its items as memories of a user of Quire.

    store = QuireStore(Quire(), user_id="me")
    store.put(("me", "preferences"), "tea", {"likes": "longjing"})
    graph = builder.compile(store=store)

An item is one memory. Its value is JSON in the memory's metadata, which takes 16,384 characters in all; the text of
its indexed fields is the memory's content, by which Quire's search and recalls find it. Writing an item again stores a
new memory and then erases the old one. A put that is cut off in between, or two at once, can leave both: the newest
counts, and the next put or delete of that key erases the rest. TTLs are not supported.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Generator, Iterable, Mapping
from itertools import islice
from typing import Any, TypeVar

from langgraph.store.base import (
    BaseStore,
    GetOp,
    Item,
    ListNamespacesOp,
    MatchCondition,
    Op,
    PutOp,
    Result,
    SearchItem,
    SearchOp,
    get_text_at_path,
    tokenize_path,
    validate_op_namespace,
)

from quire_client import calls
from quire_client.calls import Call
from quire_client.client import AsyncQuire, Quire
from quire_client.errors import NotFound
from quire_client.shapes import Json

LISTED_AT_ONCE = 200
FOUND_MAX = 100
"""Results of a search by query, before `filter`; of items that say the same, the newest."""

T = TypeVar("T")
Steps = Generator[Call, Any, T]
"""Requests in the order in which they are sent; each is resumed with its answer."""


class QuireStore(BaseStore):
    """The store of one user. `quire` serves the sync methods, `aquire` the async ones; give what you use, or both."""

    def __init__(self, quire: Quire | None = None, aquire: AsyncQuire | None = None, *, user_id: str) -> None:
        self._quire, self._aquire, self._user_id = quire, aquire, user_id

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Run operations: first all reads, then the writes, of which the last for each key counts."""
        if self._quire is None:
            raise ValueError("The store needs a `quire` for its sync methods.")
        steps = _batch(list(ops), self._user_id)
        try:
            call = next(steps)
            while True:
                try:
                    answer = self._quire.send(call)
                except NotFound as error:
                    call = steps.throw(error)
                else:
                    call = steps.send(answer)
        except StopIteration as done:
            return list(done.value)

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Do the same without blocking."""
        if self._aquire is None:
            return await asyncio.to_thread(self.batch, ops)
        steps = _batch(list(ops), self._user_id)
        try:
            call = next(steps)
            while True:
                try:
                    answer = await self._aquire.send(call)
                except NotFound as error:
                    call = steps.throw(error)
                else:
                    call = steps.send(answer)
        except StopIteration as done:
            return list(done.value)


def _batch(ops: list[Op], user_id: str) -> Steps[list[Result]]:
    for op in ops:
        validate_op_namespace(op)
    results: list[Result] = []
    puts: dict[tuple[tuple[str, ...], str], PutOp] = {}
    for op in ops:
        match op:
            case GetOp():
                results.append((yield from _get(op, user_id)))
            case SearchOp():
                results.append((yield from _search(op, user_id)))
            case ListNamespacesOp():
                results.append((yield from _namespaces(op, user_id)))
            case PutOp():
                puts[op.namespace, op.key] = op
                results.append(None)
    for put in puts.values():
        yield from _put(put, user_id)
    return results


def _get(op: GetOp, user_id: str) -> Steps[Item | None]:
    rows = yield from _rows(user_id, namespace=op.namespace, key=op.key)
    return Item(**_fields(rows[0])) if rows else None


def _put(op: PutOp, user_id: str) -> Steps[None]:
    """Replace an item: store first, then erase what was there, the oldest first, so that nothing old comes back."""
    old = yield from _rows(user_id, namespace=op.namespace, key=op.key)
    if op.value is not None:
        text = _text(op)
        kept: Json = {"namespace": op.namespace, "key": op.key, "value": op.value, "is_indexed": bool(text)}
        if old:
            kept["created_at"] = _fields(old[0])["created_at"]
        content = text or json.dumps(op.value, ensure_ascii=False)
        body = {"user_id": user_id, "content": content, "metadata": {"langgraph": kept}}
        yield calls.write("POST", "/memories", None, body)
    for row in reversed(old):
        try:
            yield calls.write("DELETE", f"/memories/{row['memory_key']}", None)
        except NotFound:  # another call has just erased it
            continue


def _search(op: SearchOp, user_id: str) -> Steps[list[SearchItem]]:
    rows = _newest((yield from _rows(user_id, namespace=op.namespace_prefix)))
    rows = [row for row in rows if _is_under(op.namespace_prefix, row) and _is_wanted(_kept(row)["value"], op.filter)]
    scores: dict[str, float | None] = {row["memory_key"]: None for row in rows}
    if op.query and rows:
        narrowed = {"langgraph": {"namespace": op.namespace_prefix, "is_indexed": True}}
        answer = yield calls.ask(
            "/memories/search", user_id=user_id, query=op.query, metadata=narrowed, limit=FOUND_MAX
        )
        scores = {hit["memory_key"]: hit["relevance_score"] for hit in answer["results"]}
    by_key = {row["memory_key"]: row for row in rows}
    found = ((by_key[key], score) for key, score in scores.items() if key in by_key)
    wanted = islice(found, op.offset, op.offset + op.limit)
    return [SearchItem(**_fields(row), score=score) for row, score in wanted]


def _namespaces(op: ListNamespacesOp, user_id: str) -> Steps[list[tuple[str, ...]]]:
    names = {tuple(_kept(row)["namespace"]) for row in (yield from _rows(user_id))}
    matching = {name for name in names if all(_matches(condition, name) for condition in op.match_conditions or ())}
    return sorted({name[: op.max_depth] for name in matching})[op.offset : op.offset + op.limit]


def _rows(user_id: str, **place: Any) -> Steps[list[Json]]:
    """Return the memories of a store, newest first. With a `key` only those of that very item.

    Quire's filter takes a list for a set of its members, so namespaces are compared again.
    """
    found: list[Json] = []
    cursor: str | None = ""
    metadata = json.dumps({"langgraph": place})
    while cursor is not None:
        page = yield calls.read(
            "/memories", user_id=user_id, metadata=metadata, limit=LISTED_AT_ONCE, cursor=cursor or None
        )
        found += page["items"]
        cursor = page["next_cursor"]
    if "key" in place:
        return [row for row in found if tuple(_kept(row)["namespace"]) == place["namespace"]]
    return [row for row in found if "langgraph" in row["metadata"]]


def _newest(rows: Iterable[Json]) -> list[Json]:
    """Return the newest memory of each item."""
    newest: dict[tuple[Any, ...], Json] = {}
    for row in rows:
        newest.setdefault((*_kept(row)["namespace"], _kept(row)["key"]), row)
    return list(newest.values())


def _kept(row: Json) -> Json:
    kept: Json = row["metadata"]["langgraph"]
    return kept


def _fields(row: Json) -> Json:
    kept = _kept(row)
    times = {"created_at": kept.get("created_at", row["created_at"]), "updated_at": row["created_at"]}
    return {"value": kept["value"], "key": kept["key"], "namespace": tuple(kept["namespace"]), **times}


def _text(op: PutOp) -> str:
    """Return the text that a search finds an item by; "" for none."""
    if op.index is False or op.value is None:
        return ""
    if op.index is None:
        return json.dumps(op.value, ensure_ascii=False)
    texts = [text for path in op.index for text in get_text_at_path(op.value, tokenize_path(path))]
    return "\n".join(texts).strip()


def _is_under(prefix: tuple[str, ...], row: Json) -> bool:
    return tuple(_kept(row)["namespace"][: len(prefix)]) == prefix


def _is_wanted(value: Mapping[str, Any], conditions: Mapping[str, Any] | None) -> bool:
    return all(_holds(value.get(name), condition) for name, condition in (conditions or {}).items())


def _holds(value: Any, condition: Any) -> bool:
    """Return whether a value equals a condition, or meets all of its operators, which compare numbers."""
    if not isinstance(condition, dict):
        return bool(value == condition)
    if not any(name.startswith("$") for name in condition):
        return isinstance(value, dict) and _is_wanted(value, condition)
    return all(_compares(value, operator, other) for operator, other in condition.items())


def _compares(value: Any, operator: str, other: Any) -> bool:
    match operator:
        case "$eq":
            return bool(value == other)
        case "$ne":
            return bool(value != other)
        case "$gt" | "$gte" | "$lt" | "$lte":
            return isinstance(value, int | float) and _orders(value, operator, other)
    raise ValueError(f"Unsupported operator: {operator}")


def _orders(value: float, operator: str, other: float) -> bool:
    is_beyond = value > other if operator.startswith("$g") else value < other
    return is_beyond or (operator.endswith("e") and value == other)


def _matches(condition: MatchCondition, name: tuple[str, ...]) -> bool:
    path = condition.path
    if len(name) < len(path):
        return False
    part = name[: len(path)] if condition.match_type == "prefix" else name[len(name) - len(path) :]
    return all(wanted in ("*", label) for wanted, label in zip(path, part, strict=True))
