"""Run by test_adapters.py: Agent Framework with Quire's window, parallel tools, sessions that remember, users apart."""

import asyncio
import os
from typing import Any

from agent_framework import Agent, AgentSession, Content, HistoryProvider, Message
from agent_framework.openai import OpenAIChatCompletionClient

from quire_client import AsyncQuire
from quire_client.agent_framework import QuireHistory


def look(at: str) -> str:
    """Look at something."""
    return f"saw {at}"


async def agent_remembers(quire: AsyncQuire, history: QuireHistory) -> None:
    agent = Agent(
        OpenAIChatCompletionClient(os.environ["MODEL"]), "Be brief.", tools=[look], context_providers=[history]
    )
    first = AgentSession(session_id="msaf")
    assert (await agent.run("Look.", session=first)).text == "Seen."
    roles = [message["role"] async for message in quire.history("msaf")]
    assert roles == ["user", "assistant", "tool", "tool", "assistant"], roles
    restored = AgentSession(session_id="msaf")  # as after a restart
    await agent.run("And?", session=restored)
    assert len([m async for m in quire.history("msaf")]) == 7
    window = await history.get_messages("msaf")
    calls = [[c.name for c in m.contents if c.type == "function_call"] for m in window]
    assert ["look", "look"] in calls, calls
    results = [c.result for m in window for c in m.contents if c.type == "function_result"]
    assert results == ["saw a", "saw b"], results


class Context:
    """What a run gives its providers."""

    def __init__(self, session_id: str, text: str) -> None:
        self.session_id, self.input_messages = session_id, [Message("user", [text])]
        self.shown = ""

    def extend_messages(self, _: Any, messages: list[Message]) -> None:
        self.shown = "\n".join(message.text for message in messages)


async def shown(history: QuireHistory, session_id: str, text: str) -> str:
    context = Context(session_id, text)
    await history.before_run(agent=None, session=None, context=context, state={})
    return context.shown


async def sessions_share_what_their_user_said(quire: AsyncQuire, history: QuireHistory) -> None:
    asked, fact = "When does the blue gate open?", "The blue gate opens at nine."
    await history.save_messages("gate", [Message("user", [fact]), Message("assistant", ["Noted."])])
    assert fact in await shown(history, "another", asked)
    stranger = QuireHistory(quire, user_id="bob", budget=4000)
    assert fact not in await shown(stranger, "bobs", asked)
    answers = await asyncio.gather(*(shown(history, "new", asked) for _ in range(4)))
    assert all(fact in answer for answer in answers)


async def results_say_what_came_of_a_call(history: QuireHistory) -> None:
    """Nothing but its exception tells a failed result of one that is empty; a result can be 0."""
    made = [Content.from_function_call(id_, "look", arguments="{}") for id_ in ("a", "b")]
    failed = Content.from_function_result("a", exception="no such gate")
    none_left = Content.from_function_result("b", result=0)
    told = [Message("user", ["Look."]), Message("assistant", made), Message("tool", [failed, none_left])]
    await history.save_messages("came", told)
    results = [c.result for m in await history.get_messages("came") for c in m.contents if c.type == "function_result"]
    assert results == ["Error: no such gate", "0"], results


async def history_is_kept(history: QuireHistory) -> None:
    assert await history.get_messages("empty") == []
    thought = Content.from_text_reasoning(text="Hm.")
    picture = Content.from_uri("https://example.com/a.png", media_type="image/png")
    await history.save_messages("kept", [Message("user", ["你好", picture]), Message("assistant", [thought])])
    kept = (await history.get_messages("kept"))[-1]
    assert kept.text == "你好\n[image]", kept.text
    agreed = Content.from_function_approval_response(
        True, id="a", function_call=Content.from_function_call("a", "look", arguments="{}")
    )
    await history.save_messages("kept", [Message("user", [agreed])])
    assert (await history.get_messages("kept"))[-1].text == kept.text, "an approval is no word of the user's"
    await history.save_messages("kept", [])
    try:
        await history.get_messages(None)
    except ValueError:
        return
    raise AssertionError


async def main() -> None:
    async with AsyncQuire(os.environ["QUIRE_URL"]) as quire:
        history = QuireHistory(quire, user_id="me", budget=8000)
        assert isinstance(history, HistoryProvider)
        await agent_remembers(quire, history)
        await sessions_share_what_their_user_said(quire, history)
        await results_say_what_came_of_a_call(history)
        await history_is_kept(history)


asyncio.run(main())
