#!/usr/bin/env bash
# google-genai 3.6.1: where the last event of a streamed answer has a finish reason and no content, the next message of the chat
# goes out alone: the question before it and the answer that was read are both gone. With an empty text in that event they
# stay, the answer as a message for each event. Guessed: one message of what was read.
set -euo pipefail
folder=$(mktemp --directory)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet google-genai==3.6.1
cd "$folder"
"$folder/venv/bin/python" - <<'PYTHON' 2>/dev/null
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from google import genai


def event(**more):
    return {"candidates": [{"index": 0, **more}]}


SAID = [event(content={"role": "model", "parts": [{"text": text}]}) for text in ("Green ", "tea.")]
LAST = {
    "no content": event(finishReason="STOP"),
    "an empty text": event(finishReason="STOP", content={"role": "model", "parts": [{"text": ""}]}),
}
asked = []


class Api(BaseHTTPRequestHandler):
    last = None

    def do_POST(self):
        asked.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        body = "".join(f"data: {json.dumps(one)}\r\n\r\n" for one in [*SAID, Api.last]).encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


server = ThreadingHTTPServer(("127.0.0.1", 0), Api)
threading.Thread(target=server.serve_forever, daemon=True).start()
client = genai.Client(api_key="none", http_options={"base_url": f"http://127.0.0.1:{server.server_port}"})
found = {}
for name, Api.last in LAST.items():
    chat = client.chats.create(model="gemini-3-pro")
    assert "".join(part.text or "" for part in chat.send_message_stream("What do I like?")) == "Green tea."
    list(chat.send_message_stream("And in winter?"))
    found[name] = [(one["role"], one["parts"][0]["text"]) for one in asked[-1]["contents"]]
    print(name, found[name])
assert found["no content"] == [("user", "And in winter?")]
assert found["an empty text"] == [
    ("user", "What do I like?"), ("model", "Green "), ("model", "tea."), ("model", ""), ("user", "And in winter?"),
]
PYTHON
