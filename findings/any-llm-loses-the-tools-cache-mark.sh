#!/usr/bin/env bash
# any-llm-sdk 1.40.2: before Claude it keeps `cache_control` of the system prompt, of a message and of a tool's result, and drops
# that of a tool's schema, the first thing that a prompt cache holds. Guessed: all four are kept.
set -euo pipefail
folder=$(mktemp --directory)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet "any-llm-sdk[anthropic]==1.40.2" anthropic==0.125.0
"$folder/venv/bin/python" - <<'PYTHON'
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from any_llm import completion

MARK = {"cache_control": {"type": "ephemeral"}}
sent = []


class Server(BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def do_POST(self):
        sent.append(json.loads(self.rfile.read(int(self.headers["content-length"]))))
        answer = {"id": "m", "type": "message", "role": "assistant", "model": "m", "stop_reason": "end_turn",
                  "content": [{"type": "text", "text": "Nine."}], "usage": {"input_tokens": 1, "output_tokens": 1}}
        content = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


server = ThreadingHTTPServer(("127.0.0.1", 0), Server)
threading.Thread(target=server.serve_forever, daemon=True).start()
function = {"name": "price_of", "description": "The price of a thing.", "parameters": {"type": "object", "properties": {}}}
messages = [
    {"role": "system", "content": [{"type": "text", "text": "Be brief.", **MARK}]},
    {"role": "user", "content": [{"type": "text", "text": "What does tea cost?", **MARK}]},
    {"role": "assistant", "tool_calls": [{"id": "1", "type": "function", "function": {"name": "price_of", "arguments": "{}"}}]},
    {"role": "tool", "tool_call_id": "1", "content": [{"type": "text", "text": "9", **MARK}]},
]
for tool in ({"type": "function", "function": function, **MARK}, {"type": "function", "function": {**function, **MARK}}):
    completion(model="m", provider="anthropic", messages=messages, tools=[tool], api_key="none",
               api_base=f"http://127.0.0.1:{server.server_port}")
for body in sent:
    marks = {name: json.dumps(body[name]).count("cache_control") for name in ("tools", "system", "messages")}
    print(marks)
    assert marks == {"tools": 0, "system": 1, "messages": 2}
PYTHON
