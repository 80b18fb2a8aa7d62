"""One talk as each tool stores it: request, call, result, answer.

Those in `written/` were written by the tools themselves, from a model on loopback (OpenCode 1.18.33, Cline 3.0.65), by
their own recorder (Gemini CLI 0.61.0) or by their SDK's types (Copilot 1.0.27). The others are made by hand from the
shape of real files.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from quire_command.files.reading import Document, document

Json = dict[str, Any]
WHEN = "2025-10-03T12:00:00Z"


def node(name: str, parent: str | None, role: str, *parts: Any, **more: Any) -> Json:
    content = more.pop("content", {"content_type": "text", "parts": list(parts)})
    message = {"id": name, "author": {"role": role}, "content": content, "create_time": 1_700_000_000.25, **more}
    return {"id": name, "parent": parent, "children": [], "message": message}


def chatgpt(*nodes: Json, current: str | None) -> list[Json]:
    root: Json = {"id": "root", "parent": None, "children": [], "message": None}
    mapping = {one["id"]: one for one in (root, *nodes)}
    return [{"conversation_id": "c1", "title": "Tea", "mapping": mapping, "current_node": current}]


CHATGPT = chatgpt(
    node("u", "root", "user", "Plot it"),
    node("old", "u", "assistant", "An answer that was replaced"),
    node("think", "u", "assistant", content={"content_type": "thoughts", "thoughts": []}),
    node("run", "think", "assistant", content={"content_type": "code", "text": "plot()"}, recipient="python"),
    node("ran", "run", "tool", content={"content_type": "execution_output", "text": "done"}),
    node("a", "ran", "assistant", "Here it is"),
    current="a",
)
CLAUDE_AI = [
    {
        "uuid": "c2",
        "name": "Tea",
        "chat_messages": [
            {"uuid": "m1", "sender": "human", "text": "Plot it", "created_at": "2025-10-03T12:00:00.5Z",
             "attachments": [{"file_name": "a.csv", "extracted_content": "1,2"}]},
            {"uuid": "m2", "sender": "assistant", "content": [
                {"type": "thinking", "thinking": "hm"},
                {"type": "tool_use", "id": "t", "name": "python", "input": {"input": "plot()"}, "message": None},
                {"type": "tool_result", "tool_use_id": "t", "content": [{"type": "text", "text": "done"}]},
                {"type": "text", "text": "Here it is", "start_timestamp": "x"},
            ]},
        ],
    }
]  # fmt: skip


def line(uuid: str, parent: str | None, role: str, content: Any, **more: Any) -> Json:
    return {"type": role, "uuid": uuid, "parentUuid": parent, "sessionId": "c3", "timestamp": "2025-10-03T12:00:00.1Z",
            "message": {"role": role, "content": content, "usage": {}}, **more}  # fmt: skip


CLAUDE_CODE = [
    {"type": "summary", "summary": "Tea", "leafUuid": "x"},
    line("0", "root", "user", "A prompt that was taken back"),
    line("00", "0", "assistant", [{"type": "text", "text": "Its answer"}]),
    line("1", "root", "user", "Plot it"),
    line("2", "1", "assistant", [{"type": "tool_use", "id": "t1", "name": "python", "input": {"input": "plot()"}}]),
    line("3", "2", "assistant", [{"type": "tool_use", "id": "t2", "name": "Task", "input": {}}]),
    line("s", None, "user", "said to a sub-agent", isSidechain=True),
    line("4", "2", "user", [{"type": "tool_result", "tool_use_id": "t1", "content": "done"}], toolUseResult={"a": 1}),
    line("5", "3", "user", [{"type": "tool_result", "tool_use_id": "t2", "content": "ok"}]),
    line("6", "5", "assistant", [{"type": "text", "text": "Here it is"}]),
    line("6", "5", "assistant", [{"type": "text", "text": "Here it is"}]),
]


def item(kind: str, **payload: Any) -> Json:
    return {"timestamp": "2025-10-03T12:00:00.1Z", "type": "response_item", "payload": {"type": kind, **payload}}


CODEX = [
    {"timestamp": "2025-10-03T12:00:00Z", "type": "session_meta", "payload": {"id": "c4", "cwd": "/p"}},
    item("message", role="user", content=[{"type": "input_text", "text": "Plot it"}]),
    {"timestamp": "2025-10-03T12:00:00Z", "type": "event_msg", "payload": {"type": "token_count"}},
    item("reasoning", summary=[], encrypted_content="x"),
    item("function_call", name="python", arguments='{"input": "plot()"}', call_id="k"),
    item("function_call_output", call_id="k", output={"content": "done", "success": True}),
    item("message", role="assistant", content=[{"type": "output_text", "text": "Here it is"}]),
]
CALLED = {"type": "tool_use", "id": "t", "name": "python", "input": {"input": "plot()"}}
MESSAGES = {
    "system": "Be brief.",
    "messages": [
        {"role": "user", "content": "Plot it", "timestamp": 1_700_000_000},
        {
            "role": "assistant",
            "content": [{"type": "tool_use", "id": "t", "name": "python", "input": {"input": "plot()"}}],
        },
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": "done"}]},
        {"role": "assistant", "content": "Here it is"},
    ],
}
ZEP = {
    "items": [
        {"uuid": "a", "thread_uuid": "c5", "role": "user", "name": "Ann", "content": "Plot it",
         "created_at": "2025-11-03T12:00:00Z", "reference_time": WHEN},
        {"uuid": "b", "thread_uuid": "c5", "role": "assistant", "content": "Here it is", "reference_time": WHEN},
    ]
}  # fmt: skip
REDIS = {
    "session_id": "c6", "user_id": "u", "context": "They met before.",
    "messages": [
        {"id": "01", "role": "user", "content": "Plot it", "created_at": WHEN},
        {"id": "02", "role": "assistant", "content": "Here it is", "created_at": WHEN},
    ],
    "memories": [{"id": "m", "text": "Likes plots", "topics": ["plots"], "created_at": WHEN}],
}  # fmt: skip
LETTA = [
    {"id": "m4", "date": "2025-10-03T12:00:03Z", "message_type": "assistant_message",
     "content": [{"type": "text", "text": "Here it is"}]},
    {"id": "m3", "date": "2025-10-03T12:00:02Z", "message_type": "tool_return_message", "tool_call_id": "c1",
     "tool_return": "done", "tool_returns": [{"status": "success", "tool_call_id": "c1", "tool_return": "done"}]},
    {"id": "m2", "date": "2025-10-03T12:00:01Z", "message_type": "tool_call_message",
     "tool_call": {"name": "python", "arguments": '{"input": "plot()"}', "tool_call_id": "c1"}},
    {"id": "m2", "date": "2025-10-03T12:00:01Z", "message_type": "reasoning_message", "reasoning": "hm"},
    {"id": "m1", "date": WHEN, "message_type": "user_message", "content": "Plot it"},
]  # fmt: skip
CALL = {"id": "k", "name": "python", "args": {"input": "plot()"}}
LANGCHAIN = [
    {"type": "human", "data": {"type": "human", "content": "Plot it", "name": "ann"}},
    {"type": "ai", "data": {"type": "ai", "content": "", "tool_calls": [{**CALL, "type": "tool_call"}]}},
    {"type": "tool", "data": {"type": "tool", "content": "done", "tool_call_id": "k", "status": "success"}},
    {"type": "ai", "data": {"type": "ai", "content": [{"type": "text", "text": "Here it is"}]}},
]
LANGGRAPH: Json = {
    "values": {"messages": [one["data"] for one in LANGCHAIN]}, "next": [], "metadata": {"user_id": "u"},
    "checkpoint": {"thread_id": "c7", "checkpoint_ns": "", "checkpoint_id": "1"}, "parent_checkpoint": None,
}  # fmt: skip
ITEMS = [
    {"role": "user", "content": "Plot it"},
    {"type": "reasoning", "id": "r", "summary": [{"type": "summary_text", "text": "think"}]},
    {"type": "function_call", "call_id": "k", "name": "python", "arguments": '{"input": "plot()"}', "id": "f"},
    {"type": "function_call_output", "call_id": "k", "output": "done"},
    {"type": "message", "role": "assistant", "id": "a", "content": [{"type": "output_text", "text": "Here it is"}]},
]
PYDANTIC = [
    {"kind": "request", "conversation_id": "c8",
     "parts": [{"part_kind": "user-prompt", "content": "Plot it", "timestamp": WHEN}]},
    {"kind": "response", "timestamp": WHEN,
     "parts": [{"part_kind": "tool-call", "tool_name": "python", "args": {"input": "plot()"}, "tool_call_id": "k"}]},
    {"kind": "request", "parts": [{"part_kind": "tool-return", "tool_name": "python", "content": "done",
                                   "tool_call_id": "k", "outcome": "success"}]},
    {"kind": "response", "parts": [{"part_kind": "text", "content": "Here it is"}]},
]  # fmt: skip


def contents(*parts: Json, role: str, **more: Any) -> Json:
    return {"type": "message", "role": role, "contents": list(parts), "additional_properties": {}, **more}


AGENT_FRAMEWORK = {
    "type": "session", "session_id": "c9",
    "state": {"in_memory": {"messages": [
        contents({"type": "text", "text": "Plot it"}, role="user", author_name="ann"),
        contents({"type": "function_call", "call_id": "k", "name": "python", "arguments": '{"input": "plot()"}'},
                 role="assistant"),
        contents({"type": "function_result", "call_id": "k", "result": "done"}, role="tool"),
        contents({"type": "text", "text": "Here it is"}, role="assistant"),
    ]}},
}  # fmt: skip
SEMANTIC_KERNEL = {
    "messages": [
        {"role": "user", "name": "ann", "items": [{"content_type": "text", "text": "Plot it"}]},
        {"role": "assistant", "items": [
            {"content_type": "function_call", "id": "k", "name": "python", "arguments": '{"input": "plot()"}'}]},
        {"role": "tool", "items": [{"content_type": "function_result", "id": "k", "result": "done"}]},
        {"role": "assistant", "items": [{"content_type": "text", "text": "Here it is"}]},
    ]
}  # fmt: skip
AUTOGEN = {
    "type": "AssistantAgentState",
    "llm_context": {"messages": [
        {"type": "UserMessage", "content": "Plot it", "source": "ann"},
        {"type": "AssistantMessage", "source": "desk",
         "content": [{"id": "k", "name": "python", "arguments": '{"input": "plot()"}'}]},
        {"type": "FunctionExecutionResultMessage", "content": [{"call_id": "k", "content": "done", "is_error": False}]},
        {"type": "AssistantMessage", "content": "Here it is", "source": "desk"},
    ]},
}  # fmt: skip
LLAMA_INDEX = {
    "class_name": "SimpleChatStore",
    "store": {"c10": [
        {"role": "user", "blocks": [{"block_type": "text", "text": "Plot it"}], "additional_kwargs": {}},
        {"role": "assistant", "additional_kwargs": {}, "blocks": [
            {"block_type": "tool_call", "tool_call_id": "k", "tool_name": "python",
             "tool_kwargs": {"input": "plot()"}}]},
        {"role": "tool", "additional_kwargs": {"tool_call_id": "k"}, "blocks": [
            {"block_type": "text", "text": "done"}]},
        {"role": "assistant", "blocks": [{"block_type": "text", "text": "Here it is"}], "additional_kwargs": {}},
    ]},
}  # fmt: skip
ADK = {
    "id": "c11", "appName": "app", "userId": "u", "state": {"topic": "plots"},
    "events": [
        {"id": "1", "author": "user", "invocationId": "i", "timestamp": 1_700_000_000.5,
         "content": {"role": "user", "parts": [{"text": "Plot it"}]}},
        {"id": "2", "author": "desk", "invocationId": "i",
         "content": {"parts": [{"functionCall": {"id": "k", "name": "python", "args": {"input": "plot()"}}}]}},
        {"id": "3", "author": "desk", "invocationId": "i",
         "content": {"parts": [{"functionResponse": {"id": "k", "name": "python", "response": {"result": "done"}}}]}},
        {"id": "4", "author": "desk", "invocationId": "i", "content": {"parts": [{"text": "Here it is"}]}},
        {"id": "5", "author": "user", "invocationId": "j", "content": {"parts": [{"text": "taken back"}]}},
        {"id": "6", "author": "user", "actions": {"rewindBeforeInvocationId": "j"}},
    ],
}  # fmt: skip
AGNO: dict[str, list[Json]] = {
    "agno_sessions": [{"session_id": "c12", "session_type": "agent", "user_id": "u",
                       "summary": '{"summary": "They met before."}', "session_data": "{}"}],
    "agno_runs": [{"session_id": "c12", "run_index": 0, "run_data": json.dumps({"messages": [
        {"id": "s", "role": "system", "content": "You help.", "from_history": False},
        {"id": "1", "role": "user", "content": "Plot it", "created_at": 1_700_000_000},
        {"id": "2", "role": "assistant", "content": None, "tool_calls": [
            {"id": "k", "type": "function", "function": {"name": "python", "arguments": '{"input": "plot()"}'}}]},
        {"id": "3", "role": "tool", "content": "done", "tool_call_id": "k", "tool_call_error": False},
        {"id": "4", "role": "assistant", "content": "Here it is"},
        {"id": "5", "role": "user", "content": "taken back", "from_history": True},
    ]})}],
}  # fmt: skip
STRANDS = {
    "session.json": {"session_id": "c13"},
    "agents/agent_desk/agent.json": {"agent_id": "desk", "state": {"user": "u"}},
    **{
        f"agents/agent_desk/messages/message_{number}.json": {"message_id": number, "created_at": WHEN, "message": said}
        for number, said in enumerate([
            {"role": "user", "content": [{"text": "Plot it"}]},
            {"role": "assistant", "content": [
                {"toolUse": {"toolUseId": "k", "name": "python", "input": {"input": "plot()"}}}]},
            {"role": "user", "content": [
                {"toolResult": {"toolUseId": "k", "status": "success", "content": [{"text": "done"}]}}]},
            {"role": "assistant", "content": [{"text": "Here it is"}]},
        ])
    },
}  # fmt: skip
OPEN_WEBUI = [{
    "id": "c14", "user_id": "u", "title": "Tea", "created_at": 1_700_000_000,
    "chat": {"params": {"system": "Be brief."}, "history": {"currentId": "a", "messages": {
        "u": {"id": "u", "parentId": None, "role": "user", "content": "Plot it", "timestamp": 1_700_000_000,
              "files": [{"type": "file", "name": "a.csv", "url": "f1"}]},
        "old": {"id": "old", "parentId": "u", "role": "assistant", "content": "An answer that was replaced"},
        "a": {"id": "a", "parentId": "u", "role": "assistant", "timestamp": 1_700_000_010,
              "content": '<details type="reasoning" done="true"><summary>Thought</summary>&gt; think</details>\n'
                         '<details type="tool_calls" done="true" id="k" name="python" '
                         'arguments="{&quot;input&quot;: &quot;plot()&quot;}" result="&quot;done&quot;">'
                         "<summary>Tool Executed</summary></details>\nHere it is"},
    }}},
}]  # fmt: skip
OPEN_WEBUI_ITEMS = [{
    "id": "c15", "user_id": "u", "chat": {"history": {"currentId": "a", "messages": {
        "u": {"id": "u", "parentId": None, "role": "user", "content": "Plot it"},
        "a": {"id": "a", "parentId": "u", "role": "assistant", "content": "Here it is", "output": [
            {"type": "reasoning", "content": [{"type": "output_text", "text": "think"}], "summary": None},
            *ITEMS[2:],
        ]},
    }}},
}]  # fmt: skip
LIBRECHAT = {
    "conversationId": "c16", "title": "Tea", "options": {"promptPrefix": "Be brief."}, "messagesTree": [
        {"messageId": "u", "parentMessageId": "00000000-0000-0000-0000-000000000000", "isCreatedByUser": True,
         "text": "Plot it", "createdAt": WHEN, "user": "u", "children": [
             {"messageId": "old", "parentMessageId": "u", "isCreatedByUser": False,
              "text": "An answer that was replaced", "children": []},
             {"messageId": "a", "parentMessageId": "u", "isCreatedByUser": False, "children": [], "content": [
                 {"type": "think", "think": "think"},
                 {"type": "tool_call", "tool_call": {"id": "k", "name": "python", "args": '{"input": "plot()"}',
                                                     "output": "done"}},
                 {"type": "text", "text": "Here it is"},
             ]},
         ]},
    ],
}  # fmt: skip
LOBEHUB = {
    "mode": "pglite", "schemaHash": "x", "data": {
        "sessions": [{"id": "inbox", "title": "Inbox"}], "topics": [{"id": "c17", "title": "Tea"}],
        "messages": [
            {"id": "u", "role": "user", "content": "Plot it", "topicId": "c17", "createdAt": "2025-10-03T12:00:00Z"},
            {"id": "old", "role": "assistant", "content": "An answer that was replaced", "topicId": "c17",
             "parentId": "u", "createdAt": "2025-10-03T12:00:01Z"},
            {"id": "c", "role": "assistant", "content": "", "topicId": "c17", "parentId": "u",
             "createdAt": "2025-10-03T12:00:02Z", "reasoning": {"content": "think"},
             "tools": [{"id": "k", "type": "default", "identifier": "p", "apiName": "python",
                        "arguments": '{"input": "plot()"}'}]},
            {"id": "t", "role": "tool", "content": "done", "topicId": "c17", "parentId": "c",
             "createdAt": "2025-10-03T12:00:03Z"},
            {"id": "a", "role": "assistant", "content": "Here it is", "topicId": "c17", "parentId": "t",
             "createdAt": "2025-10-03T12:00:04Z"},
        ],
        "messagePlugins": [{"id": "t", "toolCallId": "k", "apiName": "python"}],
    },
}  # fmt: skip
HINDSIGHT = {
    "items": [
        {"id": "m1", "text": "Likes tea", "context": "a talk", "date": WHEN, "fact_type": "world", "tags": ["user:ann"],
         "entities": "Ann, Tea", "metadata": {"source": "slack"}, "state": "valid"},
        {"id": "m2", "text": "Likes coffee", "fact_type": "world", "state": "invalidated", "invalidation_reason": "no"},
    ],
    "total": 3, "limit": 2, "offset": 0,
}  # fmt: skip
WRITTEN = Path(__file__).parent / "written"


def recorded(name: str) -> Document:
    return document(name, (WRITTEN / name).read_bytes())


SAMPLES: dict[str, Any] = {
    "agent-framework": AGENT_FRAMEWORK, "autogen": AUTOGEN, "chatgpt": CHATGPT, "claude-ai": CLAUDE_AI,
    "claude-code": CLAUDE_CODE, "codex": CODEX, "google-adk": ADK, "langchain": LANGCHAIN, "langgraph": LANGGRAPH,
    "letta": LETTA, "llama-index": LLAMA_INDEX, "messages": MESSAGES, "openai-agents": ITEMS,
    "pydantic-ai": PYDANTIC, "redis": REDIS, "semantic-kernel": SEMANTIC_KERNEL, "zep": ZEP, "open-webui": OPEN_WEBUI,
    "librechat": LIBRECHAT, "lobehub": LOBEHUB,
}  # fmt: skip
DOCUMENTS = {name: Document(f"{name}.json", value) for name, value in SAMPLES.items()} | {
    "agno": Document("agno.sqlite", tables=AGNO), "strands": Document("session.json", files=STRANDS),
    "gemini-cli": recorded("gemini-cli.jsonl"), "opencode": recorded("opencode.json"),
    "cline": recorded("cline.messages.json"), "copilot-cli": recorded("copilot-cli.jsonl"),
}  # fmt: skip
NAMED = {
    "agent-framework": "c9", "agno": "c12", "chatgpt": "c1", "claude-ai": "c2", "claude-code": "c3", "codex": "c4",
    "google-adk": "c11", "langgraph": "c7", "llama-index": "c10", "pydantic-ai": "c8", "redis": "c6",
    "strands": "c13", "zep": "c5", "open-webui": "c14", "librechat": "c16", "lobehub": "c17", "copilot-cli": "c20",
    "gemini-cli": "11111111-2222-4333-8444-555555555555", "opencode": "ses_ddf95b74dffedsNy38psIakOtn",
    "cline": "1795840237041_3yeuz",
}  # fmt: skip
