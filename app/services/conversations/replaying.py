"""Rebuild a served window from stored rows, and check it against its hash.

The present settings do not matter. Parts and messages that were erased since are missing and listed, and then the hash
differs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from app import errors
from app.concurrency import run_in_thread_if_large
from app.core import wording
from app.core.canonical import dumps
from app.core.conversation import Conversation
from app.core.dialects.fitting import fitted_window
from app.core.edge.caller import Caller
from app.core.model import INTEGER_MAX, Context, Head, Item, Language, TailItem, Window
from app.core.times import time_text
from app.core.window import fresh, served_change
from app.core.window.answer import answer_of, system_of
from app.core.window.served import Served, ServedFrame, laid_out, ledger_of, read_head, read_tail
from app.core.window.served_change import Side
from app.postgres.transactions import ReadTx
from app.runtime import Runtime
from app.services.conversations import sealing, serving
from app.store import archives, conversations
from app.store import served as stored
from quire_verify.issuer import LAST, Tree

ROWS_AT_ONCE = 8


@dataclass(frozen=True, slots=True)
class ReplayedWindow:
    """A served window, as far as it can be rebuilt."""

    number: int
    frame: ServedFrame
    served: Served
    context: Context
    query: str | None
    gone: tuple[str, ...]
    """Parts whose texts were erased since."""
    erased: tuple[int, ...]
    """Messages in view that were erased or pruned since, or lost an archive."""
    root: str
    """The root of its parts as they can be shown now."""
    prompt: Sequence[Item]

    @property
    def is_verified(self) -> bool:
        return self.root == self.served.root

    @property
    def side(self) -> Side:
        return Side(self.frame, self.served, self.context.window, self.erased, self.gone, self.is_verified)

    @property
    def body(self) -> bytes:
        record = record_view(self.number, self.frame, self.served, self.query)
        erased = {"messages": self.erased, "parts": self.gone}
        more = dumps({"id": self.number, "verified": self.is_verified, "erased": erased, "record": record})
        return b"%s,%s" % (self.context.body[:-1], more[1:].encode())


def record_view(number: int, frame: ServedFrame, served: Served, query: str | None) -> dict[str, Any]:
    return {
        "id": number,
        "served_at": _time(served.at),
        "last_served_at": _time(served.last_at or served.at),
        "count": served.times,
        "call": frame.call,
        "budget": frame.budget,
        "is_own_budget": frame.is_own,
        "model": frame.model or None,
        "format": frame.format,
        "query": query,
        "named": list(served.named),
        "epoch": frame.cut,
        "total": ledger_of(frame, served).total,
        "last_seq": served.last_seq,
        "last_page": served.last_page,
        "root": served.root,
        "key": frame.key or None,
    }


def _time(milliseconds: int) -> str:
    return time_text(datetime.fromtimestamp(milliseconds / 1000, UTC))


async def browse(
    runtime: Runtime, caller: Caller, conversation_id: str, before: int | None, limit: int
) -> list[dict[str, Any]]:
    """Return a conversation's records before a window, newest first."""
    await serving.write(runtime)
    until = before or INTEGER_MAX
    found: list[tuple[int, ServedFrame, Served]] = []
    async with conversations.snapshot(runtime.database, caller, conversation_id) as (tx, known):
        while len(found) < limit and until > 1:
            rows = await stored.browse(tx, known.line.own, until, ROWS_AT_ONCE)
            found += [one for row in rows for one in reversed(row.windows) if one[0] < (before or INTEGER_MAX)]
            if len(rows) < ROWS_AT_ONCE:
                break
            until = rows[-1].first
        found = found[:limit]
        queries = {served.query for _, _, served in found}
        texts, _ = await stored.texts(tx, known.line.own, queries, sensitive=caller.sensitive)
    return [record_view(*one, texts.get(one[2].query)) for one in found]


async def window(runtime: Runtime, caller: Caller, conversation_id: str, number: int) -> ReplayedWindow:
    """Return a served window by its number. Raises NotFound."""
    await serving.write(runtime)
    async with conversations.snapshot(runtime.database, caller, conversation_id) as (tx, conversation):
        return await replayed(runtime, tx, conversation, number, sensitive=caller.sensitive)


async def difference(
    runtime: Runtime, caller: Caller, conversation_id: str, number: int, earlier: int | None
) -> dict[str, Any]:
    """Return the difference between two served windows, by default to the previous one. Raises NotFound."""
    await serving.write(runtime)
    async with conversations.snapshot(runtime.database, caller, conversation_id) as (tx, conversation):
        at = (runtime, tx, conversation)
        new = await replayed(*at, number, sensitive=caller.sensitive)
        before = number - 1 if earlier is None else earlier
        old = await replayed(*at, before, sensitive=caller.sensitive) if before or earlier is not None else None
    found = served_change.difference(old.side if old else None, new.side)
    tokens = {"from": old.context.window.ledger.total if old else 0, "to": new.context.window.ledger.total}
    return {"from": before if old else None, "to": number, "tokens": tokens, **found}


async def replayed(
    runtime: Runtime, tx: ReadTx, conversation: Conversation, number: int, *, sensitive: bool
) -> ReplayedWindow:
    """Return a served window. Texts that quote sensitive memories are left out unless ``sensitive``."""
    found = await stored.find(tx, conversation.id, number) if 0 < number < INTEGER_MAX else None
    if found is None:
        raise errors.NotFound(f"There is no window {number} of this conversation.")
    frame, served = found
    last = (served.last_seq, served.last_page)
    items = await stored.items(tx, conversation, frame.cut_with(Head()), last, anthropic=frame.format == "anthropic")
    digests = {"head": frame.head, "system": frame.system, "tools": frame.tools, "guide": frame.guide}
    digests |= {"tail": served.tail, "query": served.query, "recalled": served.recalled}
    texts, sealed = await stored.texts(tx, conversation.line.own, digests.values(), sensitive=sensitive)
    shown = _laid_out(frame, served, items, texts)
    uuids, most = fresh.wanted(shown), fresh.tokens_max(shown)
    results = await archives.fresh(tx, conversation.id, uuids, most) if uuids else []
    size = sum(len(item.text) for item in items) + sum(len(result.text or "") for result in results)
    context = await run_in_thread_if_large(
        size, _rendered, runtime, conversation, frame, served, shown, results, items, texts
    )
    gone = tuple(part for part, digest in digests.items() if digest and digest not in texts)
    read = [sealed[digest] for name, digest in digests.items() if digest in sealed and name != "query"]
    prompt = [item for item in items if item.kind == "prompt" and frame.is_prompted]
    parts = sealing.parts_of(sealing.messages_of(context.window, prompt), read, context.hash, served.at)
    root = Tree(parts).root
    recorded = await stored.parts(tx, conversation.line.own, number) if root != served.root else ()
    erased = tuple(sorted({seq for seq, _ in set(recorded).difference(parts) if 0 < seq < LAST}))
    return ReplayedWindow(number, frame, served, context, texts.get(served.query), gone, erased, root, prompt)


def _laid_out(frame: ServedFrame, served: Served, items: Sequence[Item], texts: Mapping[str, str]) -> Window:
    erased = wording.ERASED.say(frame.language)
    head = read_head(texts[frame.head]) if frame.head in texts else Head(text=erased if frame.head else "")
    tail: Sequence[TailItem] = [TailItem(erased, 0)] if served.tail else ()
    if served.tail in texts:
        tail = read_tail(texts[served.tail])
    recalled = texts.get(served.recalled, erased) if served.recalled else None
    return laid_out(frame, served, head, [item for item in items if item.kind != "prompt"], tail, recalled)


def _rendered(
    runtime: Runtime, conversation: Conversation, frame: ServedFrame, served: Served, shown: Window,
    results: Sequence[fresh.FreshResult], items: Sequence[Item], texts: Mapping[str, str],
) -> Context:  # fmt: skip
    language: Language = frame.language
    erased = wording.ERASED.say(language)
    shown = replace(fresh.with_fresh(shown, results), ledger=shown.ledger, warnings=shown.warnings)
    prompt = [item for item in items if item.kind == "prompt"] if frame.is_prompted else []
    own = system_of(texts.get(frame.system, erased) if frame.system else None, prompt)
    guide = texts.get(frame.guide, "")
    system = "\n\n".join(part for part in (own, guide) if part)
    totals = replace(conversation.totals, last_seq=served.last_seq, last_page=served.last_page)
    then = replace(
        conversation, totals=totals, learned_percent=frame.own_percent, summary_through=served.summary_through,
        indexed_through=served.indexed_through,
    )  # fmt: skip
    cut = replace(frame.cut_with(Head()), condensed_from=1)  # so that the answer states the conversation's own lag
    found, _ = answer_of(then, cut, shown, system, texts.get(frame.tools, "[]"), frame.format, language)
    if frame.carries:
        return found
    return fitted_window(found, runtime.defaults.models, frame.model, frame.format, alternate=frame.alternates)
