"""Conversations for the inspector to show."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import asyncpg
import httpx

from app.postgres.tenants import DEFAULT_TENANT
from quire_command.demo.transcript import load
from tests.api.kit import SHIPPED, Json, append, call, created, recall, result, user

NASTY = "<script>alert(1)</script><img src=x onerror=alert(2)>\"'&amp; \u202eright to left\u202c \x00 \x1b"
LONG_WORD = "Donaudampfschifffahrt" * 400
DEAD = f"""
INSERT INTO work (tenant_id, kind, subject, id, lane, conversation_id, failed_at, attempts, error)
SELECT '{DEFAULT_TENANT}', kind, kind || n, gen_random_uuid(), 'llm', NULL, now(), 8, error
  FROM (VALUES ('page', '<b>401</b>'), ('summary', 'timeout')) AS v (kind, error), generate_series(1, 3) AS n
"""
"""Jobs that were given up, as SQL."""
SMUGGLED = "hello\U000e0068\U000e0069\u200b"


def shipped(client: httpx.Client, conversation: str = "release", *, limit: int = 10_000, **settings: Any) -> None:
    """The conversation that `quire demo` replays, with a budget that makes it page."""
    body = {"title": "Moque Robotics: operations", "budget": 8000, "user_id": "mei", "model": "gpt-4o", **settings}
    created(client, id=conversation, **body)
    (transcript,) = load(SHIPPED)
    messages: list[Json] = list(transcript.messages)[:limit]
    for at in range(0, len(messages), 6):
        append(client, conversation, messages[at : at + 6], user_id="mei")


def nasty(client: httpx.Client, conversation: str = "<b>x</b>/..?#\u202e") -> str:
    """Everything that users and models write is hostile."""
    created(client, id=conversation, user_id="<i>u</i>", title="<script>t()</script>\u202e title", budget=6000)
    turns: list[Json] = [
        user(NASTY),
        call("c1", name="look<b>", arguments='{"q": "</pre><script>a()</script>"}'),
        result("c1", "</pre><script>r()</script> " + "tea </textarea> " * 1500),
        {"role": "assistant", "content": "</details></main><script>m()</script>", "reasoning_content": NASTY},
        user(SMUGGLED),
        user(
            [{"type": "text", "text": NASTY}, {"type": "image_url", "image_url": {"url": "https://example.com/x.png"}}]
        ),
        user(LONG_WORD),
    ]
    append(client, conversation, turns, user_id="<i>u</i>")
    return conversation


def many(run_as_superuser: Callable[[str], list[asyncpg.Record]], count: int) -> None:
    """Conversations by plain SQL: their list is what is looked at."""
    run_as_superuser(f"""
    INSERT INTO conversations (tenant_id, id, uid, user_id, title, last_seq, last_page, history_total, updated_at)
    SELECT '{DEFAULT_TENANT}', 'conversation-' || n, gen_random_uuid(), 'user-' || n % 40,
           CASE WHEN n % 3 = 0 THEN 'Plans for week ' || n % 52 WHEN n % 7 = 0 THEN '第' || n || '次讨论:上线计划' END,
           n % 900 + 1, n % 300 + 1, n * 37, now() - n * interval '7 minutes'
      FROM generate_series(1, {count}) AS n
    """)


def recalled(client: httpx.Client, conversation: str = "release") -> None:
    for page in (1, 1, 2):
        recall(client, conversation, page)


def proxied(run_as_superuser: Callable[[str], list[asyncpg.Record]], conversation: str, count: int) -> None:
    """Requests through the proxy by plain SQL, every tenth of them left by its client."""
    run_as_superuser(f"""
    INSERT INTO proxied_requests (tenant_id, conversation_id, id, request)
    SELECT '{DEFAULT_TENANT}', '{conversation}', ('00000000-0000-7000-8000-' || lpad(n::text, 12, '0'))::uuid,
           json_build_object('dialect', 'chat', 'mode', 'window', 'model', '<b>model</b>', 'first_seq', n - 1,
             'last_seq', n, 'window_tokens', 4000, 'calls', 2, 'first_ms', 11, 'total_ms', n, 'usage',
             json_build_object('prompt_tokens', 3000, 'cached_tokens', 2000, 'completion_tokens', 40),
             'error', CASE WHEN n % 10 = 5 THEN 'the client left' END)
      FROM generate_series(1, {count}) n""")
