#!/usr/bin/env bash
# anthropic 2.14.0: messages.create() has no sampling parameter: temperature, top_p and top_k raise TypeError,
# which models before Claude 4.7 take, and no type of the package names them. Guessed: what the API takes, the client
# has. They go as extra_body.
set -euo pipefail
folder=$(mktemp --directory)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet anthropic==2.14.0
"$folder/venv/bin/python" - <<'PYTHON'
import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import anthropic

MESSAGE = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": [], "stop_reason": "end_turn",
           "stop_sequence": None, "usage": {"input_tokens": 1, "output_tokens": 1}}
seen = []


class Api(BaseHTTPRequestHandler):
    def do_POST(self):
        seen.append(json.loads(self.rfile.read(int(self.headers["content-length"]))))
        body = json.dumps(MESSAGE).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


server = HTTPServer(("127.0.0.1", 0), Api)
threading.Thread(target=server.serve_forever, daemon=True).start()
client = anthropic.Anthropic(api_key="x", base_url=f"http://127.0.0.1:{server.server_port}")
asked = {"model": "claude-sonnet-4-5", "max_tokens": 1, "messages": [{"role": "user", "content": "Hello."}]}
found = {}
for name, value in (("temperature", 0), ("top_p", 0.9), ("top_k", 5)):
    try:
        client.messages.create(**asked, **{name: value})
        found[name] = "sent"
    except TypeError as error:
        found[name] = str(error)
client.messages.create(**asked, extra_body={"temperature": 0})
print("anthropic", anthropic.__version__, *(f"{name}: {said}" for name, said in found.items()), sep="\n")
print("with extra_body:", {"temperature": seen[-1]["temperature"]})
assert all(said == f"Messages.create() got an unexpected keyword argument '{name}'" for name, said in found.items())
assert [one.get("temperature") for one in seen] == [0]
PYTHON
