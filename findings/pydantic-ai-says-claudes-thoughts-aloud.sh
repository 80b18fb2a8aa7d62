#!/usr/bin/env bash
# pydantic-ai 2.68.0: where a conversation with Claude goes on with OpenAI, Claude's thoughts are in the assistant's text,
# between <think> tags, in Chat and in Responses. Guessed: another model's signed thinking is left out.
set -euo pipefail
folder=$(mktemp --directory)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet "pydantic-ai-slim[openai]==2.68.0"
OPENAI_API_KEY=none "$folder/venv/bin/python" - <<'PYTHON' 2>/dev/null
import asyncio
import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

from pydantic_ai import Agent
from pydantic_ai.messages import ModelRequest, ModelResponse, TextPart, ThinkingPart, UserPromptPart
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.providers.openai import OpenAIProvider

THOUGHT = ThinkingPart("They must not know the price.", signature="c2lnbmVk", provider_name="anthropic")
HISTORY = [
    ModelRequest(parts=[UserPromptPart("Which tea?")]),
    ModelResponse(parts=[THOUGHT, TextPart("Longjing.")], provider_name="anthropic", model_name="claude-sonnet-4-5"),
]
sent = {}


class Api(BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def do_POST(self):
        sent[self.path] = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.send_response(400)
        self.send_header("content-length", "2")
        self.end_headers()
        self.wfile.write(b"{}")


server = HTTPServer(("127.0.0.1", 0), Api)
threading.Thread(target=server.serve_forever, daemon=True).start()
provider = OpenAIProvider(base_url=f"http://127.0.0.1:{server.server_port}")
for model in (OpenAIChatModel, OpenAIResponsesModel):
    try:
        asyncio.run(Agent(model("gpt-5", provider=provider)).run("How much is it?", message_history=HISTORY))
    except Exception as error:
        assert "400" in str(error)
chat, responses = sent["/chat/completions"]["messages"], sent["/responses"]["input"]
print(chat[1])
print(responses[1:3])
assert chat[1]["content"] == "<think>\nThey must not know the price.\n</think>\n\nLongjing."
assert responses[1] == {"role": "assistant", "content": "<think>\nThey must not know the price.\n</think>"}
PYTHON
