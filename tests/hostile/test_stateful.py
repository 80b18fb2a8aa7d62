"""Run random sequences of API requests and compare every response with a plain model.

Histories are byte-equal and numbered without gaps, windows keep their promises, nothing erased reappears in any
response or table, and nobody sees another's data.
"""

import json
import os
import re
from collections.abc import Callable
from functools import cache
from typing import Any
from uuid import UUID

import asyncpg
import httpx
import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test

from app.queue import table
from app.text.tokens import TokenCounter
from app.worker import HANDLERS
from tests.api.kit import Json, assistant, call, canonical, history, ok, path, problem, result, user
from tests.api.promises import (
    Count,
    Watch,
    assert_anthropic,
    assert_begins_as,
    assert_openai,
    assert_pages_add_up,
    assert_within_budget,
)
from tests.hostile.stateful_model import MARK, Conversation, Model, Person, Said
from tests.jobs.conftest import MakeWorker, api, base_url, make_worker
from tests.jobs.kit import Model as Scripted
from tests.jobs.kit import Worker, index_of, shown
from tests.keys.conftest import mint
from tests.keys.kit import Mint, bearing

pytestmark = pytest.mark.slow

__all__ = ["api", "base_url", "make_worker", "mint"]

Sql = Callable[[str], list[asyncpg.Record]]

LONG = bool(os.environ.get("QUIRE_LONG"))
TENANTS = {name: UUID(int=number << 64) for number, name in enumerate("abi", start=1)}
"""Of the third nothing is ever left: what the others export is put in there, compared, and erased."""
USERS = {"c0": "ann", "c1": "ann", "c2": "bob"}
BUDGETS = (1500, 3000, 12_000, None)
SETTINGS = {"full_recent_count": 2, "active_pages": 4, "archive_threshold": 600, "unlist_after_turns": 3}
FILLING = ("the harbour is closed on Fridays ", "港口的运价今天又涨了一点。", "a = {'b': [1, 2.50]};\n\t", "🦜 ")

people = st.sampled_from("ab")
conversations = st.sampled_from(sorted(USERS))
places = st.integers(0, 99)


@pytest.fixture
def model() -> Scripted:
    """It quotes whatever it is shown, everywhere it can."""

    def page(request: Json) -> Json:
        said = [text[:280] for _, text in shown(request).values()]
        memories = [{"text": text, "quote": text, "seq": seq} for seq, (_, text) in shown(request).items()]
        wish = {"quote": said[0][:150], "seq": next(iter(shown(request))), "pinned": True}
        lines = {str(seq): text[:150] for seq, (_, text) in shown(request).items()}
        return index_of(
            request, title=said[0][:90], lines=lines, topics=MARK.findall(said[0])[:3], memories=[wish, *memories]
        )

    def summary(request: Json) -> str:
        """Half of it is from the summary so far."""
        before = re.search(r"<quire-summary>\n(.*?)\n</quire-summary>", request["messages"][1]["content"], re.DOTALL)
        new = "\n".join(text[:200] for _, text in shown(request).values())
        return f"{before[1][:300]}\n{new[:300]}" if before else new[:600]

    return Scripted(page=page, summary=summary)


class Sequences(RuleBasedStateMachine):
    """One tenant does something at each step."""

    def __init__(self, url: str, mint: Mint, sql: Sql, empty: Callable[[], None], worker: Worker, count: Count) -> None:
        super().__init__()
        self.url, self.mint, self.sql, self.worker, self.count = url, mint, sql, worker, count
        empty()
        self.model = Model()
        self.number = 0
        self.clients: list[httpx.Client] = []
        self.people = {(t, u): self.person(t, u) for t in TENANTS for u in (None, "ann", "bob")}

    def person(self, tenant: str, user: str | None = None) -> Person:
        key = self.mint(TENANTS[tenant], user=user)
        self.clients.append(httpx.Client(base_url=self.url, headers=bearing(key), timeout=30))
        return Person(self.clients[-1], tenant, user)

    def ask(self, person: Person, verb: str, where: str, status: int = 200, *, also: str = "", **sent: Any) -> Any:
        """A request, its answer checked for what must not be in it."""
        answer = person.client.request(verb, where, **sent)
        assert answer.status_code == status, f"{verb} {where}: {answer.status_code}, not {status}: {answer.text[:1000]}"
        self.model.check(person, answer.text, also=also)
        return answer if answer.headers["content-type"] != "application/json" else answer.json()

    def conversation(self, tenant: str, name: str) -> Conversation:
        """It is made where it is not there."""
        where = f"{tenant}{name}"
        if (tenant, where) not in self.model.conversations:
            body = {"id": where, "user_id": USERS[name], "settings": SETTINGS, "budget": 3000}
            self.ask(self.people[tenant, USERS[name]], "POST", "/conversations", 201, json=body)
            self.model.conversations[tenant, where] = Conversation(tenant, USERS[name], where)
        return self.model.conversations[tenant, where]

    def known(self, tenant: str, at: int) -> Conversation | None:
        found = [
            conversation
            for (whose, _), conversation in sorted(self.model.conversations.items())
            if whose == tenant and conversation.said
        ]
        return found[at % len(found)] if found else None

    def text(self, conversation: Conversation, filling: int, length: int) -> str:
        return f"{self.model.mark(conversation.tenant, conversation.user)} {FILLING[filling % 4]}" * max(1, length % 9)

    def fresh(self, conversation: Conversation, kind: str, filling: int, length: int) -> list[Json]:
        def text(longer: int = 0) -> str:
            return self.text(conversation, filling, length) + " more and more" * longer

        if kind == "result" and conversation.open_calls:
            return [result(one, text()) for one in conversation.open_calls]
        self.number += 1
        first, second = f"x{self.number}", f"y{self.number}"
        said = {
            "turn": lambda: [user(text()), assistant(text())],
            "turns": lambda: [m for _ in range(4) for m in (user(text()), assistant(text()))],
            "call": lambda: [user(text()), call(first, second, arguments=json.dumps({"q": text()}))],
            "big": lambda: [user(text()), call(first), result(first, text(60)), assistant(text())],
            "whole": lambda: [call(first, second), result(first, text()), result(second, text()), assistant(text())],
            "result": lambda: [user(text())],
        }
        return said[kind]()

    def said(self, conversation: Conversation, messages: list[Json], answer: list[Json]) -> None:
        conversation.learn(messages, answer)
        last = messages[-1]
        conversation.open_calls = [one["id"] for one in last.get("tool_calls") or ()]

    @initialize()
    def something_is_said(self) -> None:
        for tenant in "ab":
            self.append(tenant, "c0", "turns", 0, 3, resend=False)

    @rule(tenant=people, name=conversations, kind=st.sampled_from(["turn", "turns", "call", "result", "big", "whole"]),
          filling=places, length=places, resend=st.booleans())  # fmt: skip
    def append(self, tenant: str, name: str, kind: str, filling: int, length: int, *, resend: bool) -> None:
        conversation = self.conversation(tenant, name)
        person = self.people[tenant, conversation.user]
        messages = self.fresh(conversation, kind, filling, length)
        where, body = path(conversation.id, "messages"), {"messages": messages}
        headers = {"Idempotency-Key": f"k{self.number}-{len(conversation.said)}-{conversation.id}"} if resend else {}
        answer = self.ask(person, "POST", where, 201, json=body, headers=headers)
        self.said(conversation, messages, answer["messages"])
        if resend:
            assert self.ask(person, "POST", where, 201, json=body, headers=headers) == answer
            self.ask(person, "POST", where, 422, json={"messages": [user("another")]}, headers=headers)

    @rule(tenant=people, name=conversations, filling=places, length=places)
    def sync(self, tenant: str, name: str, filling: int, length: int) -> None:
        conversation = self.conversation(tenant, name)
        if not conversation.is_whole or conversation.open_calls:
            return
        messages = self.fresh(conversation, "turn", filling, length)
        body = {"messages": [one.message for one in conversation.said] + messages}
        for new in (messages, []):
            answer = self.ask(self.people[tenant, None], "POST", path(conversation.id, "sync"), json=body)
            assert (answer["matched"], len(answer["appended"])) == (len(body["messages"]) - len(new), len(new))
            self.said(conversation, new, answer["appended"]) if new else None

    @rule(tenant=people, at=places, budget=st.sampled_from(BUDGETS), form=st.sampled_from(["openai", "anthropic"]))
    def window(self, tenant: str, at: int, budget: int | None, form: str) -> None:
        conversation = self.known(tenant, at)
        if conversation is None:
            return
        person = self.people[tenant, conversation.user]
        watch = conversation.watches.setdefault(
            (budget, form), Watch(person.client, conversation.id, self.count, budget, form)
        )
        if conversation.is_whole:
            found = watch.look([one.message for one in conversation.said])
            self.model.check(person, str(found))
            return
        asked: Json = {"format": form, **({"budget": budget} if budget else {})}
        answer = person.client.get(path(conversation.id, "context"), params=asked)
        self.model.check(person, answer.text)
        if answer.status_code == 422:
            assert answer.json()["minimum_budget"] > (budget or 0)
            return
        found = ok(answer)
        assert_within_budget(found, self.count)
        assert_pages_add_up(found)
        (assert_openai if form == "openai" else assert_anthropic)(found)
        if watch.before is not None:
            assert_begins_as(found, watch.before)
        watch.before = found

    @rule(tenant=people, at=places, which=places, tool=st.sampled_from(["page", "memory", "archive"]))
    def recall(self, tenant: str, at: int, which: int, tool: str) -> None:
        """And append what came, as an agent does."""
        conversation = self.known(tenant, at)
        if conversation is None:
            return
        person = self.people[tenant, conversation.user]
        one = conversation.said[which % len(conversation.said)]
        name = "recall_page"
        arguments: Json = {"page": one.page}
        if tool == "memory" and one.marks - self.model.erased:
            name, arguments = "search_memories", {"query": min(one.marks - self.model.erased)}
        if tool == "archive" and (archives := self.model.archives(conversation)):
            name, arguments = "load_tool_history", {"uuid": archives[which % len(archives)].archive}
        found = self.ask(person, "POST", path(conversation.id, "tools", name), json={"arguments": arguments})
        assert not found["is_error"], found
        self.number += 1
        call_id = f"recall{self.number}"
        asked = {"page": 1} if name == "search_memories" else arguments
        messages = [user(self.text(conversation, 0, 1)), call(call_id, name=name, arguments=json.dumps(asked)),
                    result(call_id, found["content"])]  # fmt: skip
        answer = self.ask(person, "POST", path(conversation.id, "messages"), 201, json={"messages": messages})
        self.said(conversation, messages, answer["messages"])

    @rule(tenant=people, whose=st.sampled_from(["ann", "bob"]), keyed=st.booleans())
    def remember(self, tenant: str, whose: str, *, keyed: bool) -> None:
        mark = self.model.mark(tenant, whose)
        headers = {"Idempotency-Key": mark} if keyed else {}
        body = {"user_id": whose, "content": f"likes {mark} best", "keywords": [mark]}
        person = self.people[tenant, whose]
        made = self.ask(person, "POST", "/memories", 201, json=body, headers=headers)
        if keyed:
            assert self.ask(person, "POST", "/memories", 201, json=body, headers=headers) == made
        self.model.memories[made["memory_key"]] = (tenant, whose, mark)

    @rule(at=places, person=st.sampled_from(["own", "other user", "other tenant", "all"]))
    def look_for_a_memory(self, at: int, person: str) -> None:
        if not self.model.memories:
            return
        key = sorted(self.model.memories)[at % len(self.model.memories)]
        tenant, whose, mark = self.model.memories[key]
        asking = {
            "own": (tenant, whose), "all": (tenant, None), "other user": (tenant, "bob" if whose == "ann" else "ann"),
            "other tenant": ("b" if tenant == "a" else "a", None),
        }[person]  # fmt: skip
        theirs = person in ("own", "all")
        asker = self.people[asking]
        self.ask(asker, "GET", f"/memories/{key}", 200 if theirs else 404)
        search = {"user_id": asker.user or whose, "query": mark, "search_mode": "keyword", "limit": 100}
        found = self.ask(asker, "POST", "/memories/search", json=search)["results"]
        assert (key in [one["memory_key"] for one in found]) == theirs
        if not theirs:
            self.ask(asker, "DELETE", f"/memories/{key}", 404)

    @rule(tenant=people, at=places, which=places, keyed=st.booleans())
    def erase_a_message(self, tenant: str, at: int, which: int, *, keyed: bool) -> None:
        conversation = self.known(tenant, at)
        if conversation is None:
            return
        one = conversation.said[which % len(conversation.said)]
        headers = {"Idempotency-Key": f"erase {one.id}"} if keyed else {}
        where = path(conversation.id, "messages", one.id if keyed else str(one.seq))
        self.ask(self.people[tenant, conversation.user], "DELETE", where, headers=headers)
        self.gone(conversation, [one])

    @rule(tenant=people, at=places, which=places)
    def erase_what_was_recalled(self, tenant: str, at: int, which: int) -> None:
        conversation = self.known(tenant, at)
        if conversation is None:
            return
        one = conversation.said[which % len(conversation.said)]
        if not one.is_recalled and one.marks and not one.changed:
            self.recall(tenant, at, which, "page")
            self.ask(self.people[tenant, None], "DELETE", path(conversation.id, "messages", one.id))
            self.gone(conversation, [one])
            self.look(conversation)

    @rule(tenant=people, at=places, which=places)
    def erase_a_page(self, tenant: str, at: int, which: int) -> None:
        conversation = self.known(tenant, at)
        if conversation is None:
            return
        page = conversation.said[which % len(conversation.said)].page
        self.ask(self.people[tenant, None], "DELETE", path(conversation.id, "pages", str(page)))
        self.gone(conversation, [one for one in conversation.said if one.page == page])

    @rule(tenant=people, at=places, which=places)
    def erase_an_archive(self, tenant: str, at: int, which: int) -> None:
        conversation = self.known(tenant, at)
        if conversation is None or not (archives := self.model.archives(conversation)):
            return
        one = archives[which % len(archives)]
        for stranger in (self.people["b" if tenant == "a" else "a", None],
                         self.people[tenant, "bob" if conversation.user == "ann" else "ann"]):  # fmt: skip
            self.ask(stranger, "GET", f"/archive/{one.archive}", 404)
            self.ask(stranger, "DELETE", f"/archive/{one.archive}", 404)
        person = self.people[tenant, conversation.user]
        assert self.ask(person, "GET", f"/archive/{one.archive}")["content"] == one.message["content"]
        self.ask(person, "DELETE", f"/archive/{one.archive}")
        self.gone(conversation, [one])
        self.ask(person, "GET", f"/archive/{one.archive}", 404)

    def gone(self, conversation: Conversation, erased: list[Said]) -> None:
        for one in erased:
            one.changed = True
        self.model.erase(conversation.tenant, {mark for one in erased if not one.is_recalled for mark in one.marks})

    @rule(at=places)
    def erase_a_memory(self, at: int) -> None:
        if self.model.memories:
            key = sorted(self.model.memories)[at % len(self.model.memories)]
            tenant, whose, mark = self.model.memories.pop(key)
            self.ask(self.people[tenant, whose], "DELETE", f"/memories/{key}")
            self.model.erase(tenant, {mark})
            self.ask(self.people[tenant, whose], "GET", f"/memories/{key}", 404)

    @rule(tenant=people, at=places)
    def erase_a_conversation(self, tenant: str, at: int) -> None:
        conversation = self.known(tenant, at)
        if conversation is not None:
            self.ask(self.people[tenant, conversation.user], "DELETE", path(conversation.id))
            self.model.forget(conversation)
            self.ask(self.people[tenant, conversation.user], "GET", path(conversation.id), 404)

    @rule(tenant=people, whose=st.sampled_from(["ann", "bob"]))
    def erase_a_user(self, tenant: str, whose: str) -> None:
        self.ask(self.people[tenant, None], "DELETE", f"/users/{whose}")
        for conversation in [
            conversation
            for conversation in self.model.conversations.values()
            if (conversation.tenant, conversation.user) == (tenant, whose)
        ]:
            self.model.forget(conversation)
        for key, known in list(self.model.memories.items()):
            if known[:2] == (tenant, whose):
                del self.model.memories[key]
        self.model.erase(tenant, {mark for mark, owner in self.model.owners.items() if owner == (tenant, whose)})
        problem(self.people[tenant, whose].client.get("/conversations"), 401)
        self.people[tenant, whose] = self.person(tenant, whose)

    @rule(tenant=people, at=places)
    def move_elsewhere(self, tenant: str, at: int) -> None:
        """Into another tenant, and out of it again: it reads the same there."""
        conversation = self.known(tenant, at)
        if conversation is None:
            return
        here, there = self.people[tenant, None], self.people["i", None]
        lines = self.ask(here, "GET", path(conversation.id, "export")).content
        kind = {"content-type": "application/x-ndjson"}
        for again in (False, True):
            done = self.ask(there, "POST", "/import", content=lines, headers=kind, also=tenant)
            assert done["matched" if again else "imported"]["messages"] == len(conversation.said)
        differs = {"id", "created_at", "archive_id"} | (
            set() if conversation.is_whole else {"tokens"}
        )  # see docs/erasure.md
        told = [
            [{name: m[name] for name in m if name not in differs} for m in history(one.client, conversation.id)]
            for one in (here, there)
        ]
        assert canonical(told[0]) == canonical(told[1])
        self.ask(there, "DELETE", f"/users/{conversation.user}", also=tenant)
        self.people["i", conversation.user] = self.person("i", conversation.user)
        self.ask(there, "GET", path(conversation.id), 404)
        assert self.sql(f"SELECT 1 FROM messages WHERE tenant_id = '{TENANTS['i']}'") == []

    @rule(tenant=people)
    def work_in_the_background(self, tenant: str) -> None:
        self.work(tenant)

    def work(self, tenant: str) -> None:
        runtime, portal = self.worker.runtime, self.worker.portal
        for lane in ("llm", "local"):
            while claimed := portal.call(table.claim, runtime.database, TENANTS[tenant], lane, tuple(HANDLERS), 100):
                for job in claimed:
                    portal.call(HANDLERS[job.kind], runtime, job)

    @rule(tenant=people, at=places)
    def a_stranger_finds_nothing(self, tenant: str, at: int) -> None:
        conversation = self.known(tenant, at)
        if conversation is None:
            return
        for stranger in (self.people["b" if tenant == "a" else "a", None],
                         self.people[tenant, "bob" if conversation.user == "ann" else "ann"]):  # fmt: skip
            for part in ("", "messages", "context", "contents", "pages", "pages/1", "summary", "notes", "topics"):
                self.ask(
                    stranger, "GET", path(conversation.id, *part.split("/")) if part else path(conversation.id), 404
                )
            body = {"messages": [user("let me in")]}
            self.ask(stranger, "POST", path(conversation.id, "messages"), 404, json=body)
            self.ask(stranger, "DELETE", path(conversation.id), 404)
            listed = self.ask(stranger, "GET", "/conversations")["items"]
            assert conversation.id not in [one["id"] for one in listed]

    @rule(tenant=people, at=places)
    def look_at_everything(self, tenant: str, at: int) -> None:
        conversation = self.known(tenant, at)
        if conversation is not None:
            self.look(conversation)

    def look(self, conversation: Conversation) -> None:
        person = self.people[conversation.tenant, conversation.user]
        found = history(person.client, conversation.id, limit=7)
        self.model.check(person, str(found))
        assert [m["seq"] for m in found] == [one.seq for one in conversation.said]
        for one, told in zip(conversation.said, found, strict=True):
            assert (told["id"], told["page"], told["role"]) == (one.id, one.page, one.message["role"])
            if not one.changed:
                sent = {"content": None, "tool_calls": None, "tool_call_id": None, **one.message}
                assert canonical(sent) == canonical({name: told[name] for name in sent})
        for part in ("contents", "pages", "summary", "topics", "notes", "status"):
            self.ask(person, "GET", path(conversation.id, part))
        for page in range(1, conversation.page + 1):
            self.ask(person, "GET", path(conversation.id, "pages", str(page))) if conversation.said else None
        self.ask(person, "GET", "/archive")
        self.ask(person, "GET", f"/users/{conversation.user}/export")

    def teardown(self) -> None:
        try:
            self.look_for_what_was_erased()
        finally:
            for client in self.clients:
                client.close()

    def look_for_what_was_erased(self) -> None:
        for tenant in "ab":
            self.work(tenant)
        for conversation in self.model.conversations.values():
            self.look(conversation)
        tables = [r[0] for r in self.sql("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")]
        erased = sorted(self.model.erased)
        if erased:
            found = [t for t in tables if self.sql(f"SELECT 1 FROM {t} t WHERE t::text ~ '{'|'.join(erased)}' LIMIT 1")]
            assert found == [], "what was erased is in these tables"


def test_any_sequence_of_requests(
    base_url: str,
    mint: Mint,
    run_as_superuser: Sql,
    delete_every_row: Callable[[], None],
    make_worker: MakeWorker,
    counter: TokenCounter,
) -> None:
    worker, count = make_worker(), cache(counter.count)
    run_state_machine_as_test(
        lambda: Sequences(base_url, mint, run_as_superuser, delete_every_row, worker, count),  # type: ignore[arg-type]
        settings=settings(
            max_examples=100 if LONG else 12,
            stateful_step_count=60 if LONG else 30,
            derandomize=not LONG,
            database=None,
            suppress_health_check=list(HealthCheck),
            phases=[Phase.generate, Phase.shrink] if LONG else [Phase.generate],
        ),
    )
