"""Search results and memories as the API and the tools return them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from app.core.canonical import dumps
from app.core.encoded import marked
from app.core.messages import METADATA_MAX
from app.core.search.relevance import relevance
from app.core.times import time_text
from app.extractive.lines import message_line
from app.extractive.terms import key_terms
from app.services.memory.hits import SearchHit
from app.services.memory.listing import standing
from app.services.memory.previewing import PREVIEW_CHARACTERS, preview
from app.services.memory.searching import SearchOutcome

DETAIL_BYTES = 100_000
"""The most that a memory in full returns, as the route promises."""


def search_view(outcome: SearchOutcome, query: str) -> dict[str, Any]:
    """Return the response to a search. ``query`` decides what the previews show."""
    return {
        "results": [result_view(hit, query) for hit in outcome.hits],
        "total_found": outcome.total,
        "mode": outcome.mode,
        "search_query_expanded": outcome.query_expanded,
        "warnings": outcome.warnings,
    }


def result_view(found: SearchHit, query: str) -> dict[str, Any]:
    scope = found.whole.scope if found.whole else found.scope
    return {
        **_fields(found, query),
        "scope": scope.name if scope else None,
        "similar": found.similar,
        "doubtful": found.is_doubtful,
        "replaced": _replaced(found),
    }


def memory_view(found: SearchHit) -> dict[str, Any]:
    text = found.whole.text if found.whole else found.text
    content = text.encode()
    is_cut = len(content) > DETAIL_BYTES
    shown = content[:DETAIL_BYTES].decode(errors="ignore") + "… [cut]" if is_cut else text
    whole = found.whole
    return {
        **_fields(found, ""),
        "content": shown,
        "is_cut": is_cut,
        "sensitivity": "sensitive" if whole and whole.sensitive else "normal",
        "expires_at": time_text(whole.expires_at) if whole and whole.expires_at else None,
        "source": whole.source if whole else "extractive",
        **standing(whole, text),
    }


def characters(hits: Sequence[SearchHit], query: str) -> int:
    """Return how many characters ``result_view`` processes for all hits, to choose a thread for many."""
    return sum(len(hit.text) + len(hit.body) + len(query) for hit in hits)


def _fields(found: SearchHit, query: str) -> dict[str, Any]:
    hit = found.hit
    return {
        "memory_key": str(found.key),
        "memory_type": hit.type,
        "role": found.spoken_by,
        "name": found.name,
        "summary": found.line or message_line("user", found.text),
        "content_preview": preview(found.text, query),
        "relevance_score": round(relevance(found.score), 4),
        "created_at": time_text(hit.created_at),
        "keywords": list(found.whole.keywords) if found.whole else key_terms(found.text, 5),
        "conversation_id": hit.conversation_id,
        "page": hit.page,
        "message_ids": [str(found.message_id)] if found.message_id else [],
        "archive_id": str(hit.archive_id) if hit.archive_id else None,
        "metadata": json.loads(found.whole.metadata) if found.whole else _sent_metadata(found.body),
    }


def _sent_metadata(body: str) -> dict[str, Any]:
    """Return the `metadata` that a message was sent with; {} if it is no object or longer than a memory's can be."""
    if '"metadata"' not in body:
        return {}
    sent = json.loads(body).get("metadata")
    return sent if isinstance(sent, dict) and len(dumps(sent)) <= METADATA_MAX else {}


def _replaced(found: SearchHit) -> dict[str, Any] | None:
    row = found.replaced
    if row is None:
        return None
    times = {"valid_from": time_text(row.valid_from), "valid_to": time_text(row.valid_to)}
    return {"memory_key": str(row.id), "content_preview": marked(row.content)[:PREVIEW_CHARACTERS], **times}
