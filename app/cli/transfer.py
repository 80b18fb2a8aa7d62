"""`quire import` and `quire export`: JSON lines into and out of a running service, over its HTTP API."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import BinaryIO, Final
from urllib.parse import quote

import click
import httpx

from app.core.edge import importers
from quire_command.service import Key, Url, opened, refuse_problem

NDJSON: Final = {"Content-Type": "application/x-ndjson"}
CHUNK_BYTES: Final = 65_536
TRIES: Final = 5
RETRY_SECONDS: Final = 1.0


@click.command(name="import")
@click.argument("file", type=click.File("rb"))
@click.option(
    "--from",
    "source",
    type=click.Choice(importers.NAMES),
    help="Whose JSON it is, if not Quire's.",
)
@click.option(
    "--conversation", "conversation_id", help="With --from: the conversation's id, if the file does not name it."
)
@click.option("--user", "user_id", help="With --from: whose it is to be.")
@click.option("--print", "only_print", is_flag=True, help="With --from: write the lines instead of sending them.")
@Url
@Key
def import_file(
    file: BinaryIO,
    source: str | None,
    conversation_id: str | None,
    user_id: str | None,
    url: str,
    api_key: str | None,
    *,
    only_print: bool,
) -> None:
    """Put FILE, as `quire export` gives it or as another service does, into a running Quire. `-` is stdin.

    It can be repeated, whole or after it was cut off: what is there already is left as it is.
    """
    if source is None and (conversation_id is not None or user_id is not None or only_print):
        raise click.UsageError("--conversation, --user and --print need --from.")
    if source is None:
        beginning = file.read(importers.LOOKED_AT) if file.seekable() else b""
        if beginning and not importers.is_quires(beginning):
            others = ", ".join(importers.NAMES)
            raise click.ClickException(
                f"{_name(file)} {importers.looks_like(beginning)}, not lines that `quire export` wrote."
                f" Name whose it is with --from: {others}."
            )
        _say(_send(file, url, api_key))
        return
    lines = _converted(file, source, conversation_id, user_id)
    if only_print:
        click.echo(lines, nl=False)
    else:
        _say(_send(lines.encode(), url, api_key))


def _name(file: BinaryIO) -> str:
    return getattr(file, "name", "<stdin>")


def _converted(file: BinaryIO, source: str, conversation_id: str | None, user_id: str | None) -> str:
    if user_id is None:
        raise click.UsageError(f"--from {source} needs --user.")
    is_single = source in importers.SOURCES
    if source not in importers.TRANSCRIPTS and (conversation_id is not None) != is_single:
        needs = "takes no" if conversation_id is not None else "needs"
        raise click.UsageError(f"--from {source} {needs} --conversation.")
    content = file.read()
    try:
        value = importers.parsed(content)
    except (ValueError, RecursionError):
        said = f"--from {source} takes JSON; {_name(file)} {importers.looks_like(content)}."
        raise click.ClickException(said) from None
    try:
        if source in importers.TRANSCRIPTS:
            lines = importers.transcript_lines(source, value, user_id, conversation_id)
        elif conversation_id is None:
            lines = importers.memory_lines(source, value, user_id)
        else:
            lines = importers.lines(source, value, conversation_id, user_id)
        return "".join(f"{line}\n" for line in lines)
    except (ValueError, LookupError) as error:
        said = f"{_name(file)} {importers.looks_like(content)}; read as an export of {source} (--from), {error}"
        raise click.ClickException(f"{said}.") from error


def _send(data: BinaryIO | bytes, url: str, api_key: str | None) -> Mapping[str, Mapping[str, int]]:
    """Send the data and return the counts; if the service is busy, retry as long as the data can be read again."""
    left = TRIES if isinstance(data, bytes) or data.seekable() else 1
    with opened(url, api_key) as client:
        while True:
            body = data if isinstance(data, bytes) else _chunks(data)
            answer = client.post("/import", content=body, headers=NDJSON)
            left -= 1
            if answer.status_code != httpx.codes.SERVICE_UNAVAILABLE or not left:
                break
            time.sleep(RETRY_SECONDS)
    refuse_problem(answer)
    counts: Mapping[str, Mapping[str, int]] = answer.json()
    return counts


def _chunks(file: BinaryIO) -> Iterator[bytes]:
    if file.seekable():
        file.seek(0)
    while chunk := file.read(CHUNK_BYTES):
        yield chunk


def _say(answer: Mapping[str, Mapping[str, int]]) -> None:
    for words, counts in (("Imported", answer["imported"]), ("There already", answer["matched"])):
        listed = ", ".join(f"{count} {what}" for what, count in counts.items()) or "nothing"
        click.echo(f"{words}: {listed}.")


@click.command(name="export")
@click.option("--user", "user_id", help="Everything of this user.")
@click.option("--space", "space_id", help="This space, with its members and everything in it.")
@click.option("--conversation", "conversation_id", help="This conversation, with its archives and memories.")
@click.option("--output", "-o", type=click.Path(dir_okay=False, path_type=Path), help="File; stdout if left out.")
@Url
@Key
def export(
    user_id: str | None,
    space_id: str | None,
    conversation_id: str | None,
    output: Path | None,
    url: str,
    api_key: str | None,
) -> None:
    """Take the data of a user, a space or a conversation out of a running Quire, as lines that `quire import` takes."""
    given = {"users": user_id, "spaces": space_id, "conversations": conversation_id}
    named = [(kind, name) for kind, name in given.items() if name is not None]
    if len(named) != 1:
        raise click.UsageError("Name a --user, a --space or a --conversation.")
    [(kind, name)] = named
    with (
        opened(url, api_key) as client,
        client.stream("GET", f"/{kind}/{quote(name, safe='')}/export") as answer,
    ):
        if answer.is_error:
            answer.read()
            refuse_problem(answer)
        if output is None:
            for chunk in answer.iter_bytes():
                click.echo(chunk, nl=False)
            return
        _write(output, answer)


def _write(output: Path, answer: httpx.Response) -> None:
    """Write to a temporary file beside the target, and rename it once it is complete."""
    part = output.with_name(f"{output.name}.part")
    try:
        with part.open("wb") as file:
            for chunk in answer.iter_bytes():
                file.write(chunk)
        part.replace(output)
    finally:
        part.unlink(missing_ok=True)
