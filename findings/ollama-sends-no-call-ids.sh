#!/usr/bin/env bash
# ollama 0.6.3 (Python): `chat` takes `id`, `tool_call_id` and `name` of a message and sends none of them, so two results that come
# back in another order answer the wrong calls. Arguments as JSON text, as OpenAI's form has them, raise. Guessed: ids are sent.
set -euo pipefail
folder=$(mktemp --directory)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet ollama==0.6.3
"$folder/venv/bin/python" - <<'PYTHON'
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import ollama
from pydantic import ValidationError

sent = []


class Server(BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def do_POST(self):
        sent.append(json.loads(self.rfile.read(int(self.headers["content-length"]))))
        content = json.dumps({"model": "m", "message": {"role": "assistant", "content": "Both."}, "done": True}).encode()
        self.send_response(200)
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


def call(name, arguments):
    return {"id": name, "type": "function", "function": {"name": "price_of", "arguments": arguments}}


server = ThreadingHTTPServer(("127.0.0.1", 0), Server)
threading.Thread(target=server.serve_forever, daemon=True).start()
client = ollama.Client(f"http://127.0.0.1:{server.server_port}")
asked = {"role": "user", "name": "lin", "content": "What do tea and milk cost?"}
results = [{"role": "tool", "tool_call_id": "milk", "content": "2"}, {"role": "tool", "tool_call_id": "tea", "content": "9"}]
calls = [call("tea", {"of": "tea"}), call("milk", {"of": "milk"})]
client.chat("m", messages=[asked, {"role": "assistant", "tool_calls": calls}, *results])
print(json.dumps(sent[0]["messages"]))
_, made, *answers = sent[0]["messages"]
assert set(sent[0]["messages"][0]) == {"role", "content"}
assert all(set(one) == {"function"} for one in made["tool_calls"])
assert answers == [{"role": "tool", "content": "2"}, {"role": "tool", "content": "9"}]
try:
    client.chat("m", messages=[asked, {"role": "assistant", "tool_calls": [call("tea", '{"of": "tea"}')]}])
    raise SystemExit("arguments as text are taken")
except ValidationError as error:
    print(error.errors()[0]["loc"], error.errors()[0]["type"])
    assert error.errors()[0]["type"] == "dict_type"
PYTHON
