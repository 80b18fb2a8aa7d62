"""Expand a query with further words from the LLM, for searches that request it."""

from __future__ import annotations

from uuid import UUID

from app.core.neutral import neutral
from app.core.scope import Scope
from app.prompts import prompt
from app.providers import ProviderError
from app.providers.json_reply import object_of
from app.runtime import Runtime
from app.services.asking import ask
from app.text.language import language as language_of

REPLY_TOKENS = 200
EXPANDED_MAX = 500
"""Characters that an expansion adds to a query, at most."""
QUERY_SHOWN = 2_000
"""Characters of a query that the LLM reads."""
ABSENT = {"code": "llm_absent", "detail": "no LLM is in use; the query was searched for as it is"}
FAILED = {"code": "expansion_failed", "detail": "the LLM failed; the query was searched for as it is"}


async def expand(runtime: Runtime, tenant: UUID, scope: Scope, query: str) -> tuple[str | None, list[dict[str, str]]]:
    """Return the expanded query, None without an LLM or if it fails, and warnings.

    An expansion depends on the query alone, so no write makes it stale. It is cached for five minutes, separately for
    each user.
    """
    if runtime.chat is None:
        return None, [ABSENT]
    key = (tenant, scope.text, query)
    cached = runtime.caches.expansions.get(key)
    if cached is not None:
        return cached, []
    messages = [
        {"role": "system", "content": prompt("expand", language_of(query[:1000]))},
        {"role": "user", "content": f"<quire-query>\n{neutral(query[:QUERY_SHOWN])}\n</quire-query>"},
    ]
    try:
        reply = await ask(runtime, tenant, "expand", messages, max_tokens=REPLY_TOKENS, json_object=True)
        more = object_of(reply.text).get("query")
    except ProviderError:
        return None, [FAILED]
    if not isinstance(more, str) or not more.strip():
        return None, [FAILED]
    expanded = f"{query} {' '.join(more.split())[:EXPANDED_MAX]}"
    runtime.caches.expansions[key] = expanded
    return expanded, []
