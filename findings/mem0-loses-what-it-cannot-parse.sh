#!/usr/bin/env bash
# mem0ai 2.2.1: where the model's reply is no JSON, `add` stores nothing, raises nothing and answers {"results": []}, as it
# does for talk without a fact; the model is asked once. Guessed: an error, a second try, or the text as it came.
set -euo pipefail
folder=$(mktemp --directory)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet mem0ai==2.2.1
cd "$folder"
MEM0_TELEMETRY=False MEM0_DIR="$folder" OPENAI_API_KEY=none "$folder/venv/bin/python" - <<'PYTHON' 2>/dev/null
import json
import os
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

asked = []


class Provider(BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if self.path.endswith("/embeddings"):
            texts = [body["input"]] if isinstance(body["input"], str) else body["input"]
            data = [{"object": "embedding", "index": i, "embedding": [0.5] * 1536} for i in range(len(texts))]
            answer = {"object": "list", "data": data, "model": "m", "usage": {"prompt_tokens": 1, "total_tokens": 1}}
        else:
            asked.append(body)
            message = {"role": "assistant", "content": "I noted that the flight is on Friday."}
            choice = {"index": 0, "message": message, "finish_reason": "stop"}
            answer = {"id": "x", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}
        content = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


provider = ThreadingHTTPServer(("127.0.0.1", 0), Provider)
threading.Thread(target=provider.serve_forever, daemon=True).start()
os.environ["OPENAI_BASE_URL"] = f"http://127.0.0.1:{provider.server_port}/v1"

from mem0 import Memory  # it reads the URL when it is imported

store = {"path": "qdrant", "collection_name": "facts", "embedding_model_dims": 1536}
memory = Memory.from_config({"vector_store": {"provider": "qdrant", "config": store}, "history_db_path": "history.db"})
answer = memory.add([{"role": "user", "content": "My flight to Lisbon is on Friday."}], user_id="lin")
stored = memory.get_all(filters={"user_id": "lin"})["results"]
print(answer, stored, f"asked {len(asked)} times")
assert answer == {"results": []}
assert stored == []
assert len(asked) == 1
PYTHON
