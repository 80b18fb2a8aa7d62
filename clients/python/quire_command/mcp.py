"""`quire mcp`: MCP over stdio, for clients that start their servers. Every message goes to a running Quire's /mcp."""

from __future__ import annotations

import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import quote

import click
import httpx

from quire_command import stdio
from quire_command.service import Key, Url

CONCURRENT = 8
SECONDS = 120
ACCEPTED = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}


@click.command(name="mcp")
@click.option("--user", default=None, help="Whose memory it is; the key's user if left out.")
@click.option("--conversation", default=None, help="The conversation that the tools are to recall.")
@Url
@Key
def serve_stdio(user: str | None, conversation: str | None, url: str, api_key: str | None) -> None:
    """Serve MCP over stdin and stdout until stdin ends, by way of the service at QUIRE_URL."""
    given = {"X-Quire-Key": api_key, "X-Quire-User": _encoded(user), "X-Quire-Conversation": _encoded(conversation)}
    headers = {**ACCEPTED, **{name: value for name, value in given.items() if value}}
    try:
        with (
            httpx.Client(base_url=url, headers=headers, timeout=SECONDS) as client,
            ThreadPoolExecutor(CONCURRENT) as pool,
        ):
            bridge = _Bridge(client)
            for line in sys.stdin.buffer:
                if line.strip():
                    pool.submit(bridge.carry, line.decode(errors="replace"))
    except httpx.InvalidURL as error:
        raise click.ClickException(f"QUIRE_URL: {error}.") from error


def _encoded(name: str | None) -> str | None:
    return quote(name, safe="") if name else None


class _Bridge:
    """Carries messages to the service and their answers back, a line each."""

    def __init__(self, client: httpx.Client) -> None:
        self._client = client
        self._writing = threading.Lock()

    def carry(self, line: str) -> None:
        try:
            wants_answer, request_id = stdio.id_of(line)
        except ValueError as error:
            self._say(stdio.problem(None, stdio.PARSE_ERROR, f"The line is not a JSON-RPC message: {error}."))
            return
        said = self._asked(line, request_id)
        if wants_answer:
            self._say(said)

    def _asked(self, line: str, request_id: object) -> str:
        try:
            answer = self._client.post("/mcp", content=line.strip().encode(), headers=stdio.headers_of(line))
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            reason = str(error) or type(error).__name__
            message = f"No answer from {self._client.base_url} ({reason}). Start `quire serve`, or set QUIRE_URL."
            return stdio.problem(request_id, stdio.NO_ANSWER, message)
        said = stdio.answer(answer.status_code, answer.text)
        return said or stdio.problem(request_id, stdio.NO_ANSWER, stdio.why(answer.status_code, answer.text))

    def _say(self, line: str) -> None:
        with self._writing:
            click.echo(line.encode())
