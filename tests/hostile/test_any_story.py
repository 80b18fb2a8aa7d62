"""Whatever is done through the API, in whatever order: what comes back is what a plain model says.

Histories are byte-equal and numbered without gaps, windows keep their promises, nothing erased is seen again in any
answer or table, and nobody sees what is another's.
"""

import json
import os
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
from tests.hostile.story import MARK, Model, Person, Said, Talk
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
talks = st.sampled_from(sorted(USERS))
places = st.integers(0, 99)


@pytest.fixture
def model() -> Scripted:
    """It quotes whatever it is shown, everywhere it can."""

    def page(request: Json) -> Json:
        said = [text[:280] for _, text in shown(request).values()]
        memories = [{"type": "fact", "content": text, "seq": seq} for seq, (_, text) in shown(request).items()]
        notes = [{"text": f"Always: {said[0][:150]}", "seq": next(iter(shown(request)))}]
        lines = {str(seq): text[:150] for seq, (_, text) in shown(request).items()}
        return index_of(
            request, title=said[0][:90], lines=lines, topics=MARK.findall(said[0])[:3], memories=memories, notes=notes
        )

    return Scripted(page=page, summary=lambda request: "\n".join(text[:200] for _, text in shown(request).values()))


class Story(RuleBasedStateMachine):
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

    def talk(self, tenant: str, name: str) -> Talk:
        """It is made where it is not there."""
        where = f"{tenant}{name}"
        if (tenant, where) not in self.model.talks:
            body = {"id": where, "user_id": USERS[name], "settings": SETTINGS, "budget": 3000}
            self.ask(self.people[tenant, USERS[name]], "POST", "/conversations", 201, json=body)
            self.model.talks[tenant, where] = Talk(tenant, USERS[name], where)
        return self.model.talks[tenant, where]

    def known(self, tenant: str, at: int) -> Talk | None:
        found = [talk for (whose, _), talk in sorted(self.model.talks.items()) if whose == tenant and talk.said]
        return found[at % len(found)] if found else None

    def text(self, talk: Talk, filling: int, length: int) -> str:
        return f"{self.model.mark(talk.tenant, talk.user)} {FILLING[filling % 4]}" * max(1, length % 9)

    def fresh(self, talk: Talk, kind: str, filling: int, length: int) -> list[Json]:
        def text(longer: int = 0) -> str:
            return self.text(talk, filling, length) + " more and more" * longer

        if kind == "result" and talk.open_calls:
            return [result(one, text()) for one in talk.open_calls]
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

    def said(self, talk: Talk, messages: list[Json], answer: list[Json]) -> None:
        talk.learn(messages, answer)
        last = messages[-1]
        talk.open_calls = [one["id"] for one in last.get("tool_calls") or ()]

    @initialize()
    def something_is_said(self) -> None:
        for tenant in "ab":
            self.append(tenant, "c0", "turns", 0, 3, resend=False)

    @rule(tenant=people, name=talks, kind=st.sampled_from(["turn", "turns", "call", "result", "big", "whole"]),
          filling=places, length=places, resend=st.booleans())  # fmt: skip
    def append(self, tenant: str, name: str, kind: str, filling: int, length: int, *, resend: bool) -> None:
        talk = self.talk(tenant, name)
        person = self.people[tenant, talk.user]
        messages = self.fresh(talk, kind, filling, length)
        where, body = path(talk.id, "messages"), {"messages": messages}
        headers = {"Idempotency-Key": f"k{self.number}-{len(talk.said)}-{talk.id}"} if resend else {}
        answer = self.ask(person, "POST", where, 201, json=body, headers=headers)
        self.said(talk, messages, answer["messages"])
        if resend:
            assert self.ask(person, "POST", where, 201, json=body, headers=headers) == answer
            self.ask(person, "POST", where, 422, json={"messages": [user("another")]}, headers=headers)

    @rule(tenant=people, name=talks, filling=places, length=places)
    def sync(self, tenant: str, name: str, filling: int, length: int) -> None:
        talk = self.talk(tenant, name)
        if not talk.is_whole or talk.open_calls:
            return
        messages = self.fresh(talk, "turn", filling, length)
        body = {"messages": [one.message for one in talk.said] + messages}
        for new in (messages, []):
            answer = self.ask(self.people[tenant, None], "POST", path(talk.id, "sync"), json=body)
            assert (answer["matched"], len(answer["appended"])) == (len(body["messages"]) - len(new), len(new))
            self.said(talk, new, answer["appended"]) if new else None

    @rule(tenant=people, at=places, budget=st.sampled_from(BUDGETS), form=st.sampled_from(["openai", "anthropic"]))
    def window(self, tenant: str, at: int, budget: int | None, form: str) -> None:
        talk = self.known(tenant, at)
        if talk is None:
            return
        person = self.people[tenant, talk.user]
        watch = talk.watches.setdefault((budget, form), Watch(person.client, talk.id, self.count, budget, form))
        if talk.is_whole:
            found = watch.look([one.message for one in talk.said])
            self.model.check(person, str(found))
            return
        asked: Json = {"format": form, **({"budget": budget} if budget else {})}
        answer = person.client.get(path(talk.id, "context"), params=asked)
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
        talk = self.known(tenant, at)
        if talk is None:
            return
        person = self.people[tenant, talk.user]
        one = talk.said[which % len(talk.said)]
        name = "recall_page"
        arguments: Json = {"page": one.page}
        if tool == "memory" and one.marks - self.model.erased:
            name, arguments = "search_memories", {"query": min(one.marks - self.model.erased)}
        if tool == "archive" and (archives := self.model.archives(talk)):
            name, arguments = "load_tool_history", {"uuid": archives[which % len(archives)].archive}
        found = self.ask(person, "POST", path(talk.id, "tools", name), json={"arguments": arguments})
        assert not found["is_error"], found
        self.number += 1
        call_id = f"recall{self.number}"
        asked = {"page": 1} if name == "search_memories" else arguments
        messages = [user(self.text(talk, 0, 1)), call(call_id, name=name, arguments=json.dumps(asked)),
                    result(call_id, found["content"])]  # fmt: skip
        answer = self.ask(person, "POST", path(talk.id, "messages"), 201, json={"messages": messages})
        self.said(talk, messages, answer["messages"])

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
        talk = self.known(tenant, at)
        if talk is None:
            return
        one = talk.said[which % len(talk.said)]
        headers = {"Idempotency-Key": f"erase {one.id}"} if keyed else {}
        where = path(talk.id, "messages", one.id if keyed else str(one.seq))
        self.ask(self.people[tenant, talk.user], "DELETE", where, headers=headers)
        self.gone(talk, [one])

    @rule(tenant=people, at=places, which=places)
    def erase_what_was_recalled(self, tenant: str, at: int, which: int) -> None:
        talk = self.known(tenant, at)
        if talk is None:
            return
        one = talk.said[which % len(talk.said)]
        if not one.is_recalled and one.marks and not one.changed:
            self.recall(tenant, at, which, "page")
            self.ask(self.people[tenant, None], "DELETE", path(talk.id, "messages", one.id))
            self.gone(talk, [one])
            self.look(talk)

    @rule(tenant=people, at=places, which=places)
    def erase_a_page(self, tenant: str, at: int, which: int) -> None:
        talk = self.known(tenant, at)
        if talk is None:
            return
        page = talk.said[which % len(talk.said)].page
        self.ask(self.people[tenant, None], "DELETE", path(talk.id, "pages", str(page)))
        self.gone(talk, [one for one in talk.said if one.page == page])

    @rule(tenant=people, at=places, which=places)
    def erase_an_archive(self, tenant: str, at: int, which: int) -> None:
        talk = self.known(tenant, at)
        if talk is None or not (archives := self.model.archives(talk)):
            return
        one = archives[which % len(archives)]
        for stranger in (self.people["b" if tenant == "a" else "a", None],
                         self.people[tenant, "bob" if talk.user == "ann" else "ann"]):  # fmt: skip
            self.ask(stranger, "GET", f"/archive/{one.archive}", 404)
            self.ask(stranger, "DELETE", f"/archive/{one.archive}", 404)
        person = self.people[tenant, talk.user]
        assert self.ask(person, "GET", f"/archive/{one.archive}")["content"] == one.message["content"]
        self.ask(person, "DELETE", f"/archive/{one.archive}")
        self.gone(talk, [one])
        self.ask(person, "GET", f"/archive/{one.archive}", 404)

    def gone(self, talk: Talk, erased: list[Said]) -> None:
        for one in erased:
            one.changed = True
        self.model.erase(talk.tenant, {mark for one in erased if not one.is_recalled for mark in one.marks})

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
        talk = self.known(tenant, at)
        if talk is not None:
            self.ask(self.people[tenant, talk.user], "DELETE", path(talk.id))
            self.model.forget(talk)
            self.ask(self.people[tenant, talk.user], "GET", path(talk.id), 404)

    @rule(tenant=people, whose=st.sampled_from(["ann", "bob"]))
    def erase_a_user(self, tenant: str, whose: str) -> None:
        self.ask(self.people[tenant, None], "DELETE", f"/users/{whose}")
        for talk in [talk for talk in self.model.talks.values() if (talk.tenant, talk.user) == (tenant, whose)]:
            self.model.forget(talk)
        for key, known in list(self.model.memories.items()):
            if known[:2] == (tenant, whose):
                del self.model.memories[key]
        self.model.erase(tenant, {mark for mark, owner in self.model.owners.items() if owner == (tenant, whose)})
        problem(self.people[tenant, whose].client.get("/conversations"), 401)
        self.people[tenant, whose] = self.person(tenant, whose)

    @rule(tenant=people, at=places)
    def move_elsewhere(self, tenant: str, at: int) -> None:
        """Into another tenant, and out of it again: it reads the same there."""
        talk = self.known(tenant, at)
        if talk is None:
            return
        here, there = self.people[tenant, None], self.people["i", None]
        lines = self.ask(here, "GET", path(talk.id, "export")).content
        kind = {"content-type": "application/x-ndjson"}
        for again in (False, True):
            done = self.ask(there, "POST", "/import", content=lines, headers=kind, also=tenant)
            assert done["matched" if again else "imported"]["messages"] == len(talk.said)
        differs = {"id", "created_at", "archive_id"} | (set() if talk.is_whole else {"tokens"})  # see docs/erasure.md
        told = [
            [{name: m[name] for name in m if name not in differs} for m in history(one.client, talk.id)]
            for one in (here, there)
        ]
        assert canonical(told[0]) == canonical(told[1])
        self.ask(there, "DELETE", f"/users/{talk.user}", also=tenant)
        self.people["i", talk.user] = self.person("i", talk.user)
        self.ask(there, "GET", path(talk.id), 404)
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
        talk = self.known(tenant, at)
        if talk is None:
            return
        for stranger in (self.people["b" if tenant == "a" else "a", None],
                         self.people[tenant, "bob" if talk.user == "ann" else "ann"]):  # fmt: skip
            for part in ("", "messages", "context", "contents", "pages", "pages/1", "summary", "notes", "topics"):
                self.ask(stranger, "GET", path(talk.id, *part.split("/")) if part else path(talk.id), 404)
            body = {"messages": [user("let me in")]}
            self.ask(stranger, "POST", path(talk.id, "messages"), 404, json=body)
            self.ask(stranger, "DELETE", path(talk.id), 404)
            listed = self.ask(stranger, "GET", "/conversations")["items"]
            assert talk.id not in [one["id"] for one in listed]

    @rule(tenant=people, at=places)
    def look_at_everything(self, tenant: str, at: int) -> None:
        talk = self.known(tenant, at)
        if talk is not None:
            self.look(talk)

    def look(self, talk: Talk) -> None:
        person = self.people[talk.tenant, talk.user]
        found = history(person.client, talk.id, limit=7)
        self.model.check(person, str(found))
        assert [m["seq"] for m in found] == [one.seq for one in talk.said]
        for one, told in zip(talk.said, found, strict=True):
            assert (told["id"], told["page"], told["role"]) == (one.id, one.page, one.message["role"])
            if not one.changed:
                sent = {"content": None, "tool_calls": None, "tool_call_id": None, **one.message}
                assert canonical(sent) == canonical({name: told[name] for name in sent})
        for part in ("contents", "pages", "summary", "topics", "notes", "status"):
            self.ask(person, "GET", path(talk.id, part))
        for page in range(1, talk.page + 1):
            self.ask(person, "GET", path(talk.id, "pages", str(page))) if talk.said else None
        self.ask(person, "GET", "/archive")
        self.ask(person, "GET", f"/users/{talk.user}/export")

    def teardown(self) -> None:
        try:
            self.look_for_what_was_erased()
        finally:
            for client in self.clients:
                client.close()

    def look_for_what_was_erased(self) -> None:
        for tenant in "ab":
            self.work(tenant)
        for talk in self.model.talks.values():
            self.look(talk)
        tables = [r[0] for r in self.sql("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")]
        erased = sorted(self.model.erased)
        if erased:
            found = [t for t in tables if self.sql(f"SELECT 1 FROM {t} t WHERE t::text ~ '{'|'.join(erased)}' LIMIT 1")]
            assert found == [], "what was erased is in these tables"


def test_any_story(
    base_url: str,
    mint: Mint,
    run_as_superuser: Sql,
    delete_every_row: Callable[[], None],
    make_worker: MakeWorker,
    counter: TokenCounter,
) -> None:
    worker, count = make_worker(), cache(counter.count)
    run_state_machine_as_test(
        lambda: Story(base_url, mint, run_as_superuser, delete_every_row, worker, count),  # type: ignore[arg-type]
        settings=settings(
            max_examples=100 if LONG else 12,
            stateful_step_count=60 if LONG else 30,
            derandomize=not LONG,
            database=None,
            deadline=None,
            suppress_health_check=list(HealthCheck),
            phases=[Phase.generate, Phase.shrink] if LONG else [Phase.generate],
        ),
    )
