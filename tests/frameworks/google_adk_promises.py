"""Run by test_adapters.py: ADK's runner with Quire's sessions and memory, tools in parallel, users apart."""

import asyncio
import os
from collections.abc import AsyncGenerator
from typing import Any

from google.adk.agents import LlmAgent
from google.adk.errors._stale_session_error import StaleSessionError
from google.adk.errors.already_exists_error import AlreadyExistsError
from google.adk.errors.session_not_found_error import SessionNotFoundError
from google.adk.events.event import Event
from google.adk.memory.memory_entry import MemoryEntry
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.runners import Runner
from google.adk.sessions.base_session_service import GetSessionConfig
from google.adk.tools.load_memory_tool import load_memory_tool
from google.adk.tools.tool_context import ToolContext
from google.genai import types

from quire_client import AsyncQuire
from quire_client.google_adk import QuireMemoryService, QuireSessionService


def words(text: str, role: str = "model") -> types.Content:
    return types.Content(role=role, parts=[types.Part(text=text)])


def asking(*calls: tuple[str, dict[str, Any]]) -> types.Content:
    parts = [types.Part(function_call=types.FunctionCall(name=name, args=args)) for name, args in calls]
    return types.Content(role="model", parts=parts)


class Played(BaseLlm):
    """Answers by a script and keeps what it was given."""

    script: list[types.Content]
    given: list[str] = []

    async def generate_content_async(
        self,
        llm_request: LlmRequest,
        stream: bool = False,  # noqa: ARG002 - ADK's
    ) -> AsyncGenerator[LlmResponse, None]:
        self.given.append("\n".join(content.model_dump_json(exclude_none=True) for content in llm_request.contents))
        yield LlmResponse(content=self.script.pop(0))


def look(at: str, tool_context: ToolContext) -> str:
    """Look at something."""
    tool_context.state[f"seen_{at}"] = True
    tool_context.state["temp:passing"] = True
    return f"saw {at}"


async def say(runner: Runner, user: str, session: str, text: str) -> str:
    answer = ""
    async for event in runner.run_async(user_id=user, session_id=session, new_message=words(text, "user")):
        answer = (event.content.parts[0].text or "") if event.content and event.content.parts else answer
    return answer


async def agent_remembers(sessions: QuireSessionService, memory: QuireMemoryService) -> None:
    script = [
        asking(("look", {"at": "a"}), ("look", {"at": "b"})), words("Seen."), words("The blue gate, noted."),
        asking(("load_memory", {"query": "When does the blue gate open?"})), words("At nine."),
        asking(("load_memory", {"query": "When does the blue gate open?"})), words("I do not know."),
    ]  # fmt: skip
    model = Played(model="played", script=script)
    agent = LlmAgent(name="helper", model=model, tools=[look, load_memory_tool])
    runner = Runner(app_name="app", agent=agent, session_service=sessions, memory_service=memory)
    for user, session in (("ada", "one"), ("ada", "two"), ("bob", "one")):
        await sessions.create_session(app_name="app", user_id=user, session_id=session, state={"first": 1})
    assert await say(runner, "ada", "one", "Look at both.") == "Seen."
    assert await say(runner, "ada", "one", "The blue gate opens at nine.") == "The blue gate, noted."
    assert "saw a" in model.given[2]
    kept = await sessions.get_session(app_name="app", user_id="ada", session_id="one")
    assert kept is not None
    assert kept.state == {"first": 1, "seen_a": True, "seen_b": True}, kept.state
    calls = [[c.name for c in e.get_function_calls()] for e in kept.events]
    assert [len(kept.events), calls[1]] == [6, ["look", "look"]]
    assert [e.author for e in kept.events] == ["user", "helper", "helper", "helper", "user", "helper"]
    assert await say(runner, "ada", "two", "When does the blue gate open?") == "At nine."
    assert "opens at nine" in model.given[-1]
    assert await say(runner, "bob", "one", "When does the blue gate open?") == "I do not know."
    assert "opens at nine" not in model.given[-1]


async def sessions_are_kept(sessions: QuireSessionService) -> None:
    named: Any = {"app_name": "app", "user_id": "eve", "session_id": "s"}
    assert await sessions.get_session(**named) is None
    session = await sessions.create_session(**named)
    try:
        await sessions.create_session(**named)
    except AlreadyExistsError:
        pass
    else:
        raise AssertionError
    event = Event(author="user", invocation_id="i", content=words("你好", "user"), state={"mood": "good"})
    await sessions.append_event(session, event)
    await sessions.append_event(session, event)  # sent twice
    await sessions.append_event(session, Event(author="helper", invocation_id="i", state={"mood": "better"}))
    more = [Event(author="helper", invocation_id="i", content=words(f"line {n}")) for n in range(8)]
    await asyncio.gather(*(sessions.append_event(session, one) for one in more))
    found = await sessions.get_session(**named)
    assert found is not None
    assert sorted(e.id for e in found.events) == sorted(e.id for e in session.events)
    assert len(found.events) == 10
    assert found.events[0] == event
    assert found.state == {"mood": "better"}
    recent = await sessions.get_session(**named, config=GetSessionConfig(num_recent_events=2))
    assert recent is not None
    assert recent.events == found.events[-2:]
    for user in ("eve", None):
        listed = await sessions.list_sessions(app_name="app", user_id=user)
        assert listed.sessions[-1].id == "s"
    assert (await sessions.list_sessions(app_name="other")).sessions == []
    for state in ({"user:name": "Eve"}, {"app:name": "x"}):
        try:
            await sessions.append_event(session, Event(author="user", invocation_id="i", state=state))
        except ValueError:
            continue
        raise AssertionError
    await a_stale_session_is_refused(sessions, named)
    await what_a_rewind_takes_back_is_in_no_window(sessions)
    await a_rewind_to_the_beginning_leaves_nothing_in_view(sessions)
    assert await sessions.get_user_state(app_name="app", user_id="eve") == {}
    for _ in range(2):
        await sessions.delete_session(**named)
    try:
        await sessions.append_event(session, Event(author="user", invocation_id="i", content=words("late", "user")))
    except SessionNotFoundError:
        return
    raise AssertionError


async def a_stale_session_is_refused(sessions: QuireSessionService, named: Any) -> None:
    one, other = await sessions.get_session(**named), await sessions.get_session(**named)
    assert one is not None
    assert other is not None
    await sessions.append_event(one, Event(author="helper", invocation_id="i", content=words("first")))
    try:
        await sessions.append_event(other, Event(author="helper", invocation_id="i", content=words("second")))
    except StaleSessionError:
        return
    raise AssertionError


async def what_a_rewind_takes_back_is_in_no_window(sessions: QuireSessionService) -> None:
    model = Played(model="played", script=[words("Noted."), words("Deleted."), words("Kept."), words("Well.")])
    runner = Runner(app_name="app", agent=LlmAgent(name="helper", model=model), session_service=sessions)
    named: Any = {"app_name": "app", "user_id": "eve", "session_id": "rewound"}
    await sessions.create_session(**named, state={"mood": "good"})
    await say(runner, "eve", "rewound", "The code is 4711.")
    await say(runner, "eve", "rewound", "Delete the zebra file.")
    session = await sessions.get_session(**named)
    assert session is not None
    before = session.events[2].invocation_id
    await runner.rewind_async(user_id="eve", session_id="rewound", rewind_before_invocation_id=before)
    await say(runner, "eve", "rewound", "Keep it.")
    assert "zebra" not in model.given[-1]
    assert "4711" in model.given[-1]
    quire = sessions._quire
    window = str((await quire.context("app/eve/rewound", budget=8000)).messages)
    assert "zebra" not in window
    assert "4711" in window
    memory = QuireMemoryService(quire)
    for query, is_found in (("zebra file", False), ("The code is 4711", True)):
        found = await memory.search_memory(app_name="app", user_id="eve", query=query)
        assert (query in str(found.memories)) == is_found, found
    again = await sessions.get_session(**named)
    assert again is not None
    assert "Kept." in str(again.events[-1].content)
    listed = await sessions.list_sessions(app_name="app", user_id="eve")
    assert [one.state for one in listed.sessions if one.id == "rewound"] == [again.state]
    assert [session.events for session in listed.sessions] == [[]] * len(listed.sessions)


async def a_rewind_to_the_beginning_leaves_nothing_in_view(sessions: QuireSessionService) -> None:
    model = Played(model="played", script=[words("Deleted."), words("Kept."), words("Sold.")])
    runner = Runner(app_name="app", agent=LlmAgent(name="helper", model=model), session_service=sessions)
    named: Any = {"app_name": "app", "user_id": "kim", "session_id": "anew"}
    assert (await sessions.create_session(**named)).events == []
    quire, memory = sessions._quire, QuireMemoryService(sessions._quire)
    await say(runner, "kim", "anew", "Delete the zebra file.")
    for taken_back, instead in (("zebra", "Keep the kiwi."), ("kiwi", "Sell the piano.")):
        session = await sessions.get_session(**named)
        assert session is not None
        first = next(event.invocation_id for event in session.events if event.content)
        await runner.rewind_async(user_id="kim", session_id="anew", rewind_before_invocation_id=first)
        await say(runner, "kim", "anew", instead)
        window = str((await quire.context("app/kim/anew", budget=8000)).messages)
        assert instead in window
        assert taken_back not in window + model.given[-1]
        found = await memory.search_memory(app_name="app", user_id="kim", query=taken_back)
        assert taken_back not in str(found.memories)


async def memory_is_kept(quire: AsyncQuire, memory: QuireMemoryService) -> None:
    events = [Event(id=f"e{n}", author="user", content=words(f"Box {n} holds pears.", "user")) for n in range(5)]
    named: Any = {"app_name": "shop", "user_id": "zoe", "session_id": "elsewhere"}
    await asyncio.gather(*(memory.add_events_to_memory(events=events[:3], **named) for _ in range(2)))
    await memory.add_events_to_memory(events=events, **named)
    assert len([m async for m in quire.history("shop/zoe/elsewhere") if "adk_event" in m]) == 5
    await memory.add_memory(app_name="shop", user_id="zoe", memories=[MemoryEntry(content=words("Zoe likes figs."))])
    for query, answer in (("What holds pears?", "pears"), ("What does Zoe like?", "Zoe likes figs.")):
        found = await memory.search_memory(app_name="shop", user_id="zoe", query=query)
        assert any(answer in (entry.content.parts or [types.Part()])[0].text for entry in found.memories), found
        for app, user in (("shop", "yan"), ("app", "zoe")):
            other = await memory.search_memory(app_name=app, user_id=user, query=query)
            assert other.memories == []


async def main() -> None:
    async with AsyncQuire(os.environ["QUIRE_URL"]) as quire:
        sessions, memory = QuireSessionService(quire), QuireMemoryService(quire)
        await agent_remembers(sessions, memory)
        await sessions_are_kept(sessions)
        await memory_is_kept(quire, memory)


asyncio.run(main())
