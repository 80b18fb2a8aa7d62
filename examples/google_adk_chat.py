"""An agent of Google's ADK with Quire's sessions and memory: google_adk_chat.py CONVERSATION REQUEST.

Install it with pip install "./clients/python[google-adk]"; QUIRE_URL names the service.
The model repeats what it is shown: put your own in its place.
"""

import asyncio
import os
import sys
from collections.abc import AsyncGenerator

if len(sys.argv) < 3:
    sys.exit(__doc__)

from google.adk.agents import LlmAgent
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.runners import Runner
from google.adk.tools.preload_memory_tool import PreloadMemoryTool
from google.genai import types

from quire_client import AsyncQuire
from quire_client.google_adk import QuireMemoryService, QuireSessionService


class Echo(BaseLlm):
    async def generate_content_async(
        self,
        llm_request: LlmRequest,
        stream: bool = False,  # noqa: ARG002 - ADK's
    ) -> AsyncGenerator[LlmResponse, None]:
        shown = [part.text for content in llm_request.contents for part in content.parts or [] if part.text]
        yield LlmResponse(content=types.Content(role="model", parts=[types.Part(text="\n".join(shown))]))


async def main(conversation: str, request: str) -> None:
    async with AsyncQuire(os.environ.get("QUIRE_URL", "http://127.0.0.1:8000")) as quire:
        sessions = QuireSessionService(quire)
        agent = LlmAgent(name="assistant", model=Echo(model="echo"), tools=[PreloadMemoryTool()])
        runner = Runner(app_name="tea", agent=agent, session_service=sessions, memory_service=QuireMemoryService(quire))
        if not await sessions.get_session(app_name="tea", user_id="me", session_id=conversation):
            await sessions.create_session(app_name="tea", user_id="me", session_id=conversation)
        said = types.Content(role="user", parts=[types.Part(text=request)])
        async for event in runner.run_async(user_id="me", session_id=conversation, new_message=said):
            if event.is_final_response() and event.content and event.content.parts:
                print(event.content.parts[0].text)


asyncio.run(main(sys.argv[1], " ".join(sys.argv[2:])))
