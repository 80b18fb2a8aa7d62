"""Two tenants whose conversations have the same names: no statement, whomever it names, touches the other's."""

import asyncio
import inspect as python_inspect
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from types import ModuleType
from uuid import UUID

import asyncpg
import pytest

from app import errors
from app.core.scope import Scope
from app.core.search.narrowing import OWN_TYPES
from app.doctor import walk
from app.main import build_app
from app.postgres.database import Database
from app.postgres.embedded import EmbeddedPostgres
from app.postgres.transactions import ReadTx, Tx
from app.runtime import Runtime
from app.services.memory import remembering
from app.settings import Settings
from app.store import (
    appending,
    archives,
    branches,
    chapters,
    conversation_list,
    conversations,
    erasing,
    heads,
    idempotency,
    kept_answers,
    keys,
    messages,
    page_index,
    portable,
    pruning,
    served,
    spaces,
    summaries,
    windows,
)
from app.store.memory import embeddings, files, grep, kept, memories, narrowing, remembered, search_index
from app.store.memory.search_statement import ARE_FEW
from app.store.operators import audit
from app.store.proxy import proxied, proxied_requests
from app.text import bm25
from app.text.tokens import TokenCounter
from tests.guards.tenants import (
    A_FILE,
    ANN,
    BOB,
    BUDGET,
    Arguments,
    Sql,
    fill,
    fingerprint,
    in_order,
    populate,
    runtime,
    say,
)
from tests.kept_rows import KeptRows
from tests.tables import TABLES

pytestmark = pytest.mark.anyio

STORE = (
    appending, archives, audit, branches, conversation_list, conversations, embeddings, erasing, grep, idempotency,
    kept, kept_answers, keys, memories, messages, narrowing, page_index, portable, proxied, proxied_requests, pruning,
    remembered, search_index, served, spaces, files, summaries, walk, windows,
)  # fmt: skip
LAST = 2**31 - 1
NO_CONDITION = (None, None, None, None)
KEY = UUID("cccccccc-0000-7000-8000-000000000003")
"""The id of a key of each tenant."""


def as_tenant(tx: ReadTx, tenant: UUID) -> Tx:
    """Name a tenant to statements of a transaction that may be another's."""
    return Tx(tx.connection, tenant)


# Every statement that reads, with what finds something for its own tenant. `$1` is the tenant.
READS: dict[str, tuple[Sql, Arguments]] = {
    "conversation": (conversations.FIND, ("c",)),
    "locked conversation": (f"{conversations.FIND} FOR UPDATE OF c", ("c",)),
    "list": (
        conversation_list.LIST,
        {"owner": None, "pattern": None, "after": None, "after_uid": None, "limit": 10, "topics": [], "metadata": "{}"},
    ),
    "list of a user": (
        conversation_list.LIST_OF_USER,
        {"owner": "u", "pattern": None, "after": None, "after_uid": None, "limit": 10, "topics": [], "metadata": "{}"},
    ),
    "users": (conversation_list.USERS, ()),
    "has any": (conversations.HAS_ANY, ("u",)),
    "history": (messages.HISTORY, ("c", 0, 100)),
    "a shown message": (messages.SHOWN, ("c", 1)),
    "lines of the newest": (messages.LINES_THROUGH, ("c", LAST, 10)),
    "history backwards": (messages.HISTORY_BACK, ("c", LAST, 100)),
    "page": (messages.PAGE_MESSAGES, ("c", 1)),
    "pages": (messages.PAGES, {"conversation": "c", "after": 0, "limit": 10}),
    "some pages": (messages.SOME_PAGES, {"conversation": "c", "pages": [1, 2]}),
    "client ids": (messages.TAKEN_CLIENT_IDS, ("c", ["m1"])),
    "chains": (messages.CHAINS, ("c", [1, 2])),
    "newest digests": (messages.NEWEST_DIGESTS, ("c", 0, 10)),
    "last told": (messages.LAST_TOLD, ("c", LAST)),
    "ends like a list": (proxied.FIND, {"user": "u", "ends": [b"end"], "asked": b"other"}),
    "asked what a list asks": (proxied.FIND, {"user": "u", "ends": [], "asked": b"asked"}),
    "nobody's, ends like a list": (proxied.FIND_NOBODYS, {"user": None, "ends": [b"end"], "asked": b"other"}),
    "what callers know, backwards": (proxied.TOLD_BEFORE, ("c", LAST, 10)),
    "an answer by its id": (proxied.FIND_RESPONSE, ("resp_1",)),
    "digests of the prompt": (messages.PROMPT_DIGESTS, ("c", 2)),
    "entries": (windows.ENTRIES, {"conversation": "c", "short_from": 0, "last_seq": LAST}),
    "sums at a message": (windows.SUMS, ("c", 1)),
    "the newest cut": (windows.NEWEST_CUT, {"conversation": "c", "budget": BUDGET, "generation": 1}),
    "messages of a served window": (
        served.ITEMS,
        {
            "conversation": "c",
            "condensed_from": 1,
            "verbatim_from": 1,
            "pinned": 0,
            "last_page": 1,
            "anthropic": False,
            "last_seq": 3,
            "prompt_through": 0,
        },
    ),
    "served windows": (served.BROWSE, ("c", LAST, 10)),
    "the newest served windows": (served.LAST, ("c",)),
    "served windows, the oldest first": (served.ROWS, ("c", 0, 10)),
    "texts of served windows": (served.TEXTS, ("c", [b"digest"], True)),
    "words of Quire's own": (served.OWN_TEXTS, ([b"digest"],)),
    "pages for a head": (
        heads.PAGES,
        {
            "conversation": "c",
            "last_page": 40,
            "oldest_page": 0,
            "newest_page": 40,
            "recalled_since": 0,
            "more": [1, 2, 3],
            "condensed_from": LAST,
        },
    ),
    "texts for a head": (
        heads.TEXTS,
        {"conversation": "c", "condensed_from": LAST, "last_page": LAST},
    ),
    "chapters for a head": (
        chapters.AROUND,
        {"conversation": "c", "last_page": 40, "recalled_since": 0},
    ),
    "a chapter without a name": (chapters.UNNAMED, {"conversation": "c", "first_page": 1}),
    "chapters before one": (chapters.SHELF, {"conversation": "c", "before_page": 100}),
    "pages of a chapter": (chapters.TOLD, {"conversation": "c", "first_page": 1, "last_page": 2}),
    "chapters that hold pages": (chapters.HOLDING, {"conversation": "c", "pages": [1]}),
    "chapters of a volume": (chapters.PARTS, {"conversation": "c", "level": 1, "first_page": 1, "last_page": 99}),
    "idempotency": (idempotency.FIND, ("k",)),
    "archives": (
        archives.LIST,
        {"conversation": "c", "user": None, "tool": None, "since": None, "until": None, "after": None, "limit": 10},
    ),
    "messages by place": (messages.BY_PLACE, (["c", "c"], [1, 2])),
    "messages that show an archive": (
        archives.SHOWING,
        {"id": "none", "conversation": "c", "seq": 3, "owner": Scope("user", "u").owner},
    ),
    "answers that speak of an archive": (kept_answers.ANSWERS_SHOWING, ([idempotency.UNKNOWN], "-0000-7000-8000-")),
    "memories in mind of a conversation": (kept.OF_CONVERSATION, {"conversation": "c"}),
    "what a speaker keeps in mind": (kept.OF_SPEAKER, {"conversation": "c", "speaker": Scope("user", "u").owner}),
    "the value of a key": (kept.VALUE, (Scope("user", "u").owner, "diet")),
    "whether a page is indexed": (page_index.EXISTS, ("c", 1)),
    "topics": (page_index.TOPICS, {"conversation": "c", "pages": 10}),
    "newest summary": (summaries.NEWEST, ("c",)),
    "summaries": (summaries.LIST, ("c", 10)),
    "messages to erase": (erasing.ROWS, ("c", [1, 2])),
    "results of a call": (erasing.RESULTS, ("c", [2])),
    "archives of messages": (erasing.ARCHIVES, ("c", [3])),
    "titles that messages gave": (erasing.TITLES, ("c", [1])),
    "texts of messages": (erasing.TEXTS, ("c", 0, 10)),
    "a user's conversations": (erasing.CONVERSATION_OF, ("u", datetime(2100, 1, 1, tzinfo=UTC))),
    "a user's archives": (erasing.ARCHIVES_OF, ("u:u", 10)),
    "conversations to export": (portable.CONVERSATIONS, ("u", UUID(int=0), 10)),
    "messages to export": (portable.MESSAGES, ("c", 0, LAST, 10)),
    **{
        f"what was learnt, by {kind}": (statement, {"conversation": "c", "after": [], "limit": 10})
        for kind, statement in portable.LEARNT.items()
    },
    "a zone within a group": (windows.PARTED, ("c", list(range(99)))),
    "cuts to export": (portable.CUTS, {"conversation": "c", "generation": 1, "sensitive": True}),
    "a stored message": (portable.STORED, ("c", 1)),
    "a stored message by its client's id": (portable.STORED_BY_CLIENT, ("c", "m1")),
    "whether there is a summary": (portable.HAS_SUMMARY, ("c", 1)),
    "whether there is a recall": (portable.HAS_RECALL, ("c", 2, 1)),
    "proxied requests": (proxied_requests.BROWSE, ("c", None, 10)),
    "long conversations": (pruning.LONG, (10, "", 10)),
    "messages to prune": (
        pruning.READY,
        {"conversation": "c", "keep": 10, "before": LAST, "through": LAST, "limit": 10},
    ),
    "passages to keep": (pruning.PASSAGES, ("c", 1)),
    "old conversations": (pruning.OLD, (datetime(2100, 1, 1, tzinfo=UTC), 10)),
    "pages without an index": (portable.UNINDEXED_PAGES, ("c",)),
    "audit": (audit.LIST, (UUID(int=0), None, None, 10)),
    "keys": (keys.LIST, (UUID(int=2**128 - 1), 10)),
    "keys of a user": (keys.LIST_OF_USER, (UUID(int=2**128 - 1), 10, "u")),
    "memories that pass": (
        narrowing.AMONG,
        {"owners": [Scope("user", "u").owner], "roles": [], "people": [], "topics": [], "metadata": "{}"},
    ),
    "list of memories": (
        remembered.LIST,
        {
            "owners": [Scope("user", "u").owner],
            "types": list(OWN_TYPES),
            "sensitive": True,
            "conversation_uid": None,
            "topics": [],
            "metadata": "{}",
            "limit": 10,
            "characters": 100,
            "after": None,
            "status": "held",
            "key": None,
            "pinned": None,
            "as_of": None,
            "known_at": None,
            "scopes": None,
        },
    ),
    "list of memories on a line": (
        remembered.LIST_ON_LINE,
        {
            "owners": [Scope("user", "u").owner],
            "types": list(OWN_TYPES),
            "sensitive": True,
            "conversation_uid": None,
            "topics": [],
            "metadata": "{}",
            "limit": 10,
            "characters": 100,
            "after": None,
            "status": "held",
            "key": None,
            "pinned": None,
            "as_of": None,
            "known_at": None,
            "scopes": None,
            "own": UUID(int=1),
            "uids": [UUID(int=1)],
            "seqs": [1],
            "ids": [UUID(int=1)],
            "tree": [],
        },
    ),
    "conversations of a tree like a list": (branches.CONTINUED, ("proxied", [b"end"], b"asked")),
    "begun like a list": (proxied.BEGUN, ("u", [b"first"])),
    "nobody's, begun like a list": (proxied.BEGUN_BY_NOBODY, (None, [b"first"])),
    "a place to fork at": (branches.PLACE, ("c", 2)),
    "a message's place by its client's id": (branches.SEQ_OF, ("c", None, "m1")),
    "a call group to fork in": (branches.GROUP, ("c", 1, 99)),
    "the first answer": (branches.FIRST_ANSWER, ("c", 99)),
    "how far chapters had come": (branches.CHAPTERED, ("c", 10**6)),
    "pages that a line has no index of": (branches.UNINDEXED, ("c", 0, 10**6)),
    "how far a summary had come": (branches.SUMMARISED, ("c", 10**6, datetime(2100, 1, 1, tzinfo=UTC))),
    "titles": (branches.TITLES, ("c",)),
    "branches": (branches.LIST, ("proxied", None, None, 10)),
    "a tree": (branches.FAMILY, ("c",)),
    "what branches off": (branches.DESCENDANTS, (["proxied"],)),
    "conversations to grep": (grep.SPANS, ("u", 10)),
    "a space's conversations to grep": (grep.SPANS_OF_SPACE, ("team", 10)),
    "list of a space": (
        conversation_list.LIST_OF_SPACE,
        {
            "owner": "team",
            "pattern": None,
            "after": None,
            "after_uid": None,
            "limit": 10,
            "topics": [],
            "metadata": "{}",
        },
    ),
    "a space's conversations": (erasing.CONVERSATION_OF_SPACE, ("team", datetime(2100, 1, 1, tzinfo=UTC))),
    "keys of the memory tool's files": (files.KEYS, (Scope.read("m:u:u").owner,)),
    "a space's conversations to export": (portable.CONVERSATIONS_OF_SPACE, ("team", UUID(int=0), 10)),
    "a space": (spaces.FIND, ("team", "u")),
    "a held space": (spaces.HOLD, ("team",)),
    "a locked space": (spaces.LOCK, ("team",)),
    "spaces": (spaces.LIST, (None, 10)),
    "spaces of a user": (spaces.LIST_OF_USER, (None, 10, Scope("user", "u").owner)),
    "whose member a user is": (spaces.OF_USER, (Scope("user", "u").owner,)),
    "members of a space": (spaces.MEMBERS, ("team", None, 10)),
    "a member of a space": (spaces.MEMBER, ("team", "u")),
    "members among some": (spaces.AMONG, ("team", ["u"])),
    "messages that can match": (
        grep.MESSAGES,
        {
            "conversations": ["c"],
            "firsts": [1],
            "lasts": [LAST],
            "since": None,
            "until": None,
            "needles": [],
            "limit": 10,
            "expression": "x",
        },
    ),
    "archives to grep": (grep.ARCHIVES_OF, ("u:u", None, 10)),
    "doctor's walk through messages": (
        walk.MESSAGES,
        {"conversation": "", "seq": 0, "marks": walk.MARKS, "limit": 100},
    ),
    "doctor's walk through conversations": (walk.CONVERSATIONS, {"after": "", "marks": walk.MARKS, "limit": 100}),
    "doctor's walk through archives": (walk.ARCHIVES, {"after": walk.NOBODY, "limit": 100}),
    "doctor's walk through memories": (walk.MEMORIES, {"after": walk.NOBODY, "limit": 100}),
}
NONE_OF_ITS_OWN: dict[str, tuple[Sql, Arguments]] = {
    "conversations of a tree that begin like a list": (branches.BEGUN, ("proxied", b"begun")),
    "doctor's walk through vectors": (walk.VECTORS, {"after": walk.NOBODY, "limit": 100}),
    "doctor's walk through what waits for vectors": (walk.UNEMBEDDED, {"after": walk.NOBODY, "limit": 100}),
    "doctor's walk through postings": (
        walk.POSTINGS,
        {"owner": walk.NOBODY, "term": 0, "after": walk.NOBODY, "limit": 100},
    ),
    "doctor's walk through lists of vectors": (walk.LISTED, {"after": walk.NOBODY, "limit": 100}),
    "what recall tools brought in": (erasing.LOADED, (Scope("user", "u").owner, "", 0, 10)),
    "answers by their keys": (kept_answers.LOCK, (["none"],)),
    "archives that are still there": (erasing.STILL_THERE, ([UUID(int=1)],)),
    "owner of a memory": (remembered.OWNER, (UUID(int=1),)),
    "what became of a text": (
        kept.STATUS_OF,
        {"holder": Scope("user", "u").owner, "key": "diet", "content": f"note of {BOB}"},
    ),
    "answers of tools": (kept_answers.ANSWERS_SAID, (idempotency.UNKNOWN, "")),
    "answers that name ids": (kept_answers.ANSWERS_NAMING, ([UUID(int=1)], idempotency.UNKNOWN, "")),
    "answers that name few ids": (kept_answers.ANSWERS_NAMING_FEW, ([UUID(int=1)], idempotency.UNKNOWN, "")),
    "answers of a conversation": (
        kept_answers.ANSWERS_OF,
        {"conversation": "c", "quoted": '"c"', "owner": idempotency.UNKNOWN, "after": ""},
    ),
    "a message by its id": (erasing.SEQ_OF, ("c", UUID(int=1))),
    "messages before a time": (erasing.SEQS_BEFORE, ("c", 1, LAST, datetime(2100, 1, 1, tzinfo=UTC))),
    "archives that can match": (
        grep.RESULTS,
        {"ids": [UUID(int=1)], "since": None, "until": None, "needles": [], "expression": "x"},
    ),
    "cards of archives": (archives.KNOWN, ([UUID(int=1)],)),
    "a memory by its id": (kept.ONE, {"memory": UUID(int=1)}),
    "values of keys at a time": (
        remembered.HELD_AT,
        {
            "holders": [Scope("user", "u").owner],
            "as_of": None,
            "known_at": None,
            "sensitive": True,
            "terms": [1],
            "share_min": 0.0,
            "limit": 10,
        },
    ),
    "values that were replaced": (remembered.REPLACED, {"ids": [UUID(int=1)], "sensitive": True}),
    "what was kept in mind": (
        kept.THEN,
        {"conversation": "c", "before": 2, "as_of": None, "known_at": None},
    ),
    "versions of a memory": (kept.VERSIONS, {"memory": UUID(int=1), "before": None, "before_id": None, "limit": 10}),
    "what a conversation gave away": (kept.CARRIED_BY, ("c",)),
    "windows that recalled something": (conversations.ANCHORED, (Scope("user", "u").owner,)),
}
"""Where a conversation of the tests has nothing to find, or ids that only the database knows."""
_CHOICE = {"conversation": "c", "uid": UUID(int=1), "seq": 5, "sources": [], "generation": 0}
CHANGES: dict[str, tuple[Sql, Arguments]] = {
    "delete the memory tool's files": (files.DELETE_ALL, (Scope.read("m:u:u").owner,)),
    "contents of the memory tool's files": (files.CONTENTS, (Scope.read("m:u:u").owner, [A_FILE])),
    "rename a file": (files.RENAME, (A_FILE, "forged")),
    "change a space": (spaces.CHANGE, ("team", "forged", "{}", "{}")),
    "remove a member": (spaces.REMOVE, ("team", "u")),
    "a user leaves a space": (spaces.LEAVE_OF_USER, ("u", Scope("user", "u").owner)),
    "all leave a space": (spaces.LEAVE_ALL, ("team", Scope("user", "u").owner)),
    "forget a member": (spaces.FORGET_MEMBER, (Scope("user", "u").owner,)),
    "change": (
        conversations.CHANGE,
        {
            "conversation": "c",
            "title": "t",
            "system": None,
            "system_tokens": 0,
            "model": None,
            "budget": None,
            "policy": "{}",
            "metadata": "{}",
            "moves_zones": 1,
        },
    ),
    "delete": (conversations.DELETE, ("c",)),
    "delete archives": (conversations.DELETE_ARCHIVES, ("c",)),
    **{f"delete a stretch of {table}": (sql, ("c", 1, 99)) for table, sql in conversations.DELETE_STRETCH.items()},
    "recall": (messages.RECALL, {"conversation": "c", "first_page": 2, "last_page": 2, "at": None, "at_page": None}),
    "store a cut": (
        windows.STORE_CUT,
        {
            "conversation": "c",
            "uid": UUID(int=1),
            "own_generation": 0,
            **dict.fromkeys(windows.CUT_COLUMNS, 1),
            "is_squeezed": False,
            "forms": "[]",
            "head": "{}",
            "sources": [],
        },
    ),
    "put a cut": (
        windows.PUT_CUT,
        {
            "conversation": "c",
            "at": datetime(2100, 1, 1, tzinfo=UTC),
            **dict.fromkeys(windows.CUT_COLUMNS, 1),
            "is_squeezed": False,
            "forms": "[]",
            "head": "{}",
            "sources": [],
        },
    ),
    "forget cuts that quote": (windows.FORGET_QUOTING, ([UUID(int=1)],)),
    "correct an answer": (idempotency.STORE, ("k", "forged", UUID(int=1))),
    "begin a generation": (conversations.BEGIN_GENERATION, ("c", 1)),
    "forget cuts": (conversations.FORGET_CUTS, ("c",)),
    "join a call group": (conversations.JOIN, ("c", 1)),
    "calibrate": (conversations.CALIBRATE, ("c", 130)),
    "keep what is recalled": (conversations.ANCHOR, _CHOICE | {"text": "forged", "tokens": 1}),
    "keep that nothing is": (conversations.ANCHOR_NOTHING, _CHOICE | {"text": None, "tokens": 0}),
    "forget what is recalled": (conversations.FORGET_ANCHORED, (["c"],)),
    "replace a placeholder": (
        archives.REPLACE,
        {
            "conversation": "c",
            "seq": 3,
            "body": "{}",
            "view": "forged",
            "short": None,
            "anthropic": None,
            "line": "forged",
            "line_tokens": 1,
            "archive": UUID(int=1),
        },
    ),
    "forget a moment": (archives.FORGET_MOMENT, ("c", 3)),
    "forget a response": (proxied.FORGET_RESPONSE, ("c", 2, "{}")),
    "lock an answer": (proxied.LOCK_ANSWER, ("c", 2, "resp_1")),
    "use of a key": (keys.USED, (KEY,)),
    "revoke a key": (keys.REVOKE, (KEY, None)),
    "prune the audit log": (audit.PRUNE, (UUID(int=2**128 - 1), 10)),
    "limit a key": (keys.LIMIT, (KEY, None, 7)),
    "keys of an erased user": (keys.DELETE_OF_USER, ("u",)),
    "hold a conversation for an index": (page_index.HOLD, ("c", UUID(int=1), 0)),
    "index a page": (
        page_index.INDEX,
        {
            "conversation": "c",
            "uid": UUID(int=1),
            "generation": 0,
            "page": 2,
            "source": "llm",
            "model": "m",
            "title": "forged",
            "title_tokens": 1,
            "topics": [],
            "seqs": [],
            "lines": [],
            "line_tokens": [],
            "error": None,
            "at": None,
        },
    ),
    "cover": (summaries.COVER, ("c", 9)),
    "end earlier values": (
        kept.END_EARLIER,
        {"holders": [Scope("user", "u").owner], "keys": ["diet"], "since": [datetime(2100, 1, 1, tzinfo=UTC)]},
    ),
    "leave a conversation": (kept.LEAVE, ("c",)),
    "end a memory": (kept.END, (Scope("user", "u").owner, UUID(int=1), datetime(2100, 1, 1, tzinfo=UTC))),
    "hold a memory again": (kept.HOLD_AGAIN, (Scope("user", "u").owner, UUID(int=1), datetime(2100, 1, 1, tzinfo=UTC))),
    "drop proposals": (appending.DROP_PROPOSALS, ([Scope("user", "u").owner], ["I eat no meat."])),
    "follow a line": (
        kept.FOLLOW,
        {"before_ids": ["c"], "before_seqs": [9], "after_ids": ["d"], "after_seqs": [9]},
    ),
    "forget withdrawals": (kept.FORGET_WITHDRAWALS, (Scope("user", "u").owner,)),
    "decide values": (kept.DECIDE, {"holders": [Scope("user", "u").owner], "keys": ["diet"]}),
    "change a memory": (
        kept.CHANGE,
        {
            "memory": UUID(int=1),
            "pinned": False,
            "status": "held",
            "valid_from": datetime(2100, 1, 1, tzinfo=UTC),
            "valid_to": None,
            "sensitive": False,
            "metadata": "{}",
            "tokens": 1,
            "learnt_at": datetime.now(UTC),
        },
    ),
    "pin a key": (kept.PIN_KEY, (Scope("user", "u").owner, "diet", False)),
    "erase a message": (erasing.REPLACE, ("c", 1, "{}", None, None, "forged", 1, 1)),
    "unask a result": (erasing.UNASK, ("c", 3, "{}", None, None, None, "forged", 1)),
    "forget memories": (erasing.FORGET, ("c", [1, 2, 3], [1])),
    "forget vectors": (erasing.UNEMBED, ("c", [1, 2, 3])),
    "drop an index": (erasing.DROP_INDEX, ("c", [1])),
    "drop names of chapters": (erasing.DROP_CHAPTER_NAMES, ("c", [1])),
    "drop summaries": (erasing.DROP_SUMMARIES, ("c", 1)),
    "drop passages": (erasing.DROP_PASSAGES, ("c", ["x"])),
    "drop embedding work": (erasing.DROP_EMBEDDING, ("x",)),
    "rename pages": (erasing.RENAME, ("c", [1], ["t"], "forged", 1)),
    "settle": (erasing.SETTLE, ("c", 1, [], "forged", 1, "[]")),
    "redact a kept answer": (kept_answers.CORRECT, ("k", "forged")),
    "forget what is owned": (erasing.FORGET_OWNED, (Scope("user", "u").owner, 10)),
    "unask an archive": (erasing.UNASK_ARCHIVE, (UUID(int=1), "forged", "forged")),
    "change served windows": (
        served.CHANGE,
        {"conversations": ["c"], "uids": [UUID(int=1)], "firsts": [1], "sizes": [5], "bodies": [b"forged"]},
    ),
    "keep a text": (
        served.KEEP,
        {
            "conversation": "c",
            "uid": UUID(int=1),
            "erasures": 0,
            "withdrawn": 0,
            "digests": [b"forged"],
            "salts": [b"forged"],
            "parts": ["head"],
            "throughs": [1],
            "bodies": [b"forged"],
            "sources": ["{}"],
        },
    ),
    "forget texts since": (served.FORGET_SINCE, ("c", 1)),
    "forget texts that quote": (served.FORGET_QUOTING, ([UUID(int=1)],)),
    "forget texts that quote what belongs": (served.FORGET_QUOTED, {"conversation": "d"}),
    "forget queries": (served.FORGET_ASKED, (Scope("user", "u").owner,)),
    "record a proxied request": (
        proxied_requests.RECORD,
        ("c", UUID(int=1), "forged"),
    ),
    "prune proxied requests": (proxied_requests.PRUNE, (UUID(int=2**128 - 1), 10)),
    "prune a message": (pruning.PRUNE, ("c", 1, "{}", None, None, 1)),
    "keep a passage": (pruning.KEEP, (UUID(int=1), "forged", "{}")),
    "advance the pruning": (pruning.ADVANCE, ("c", 1)),
    "mark what is forked": (branches.MARK, (["c"],)),
    "show a branch": (branches.SHOW, ("c", "c", "branch")),
    "show no branch": (branches.UNSHOW, ("c", "branch")),
    "date a conversation": (portable.DATE, ("c", datetime(2100, 1, 1, tzinfo=UTC))),
}


@pytest.fixture
def populated(
    settings: Settings,
    postgres: EmbeddedPostgres,
    counter: TokenCounter,
    kept_rows: KeptRows,
    request: pytest.FixtureRequest,
) -> None:
    async def populate_both() -> None:
        database = await Database.connect(postgres.app_dsn, pool_size=1)
        await _populate(runtime(settings, database, counter))
        await database.close()

    kept_rows.put_back(lambda: asyncio.run(populate_both()), are_changed="made" in request.fixturenames)


@pytest.fixture
async def made(settings: Settings, database: Database, counter: TokenCounter, populated: None) -> Runtime:
    """Two tenants with something in every table, for a test that writes."""
    return runtime(settings, database, counter)


@pytest.fixture
async def shared(postgres: EmbeddedPostgres, populated: None) -> AsyncIterator[Database]:
    """The same for tests that change nothing."""
    database = await Database.connect(postgres.app_dsn, pool_size=1)
    yield database
    await database.close()


async def _populate(found: Runtime) -> None:
    for tenant in (ANN, BOB):
        await populate(found, tenant)
        async with found.database.begin(tenant) as tx:
            await keys.insert(
                as_tenant(tx, tenant), keys.NewKey(KEY, tenant.bytes * 2, f"{tenant}", ["read"], "u", None)
            )
            fact = remembering.MemoryRequest(f"fact of {tenant}", "fact", user_id="u")
            await remembering.remember(found, as_tenant(tx, tenant), fact)


@pytest.mark.parametrize("name", READS)
async def test_a_read_that_names_another_tenant_sees_nothing(shared: Database, name: str) -> None:
    sql, arguments = READS[name]
    values = in_order(sql, arguments)
    for own, other in ((ANN, BOB), (BOB, ANN)):
        async with shared.begin(own) as tx:
            assert str(other) not in str(seen := await tx.connection.fetch(str(sql), own, *values))
            assert seen, "it finds its own"
            assert await tx.connection.fetch(str(sql), other, *values) == []


@pytest.mark.parametrize("name", NONE_OF_ITS_OWN)
async def test_a_read_by_ids_that_names_another_tenant_sees_nothing(shared: Database, name: str) -> None:
    sql, arguments = NONE_OF_ITS_OWN[name]
    async with shared.begin(ANN) as tx:
        assert await as_tenant(tx, BOB).fetch(str(sql), *in_order(sql, arguments)) == []


@pytest.mark.parametrize("name", CHANGES)
async def test_a_change_that_names_another_tenant_changes_nothing(
    shared: Database, superuser: asyncpg.Connection, name: str
) -> None:
    sql, arguments = CHANGES[name]
    before = await fingerprint(superuser, BOB)
    async with shared.begin(ANN) as tx:
        assert await as_tenant(tx, BOB).execute(str(sql), *in_order(sql, arguments)) == 0
    assert await fingerprint(superuser, BOB) == before


async def test_archives_of_another_tenant_cannot_be_read_or_counted(made: Runtime) -> None:
    async with made.database.begin(BOB) as tx:
        [row] = await tx.connection.fetch("SELECT id, scope FROM archives")
        assert await archives.read(as_tenant(tx, BOB), Scope.read(row["scope"]), row["id"], 0, 10)
        assert len(await messages.archived_texts(as_tenant(tx, BOB), [row["id"]])) == 1
        assert len(await archives.fresh(as_tenant(tx, BOB), "c", [row["id"]], 1_000_000)) == 1
        whole = await archives.whole(as_tenant(tx, BOB), row["id"], locked=True)
        assert whole is not None
        assert whole.uid is not None
        assert await as_tenant(tx, BOB).fetchval(archives.CONTENT, whole.scope.text, whole.of)
        assert await memories.archive_indexed(as_tenant(tx, BOB), row["id"])
        assert await memories.message_indexed(as_tenant(tx, BOB), "c", 4)
        assert await messages.whole(as_tenant(tx, BOB), "c", whole.uid, 4, locked=True)
    async with made.database.begin(ANN) as tx:
        for tenant in (ANN, BOB):
            assert await archives.whole(as_tenant(tx, tenant), row["id"], locked=False) is None
            assert await archives.fresh(as_tenant(tx, tenant), "c", [row["id"]], 1_000_000) == []
            assert await as_tenant(tx, tenant).fetchval(archives.CONTENT, whole.scope.text, b"d") is None
            assert await memories.archive_indexed(as_tenant(tx, tenant), row["id"]) == 0
            assert await messages.whole(as_tenant(tx, tenant), "c", whole.uid, 4, locked=False) is None
        assert await as_tenant(tx, BOB).fetchval(archives.CONTENT, whole.scope.text, whole.of) is None
        assert await memories.message_indexed(as_tenant(tx, BOB), "c", 4) == 0
        for tenant in (ANN, BOB):
            assert await archives.read(as_tenant(tx, tenant), Scope.read(row["scope"]), row["id"], 0, 10) is None
            assert await messages.archived_texts(as_tenant(tx, tenant), [row["id"]]) == {}
        counted = await as_tenant(tx, BOB).fetchrow(conversations.COUNT_ROWS, "c")
        assert set(dict(counted or {}).values()) == {0}
        assert await as_tenant(tx, BOB).fetchval(conversation_list.COUNT) == 0


async def test_ids_of_another_tenant_are_not_found(made: Runtime) -> None:
    async with made.database.begin(BOB) as tx:
        [archive] = await archives.browse(as_tenant(tx, BOB), archives.ArchiveFilter("c"), limit=10)
        [passage, *_] = await tx.connection.fetch("SELECT id, owner, start FROM memories WHERE archive_id IS NOT NULL")
        [note, *_] = await kept.of_conversation(as_tenant(tx, BOB), "c")
        wanted = [(archive.id, passage["start"], 10)]
        terms = bm25.query(str(BOB))
        assert await archives.passages(as_tenant(tx, BOB), wanted)
        assert (await memories.search(as_tenant(tx, BOB), [passage["owner"]], memories.Scoring(terms)))[1]
        assert await memories.find(as_tenant(tx, BOB), passage["id"])
    async with made.database.begin(ANN) as tx:
        for tenant in (ANN, BOB):
            assert await archives.passages(as_tenant(tx, tenant), wanted) == {}
            assert await archives.known(as_tenant(tx, tenant), [archive.id]) == []
            assert await memories.find(as_tenant(tx, tenant), passage["id"]) is None
            assert await kept.one(as_tenant(tx, tenant), note.id) is None
            gone = await archives.delete(as_tenant(tx, tenant), archive.id, archive.scope)
            assert set(gone.values()) == {0}
        assert await memories.search(as_tenant(tx, BOB), [passage["owner"]], memories.Scoring(terms)) == ([], 0)
        assert await archives.expired(as_tenant(tx, BOB)) == []
        assert await as_tenant(tx, BOB).fetch(portable.ARCHIVES, "c", "u:u", UUID(int=0), 10) == []


async def test_a_memory_of_another_tenant_is_neither_read_nor_erased(
    made: Runtime, superuser: asyncpg.Connection
) -> None:
    async with made.database.begin(BOB) as tx:
        wanted = remembering.MemoryRequest("of Bob", "fact", user_id="u")
        key = (await remembering.remember(made, as_tenant(tx, BOB), wanted))[0].key
    async with made.database.begin(BOB) as tx:
        assert set(await remembered.contents(as_tenant(tx, BOB), [key], sensitive=False)) == {key}
    await superuser.execute("UPDATE memories SET expires_at = now() - interval '1 hour' WHERE content = 'of Bob'")
    async with made.database.begin(ANN) as tx:
        for tenant in (ANN, BOB):
            assert await remembered.contents(as_tenant(tx, tenant), [key], sensitive=True) == {}
            assert await remembered.delete(as_tenant(tx, tenant), key, sensitive=True) is None
            assert await remembered.owner(as_tenant(tx, BOB), key) is None
            assert (
                await as_tenant(tx, BOB).fetch(portable.MEMORIES, None, Scope("user", "u").owner, UUID(int=0), True, 9)
                == []
            )
            assert await remembered.expired(as_tenant(tx, BOB)) == []
            assert await remembered.expired(as_tenant(tx, tenant), Scope("user", "u").owner) == []
    async with made.database.begin(BOB) as tx:
        assert await remembered.expired(as_tenant(tx, BOB)) == [(key, Scope("user", "u").owner)]


async def test_vectors_of_another_tenant_are_neither_seen_nor_written(
    made: Runtime, superuser: asyncpg.Connection
) -> None:
    first, model = UUID(int=0), embeddings.model_id("m", 2)
    async with made.database.begin(BOB) as tx:
        [memory, *_] = await tx.connection.fetch("SELECT id, owner FROM memories ORDER BY id")
        assert await embeddings.adopt(as_tenant(tx, BOB), "m", 2) == model
        assert (await embeddings.mark(as_tenant(tx, BOB), model, first, 1_000)).owners == [memory["owner"]]
        assert await embeddings.waiting(as_tenant(tx, BOB), memory["owner"], 10)
        assert (await embeddings.count_missing(as_tenant(tx, BOB), [memory["owner"]]))[0]
        assert await embeddings.nul_offsets(as_tenant(tx, BOB), [memory["id"]]) == {memory["id"]: []}
        await embeddings.write(as_tenant(tx, BOB), memory["owner"], model, [(memory["id"], [0.6, 0.8])], [memory["id"]])
    question = "SELECT md5(string_agg(t::text, '' ORDER BY t::text)) FROM {} t WHERE tenant_id = $1"
    tables = ("embeddings", "embedding_models", "unembedded")
    before = [await superuser.fetchval(question.format(table), BOB) for table in tables]
    async with made.database.begin(ANN) as tx:
        assert await embeddings.current(as_tenant(tx, BOB)) is None
        assert await embeddings.current_name(as_tenant(tx, BOB)) is None
        assert list(await embeddings.waiting(as_tenant(tx, BOB), memory["owner"], 10)) == []
        assert await embeddings.count_missing(as_tenant(tx, BOB), [memory["owner"]]) == (0, 0)
        assert await embeddings.nul_offsets(as_tenant(tx, BOB), [memory["id"]]) == {}
        assert (await embeddings.mark(as_tenant(tx, BOB), model, first, 10)).owners == ()
        for tenant in (ANN, BOB):
            vectors = [(memory["id"], [1.0, 0.0])]
            await embeddings.write(as_tenant(tx, tenant), memory["owner"], model, vectors, [memory["id"]])
        await as_tenant(tx, BOB).execute(embeddings.RETIRE, UUID(int=1))
    assert [await superuser.fetchval(question.format(table), BOB) for table in tables] == before
    with pytest.raises(asyncpg.InsufficientPrivilegeError):
        async with made.database.begin(ANN) as tx:
            await embeddings.adopt(as_tenant(tx, BOB), "other", 2)


async def test_a_search_index_of_another_tenant_is_neither_read_nor_written(
    made: Runtime, superuser: asyncpg.Connection
) -> None:
    first, model = UUID(int=0), embeddings.model_id("m", 2)
    ever = memories.FIRST, memories.LAST
    async with made.database.begin(BOB) as tx:
        rows = await tx.connection.fetch("SELECT id, owner FROM memories WHERE terms::text NOT LIKE '{}%' ORDER BY id")
        ids, owner = [row["id"] for row in rows], rows[0]["owner"]
        some = memories.PassageFilter(among=ids[: len(ids) // 2])
        times = {"since": memories.FIRST, "until": memories.LAST}
        few = {"owners": [owner], "few": search_index.FEW, **times, **some.narrow([owner])}
        await embeddings.adopt(tx, "m", 2)
        await embeddings.write(tx, owner, model, [(id_, [0.0, 1.0]) for id_ in ids], ids)
        assert await search_index.is_due(tx, owner, model, 2)
        assert await search_index.first_centroids(tx, owner, model, 256, 1) == ["[0,1]"]
        assert await search_index.centroids(tx, owner, model, 256, ["[1,0]"], members=1) == ["[0,1]"]
        await search_index.begin(tx, owner, model, ["[1,0]"])
        assert await search_index.index_next(tx, owner, first, 1_000)
        assert await search_index.ready(tx, [owner], model, *ever, 0) == [owner]
        assert await tx.fetchval(ARE_FEW, **few)
    question = "SELECT md5(string_agg(t::text, '' ORDER BY t::text)) FROM {} t WHERE tenant_id = $1"
    tables = ("embeddings", "search_indexes", "postings", "listed")
    before = [await superuser.fetchval(question.format(table), BOB) for table in tables]
    meaning = memories.Meaning(model, "[0,1]", 0.3, 0.1)
    async with made.database.begin(ANN) as tx:
        bob = as_tenant(tx, BOB)
        for words in (bm25.query("question"), []):
            for meant in (meaning, None):
                asked = memories.Scoring(words, meant)
                for indexed in ([owner], None):
                    where = memories.PassageFilter(among=ids if indexed is None else None)
                    statement, arguments = memories.search_statement([owner], asked, where, indexed, limit=10)
                    assert await bob.fetch(statement, **arguments) == []
        assert await search_index.ready(bob, [owner], model, *ever, 0) == []
        assert not await bob.fetchval(ARE_FEW, **few)
        assert (await search_index.find(bob, owner, model)).model is None
        assert not await search_index.is_due(bob, owner, model, 1)
        assert await search_index.first_centroids(bob, owner, model, 256, 1) == ()
        assert await search_index.centroids(bob, owner, model, 256, ["[1,0]"], members=1) == ()
        for named in (as_tenant(tx, ANN), bob):
            await search_index.index(named, owner, ids)
            await search_index.forget_all(named)
        await search_index.index_if_large(bob, owner, ids)
        await search_index.index_next(bob, owner, first, 1_000)
        await search_index.forget(bob, owner)
    assert [await superuser.fetchval(question.format(table), BOB) for table in tables] == before
    with pytest.raises(asyncpg.InsufficientPrivilegeError):
        async with made.database.begin(ANN) as tx:
            await search_index.begin(as_tenant(tx, BOB), owner, model, ["[1,0]"])


async def test_rows_for_another_tenant_cannot_be_inserted(made: Runtime) -> None:
    for table in TABLES:
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            async with made.database.begin(ANN) as tx:
                await as_tenant(tx, BOB).execute(f"INSERT INTO {table} (tenant_id) VALUES ($1)")


async def test_without_a_tenant_there_are_no_rows(made: Runtime) -> None:
    for table in TABLES:
        found = await made.database.fetch_all(f"SELECT FROM {table}")
        assert len(found) == (2 if table == "tenants" else 0)  # a list of ids and names, that the worker goes through


async def test_the_row_of_another_tenant_cannot_be_changed(made: Runtime) -> None:
    async with made.database.begin(ANN) as tx:
        assert len(await tx.connection.fetch("SELECT FROM tenants")) == 2
        for statement in ("UPDATE tenants SET name = 'forged', keyed_at = NULL", "DELETE FROM tenants"):
            assert await as_tenant(tx, BOB).execute(f"{statement} WHERE tenant_id = $1") == 0
    with pytest.raises(asyncpg.InsufficientPrivilegeError):
        async with made.database.begin(ANN) as tx:
            await as_tenant(tx, BOB).execute(keys.DEMAND, "forged")


async def test_a_key_is_looked_up_under_its_own_tenant_on_every_plan(made: Runtime) -> None:
    for _ in range(8):  # PostgreSQL turns to a generic plan after five
        for tenant in (ANN, BOB):
            row = await keys.look_up(made.database, tenant, KEY)
            assert row is not None
            assert row.digest == tenant.bytes * 2
        assert await keys.look_up(made.database, UUID(int=7), KEY) is None


def statements(module: ModuleType) -> Iterator[tuple[str, Sql]]:
    for name, value in python_inspect.getmembers(module):
        if isinstance(value, Sql) and name[0].isupper() and name.isupper() and "$1" in str(value):
            yield f"{module.__name__}.{name}", value


async def test_every_statement_names_the_tenant_and_is_tried_here() -> None:
    tried = [
        *(sql for found in (READS, NONE_OF_ITS_OWN) for sql, _ in found.values()),
        *(sql for sql, _ in CHANGES.values()),
    ]
    tried_elsewhere = {
        "CREATE",
        "COUNT",
        "COUNT_SPACES",
        "LEAVE",
        "COUNT_ROWS",
        "DELETE_CONTENTS",
        "READ",
        "CLAIM",
        "PRUNE",
        "ARCHIVED_TEXTS",
        "WINDOW",
    }
    tried_elsewhere |= {"BEGIN_ROW", "KEEP_OWN"}  # rows of another tenant cannot be inserted
    tried_elsewhere |= {"NEWER", "UNINDEXED", "FRESH", "CHANGE_ALONE"}
    by_id = {"PASSAGES", "SEARCH", "FIND", "CHANGE", "DELETE", "DELETE_PASSAGES", "DELETE_CONTENT", "EXPIRED"}
    by_id |= {"LOCK_CONTENT", "LOCK_CONTENTS", "LOCK_ALL_CONTENTS", "CONTENTS", "OWNERS_OF_EXPIRED", "DELETE_EXPIRED"}
    by_id |= {"WHOLE", "CONTENT", "ARCHIVE_INDEXED", "MESSAGE_INDEXED"}
    by_id |= {"COUNT_OLD", "BY_BOTH", "CARDS", "MEMORIES", "ARCHIVES", "OWNER_OF_MEMORY", "PLACE_OF_ARCHIVE"}
    by_id |= {
        "BY_WORDS",
        "ANY_WAITING",
        "COUNT_MISSING",
        "REFUSED",
        "WAITING",
        "NUL_OFFSETS",
        "WRITE",
        "SETTLE",
        "ADOPT",
        "RETIRE",
        "MARK",
        "CURRENT",
        "CURRENT_NAME",
    }
    by_id |= {"LOOK_UP", "PARTS"}
    of_an_index = {"READY", "IS_DUE", "FIRST_CENTROIDS", "CENTROIDS", "BEGIN", "HOLD", "POST", "LIST_VECTORS", "NEXT"}
    of_an_index |= {"EXISTS", "CONTINUE", "FORGET", "FORGET_ALL", "ARE_FEW"}
    by_id |= of_an_index
    put_in = {
        "INSERT",
        "INSERT_CONTENT",
        "INSERT_MEMORIES",
        "INSERT_WISHES",
        "KEEP_VERSION",
        "WITHDRAW",
        "DEMAND",
        "CREATE_TENANT",
        "PUT",
        "ADD_VERSION",
        "ADD",
        "TAKE_VERSION",
    }
    put_in |= {"REPEATED"}  # a part of INSERT_WISHES
    # Parts of others, for Citus.
    put_in |= {"WANT", "LOOK", "HOLD_LACKING", "INSERT_ALONE", "ADVANCE", "CONVERSATION_FIELDS"}
    tried_elsewhere |= by_id | put_in
    found = [pair for module in STORE for pair in statements(module)]
    assert len(found) >= 25
    for name, sql in found:
        assert "tenant_id" in str(sql), name
        assert sql in tried or name.rsplit(".", 1)[1] in tried_elsewhere, f"{name} is not tried with another tenant"


@pytest.mark.parametrize("size", ["tiny and not analysed", "large and analysed"])
async def test_the_hot_statements_find_exactly_the_tenants_rows(
    made: Runtime, superuser: asyncpg.Connection, size: str
) -> None:
    """They set the tenant in their LIMIT, which must come before the first row; on every plan, cached ones too."""
    if size.startswith("large"):
        for tenant in (ANN, BOB):
            await fill(superuser, tenant, "long", 4000, others=500)
    wanted = windows.Wanted(BUDGET, BUDGET, 0, anthropic=False)
    for round_ in range(8):  # PostgreSQL turns to a generic plan after five
        for tenant in (ANN, BOB):
            found = await windows.load(made.database, tenant, "c", wanted)
            assert found is not None
            assert found.cut is not None
            assert found.items
            assert all(str(tenant) in item.text or item.seq in (2, 3) for item in found.items)
            newer = await windows.newer(made.database, tenant, "c", 5, found.cut, anthropic=False)
            assert newer is not None
            assert newer[1] == found.cut.number
            assert newer[2]
            assert all(str(tenant) in item.text for item in newer[2])
            assert await windows.newer(made.database, UUID(int=7), "c", 5, found.cut, anthropic=False) is None
            page = await page_index.unindexed(made.database, tenant, "c", found.conversation.uid, 2, 30)
            assert page is not None
            assert page.lines
            assert all(str(tenant) in text for text in (page.title, *(line for _, line in page.lines), *page.topics))
            assert await page_index.unindexed(made.database, UUID(int=7), "c", found.conversation.uid, 2, 30) is None
            for name in ("long", "long1") if size.startswith("large") else ():
                assert await windows.load(made.database, tenant, name, replace(wanted, anthropic=True)) is not None
            assert await windows.load(made.database, UUID(int=7), "c", wanted) is None
            await say(made, tenant, "c", [{"role": "user", "content": f"again {round_} of {tenant}"}])
            await say(made, tenant, f"new {round_}", [{"role": "user", "content": str(tenant)}])
    counts = await superuser.fetch("SELECT tenant_id, count(*) FROM messages WHERE conversation_id = 'c' GROUP BY 1")
    assert {row[0]: row[1] for row in counts} == {ANN: 71, BOB: 71}
    wrong = await superuser.fetch(
        "SELECT FROM messages WHERE conversation_id NOT LIKE 'long%' AND role = 'user'"
        " AND body NOT LIKE '%' || tenant_id || '%'"
    )
    assert wrong == []


async def test_an_append_goes_to_its_own_tenant_only(made: Runtime, superuser: asyncpg.Connection) -> None:
    """Not even if the process remembered the other tenant's conversation in its place."""
    await say(made, BOB, "c", [{"role": "user", "content": "hello"}])
    known = made.caches.conversation(BOB, "c")
    assert known is not None
    made.caches.keep_conversation(ANN, replace(known, version=known.version))
    before = await superuser.fetchval("SELECT count(*) FROM messages")
    await say(made, ANN, "c", [{"role": "user", "content": f"mine, {ANN}"}])
    rows = await superuser.fetch("SELECT tenant_id, seq FROM messages WHERE body LIKE '%mine, %'")
    assert [tuple(row) for row in rows] == [(ANN, 64)]
    assert await superuser.fetchval("SELECT count(*) FROM messages") == before + 1


@pytest.mark.parametrize("role", ["superuser", "bypass"])
async def test_start_up_refuses_a_role_that_row_level_security_does_not_bind(
    postgres: EmbeddedPostgres, settings: Settings, superuser: asyncpg.Connection, role: str
) -> None:
    dsn = postgres.superuser_dsn if role == "superuser" else postgres.app_dsn
    if role == "bypass":
        await superuser.fetch("ALTER ROLE quire_app BYPASSRLS")
    try:
        app = build_app(settings, dsn)
        with pytest.raises(errors.UnsafeDatabase):
            async with app.router.lifespan_context(app):
                pytest.fail("it started")
    finally:
        await superuser.fetch("ALTER ROLE quire_app NOBYPASSRLS")
