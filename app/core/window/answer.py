"""Build the response that shows a window, from parts that are JSON already."""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter

from app.core.canonical import dumps, etag_of
from app.core.conversation import Conversation
from app.core.groups import chat_messages
from app.core.model import Context, Cut, Format, Item, Language, Window
from app.core.window.render import Printed, Rendered, render

SECTIONS = ("tools", "system", "notes", "summary", "contents", "condensed", "recent", "tail")
_sections = attrgetter(*SECTIONS)


def answer_of(
    conversation: Conversation,
    cut: Cut,
    window: Window,
    system: str,
    tools: str,
    form: Format,
    language: Language,
    known: Sequence[Printed] = (),
) -> tuple[Context, Sequence[Printed]]:
    """Return the response, and its messages for the next one to reuse. ``known``: the messages of an earlier one."""
    rendered = render(window, system, tools, form, language, known)
    opening = f'{{"conversation_id":{dumps(conversation.id)},"format":"{form}","messages":'
    rest = _rest(conversation, cut, window, rendered)
    body = b"".join((opening.encode(), *rendered.texts, rest.encode()))
    etag = etag_of(f"{opening}{rendered.hash}{rest}".encode())
    stable, settled, _, read = rendered
    found = Context(body, etag, window, conversation.uid, system, tools, read, is_plain=stable.is_plain)
    return found, (stable, settled)


def system_of(own: str | None, prompt: Sequence[Item]) -> str:
    """Return a conversation's system prompt: its own ``system`` text and its leading system messages."""
    return "\n\n".join(text for text in (own, *map(_plain, prompt)) if text)


def _plain(item: Item) -> str:
    content = chat_messages(item.text)[0]["content"]
    if isinstance(content, str):
        return content
    return "\n".join(part["text"] for part in content if part.get("type") == "text")


def _rest(conversation: Conversation, cut: Cut, window: Window, rendered: Rendered) -> str:
    """Return the response's members after ``messages``, as JSON text."""
    ledger, totals, head = window.ledger, conversation.totals, cut.head
    form, system, tools, _ = rendered.stable.begun
    own = dumps(system or None) if form == "anthropic" else "null"
    loaded = [str(item.archive_id) for item in window.tail if item.archive_id]
    members = {
        "usage": {
            "budget": ledger.budget,
            "total": ledger.total,
            "model_total": ledger.model_total,
            "token_percent": ledger.token_percent,
            "full_history": ledger.full_history,
            "saved": ledger.saved,
            "sections": dict(zip(SECTIONS, _sections(ledger), strict=True)),
        },
        "epoch": window.number,
        "prefix_hash": rendered.stable.read.hexdigest(),
        "stable_messages": rendered.stable.count,
        "stable_tokens": ledger.total - ledger.tail,
        "pages": window.pages._asdict(),
        "archive_refs": list(dict.fromkeys([*rendered.stable.archive_ids, *loaded])),
        "lag": {
            "summary_through_seq": head.summary_through_seq if cut.condensed_from > 1 else conversation.summary_through,
            "indexed_through_page": conversation.indexed_through,
            "last_seq": totals.last_seq,
            "last_page": totals.last_page,
        },
        "warnings": [{"code": warning.code, "detail": warning.detail} for warning in window.warnings],
    }
    return f',"system":{own},"tools":{tools},{dumps(members)[1:]}'
