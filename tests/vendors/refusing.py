"""Model APIs that refuse one thing of a request's form, in the words of one vendor or another.

A rule holds for one model's name. Apart from it the API is one of ``strict_vendors``.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse

from tests.api.kit import Json
from tests.vendors import strict_vendors

PATHS = {"chat/completions": "chat", "messages": "messages", "responses": "responses"}
NEEDED = {
    "model", "messages", "input", "role", "content", "type", "text", "name", "id", "function", "arguments",
    "tool_calls", "tool_call_id", "call_id", "output", "tool_use_id", "parameters", "input_schema", "tools", "stream",
    "system", "instructions", "max_tokens",
}  # fmt: skip
"""Without these no request is one."""
WORDS = (
    "Unknown parameter: '{path}'.",
    "Unsupported parameter: '{name}' is not supported with this model.",
    "{path}: Extra inputs are not permitted",
    'json: unknown field "{name}"',
    "property '{path}' is unsupported",
    "Additional properties are not allowed ('{name}' was unexpected)",
    "Unrecognized request argument supplied: {name}",
    "参数 {name} 不支持",
    "Invalid value for `{name}`: this field cannot be given here.",
)
FORMS = ("openai", "no param", "list", "detail", "sentence in param", "flat", "string", "anthropic", "500", "in 200")


@dataclass
class Rule:
    """What an API refuses, from its nth request on."""

    kind: str
    """``member``: one that the request has. ``once``: the request, whatever is in it, one time."""
    form: str
    words: str
    since: int
    seed: int
    seen: int = 0
    member: tuple[str, ...] = ()
    """The names of the steps to it, chosen of those that are sent."""
    refusals: int = 0
    log: list[str] = field(default_factory=list)

    def objects_to(self, body: Json) -> tuple[str, str] | None:
        """Return the place and the name of what is refused of a request."""
        self.seen += 1
        if self.seen < self.since:
            return None
        if self.kind == "once":
            named = "tools" if self.seed % 2 else "frobnicate"
            return (named, named) if self.refusals == 0 else None
        wanted = needed_by(strict_vendors.vendor_of(None, body["model"], None))
        found = sorted({(n, path) for n, path in members(body) if n[-1] not in NEEDED and wanted.isdisjoint(n)})
        if not self.member and found:
            self.member = random.Random(self.seed).choice(sorted({names for names, _ in found}))
        return next(((path, names[-1]) for names, path in found if names == self.member), None)


def needed_by(vendor: Json) -> frozenset[str]:
    """Return the members with the reasoning that an API wants back: it does not refuse them too."""
    if not vendor["needs"]:
        return frozenset()
    held = {"signature", "reasoning", "summary", "encrypted_content", "include", "extra_content", "google"}
    return frozenset({*held, *vendor["seal"], vendor["details"], vendor["gives"] or ""})


def members(body: Any, names: tuple[str, ...] = (), path: str = "") -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield every member of a request. What is in a schema, or is an argument, is the client's own."""
    if isinstance(body, list):
        for at, item in enumerate(body):
            yield from members(item, names, f"{path}[{at}]")
    elif isinstance(body, dict):
        for name, value in body.items():
            here = (*names, name), f"{path}.{name}" if path else name
            yield here
            if name not in ("parameters", "input_schema", "metadata") and (name != "input" or not names):
                yield from members(value, *here)


def told(rule: Rule, path: str, name: str) -> tuple[int, object]:  # noqa: PLR0911
    """Return a status and a body that refuse a member."""
    said = rule.words.format(path=path, name=name)
    match rule.form:
        case "openai":
            return 400, {"error": {"message": said, "type": "invalid_request_error", "param": path, "code": None}}
        case "no param":
            return 400, {"error": {"message": said, "type": "BadRequestError", "param": None, "code": 400}}
        case "list":
            return 400, [{"error": {"code": 400, "message": said, "status": "INVALID_ARGUMENT"}}]
        case "detail":
            steps = path.replace("[", ".").replace("]", "").split(".")
            place = ["body", *(int(step) if step.isdigit() else step for step in steps)]
            return 422, {"detail": [{"type": "extra_forbidden", "loc": place, "msg": "Extra inputs are not permitted"}]}
        case "sentence in param":
            return 400, {"error": {"code": "400", "message": "Param Incorrect", "param": said, "type": ""}}
        case "flat":
            return 400, {"object": "error", "message": said, "type": "BadRequestError", "param": None, "code": 400}
        case "string":
            return 400, {"error": said}
        case "anthropic":
            return 400, {"type": "error", "error": {"type": "invalid_request_error", "message": said}}
        case "500":
            return 500, {"error": {"code": 500, "message": f"Jinja Exception: {said}", "type": "server_error"}}
    return 200, {"error": {"code": 400, "message": said}}


strict_vendors.row("own-messages", "zz-messages", like="kimi-coding")
strict_vendors.row("own-responses", "zz-responses", like="openai-responses")
strict_vendors.row("own-chat", "zz-trail", like="openai", gives="thought_trail", needs="calls", thinks=True)


class Refusing:
    """The APIs, and the rules of their models."""

    def __init__(self) -> None:
        self.rules: dict[str, Rule] = {}

    def app(self) -> FastAPI:
        app = FastAPI(openapi_url=None)
        for path, dialect in PATHS.items():
            app.add_api_route(f"/v1/{path}", self._asking(dialect), methods=["POST"])
        return app

    def _asking(self, dialect: str) -> Any:
        async def ask(request: Request) -> Response:
            body = await request.json()
            rule = self.rules[body["model"]]
            refused = rule.objects_to(body)
            if refused is not None:
                rule.refusals += 1
                status, said = told(rule, *refused)
                rule.log.append(json.dumps(said, ensure_ascii=False))
                return JSONResponse(said, status)
            vendor = strict_vendors.vendor_of(None, body["model"], None)
            status, answer, stream = strict_vendors.handle(dialect, vendor, body)
            if status != 200:
                rule.log.append(f"by its own rule: {answer}")
            if stream is not None:
                return StreamingResponse(strict_vendors.flow(stream), media_type="text/event-stream")
            return JSONResponse(answer, status)

        return ask
