"""What a person wants kept is noticed in any words, by the vectors of what they say; what they take back, too."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from asyncpg import Record

from app.assembly import judging
from app.core.history.judging import ending, judgement, kind_of
from app.core.line import CallersId
from app.core.messages import Limits
from app.core.window.kept import Status, Wish
from app.postgres.database import Database
from app.postgres.tenants import DEFAULT_TENANT
from app.providers import Embedder
from app.runtime import Runtime
from app.services.conversations.append import append
from app.services.conversations.lists import read_list
from app.services.conversations.requests import SyncedList
from app.services.memory.noticing import agrees
from app.services.memory.revising import Change, change
from app.settings import Settings
from app.text.tokens import TokenCounter
from tests.api.kit import assistant, user
from tests.guards.tenants import runtime
from tests.search.kit import change_model, drain, say

pytestmark = pytest.mark.anyio


@pytest.fixture
async def local(settings: Settings, database: Database, counter: TokenCounter, local_embedder: Embedder) -> Runtime:
    return replace(runtime(settings, database, counter), embedder=local_embedder)


async def memories(made: Runtime, status: str = "held", scope: str = "u:u") -> Sequence[Record]:
    async with made.database.begin(DEFAULT_TENANT) as tx:
        return await tx.fetch(
            "SELECT content, key, source, metadata, valid_to FROM memories WHERE tenant_id = $1 AND status = $2"
            " AND scope = $3 AND pinned AND (valid_to IS NULL OR valid_to > now()) ORDER BY id",
            status,
            scope,
        )  # fmt: skip


async def texts(made: Runtime, status: str = "held", scope: str = "u:u") -> list[str]:
    return [row["content"] for row in await memories(made, status, scope)]


async def told(made: Runtime, *said: str) -> None:
    for number, text in enumerate(said):
        await say(made, f"c{number} {text[:20]}", [user(text)])
    await drain(made)


@pytest.mark.parametrize(
    "text",
    [
        "I've got a shellfish allergy, so please keep that in mind for every recipe.",
        "I can't have dairy at all, it makes me really ill, so bear that in mind when you suggest meals.",
        "我一吃虾就浑身起疹子，以后推荐菜的时候千万避开。",
    ],
)
async def test_a_need_in_natural_words_follows_its_person(local: Runtime, text: str) -> None:
    await told(local, text)
    assert text.split(",", maxsplit=1)[0].split("，", maxsplit=1)[0] in str(await texts(local))


@pytest.mark.parametrize(
    "text",
    [
        "Nothing over a screenful for me, I read these on the train. A couple of lines per answer does the job.",
        "回我话尽量短点，长了我在地铁上真看不完，一直这样就行。",
    ],
)
async def test_a_wish_in_natural_words_is_held_or_proposed_once(local: Runtime, text: str) -> None:
    await told(local, text)
    await told(local, text)
    assert len([*await texts(local), *await texts(local, "proposed")]) == 1


@pytest.mark.parametrize(
    "text",
    [
        "morning! how's it going",
        "Can you compare heat pumps and gas boilers on running cost over ten years?",
        "For this email only, sign me as 'The Management'.",
        "I'm minding a boy who is allergic to nuts this weekend, so no nuts in the cake.",
        "结账到十号，这几天谁也不准动凭证，你也别出主意。",
        "How should someone with a nut allergy read a Thai menu? It's for a leaflet at the clinic.",
        "为什么老北京人总喜欢说您",
        "帮我看看这段代码为什么报错",
    ],
)
async def test_what_nobody_wants_kept_follows_nobody(local: Runtime, text: str) -> None:
    await told(local, text)
    assert await texts(local) == []


async def test_sentences_are_read_only_of_a_message_that_may_want_something_kept(local: Runtime) -> None:
    plain = "The bus was late again this morning. Which stop is nearest to the museum? It rained all day."
    await told(local, plain, "The bus was late again. I've got a shellfish allergy.")
    read = [text.removesuffix("\n") for _, _, text in local.caches.query_vectors]
    assert plain in read
    assert not any(text in read for text in plain.split(". "))
    assert "I've got a shellfish allergy." in read


async def test_a_memory_says_which_head_found_it_and_how_certain_it_is(local: Runtime) -> None:
    await told(local, "I've got a shellfish allergy.")
    [row] = [*await memories(local), *await memories(local, "proposed")]
    assert (row["content"], row["source"]) == ("I've got a shellfish allergy.", "rule")


async def test_a_message_is_read_once_however_often_it_is_embedded(local: Runtime) -> None:
    await told(local, "Cashews put me in hospital twice, never put them into anything you plan for me.")
    [kept] = await texts(local) or await texts(local, "proposed")
    async with local.database.begin(DEFAULT_TENANT) as tx:
        await tx.execute("DELETE FROM memories WHERE tenant_id = $1 AND pinned")
        await tx.execute("DELETE FROM embeddings WHERE tenant_id = $1")
    await change_model(local)
    assert kept not in [*await texts(local), *await texts(local, "proposed")]


async def test_an_assistant_and_a_conversation_that_forbids_it_give_nothing(local: Runtime) -> None:
    await say(local, "c", [user("Hi"), assistant("I've got a shellfish allergy, keep that in mind.")])
    await drain(local)
    assert [*await texts(local), *await texts(local, "proposed")] == []


BACK = "I've given up on French for good, you can go back to English answers."


async def test_what_is_taken_back_in_other_words_ends_or_is_proposed_to(local: Runtime) -> None:
    await told(local, "Always answer in French.")
    assert await texts(local) == ["Always answer in French."]
    await told(local, BACK)
    [ending] = await all_endings(local)
    assert await texts(local) == [] or ending["status"] == "proposed"


async def test_what_an_edited_message_ended_holds_again_and_its_late_wishes_follow_nobody(local: Runtime) -> None:
    await told(local, "Always answer in French.")
    hello = [user("Hello."), assistant("Hi.")]
    await synced(local, *hello, user(BACK), assistant("Right."))
    await drain(local)
    assert [one["status"] for one in await all_endings(local)] == ["held"]
    assert await texts(local) == []
    await synced(local, *hello, user("Is it raining?"), assistant("No."))
    assert await texts(local) == ["Always answer in French."]
    await synced(local, *hello, user("I've got a shellfish allergy, keep that in mind for every recipe."))
    await synced(local, *hello, user("Is it raining?"), assistant("No."))
    await drain(local)
    assert await texts(local) == ["Always answer in French."]
    await synced(local, *hello, user(BACK), assistant("Right."), user("And now?"))
    assert await texts(local) == []


async def test_a_person_who_accepts_an_ending_has_the_memory_ended(local: Runtime) -> None:
    await told(local, "Always answer in French.")
    policy = replace(local.defaults.policy, carry="proposed")
    await told(replace(local, defaults=replace(local.defaults, policy=policy)), BACK)
    [ending] = await all_endings(local)
    assert (ending["status"], await texts(local)) == ("proposed", ["Always answer in French."])
    async with local.database.begin(DEFAULT_TENANT) as tx:
        await change(local, tx, ending["id"], Change(status="held"), bound_to=None, sensitive=False)
    assert await texts(local) == []


@pytest.mark.parametrize(("status", "answer"), [("held", "yes"), ("refused", "no")])
async def test_a_person_s_answer_stands_beside_what_a_head_read(local: Runtime, status: Status, answer: str) -> None:
    policy = replace(local.defaults.policy, carry="proposed")
    await told(replace(local, defaults=replace(local.defaults, policy=policy)), "Cashews put me in hospital twice.")
    async with local.database.begin(DEFAULT_TENANT) as tx:
        [found] = await tx.fetch("SELECT id, metadata FROM memories WHERE tenant_id = $1 AND status = 'proposed'")
        await change(local, tx, found["id"], Change(status=status), bound_to=None, sensitive=False)
        [after] = await tx.fetch("SELECT metadata FROM memories WHERE tenant_id = $1 AND id = $2", found["id"])
    assert json.loads(after["metadata"]) == {**json.loads(found["metadata"]), "answer": answer}


@pytest.mark.parametrize("text", ["Forget that I can't stand coriander.", "忘掉我不吃香菜这件事。"])
async def test_what_is_to_be_forgotten_is_no_wish(local: Runtime, text: str) -> None:
    await told(local, text)
    assert [*await texts(local), *await texts(local, "proposed")] == []


async def all_endings(made: Runtime) -> Sequence[Any]:
    async with made.database.begin(DEFAULT_TENANT) as tx:
        return await tx.fetch("SELECT * FROM memories WHERE tenant_id = $1 AND metadata LIKE '%\"ends\":%'")


async def synced(made: Runtime, *messages: Any) -> None:
    listed = read_list(list(messages), None, Limits(), made.caches.messages)
    sent = SyncedList(listed, "u", on_fork="branch")
    await append(made, DEFAULT_TENANT, CallersId("c"), sent, None)


TEXTS = Path(__file__).parents[1] / "text"


@pytest.mark.parametrize("spoken", ["en", "zh"])
async def test_of_messages_of_somebody_who_knew_no_rules_most_wishes_are_noticed(local: Runtime, spoken: str) -> None:
    """Of messages that no head has seen, every eighth."""
    rows = [line.split("\t") for line in (TEXTS / "standing_notes_blind.tsv").read_text("utf-8").splitlines()]
    some = [(label, text) for _, label, written, text in rows if written == spoken][::8]
    for number, (_, text) in enumerate(some):
        await say(local, f"c{number}", [user(text)])
    await drain(local)
    held, proposed = await conversations(local, "held"), await conversations(local, "proposed")
    found = {label: [f"c{n}" for n, (its, _) in enumerate(some) if its == label] for label in ("note", "none")}
    assert len({*held, *proposed}.intersection(found["note"])) >= 0.65 * len(found["note"])
    assert len(set(held).intersection(found["none"])) == 0
    assert len(set(proposed).intersection(found["none"])) <= 0.1 * len(found["none"])


async def conversations(made: Runtime, status: str) -> list[str]:
    async with made.database.begin(DEFAULT_TENANT) as tx:
        rows = await tx.fetch(
            "SELECT conversation_id FROM memories WHERE tenant_id = $1 AND status = $2 AND scope = 'u:u' AND pinned",
            status,
        )
    return [row["conversation_id"] for row in rows]


def test_a_need_holds_from_a_lower_certainty_than_a_wish() -> None:
    need, wish = {"keeps": 0.8, "need": 0.7}, {"keeps": 0.8, "need": 0.1}
    assert (kind_of(need), kind_of(wish)) == ("need", "lasting")
    assert (judgement(need), judgement(wish)) == ("carry", "propose")
    assert judgement({"keeps": 0.2, "need": 0.1}) is None


def test_only_what_is_certain_and_near_ends_a_memory() -> None:
    assert ending(0.9, 0.5) == "carry"
    assert ending(0.9, 0.3) == ending(0.3, 0.9) == "propose"
    assert ending(0.9, 0.1) is ending(0.1, 0.9) is None


async def test_a_model_s_wish_holds_where_a_head_agrees(local: Runtime) -> None:
    need, talk = Wish("Shellfish sends me straight to hospital."), Wish("Heat pumps are cheap to run.")
    assert await agrees(local, DEFAULT_TENANT, need, need.text)
    assert not await agrees(local, DEFAULT_TENANT, talk, talk.text)
    assert not await agrees(local, DEFAULT_TENANT, need, f"Summarise this mail:\n\n{need.text}\n\n-- \nBob")


def test_without_the_local_model_wishes_are_proposed_where_nobody_says_otherwise(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("MEMORY_CARRY")
    assert judging(Settings(quire_data_dir=settings.quire_data_dir), None).policy.carry == "proposed"
    monkeypatch.setenv("MEMORY_CARRY", "explicit")
    assert judging(Settings(quire_data_dir=settings.quire_data_dir), None).policy.carry == "explicit"
