"""Edits, new answers and erasures, by real clients: one tidy line for the model, the whole tree for a person."""

from collections.abc import Callable
from typing import Any

import httpx
import openai
import pytest

from tests.api.kit import Json, assistant, canonical, history, ok, path, user
from tests.conftest import wait_for
from tests.proxy.kit import AnthropicOf, Script, conversations, openai_of, said_by

Tell = Callable[[list[Json]], str]
NAMES = ("c", None)
"""With a header that names the conversation, and by the list alone."""


def by_chat(base_url: str, name: str | None, _: AnthropicOf) -> Tell:
    client = openai_of(base_url, name)

    def tell(messages: list[Any]) -> str:
        return client.chat.completions.create(model="fake", messages=messages).choices[0].message.content or ""

    return tell


def by_responses(base_url: str, name: str | None, _: AnthropicOf) -> Tell:
    client: openai.OpenAI = openai_of(base_url, name)

    def tell(messages: list[Any]) -> str:
        return client.responses.create(model="fake", input=messages, store=False).output_text

    return tell


def by_messages(base_url: str, name: str | None, anthropic_of: AnthropicOf) -> Tell:
    client = anthropic_of(base_url, name)

    def tell(messages: list[Any]) -> str:
        return said_by(client.messages.create(model="fake", max_tokens=100, messages=messages))

    return tell


def texts(messages: list[Json]) -> list[str]:
    return [str(m["content"]) for m in messages if m["role"] in ("user", "assistant")]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("by", [by_chat, by_responses, by_messages])
def test_the_model_sees_one_line_and_a_person_the_tree(
    client: httpx.Client, base_url: str, anthropic_of: AnthropicOf, script: Script, by: Any, name: str | None
) -> None:
    tell: Tell = by(base_url, name, anthropic_of)
    secret = "My locker's code is 4711-marmalade."
    script.says("Noted.", "Take the bus.", "Take the train.", "Take the night train.", "At nine.")
    line = [user(secret)]
    line += [assistant(tell(line)), user("How do I get to Lyon?")]
    assert tell(line) == "Take the bus."
    edited = [*line[:2], user("How do I get to Lyon without a bus?")]
    assert tell(edited) == "Take the train."
    wait_for(lambda: tell(edited) == "Take the night train.", every=0.1)  # sooner it is the same request
    again = [*edited, assistant("Take the night train."), user("When?")]
    assert tell(again) == "At nine."
    assert texts(script.asked[-1]["messages"]) == texts(again)

    [trunk] = {ok(client.get(path(one, "branches")))["trunk"] for one in conversations(client)}
    assert name in (None, trunk)
    tree = ok(client.get(path(trunk, "branches")))
    lines = {one: texts(history(client, one, branch=one)) for one in (trunk, *(b["id"] for b in tree["items"]))}
    assert lines[trunk][-1] == "Take the bus."
    newest = tree["shown"]
    assert lines[newest] == texts(history(client, trunk)) == [*texts(again), "At nine."]
    assert {one[-1] for one in lines.values()} == {"Take the bus.", "Take the train.", "At nine."}

    ok(client.delete(path(newest, "messages", "1")))
    tell([*again, assistant("At nine."), user("From where?")])
    seen = texts(script.asked[-1]["messages"])
    assert seen[1:] == [*texts(again)[1:], "At nine.", "From where?"]
    assert "marmalade" not in canonical(script.asked[-1]["messages"])
    for one in lines:
        assert "marmalade" not in canonical(history(client, one, branch=one))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("by", [by_chat, by_responses, by_messages])
def test_the_id_shows_where_the_list_went_on_last(
    client: httpx.Client, base_url: str, anthropic_of: AnthropicOf, script: Script, by: Any, name: str | None
) -> None:
    tell: Tell = by(base_url, name, anthropic_of)

    def shown() -> list[str]:
        return texts(history(client, trunk))

    script.says("Hello.", "Take the bus.", "Take the train.", "At nine.", "At ten.", "On foot.")
    opening = [user("Good morning to you"), assistant("Hello.")]
    tell(opening[:1])
    first, second = ([*opening, user(f"How do I get to {town}?")] for town in ("Lyon", "Nice"))
    tell(first)
    [trunk] = conversations(client)
    tell(second)
    assert shown() == [*texts(second), "Take the train."]
    for line, said in ((first, "Take the bus."), (second, "Take the train.")):
        longer = [*line, assistant(said), user("When?")]
        answer = tell(longer)
        assert shown() == [*texts(longer), answer]
        assert texts(history(client, trunk, branch=trunk))[: len(first)] == texts(first)
    third = [*second, assistant("Take the train."), user("And otherwise?")]
    tell(third)
    assert shown() == [*texts(third), "On foot."]
    tree = ok(client.get(path(trunk, "branches")))
    assert len(tree["items"]) == 2
    worker = ok(client.post(path(trunk, "fork"), json={"id": "worker"}), 201)["id"]
    assert shown() == texts(history(client, worker))
    assert ok(client.get(path(trunk, "branches")))["shown"] == tree["shown"]


def test_an_older_response_continues_as_the_branch_that_the_id_shows(
    client: httpx.Client, base_url: str, script: Script
) -> None:
    api = openai_of(base_url)
    script.says("Hello.", "Take the bus.", "Take the train.", "At nine.", "At ten.")
    opening = api.responses.create(model="fake", input="Good morning to you")
    bus, train = (
        api.responses.create(model="fake", input=said, previous_response_id=opening.id)
        for said in ("To Lyon, please", "To Nice, please")
    )
    [trunk] = {ok(client.get(path(one, "branches")))["trunk"] for one in conversations(client)}
    for before, answer in ((bus, "At nine."), (train, "At ten.")):
        api.responses.create(model="fake", input="When?", previous_response_id=before.id)
        assert texts(history(client, trunk))[-3:] == [before.output_text, "When?", answer]
    assert len(ok(client.get(path(trunk, "branches")))["items"]) == 1
