"""The recall tools: list and run them."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query
from starlette.responses import Response

from app.api.http.answers import json_text, json_value
from app.api.http.body import is_media_type, json_body, read_model, read_text
from app.api.http.callers import READS
from app.api.http.document import DOCUMENT
from app.api.http.path_ids import ConversationId
from app.api.http.writes import WriteByReader
from app.api.schemas import tools as schemas
from app.core.canonical import dumps
from app.core.edge.caller import Caller
from app.core.model import Language
from app.recall import tools
from app.recall.tools import REMEMBER, ToolFormat
from app.runtime import Runtime
from app.services.idempotency import IdempotencyKey
from app.services.tools import attp, memory_tool, tool_calls
from app.services.tools.memory_tool import MemoryCall
from app.services.tools.remember import remember

router = APIRouter(tags=["tools"])


@router.post(
    "/conversations/{conversation_id}/tools/{name}",
    response_model=schemas.ToolResult,
    openapi_extra=json_body(schemas.ToolCallBody, {"arguments": {"page": 2}}),
)
async def call_tool(write: WriteByReader, conversation_id: ConversationId, name: str) -> Response:
    """Run a recall tool that the model called; append `content` as the tool's result. Counts as a recall.

    A model's mistake (a page that does not exist) is not an HTTP error: `is_error` is true and `content` says what
    works. `remember` keeps what a person said in the conversation, and proposes anything else. `memory` is Anthropic's
    memory tool (`memory_20250818`): its files are those of the conversation's user or space. Both need the scope write.
    """
    body = await write.body(schemas.ToolCallBody)
    idempotency = await write.idempotency()
    if name == memory_tool.NAME:
        wanted = MemoryCall(conversation_id, body.arguments, write.caller.user_id)
        if wanted.writes:
            write.caller.require("write")
        return json_text(await memory_tool.run(write.runtime, write.caller.tenant, wanted, idempotency))
    if name == REMEMBER.name:
        write.caller.require("write")
        return await _remember(write.runtime, write.caller, conversation_id, body.arguments, idempotency)
    call = tool_calls.checked(name, body.arguments)
    return json_text(await tool_calls.run_once(write.runtime, write.caller, conversation_id, call, idempotency))


async def _remember(
    runtime: Runtime, caller: Caller, conversation_id: str, arguments: dict[str, Any], key: IdempotencyKey | None
) -> Response:
    if key is not None and (stored := await key.find_response(runtime.database, caller.tenant)) is not None:
        return json_text(stored)
    asking = await tool_calls.asker(runtime, caller.tenant, caller.user_id, conversation_id, sensitive=caller.sensitive)
    answer = await remember(asking, arguments, bound_to=caller.user_id)
    said = dumps({"name": REMEMBER.name, "content": answer.content, "is_error": answer.is_error})
    return json_text(await tool_calls.keep(asking, [answer], said, key))


ATTP_EXAMPLE = DOCUMENT["attp"]
ATTP_BODY = json_body(schemas.AttpBody, {"document": ATTP_EXAMPLE})
ATTP_BODY["requestBody"]["content"]["application/toml"] = {
    "schema": {"type": "string"}, "example": ATTP_EXAMPLE,
}  # fmt: skip


@router.post("/conversations/{conversation_id}/attp", response_model=schemas.AttpResult, openapi_extra=ATTP_BODY)
async def run_attp(write: WriteByReader, conversation_id: ConversationId) -> Response:
    """Run an ATTP document: TOML with a thought and either code that calls the recall tools or a final message.

    Send the document as a JSON member, or by itself as `application/toml`. Its code is Starlark, run within limits in
    a process that reaches only the recall tools. Errors in the document or the code set `is_error`, and `content`
    says how to fix them.
    """
    if is_media_type(write.request, "application/toml", "text/plain"):
        document = await read_text(write.request)
    else:
        document = (await read_model(write.request, schemas.AttpBody)).document
    idempotency = await write.idempotency(document)
    return json_text(await attp.run_once(write.runtime, write.caller, conversation_id, document, idempotency))


@router.get("/tools", response_model=schemas.ToolSchemas, dependencies=[READS])
async def list_tools(
    format: Annotated[ToolFormat, Query(description="form of the schemas")] = "openai",  # noqa: A002
    language: Annotated[Language, Query(description="language of the descriptions")] = "en",
) -> Response:
    """List the recall tools with all arguments, and their guide for a system prompt.

    `window` names the tools that windows include by themselves, in a shorter form.
    """
    return json_value(
        {
            "format": format,
            "tools": tools.schemas(format, language=language),
            "prompt": tools.prompt(format),
            "window": [tool.name for tool in tools.WINDOW_TOOLS],
        }
    )
