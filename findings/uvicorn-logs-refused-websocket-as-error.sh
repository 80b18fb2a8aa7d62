#!/usr/bin/env bash
# uvicorn 0.54.0: its WebSocket protocol without I/O logs an error for a handshake that the app refuses with an answer of
# its own, as ASGI's extension `websocket.http.response` lets it. Guessed: the client gets the 401, and nothing is logged.
set -euo pipefail
folder=$(mktemp --directory)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet uvicorn==0.54.0 websockets==17.4
"$folder/venv/bin/python" - <<'PYTHON'
import logging
import threading
import time
from importlib.metadata import version

import uvicorn
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

logged = []
logging.getLogger("uvicorn.error").addFilter(lambda record: logged.append(record) or False)


async def refuse(scope, receive, send):
    assert "websocket.http.response" in scope["extensions"]
    await send({"type": "websocket.http.response.start", "status": 401, "headers": [(b"content-length", b"2")]})
    await send({"type": "websocket.http.response.body", "body": b"no"})


server = uvicorn.Server(uvicorn.Config(refuse, port=0, ws="websockets-sansio", lifespan="off", log_config=None))
threading.Thread(target=server.run, daemon=True).start()
while not server.started:
    time.sleep(0.01)
port = server.servers[0].sockets[0].getsockname()[1]
try:
    connect(f"ws://127.0.0.1:{port}")
except InvalidStatus as refused:
    answered = refused.response.status_code, refused.response.body
server.should_exit = True
errors = [record.getMessage() for record in logged if record.levelno >= logging.ERROR]
print("uvicorn", version("uvicorn"), "the client got", answered, "and the log has", errors)
assert answered == (401, b"no")
assert errors == ["ASGI callable returned without completing handshake."]
PYTHON
