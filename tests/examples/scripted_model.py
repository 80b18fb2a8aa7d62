"""A server with the one endpoint of an OpenAI-compatible API, which answers by a script."""

import json
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Json = dict[str, Any]
Reply = Callable[[list[Json]], Json]
"""From the messages that the model is sent, the message that it answers."""


@dataclass
class ScriptedModel:
    url: str
    requests: list[Json] = field(default_factory=list)


@contextmanager
def scripted_model(*script: Reply) -> Iterator[ScriptedModel]:
    """Answers the first request by the first reply, and so on; any request beyond the last with 500."""
    replies = iter(script)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            model.requests.append(request)
            reply = next(replies, None)
            if reply is None or self.path != "/v1/chat/completions":
                self.send_error(500, "not in the script")
                return
            message = {"role": "assistant", "refusal": None, **reply(request["messages"])}
            if request.get("stream"):
                self.stream(message["content"])
                return
            body = json.dumps({"choices": [{"index": 0, "finish_reason": "stop", "message": message}]}).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def stream(self, content: str) -> None:
            """As server-sent events, a word at a time."""
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.end_headers()
            for word in re.findall(r"\S+\s*", content):
                delta = {"choices": [{"index": 0, "finish_reason": None, "delta": {"content": word}}]}
                self.wfile.write(f"data: {json.dumps(delta)}\n\n".encode())
            self.wfile.write(b"data: [DONE]\n\n")

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name it has
            """Says nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        model = ScriptedModel(f"http://127.0.0.1:{server.server_port}/v1")
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield model
        finally:
            server.shutdown()
            thread.join()


def calling(name: str, **arguments: Any) -> Json:
    """A reply that calls a tool."""
    function = {"name": name, "arguments": json.dumps(arguments)}
    return {"content": None, "tool_calls": [{"id": f"call_{name}", "type": "function", "function": function}]}
