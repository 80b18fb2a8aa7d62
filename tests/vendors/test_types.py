"""What Quire sends is valid by the vendors' own types: rows × dialects × roles × parts.

openai's and anthropic's packages type every member of a request; a member that they do not know is a fault here, unless
the row says that its API has it. mistral-common judges in an environment of its own (`make test-clients`).
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from anthropic.types.beta import message_create_params as anthropic_params
from openai.types.chat import completion_create_params as chat_params
from openai.types.responses import response_create_params as responses_params
from pydantic import TypeAdapter, ValidationError

from app.core.dialects import inbound_chat, inbound_messages, inbound_responses
from app.core.dialects.background import unstored
from app.core.dialects.fitting import fit
from app.core.dialects.question import Dialect, Question, ShownToClient
from app.core.messages import Limits, read
from app.core.models import TABLE, ModelRow
from app.providers.upstream import ASKED

Json = dict[str, Any]
TYPES: dict[Dialect, Any] = {
    "chat": chat_params.CompletionCreateParamsStreaming,
    "messages": anthropic_params.MessageCreateParamsStreaming,
    "responses": responses_params.ResponseCreateParamsStreaming,
}
PYTHON = os.environ.get("QUIRE_FRAMEWORKS_PYTHON")
PNG, PDF, WAV = "iVBORw0KGgo=", "JVBERi0xLjQK", "UklGRiQAAABXQVZF"
TEXT: Json = {"type": "text", "text": "Look."}
CHAT_PARTS: dict[str, list[Json]] = {
    "user": [
        TEXT, {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}", "detail": "low"}},
        {"type": "image_url", "image_url": {"url": "https://x.org/a.png"}},
        {"type": "input_audio", "input_audio": {"data": WAV, "format": "wav"}},
        {"type": "file", "file": {"file_data": f"data:application/pdf;base64,{PDF}", "filename": "a.pdf"}},
        {"type": "file", "file": {"file_id": "file-1"}},
        {"type": "image", "source_type": "base64", "mime_type": "image/png", "data": PNG},
        {"type": "image", "mime_type": "image/png", "base64": PNG}, {"type": "image", "url": "https://x.org/a.png"},
        {"type": "audio", "mime_type": "audio/wav", "base64": WAV}, {"type": "file", "url": "https://x.org/a.pdf"},
        {"type": "file", "source_type": "base64", "mime_type": "application/pdf", "data": PDF, "filename": "a.pdf"},
        {"type": "text-plain", "text": "Plain."}, {"type": "video", "mime_type": "video/mp4", "base64": PDF},
    ],
    "assistant": [TEXT, {"type": "refusal", "refusal": "No."}],
    "tool": [TEXT, {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}"}}],
    "system": [TEXT], "developer": [TEXT],
}  # fmt: skip
BLOCKS: dict[str, list[Json]] = {
    "user": [
        TEXT, {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}},
        {"type": "image", "source": {"type": "url", "url": "https://x.org/a.png"}},
        {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": PDF}, "title": "A"},
        {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "Words."}},
        {"type": "search_result", "source": "https://x.org", "title": "X", "content": [TEXT]},
    ],
    "assistant": [
        TEXT, {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"},
        {"type": "redacted_thinking", "data": "ZGE="},
        {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "q"}},
        {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": [
            {"type": "web_search_result", "url": "https://x.org", "title": "X", "encrypted_content": "ZW5j" * 99}]},
    ],
    "tool": [TEXT, {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}}],
    "system": [TEXT],
}  # fmt: skip
ITEMS: dict[str, list[Json]] = {
    "user": [
        {"type": "input_text", "text": "Look."},
        {"type": "input_image", "image_url": "https://x.org/a.png", "detail": "auto"},
        {"type": "input_image", "file_id": "file-1", "detail": "auto"}, {"type": "input_file", "file_id": "file-1"},
        {"type": "input_file", "file_url": "https://x.org/a.pdf"},
        {"type": "input_file", "filename": "a.pdf", "file_data": f"data:application/pdf;base64,{PDF}"},
    ],
    "assistant": [{"type": "output_text", "text": "Seen.", "annotations": []}, {"type": "refusal", "refusal": "No."}],
    "tool": [{"type": "input_text", "text": "Seen."},
             {"type": "input_image", "image_url": "https://x.org/a.png", "detail": "auto"}],
    "system": [{"type": "input_text", "text": "Look."}], "developer": [{"type": "input_text", "text": "Look."}],
}  # fmt: skip
SCHEMA: Json = {"type": "object", "properties": {"at": {"type": "string"}}}


def chat(role: str, part: Json, model: str) -> Question:
    call = {"id": "call_1", "type": "function", "function": {"name": "look", "arguments": '{"at":"a"}'}}
    user: Json = {"role": "user", "content": "Look.", "name": "Ann"}
    called: Json = {"role": "assistant", "content": None, "tool_calls": [call]}
    messages = [{"role": "system", "content": "Be brief."}, user, called]
    messages.append({"role": "tool", "tool_call_id": "call_1", "content": [part] if role == "tool" else "Seen."})
    messages += [] if role == "tool" else [{"role": role, "content": [part]}]
    tool = {"type": "function", "function": {"name": "look", "parameters": SCHEMA}}
    return inbound_chat.question(
        {"model": model, "messages": [*messages, user], "tools": [tool], "max_tokens": 9, "temperature": 0.5,
         "tool_choice": "auto", "stream": True}
    )  # fmt: skip


def messages(role: str, part: Json, model: str) -> Question:
    used: Json = {"type": "tool_use", "id": "toolu_1", "name": "look", "input": {"at": "a"}}
    result: Json = {"type": "tool_result", "tool_use_id": "toolu_1", "content": [part] if role == "tool" else "Seen."}
    own = [part] if part["type"] not in ("thinking", "redacted_thinking") else [part, TEXT]
    listed = [{"role": "user", "content": "Look."}, {"role": "assistant", "content": [used]}]
    listed.append({"role": "user", "content": [result]})
    listed += [{"role": role, "content": own}] if role in ("user", "assistant") else []
    return inbound_messages.question(
        {"model": model, "messages": [*listed, {"role": "user", "content": "And?"}], "max_tokens": 9, "stream": True,
         "system": [part] if role == "system" else "Be brief.",
         "tools": [{"name": "look", "description": "Look.", "input_schema": SCHEMA}], "tool_choice": {"type": "auto"}}
    )  # fmt: skip


def responses(role: str, part: Json, model: str) -> Question:
    items: list[Json] = [
        {"role": "user", "content": "Look."},
        {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "ZW5j"},
        {"type": "function_call", "call_id": "call_1", "name": "look", "arguments": '{"at":"a"}'},
        {"type": "function_call_output", "call_id": "call_1", "output": [part] if role == "tool" else "Seen."},
    ]
    items += [] if role == "tool" else [{"type": "message", "role": role, "content": [part]}]
    tool = {"type": "function", "name": "look", "parameters": SCHEMA, "strict": False}
    return inbound_responses.question(
        {"model": model, "input": [*items, {"role": "user", "content": "And?"}], "instructions": "Be brief.",
         "tools": [tool], "max_output_tokens": 9, "tool_choice": "auto", "stream": True}
    )  # fmt: skip


CLIENTS = {"chat": (chat, CHAT_PARTS), "messages": (messages, BLOCKS), "responses": (responses, ITEMS)}


def requests(name: str, dialect: Dialect) -> Iterator[tuple[str, Json]]:
    """Yield the requests of a row's model to an API of a dialect, each with what it was made of."""
    row = TABLE.rows[name]
    model = (row.prefixes or ("x",))[0]
    for client, (make, parts) in CLIENTS.items():
        for role in parts:
            for part in parts[role]:
                question, asked = make(role, part, model), ASKED[dialect]
                shown, system, _ = unstored(read(list(question.messages), Limits()), asked.window)
                body = asked.request(question, ShownToClient(shown, system, asked.tools(question)))
                yield f"{client} {role} {part['type']}", fit(row, dialect, body)


@cache
def adapter(dialect: Dialect) -> TypeAdapter[Any]:
    return TypeAdapter(TYPES[dialect])


def problems(dialect: Dialect, body: Json, row: ModelRow) -> list[str]:
    """Return what a vendor's types say against a request: what is wrong, and each member that they do not know.

    anthropic's newest types have no `temperature`, which older models take.
    """
    own = {row.reasoning, row.cache.mark, row.cache.key, *(row.off or {}), *(row.unstreamed or {})}
    own |= {"temperature"} if row.temperature in ("any", "positive") else set()
    own |= {"extra_content"} if (row.reasoning or "").startswith("tool_calls.") else set()
    try:
        return [at for at in unknown(body, adapter(dialect).validate_python(body)) if at.rpartition(".")[2] not in own]
    except ValidationError as error:
        return [f"{'.'.join(map(str, one['loc']))[-120:]}: {one['msg']}" for one in error.errors()[:6]]


def unknown(sent: Any, typed: Any, at: str = "") -> Iterator[str]:
    """Yield the places of members that validation left out, since no type has them."""
    if isinstance(sent, Mapping) and isinstance(typed, Mapping):
        for name, value in sent.items():
            if name not in typed:
                yield f"{at}.{name}"
            else:
                yield from unknown(value, typed[name], f"{at}.{name}")
    elif isinstance(sent, list) and isinstance(typed, Iterable) and not isinstance(typed, str):
        for number, (one, other) in enumerate(zip(sent, typed, strict=True)):
            yield from unknown(one, other, f"{at}.{number}")


@pytest.mark.parametrize("dialect", TYPES)
@pytest.mark.parametrize("name", TABLE.rows)
def test_what_is_sent_is_valid_by_the_vendors_own_types(name: str, dialect: Dialect) -> None:
    row = TABLE.rows[name]
    assert [(made, wrong) for made, body in requests(name, dialect) if (wrong := problems(dialect, body, row))] == []


@pytest.mark.skipif(PYTHON is None, reason="`make test-clients` installs mistral-common and runs this")
def test_mistrals_own_package_takes_what_its_models_are_sent() -> None:
    lines = [json.dumps(one) for name in TABLE.rows if "mistral" in name for one in requests(name, "chat")]
    judge = Path(__file__).parents[1] / "frameworks" / "mistral_types.py"
    done = subprocess.run(
        [str(PYTHON), str(judge)], input="\n".join(lines), capture_output=True, text=True, check=True, timeout=120
    )
    assert done.stdout == ""
