"""The response of a window, put together from texts that are JSON already."""

from __future__ import annotations

from collections.abc import Sequence

from app.core.canonical import dumps, etag_of, hash_of
from app.core.conversation import Conversation
from app.core.groups import chat_messages
from app.core.model import Context, Cut, Format, Item, Language, Window
from app.core.window.render import Rendered, render


def answer_of(
    conversation: Conversation,
    cut: Cut,
    window: Window,
    system: str,
    tools: str,
    form: Format,
    language: Language,
) -> Context:
    rendered = render(window, system, tools, form, language)
    body = _answer(conversation, cut, window, rendered, form).encode()
    read = hash_of(rendered.tools, dumps(rendered.system), rendered.messages)
    return Context(body, etag_of(body), window, conversation.uid, system, tools, read)


def system_of(own: str | None, prompt: Sequence[Item]) -> str:
    """Return a conversation's system prompt: its own, and the system messages that lead it."""
    return "\n\n".join(text for text in (own, *map(_plain, prompt)) if text)


def _plain(item: Item) -> str:
    content = chat_messages(item.text)[0]["content"]
    if isinstance(content, str):
        return content
    return "\n".join(part["text"] for part in content if part.get("type") == "text")


def _answer(
    conversation: Conversation,
    cut: Cut,
    window: Window,
    rendered: Rendered,
    form: Format,
) -> str:
    ledger, totals = window.ledger, conversation.totals
    sections = ("tools", "system", "notes", "summary", "contents", "condensed", "recent", "tail")
    members = {
        "conversation_id": dumps(conversation.id),
        "format": dumps(form),
        "messages": rendered.messages,
        "system": dumps(rendered.system),
        "tools": rendered.tools,
        "usage": dumps(
            {
                "budget": ledger.budget,
                "total": ledger.total,
                "model_total": ledger.model_total,
                "token_percent": ledger.token_percent,
                "full_history": ledger.full_history,
                "saved": ledger.saved,
                "sections": {name: getattr(ledger, name) for name in sections},
            }
        ),
        "epoch": str(window.number),
        "prefix_hash": dumps(rendered.prefix_hash),
        "stable_messages": str(rendered.stable_messages),
        "stable_tokens": str(rendered.stable_tokens),
        "pages": dumps(
            {
                "verbatim": window.verbatim_pages,
                "condensed": window.condensed_pages,
                "listed": window.listed_pages,
                "unlisted": window.unlisted,
            }
        ),
        "archive_refs": dumps(_archive_refs(window)),
        "lag": dumps(
            {
                "summary_through_seq": cut.head.summary_through_seq
                if cut.condensed_from > 1
                else conversation.summary_through,
                "indexed_through_page": conversation.indexed_through,
                "last_seq": totals.last_seq,
                "last_page": totals.last_page,
            }
        ),
        "warnings": dumps([{"code": w.code, "detail": w.detail} for w in window.warnings]),
    }
    return "{" + ",".join(f'"{name}":{value}' for name, value in members.items()) + "}"


def _archive_refs(window: Window) -> list[str]:
    placeholders = [uuid for placed in window.body for uuid in placed.archive_ids]
    loaded = [str(item.archive_id) for item in window.tail if item.archive_id]
    return list(dict.fromkeys([*placeholders, *loaded]))
