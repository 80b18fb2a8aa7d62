"""Agents that speak each dialect by its official package, and send back what they were told as such clients do."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

import anthropic
import openai
import pytest

from tests.api.kit import Json
from tests.proxy.kit import KEY

DIALECTS = ("chat", "messages", "responses")


@dataclass(frozen=True)
class Call:
    id: str
    name: str
    arguments: Json


@dataclass(frozen=True)
class Reply:
    text: str
    calls: list[Call]
    usage: tuple[int, int] | None
    """Tokens read and written."""
    reason: str
    """Why it ends, as the dialect says it."""


class Clients:
    """The packages' clients, one for each dialect and address. Anthropic's do not close themselves."""

    def __init__(self, opened: ExitStack) -> None:
        self._opened, self._known = opened, dict[tuple[str, str], Any]()

    def of(self, dialect: str, url: str) -> Any:
        if (dialect, url) not in self._known:
            more: Json = {"api_key": KEY, "max_retries": 0, "timeout": 30}
            made: Any = (
                anthropic.Anthropic(base_url=url, **more) if dialect == "messages"
                else openai.OpenAI(base_url=f"{url}/v1", **more)
            )  # fmt: skip
            self._known[dialect, url] = self._opened.enter_context(made)
        return self._known[dialect, url]


@pytest.fixture(scope="session")
def clients() -> Iterator[Clients]:
    with ExitStack() as opened:
        yield Clients(opened)


@dataclass
class Agent:
    """A client which keeps the list that it sends. Its tools take any arguments."""

    dialect: str
    clients: Clients
    url: str
    streams: bool
    conversation: str = "c"
    model: str = "fake"
    tools: Sequence[str] = ()
    system: str | None = None
    options: Json = field(default_factory=dict)
    headers: Json = field(default_factory=dict)
    said: list[Json] = field(default_factory=list)

    def says(self, text: str) -> Reply:
        self.said.append({"role": "user", "content": text})
        return self._send()

    def returns(self, **results: str) -> Reply:
        """Send the results of calls, by their ids."""
        if self.dialect == "messages":
            blocks = [{"type": "tool_result", "tool_use_id": id_, "content": text} for id_, text in results.items()]
            self.said.append({"role": "user", "content": blocks})
        elif self.dialect == "chat":
            self.said += [{"role": "tool", "tool_call_id": id_, "content": text} for id_, text in results.items()]
        else:
            self.said += [{"type": "function_call_output", "call_id": i, "output": text} for i, text in results.items()]
        return self._send()

    def asks(self, text: str) -> str:
        """Say something, answer every call, and return the last answer's text."""
        reply = self.says(text)
        for _ in range(5):
            if not reply.calls:
                return reply.text
            reply = self.returns(**{call.id: "18C" for call in reply.calls})
        raise AssertionError("the model calls tools without end")

    def _send(self) -> Reply:
        client = self.clients.of(self.dialect, self.url)
        headers = {"X-Quire-Conversation": self.conversation, **self.headers}
        asked = {"model": self.model, **self._tools(), "extra_headers": headers}
        found: Reply = getattr(self, f"_{self.dialect}")(client, asked)
        return found

    def _listed(self, name: str, said: list[Json]) -> Json:
        """The list as it stands: each package would walk all of it through all its types, for seconds in a long one."""
        return {name: [], "extra_body": {**self.options, name: said}}

    def _tools(self) -> Json:
        forms: list[Json]
        schema: Json = {"type": "object", "properties": {}}
        match self.dialect:
            case "chat":
                forms = [{"type": "function", "function": {"name": n, "parameters": schema}} for n in self.tools]
            case "messages":
                forms = [{"name": name, "input_schema": schema} for name in self.tools]
            case _:
                forms = [{"type": "function", "name": n, "parameters": schema, "strict": False} for n in self.tools]
        return {"tools": forms} if forms else {}

    def _chat(self, client: openai.OpenAI, asked: Json) -> Reply:
        system = [{"role": "system", "content": self.system}] if self.system else []
        asked |= self._listed("messages", [*system, *self.said])
        if self.streams:
            with client.chat.completions.stream(**asked) as events:
                answer: Any = events.get_final_completion()
        else:
            answer = client.chat.completions.create(**asked)
        message = answer.choices[0].message
        found = message.model_dump(exclude_none=True, exclude_unset=True)
        kept = {name: found[name] for name in ("role", "content", "tool_calls") if name in found}
        self.said.append({"content": None, **kept})
        calls = [Call(c.id, c.function.name, json.loads(c.function.arguments)) for c in message.tool_calls or []]
        used = (answer.usage.prompt_tokens, answer.usage.completion_tokens) if answer.usage else None
        assert used is None or sum(used) == answer.usage.total_tokens
        return Reply(message.content or "", calls, used, answer.choices[0].finish_reason)

    def _messages(self, client: anthropic.Anthropic, asked: Json) -> Reply:
        system = {"system": self.system} if self.system else {}
        asked = {"max_tokens": 2000, **asked, **system, **self._listed("messages", self.said)}
        if self.streams:
            with client.messages.stream(**asked) as events:
                answer: Any = events.get_final_message()
        else:
            answer = client.messages.create(**asked)
        content = [block for block in answer.content if block.type in ("text", "tool_use")]
        self.said.append({"role": "assistant", "content": [block.model_dump(exclude_none=True) for block in content]})
        calls = [Call(block.id, block.name, block.input) for block in content if block.type == "tool_use"]
        text = "".join(block.text for block in content if block.type == "text")
        return Reply(text, calls, (answer.usage.input_tokens, answer.usage.output_tokens), answer.stop_reason)

    def _responses(self, client: openai.OpenAI, asked: Json) -> Reply:
        asked |= {**self._listed("input", self.said), **({"instructions": self.system} if self.system else {})}
        if self.streams:
            with client.responses.stream(**asked) as events:
                list(events)
                answer: Any = events.get_final_response()
        else:
            answer = client.responses.create(**asked)
        items = [item for item in answer.output if item.type in ("message", "function_call")]
        self.said += [item.model_dump(exclude_none=True, mode="json") for item in items]
        calls = [Call(i.call_id, i.name, json.loads(i.arguments)) for i in items if i.type == "function_call"]
        used = (answer.usage.input_tokens, answer.usage.output_tokens) if answer.usage else None
        return Reply(answer.output_text, calls, used, answer.status)
