#!/usr/bin/env bash
# langchain-openai 1.7.4: an API that tells the usage so far with each chunk, as vLLM does with `continuous_usage_stats`, has its
# figures added up: 100 prompt tokens are 600 after six chunks. The stream of openai 3.57.0 says 100. Guessed: the last
# figure holds.
set -euo pipefail
folder=$(mktemp --directory)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet langchain-openai==1.7.4 langchain-core==1.8.3 openai==3.57.0
cd "$folder"
"$folder/venv/bin/python" - <<'PYTHON' 2>/dev/null
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from langchain_openai import ChatOpenAI
from openai import OpenAI

SHARED = {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "m"}


def chunk(number, delta, **more):
    usage = {"prompt_tokens": 100, "completion_tokens": number, "total_tokens": 100 + number}
    return {**SHARED, "choices": [{"index": 0, "delta": delta, "finish_reason": None, **more}], "usage": usage}


CHUNKS = [chunk(at + 1, {"role": "assistant", "content": word}) for at, word in enumerate(["Tea", " is", " so", " green"])]
CHUNKS += [chunk(4, {}, finish_reason="stop"), {**chunk(4, {}), "choices": []}]


class Api(BaseHTTPRequestHandler):
    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        body = "".join(f"data: {json.dumps(one)}\n\n" for one in CHUNKS).encode() + b"data: [DONE]\n\n"
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


server = ThreadingHTTPServer(("127.0.0.1", 0), Api)
threading.Thread(target=server.serve_forever, daemon=True).start()
url = f"http://127.0.0.1:{server.server_port}/v1"
ours = ChatOpenAI(model="m", base_url=url, api_key="none", streaming=True, stream_usage=True).invoke("Hi").usage_metadata
asked = {"model": "m", "messages": [{"role": "user", "content": "Hi"}], "stream_options": {"include_usage": True}}
with OpenAI(base_url=url, api_key="none").chat.completions.stream(**asked) as stream:
    theirs = stream.get_final_completion().usage
print(ours)
print(theirs)
assert (theirs.prompt_tokens, theirs.completion_tokens) == (100, 4)
assert (ours["input_tokens"], ours["output_tokens"]) == (600, 18)
PYTHON
