"""Tenants with conversations in them, for the tests that keep them apart."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, TypeAlias
from uuid import UUID

import asyncpg

from app.assembly import access, defaults, proxying, working
from app.core.dialects.usage import ModelUsage
from app.core.edge.caller import Caller
from app.core.edge.deployment import Retention
from app.core.history.rows import NewWish
from app.core.messages import Limits, read
from app.core.scope import Scope
from app.core.window.contents import Chapter
from app.ids import uuid7
from app.postgres.database import Database
from app.postgres.statements import Statement
from app.postgres.transactions import Tx
from app.queue import outbox
from app.runtime import Runtime
from app.services.conversations import forking
from app.services.conversations.append import append
from app.services.conversations.call import ContextRequest
from app.services.conversations.context import context
from app.services.conversations.forking import ForkRequest
from app.services.conversations.requests import PostedMessages
from app.services.tools import tool_calls
from app.settings import Settings, taken
from app.store import appending, chapters, conversations, page_index, served, spaces, summaries
from app.store.memory import kept, remembered
from app.store.memory.remembered import Remembered
from app.store.operators import limits
from app.store.proxy import proxied_requests
from app.store.proxy.proxied_requests import ProxiedRequest
from app.store.spaces import NewSpace
from app.text.tokens import TokenCounter
from tests.tables import TABLES

ANN = UUID("aaaaaaaa-0000-7000-8000-000000000001")
BOB = UUID("bbbbbbbb-0000-7000-8000-000000000002")


Sql: TypeAlias = str | Statement
Arguments: TypeAlias = tuple[object, ...] | dict[str, object]
"""Of a statement after the tenant: in order, or by name."""


def in_order(sql: Sql, arguments: Arguments) -> tuple[object, ...]:
    if isinstance(arguments, tuple):
        return arguments
    assert isinstance(sql, Statement)
    return sql.arguments(arguments)


A_FILE = UUID("dddddddd-0000-7000-8000-000000000004")
"""A file of the memory tool, of each tenant."""


def runtime(settings: Settings, database: Database, counter: TokenCounter) -> Runtime:
    known = defaults(settings)
    paged = replace(known, policy=replace(known.policy, active_pages=40))
    rules = (access(settings), taken(settings, Retention), proxying(settings), working(settings))
    return Runtime(paged, database, counter, *rules)


async def say(made: Runtime, tenant: UUID, conversation: str, messages: Sequence[dict[str, Any]]) -> None:
    request = PostedMessages(read(list(messages), Limits()), user_id="u")
    await append(made, tenant, conversation, request, None)


BUDGET = 1_000
"""Of the windows that have a stored cut."""


async def populate(made: Runtime, tenant: UUID, turns: int = 60) -> None:
    """A conversation `c` with something in every table."""
    call = {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    archived: list[dict[str, Any]] = [
        {"role": "user", "content": f"archive for {tenant}", "client_id": "m1"},
        {"role": "assistant", "content": None, "tool_calls": [call], "client_id": "resp_1"},
        {"role": "tool", "tool_call_id": "a", "content": f"{tenant} " * 1000},
    ]
    await say(made, tenant, "c", archived)
    questions = [{"role": "user", "content": f"question {number} of {tenant}"} for number in range(turns)]
    await say(made, tenant, "c", questions[:2])  # two pages at once are left to jobs, and so are all after them
    for number, question in enumerate(questions[2:], 2):
        if number == turns - 1:
            await tool_calls.run_once(made, Caller(tenant), "c", tool_calls.checked("recall_page", {"page": 2}), None)
        await say(made, tenant, "c", [question])

    async with made.database.begin(tenant) as tx:
        sent = ProxiedRequest("chat", "window", f"model of {tenant}", 1, 12, 7, 1, 3, 900, ModelUsage(1000, 900, 20))
        await proxied_requests.record(tx, "c", sent)
        await limits.add_bytes(tx, {"u": 7})
        await tx.execute(
            "INSERT INTO audit (tenant_id, id, action, route, ids, address, status, request_id)"
            " VALUES ($1, $2, 'read', $3, '{}', '', 200, '')", uuid7(), f"of {tenant}",
        )  # fmt: skip
        await outbox.add_webhook(tx, A_FILE, f"https://{tenant}.example/", "whsec_", ())
        await outbox.tell(tx, outbox.event("cut.made", conversation_id=f"of {tenant}"))
        await limits.take_shared(tx, tenant, 10, 1)
        await remembered.insert(tx, _note(tenant), embeds=False)
        row = served.Row(1, bytes(32), bytes(32), "frame", f"of {tenant}")
        await served.begin(tx, ("c", (await conversations.get(tx, "c")).uid, row))
        await tx.execute(
            "INSERT INTO served_texts (tenant_id, conversation_id, digest, salt, part, through, body, sources)"
            " VALUES ($1, 'c', 'digest', 'salt', 'query', 1, convert_to($2, 'UTF8'), ARRAY[$3::uuid])",
            f"said of {tenant}", UUID(int=1),
        )  # fmt: skip
        await tx.execute(
            "INSERT INTO own_texts (tenant_id, digest, body) VALUES ($1, 'digest', convert_to($2, 'UTF8'))",
            f"words of {tenant}",
        )
        await kept.withdraw(tx, [Scope("user", "u").owner])
        await learn(tx, "c")
        await remembered.insert(tx, _file(tenant), embeds=False)
        await spaces.create(tx, NewSpace("team", f"space of {tenant}"))
        await spaces.put(tx, "team", "u", "write")
        await tx.execute(
            "INSERT INTO conversations (tenant_id, id, uid, space_id) VALUES ($1, 'shared', gen_random_uuid(), 'team')"
        )
        for name, user in (("proxied", "u"), ("nobodys", None)):
            await tx.execute(
                "INSERT INTO conversations (tenant_id, id, uid, user_id, system, chain, asked, answered)"
                " VALUES ($1, $2, gen_random_uuid(), $3, $4, 'end', 'asked', 'first')", name, user,
                f"prompt of {tenant}",
            )  # fmt: skip
        forked = await conversations.lock(tx, "proxied")
        assert forked is not None
        await forking.fork(tx, forked, ForkRequest(id="branch"))
        await tx.execute(
            "INSERT INTO idempotency (tenant_id, key, digest, response) VALUES ($1, 'k', 'd', $2)", str(tenant)
        )
    await context(made, tenant, "c", ContextRequest(budget=BUDGET, call="context"))


def _file(tenant: UUID) -> Remembered:
    """A file of the memory tool."""
    return replace(
        _note(tenant), id=A_FILE, scope=Scope("user", "u").files, key="a", content=f"kept by {tenant}",
        passages=[(A_FILE, 0, 0, kept.NO_TERMS)], conversation_id=None, conversation_uid=None,
        seq=None, page=None,
    )  # fmt: skip


def _note(tenant: UUID) -> Remembered:
    """Something that a person wants kept in mind."""
    name, now = uuid7(), datetime.now(UTC)
    return Remembered(
        name, Scope("user", "u"), "preference", f"note of {tenant}", "{}", (), "{}", "person", False, None, now,
        [(name, 0, 0, kept.NO_TERMS)], key="diet", pinned=True, tokens=9,
    )  # fmt: skip


async def learn(tx: Tx, conversation: str) -> None:
    """What jobs write: an index of the first page, a topic, a note, a summary, and a name for a chapter."""
    text = f"said of {tx.tenant}"
    index = page_index.NewPageIndex(1, "llm", "m", text, 9, [text], [1], [text], [9])
    found = await conversations.get(tx, conversation)
    place = (conversation, found.uid, found.own_generation)
    assert await page_index.index(tx, *place, index)
    scope, now = Scope("conversation", conversation), datetime.now(UTC)
    wish = NewWish(
        uuid7(), Scope("user", "u").owner, scope.owner, scope.text, "held", None, 1, 1, text, 9, False, now, None
    )
    await appending.keep_wishes(tx, found, [wish], "llm")
    assert await summaries.insert(tx, conversation, summaries.StoredSummary(1, 4, text, 9, "m"), now)
    await chapters.name(tx, conversation, Chapter(1, 9, 12, 13), text, "m", now)


async def fill(
    superuser: asyncpg.Connection,
    tenant: UUID,
    conversation: str,
    messages: int,
    *,
    others: int = 2000,
    analyze: bool = True,
) -> None:
    """A long conversation, and many short ones beside it, put in by plain SQL; then the statistics are made anew."""
    await superuser.execute("SET session_replication_role = replica")  # foreign keys are not what is tested
    await superuser.execute(f"""
    INSERT INTO conversations (tenant_id, id, uid, user_id, version, last_seq, last_page, user_seq, full_total,
                               short_total, history_total, indexed_through, language, chain, asked, answered)
    SELECT '{tenant}', '{conversation}' || CASE WHEN n > 0 THEN n::text ELSE '' END,
           CASE n WHEN 0 THEN '{tenant}' ELSE gen_random_uuid() END, 'u', 1,
           s, s / 2, s - 1, s * 40, s * 40, s * 40, greatest(0, s / 2 - 30), 'en',
           ('end' || n)::bytea, ('asked' || n)::bytea, 'first'
      FROM (SELECT n, CASE n WHEN 0 THEN {messages} ELSE 2 END AS s FROM generate_series(0, {others}) n) n""")
    await superuser.execute(f"""
    INSERT INTO messages (tenant_id, conversation_id, seq, id, client_id, page, user_seq, call_group, kind, role, body,
                          parts, calls, results, full_tokens, short_tokens, loaded_tokens, full_before, short_before,
                          line, line_tokens)
    SELECT '{tenant}', c.id, s, gen_random_uuid(), 'm' || s, (s + 1) / 2, s - 1 + s % 2, s, 'message',
           CASE s % 2 WHEN 1 THEN 'user' ELSE 'assistant' END,
           format('{{"role":"%s","content":"message %s %s"}}', CASE s % 2 WHEN 1 THEN 'user' ELSE 'assistant' END, s,
                  repeat('word ', 30)),
           1, 0, 0, 40, 40, 0, (s - 1) * 40, (s - 1) * 40, 'line ' || s, 4
      FROM conversations c, generate_series(1, c.last_seq) s
     WHERE c.tenant_id = '{tenant}' AND c.id LIKE '{conversation}%'""")
    await superuser.execute(f"""
    INSERT INTO pages (tenant_id, conversation_id, page, first_seq, title, title_tokens)
    SELECT tenant_id, conversation_id, page, seq, 'title ' || page, 4 FROM messages
     WHERE tenant_id = '{tenant}' AND conversation_id LIKE '{conversation}%' AND role = 'user'""")
    await superuser.execute(f"""
    INSERT INTO recalls (tenant_id, conversation_id, page, count, at_page)
    SELECT tenant_id, conversation_id, page, 1, page FROM pages
     WHERE tenant_id = '{tenant}' AND conversation_id LIKE '{conversation}%'""")
    await superuser.execute(f"""
    INSERT INTO page_index (tenant_id, conversation_id, page, source, title, title_tokens, topics, seqs, lines,
                            line_tokens)
    SELECT tenant_id, conversation_id, page, 'llm', 'named ' || page, 4, ARRAY['topic ' || page % 30],
           ARRAY[first_seq], ARRAY['line ' || first_seq], ARRAY[4] FROM pages
     WHERE tenant_id = '{tenant}' AND conversation_id LIKE '{conversation}%'""")
    await superuser.execute(f"""
    INSERT INTO chapter_names (tenant_id, conversation_id, first_page, last_page, model, title)
    SELECT tenant_id, conversation_id, page, page, 'm', 'chapter ' || page FROM pages
     WHERE tenant_id = '{tenant}' AND conversation_id LIKE '{conversation}%'""")
    await superuser.execute(f"""
    INSERT INTO summaries (tenant_id, conversation_id, version, through_seq, text, tokens, model)
    SELECT tenant_id, conversation_id, page, page * 2, 'summary ' || page, 4, 'm' FROM pages
     WHERE tenant_id = '{tenant}' AND conversation_id LIKE '{conversation}%'""")
    await superuser.execute(f"""
    INSERT INTO cuts (tenant_id, conversation_id, number, budget, step, condensed_from, verbatim_from, pinned, room,
                      half_mark, full_total, last_seq, last_page, generation, is_squeezed, forms, head)
    SELECT tenant_id, id, 1, {BUDGET}, 0, greatest(1, last_seq - 60), greatest(1, last_seq - 30), 0, 100, 0, full_total,
           last_seq, last_page, generation, false, '[]', '{{"listed":[],"chapters":[],"days":[]}}' FROM conversations
     WHERE tenant_id = '{tenant}' AND id LIKE '{conversation}%'""")
    learnt = ("page_index", "chapter_names", "summaries")
    for table in ("conversations", "messages", "pages", "recalls", "cuts", *learnt) if analyze else ():
        await superuser.execute(f"ANALYZE {table}")


async def fingerprint(superuser: asyncpg.Connection, tenant: UUID) -> asyncpg.Record:
    """Return a digest of a tenant's rows in each table."""
    rows = "(SELECT md5(string_agg(t::text, '' ORDER BY t::text)) FROM {} t WHERE tenant_id = $1)"
    found = await superuser.fetchrow(f"SELECT {', '.join(map(rows.format, TABLES))}", tenant)
    assert found is not None
    return found
