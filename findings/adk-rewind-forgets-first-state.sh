#!/usr/bin/env bash
# google-adk 2.13.0: a rewind to a session's second invocation sets to None the state that the session was created with,
# although that is older than everything taken back. Guessed: the state is again what it was before that invocation.
set -euo pipefail
folder=$(mktemp --directory)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet google-adk==2.13.0
"$folder/venv/bin/python" - <<'PYTHON' 2>/dev/null
import asyncio
from importlib.metadata import version

from google.adk.agents import BaseAgent
from google.adk.events.event import Event
from google.adk.runners import Runner
from google.adk.sessions.in_memory_session_service import InMemorySessionService
from google.genai import types


class Echo(BaseAgent):
    async def _run_async_impl(self, ctx):
        content = types.Content(role="model", parts=[types.Part(text="Noted.")])
        yield Event(author=self.name, invocation_id=ctx.invocation_id, content=content)


async def main():
    sessions = InMemorySessionService()
    runner = Runner(app_name="app", agent=Echo(name="echo"), session_service=sessions)
    named = {"app_name": "app", "user_id": "ann", "session_id": "s"}
    await sessions.create_session(**named, state={"language": "fr"})
    for text in ("One.", "Two."):
        said = types.Content(role="user", parts=[types.Part(text=text)])
        async for _ in runner.run_async(user_id="ann", session_id="s", new_message=said):
            pass
    session = await sessions.get_session(**named)
    before = session.events[2].invocation_id
    await runner.rewind_async(user_id="ann", session_id="s", rewind_before_invocation_id=before)
    rewound = await sessions.get_session(**named)
    print("google-adk", version("google-adk"), "before:", session.state, "after the rewind:", rewound.state)
    assert (session.state, rewound.state) == ({"language": "fr"}, {"language": None})


asyncio.run(main())
PYTHON
