"""`quire import` and `quire export`: files of other tools and JSON lines, into and out of a running service."""

from __future__ import annotations

import json
import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Any, Final
from urllib.parse import quote
from zipfile import is_zipfile

import click
import httpx

from quire_command.files import kinds, lines, writing
from quire_command.files.kinds import Kind
from quire_command.files.packed import dump, unzipped
from quire_command.files.pam import bundle
from quire_command.files.reading import LARGE_BYTES, LOOKED_AT, NAMED_MAX, Document, document, looks_like, size_of
from quire_command.files.values import Found, Memory, Skipped, Talk, dumps
from quire_command.service import AsJson, Key, Url, opened, progress, refuse_problem, show

NDJSON: Final = {"Content-Type": "application/x-ndjson"}
CHUNK_BYTES: Final = 65_536
TRIES: Final = 5
RETRY_SECONDS: Final = 1.0
PAGE: Final = 1000
AT_ONCE: Final = 500
"""Messages or memories of a request."""
SHOWN: Final = 20
"""Lines about what was left out; `--json` has all."""


@dataclass
class Receipt:
    """The sums of an import: read, stored and left out."""

    files: int = 0
    lines: int = 0
    """Lines, elements of a list, or rows of tables."""
    imported: Counter[str] = field(default_factory=Counter)
    matched: Counter[str] = field(default_factory=Counter)
    branches: int = 0
    sub_agents: int = 0
    skipped: list[Skipped] = field(default_factory=list)
    refused: list[Skipped] = field(default_factory=list)

    def add(self, answer: Mapping[str, Mapping[str, int]]) -> None:
        self.imported.update(answer["imported"])
        self.matched.update(answer["matched"])

    def as_json(self) -> dict[str, Any]:
        left = [{"place": one.place, "reason": one.reason} for one in self.skipped]
        refused = [{"place": one.place, "reason": one.reason} for one in self.refused]
        return {
            "files": self.files, "lines": self.lines, "imported": dict(self.imported), "matched": dict(self.matched),
            "branches": self.branches, "sub_agents": self.sub_agents, "skipped": left, "refused": refused,
        }  # fmt: skip

    def words(self) -> Iterator[str]:
        for what, counts in (("Imported", self.imported), ("There already", self.matched)):
            yield f"{what}: {', '.join(f'{count} {name}' for name, count in counts.items() if count) or 'nothing'}."
        more = [
            f"{count} {name}" for count, name in ((self.branches, "branches"), (self.sub_agents, "sub-agents")) if count
        ]
        if self.files:
            yield f"Read: {', '.join([f'{self.files} files', f'{self.lines} lines', *more])}."
        for what, left in (("Left out", self.skipped), ("Refused", self.refused)):
            yield from (f"{what}: {one.place}: {one.reason.removesuffix('.')}." for one in left[:SHOWN])
            if len(left) > SHOWN:
                yield f"{what}: {len(left) - SHOWN} more (--json lists all)."


class _Source(click.Path):
    """A file, a folder, "-", or what is unpacked into a folder that is gone at the end: a ZIP archive, a database."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        scheme, _, rest = str(value).partition("://")
        is_database = scheme.startswith("postgres") and bool(rest)
        if is_database or is_zipfile(value):
            folder = TemporaryDirectory()
            assert ctx is not None
            ctx.find_root().call_on_close(folder.cleanup)
            try:
                value = (dump if is_database else unzipped)(value, Path(folder.name))
            except ValueError as error:
                raise click.ClickException(str(error) if is_database else f"{value} {error}.") from None
        elif scheme.startswith("sqlite") and rest:
            value = rest.removeprefix("/")
        return super().convert(value, param, ctx)


@click.command(name="import")
@click.argument("path", metavar="FILE", type=_Source(exists=True, allow_dash=True, path_type=Path))
@click.option("--from", "source", type=click.Choice(kinds.NAMES), help="Whose it is, if its content does not tell.")
@click.option("--conversation", "conversation_id", help="The conversation's id, instead of the file's.")
@click.option("--user", "user_id", help="Whose it is to be; default: the one whom the file names.")
@click.option("--each-user", is_flag=True, help="Of a file that names several users: let each keep what is theirs.")
@click.option("--print", "only_print", is_flag=True, help="Write the lines instead of sending them.")
@AsJson
@Url
@Key
def import_file(
    path: Path, url: str, api_key: str | None, *, only_print: bool, as_json: bool, each_user: bool, **given: str | None
) -> None:
    """Put FILE, which `quire export` or another tool wrote, or a folder of such files, into a Quire. `-` is stdin.

    It can be a ZIP archive, or a database: a file of SQLite, or the URL of a PostgreSQL (which `pg_dump` reads).

    It can be repeated, whole or after it was cut off: what is there already is left as it is, and what a source has
    more since is added.
    """
    receipt = Receipt()
    with click.open_file(str(path), "rb") if not path.is_dir() else nullcontext() as file:
        if given["source"] is None and file is not None and _is_quires(file):
            receipt.add(_send(file, url, api_key))
        else:
            chosen, sizes = _chosen(path, file, given, receipt)
            if len(sizes) > 1 and not each_user:
                named = ", ".join(sorted(sizes)[:NAMED_MAX])
                raise click.UsageError(f"{path} names {len(sizes)} users ({named}): add --user, or --each-user.")
            if only_print:
                sys.stdout.writelines(f"{line}\n" for one in chosen for line in one.lines())
                return
            _import(chosen, receipt, sizes.total(), url, api_key)
    show(receipt.as_json(), receipt.words(), as_json=as_json)
    if receipt.refused:
        raise SystemExit(1)


def _chosen(
    path: Path, file: IO[bytes] | None, given: Mapping[str, str | None], receipt: Receipt
) -> tuple[Iterable[_Chosen], Counter[str]]:
    """Return what is to be stored, and how much of it is whose. What is large is read twice, and refused before any of
    it is stored.
    """
    wanted = kinds.BY_NAME[given["source"]] if given["source"] else None
    documents = _documents(path, file, wanted)
    sizes = Counter[str]()
    if str(path) == "-" or size_of(path) <= LARGE_BYTES:
        held = sorted(_found(path, documents, wanted, given, receipt), key=_is_fork)  # after what it was forked from
        for one in held:
            sizes[one.user] += len(one)
        return held, sizes
    once = documents if path.is_dir() else list(documents)
    for one in _found(path, once, wanted, given, Receipt()):
        sizes[one.user] += len(one)
    again = _documents(path, file, wanted) if path.is_dir() else once
    return _found(path, again, wanted, given, receipt), sizes


def _is_fork(one: _Chosen) -> bool:
    return one.talk is not None and "forked_from" in one.talk.metadata


def _is_quires(file: IO[bytes]) -> bool:
    """Return whether a file begins with the header of Quire's own lines. It is at its start afterwards."""
    if not file.seekable():
        return True
    first = file.read(LOOKED_AT).lstrip().split(b"\n", 1)[0]
    file.seek(0)
    return b'"quire"' in first


@dataclass(frozen=True, slots=True)
class _Chosen:
    """A conversation, or the memories of a document, with whose it is to be."""

    user: str
    talk: Talk | None = None
    memories: Sequence[Memory] = ()

    def __len__(self) -> int:
        return len(self.talk.said) if self.talk else len(self.memories)

    def lines(self) -> Iterator[str]:
        return lines.talk_lines(self.talk, self.user) if self.talk else lines.memory_lines(self.memories, self.user)


def _found(
    path: Path,
    documents: Iterable[Document],
    wanted: Kind | None,
    given: Mapping[str, str | None],
    receipt: Receipt,
) -> Iterator[_Chosen]:
    """Yield what is to be stored. Raises ClickException for a path that holds nothing of any kind."""
    taken = 0
    for one in documents:
        kind = wanted or kinds.kind_of(one)
        if kind is None:
            reason = looks_like(one) if one.value is not None or one.tables or not one.skipped else "cannot be read"
            receipt.skipped += one.skipped or (Skipped(one.name, f"{reason}; no tool that Quire knows writes it"),)
            continue
        receipt.files += 1
        receipt.lines += one.lines
        for chosen in _of_document(one, kind, given, receipt, path):
            taken += 1
            yield chosen
    if not taken:
        left = "".join(f"\n  {one.place}: {one.reason}" for one in receipt.skipped[:SHOWN])
        others = f" Name whose it is with --from: {', '.join(kinds.NAMES)}." if not wanted else ""
        raise click.ClickException(f"{path} holds nothing to import.{others}{left}")


def _documents(path: Path, file: IO[bytes] | None, wanted: Kind | None) -> Iterator[Document]:
    try:
        if file is not None and str(path) == "-":
            yield document("stdin", file.read())
        else:
            yield from kinds.documents(path)
    except ValueError as error:
        needs = f"--from {wanted.name} takes its files; " if wanted else ""
        raise click.ClickException(f"{needs}{path} {error}.") from None


def _of_document(
    one: Document, kind: Kind, given: Mapping[str, str | None], receipt: Receipt, path: Path
) -> Iterator[_Chosen]:
    found: Iterable[Found] = kinds.found_in(one, kind)
    now = lines.now()
    memories: dict[str, list[Memory]] = {}
    try:
        found = found if one.is_large else list(found)
        if (name := given["conversation_id"]) is not None:
            found = _renamed(list(found), name, one.name)
        for each in found:
            if isinstance(each, Skipped):
                receipt.skipped.append(each)
            elif isinstance(each, Talk):
                sendable, skipped = lines.sendable(each, now)
                receipt.skipped += skipped
                if sendable.said:
                    receipt.sub_agents += "agent" in each.metadata
                    yield _Chosen(_owner(given["user_id"], each.user, kind, one), sendable)
            else:
                user = _owner(given["user_id"], each.user, kind, one)
                memories.setdefault(user, []).append(each)
                if len(memories[user]) == AT_ONCE:
                    yield _Chosen(user, memories=memories.pop(user))
    except ValueError as error:
        if path.is_dir():
            receipt.skipped.append(Skipped(one.name, str(error)))
            return
        raise click.ClickException(f"{one.name} {looks_like(one)}; read as {kind.name}, {error}.") from error
    yield from (_Chosen(user, memories=own) for user, own in memories.items())


def _owner(user_id: str | None, named: str | None, kind: Kind, one: Document) -> str:
    user = user_id or named
    if user is None:
        raise click.UsageError(f"{one.name}, read as {kind.name}, names nobody whose it is: add --user.")
    return user


def _renamed(found: Sequence[Found], conversation_id: str, name: str) -> list[Found]:
    """Return the conversation of a file, and its branches and sub-agents, under another id."""
    mains = [one for one in found if isinstance(one, Talk) and one.parent is None and "agent" not in one.metadata]
    if len(mains) != 1:
        raise click.ClickException(f"{name} has {len(mains)} conversations; leave out --conversation.")
    old = mains[0].id or ""

    def new(own: str | None) -> str | None:
        return conversation_id + own[len(old) :] if own is not None and own.startswith(old) else own

    return [replace(one, id=new(one.id), parent=new(one.parent)) if isinstance(one, Talk) else one for one in found]


def _import(chosen: Iterable[_Chosen], receipt: Receipt, total: int, url: str, api_key: str | None) -> None:
    """Store each conversation by itself, so that one that is refused stops none of the others."""
    with opened(url, api_key) as client, progress("Importing", total) as bar:
        for one in chosen:
            try:
                _store(client, one, receipt, bar.update)
            except click.ClickException as error:
                if isinstance(chosen, list) and len(chosen) == 1:
                    raise
                receipt.refused.append(Skipped(str(one.talk.id if one.talk else "memories"), error.message))


def _store(client: httpx.Client, one: _Chosen, receipt: Receipt, done: Callable[[int], object]) -> None:
    if one.talk is not None:
        stored = _stored(client, str(one.talk.id))
        whole = _branch(client, one.talk, is_stored=bool(stored))
        receipt.branches += whole.parent is not None
        talk = lines.fresh(whole, stored[whole.shared :] if whole.parent else stored)
        done(len(one.talk.said) - len(whole.said))
        matched = len(whole.said) - (len(talk.said) if talk else 0)
        done(matched)
        # where nothing is new, its owner is compared still
        for number, part in enumerate(_parts(talk or replace(whole, said=()))):
            receipt.add(_post(client, "".join(f"{line}\n" for line in lines.talk_lines(part, one.user)).encode()))
            receipt.matched["conversations"] -= number > 0
            done(len(part.said))
        receipt.matched["messages"] += matched
        return
    receipt.add(_post(client, "".join(f"{line}\n" for line in one.lines()).encode()))
    done(len(one))


def _branch(client: httpx.Client, talk: Talk, *, is_stored: bool) -> Talk:
    """Return a session that was forked from another as a branch of it, if that is stored."""
    origin = talk.metadata.get("forked_from")
    if not isinstance(origin, str) or talk.parent is not None:
        return talk
    if is_stored:  # as what it was taken for when it came first
        answer = client.get(f"/conversations/{quote(str(talk.id), safe='')}")
        refuse_problem(answer)
        if answer.json()["parent_id"] != origin:
            return talk
    return lines.forked(talk, _stored(client, origin))


def _parts(talk: Talk) -> Iterator[Talk]:
    """Yield a conversation in parts that the service stores long before a request may take no longer."""
    for start in range(0, max(len(talk.said), 1), AT_ONCE):
        yield replace(talk, said=talk.said[start : start + AT_ONCE], shared=talk.shared + start)


def _stored(client: httpx.Client, name: str) -> list[str | None]:
    """Return the ids of a conversation's messages as their sender named them; none if it is not there."""
    found: list[str | None] = []
    cursor: dict[str, str] = {}
    while True:
        answer = client.get(f"/conversations/{quote(name, safe='')}/messages", params={"limit": PAGE, **cursor})
        if answer.status_code == httpx.codes.NOT_FOUND:
            return []
        refuse_problem(answer)
        page = answer.json()
        found += [message["client_id"] for message in page["items"]]
        if page["next_cursor"] is None:
            return found
        cursor = {"cursor": page["next_cursor"]}


def _send(data: IO[bytes], url: str, api_key: str | None) -> Mapping[str, Mapping[str, int]]:
    size = os.fstat(data.fileno()).st_size if data.seekable() else 0
    with opened(url, api_key) as client, progress("Importing", size) as bar:
        return _post(client, data, bar.update)


def _post(
    client: httpx.Client, data: IO[bytes] | bytes, sent: Callable[[int], object] = int
) -> Mapping[str, Mapping[str, int]]:
    """Send lines and return the counts; if the service is busy, retry as long as the data can be read again."""
    left = TRIES if isinstance(data, bytes) or data.seekable() else 1
    while True:
        body: bytes | Iterable[bytes] = data if isinstance(data, bytes) else _chunks(data, sent)
        answer = client.post("/import", content=body, headers=NDJSON)
        left -= 1
        if answer.status_code != httpx.codes.SERVICE_UNAVAILABLE or not left:
            break
        time.sleep(RETRY_SECONDS)
    refuse_problem(answer)
    counts: Mapping[str, Mapping[str, int]] = answer.json()
    return counts


def _chunks(file: IO[bytes], sent: Callable[[int], object]) -> Iterator[bytes]:
    if file.seekable():
        file.seek(0)
    while chunk := file.read(CHUNK_BYTES):
        yield chunk
        sent(len(chunk))


@click.command(name="export")
@click.option("--user", "user_id", help="Everything of this user.")
@click.option("--space", "space_id", help="This space, with its members and everything in it.")
@click.option("--conversation", "conversation_id", help="This conversation, with its archives and memories.")
@click.option(
    "--to",
    "form",
    type=click.Choice(["quire", "pam", *writing.FORMS]),
    default="quire",
    show_default=True,
    help="Form.",
)
@click.option(
    "--output", "-o", type=click.Path(path_type=Path), help="File, or stdout; a new folder for any other form."
)
@Url
@Key
def export(
    user_id: str | None,
    space_id: str | None,
    conversation_id: str | None,
    output: Path | None,
    form: str,
    url: str,
    api_key: str | None,
) -> None:
    """Take the data of a user, a space or a conversation out of a running Quire, as lines that `quire import` takes.

    `--to pam` writes a bundle of Portable AI Memory 1.0 instead: all messages and what is held, no derived data;
    `--to openai` a file of messages for each conversation, and `--to claude-code` sessions of Claude Code. What a form
    has no place for is counted on stderr.
    """
    given = {"users": user_id, "spaces": space_id, "conversations": conversation_id}
    named = [(kind, name) for kind, name in given.items() if name is not None]
    if len(named) != 1:
        raise click.UsageError("Name a --user, a --space or a --conversation.")
    [(kind, name)] = named
    if form != "quire" and (output is None or output.exists()):
        raise click.UsageError(f"--to {form} needs --output, a folder that is not there yet.")
    path, left_out = f"/{kind}/{quote(name, safe='')}", Counter[str]()
    with opened(url, api_key) as client, client.stream("GET", f"{path}/export") as answer:
        if answer.is_error:
            answer.read()
            refuse_problem(answer)
        with progress("Exporting", _messages(client, kind, name)) as bar:
            written = _counted(answer.iter_bytes(), bar.update)
            if form != "quire" and output is not None:
                values = _values(written)
                found = bundle(values, name) if form == "pam" else writing.FORMS[form](values)
                _write_bundle(output, found.files)
                left_out = found.left_out
            elif output is not None:
                _write(output, written)
            else:
                for chunk in written:
                    click.echo(chunk, nl=False)
    if left := ", ".join(f"{count} {what}" for what, count in left_out.items()):
        click.echo(f"{form} has no place for: {left}.", err=True)


def _messages(client: httpx.Client, kind: str, name: str) -> int:
    """Return how many messages an export has, for a bar on a terminal; 0 where nobody sees it."""
    if not sys.stderr.isatty():
        return 0
    if kind == "conversations":
        answer = client.get(f"/conversations/{quote(name, safe='')}")
        return int(answer.json()["messages"]) if answer.is_success else 0
    wanted: dict[str, Any] = {"limit": 100, {"users": "user_id", "spaces": "space_id"}[kind]: name}
    total: int = 0
    while True:
        answer = client.get("/conversations", params=wanted)
        if not answer.is_success:
            return total
        total += sum(int(one["messages"]) for one in answer.json()["items"])
        if (cursor := answer.json()["next_cursor"]) is None:
            return total
        wanted["cursor"] = cursor


def _counted(chunks: Iterable[bytes], done: Callable[[int], object]) -> Iterator[bytes]:
    for chunk in chunks:
        done(chunk.count(b'{"type":"message"'))
        yield chunk


def _values(chunks: Iterable[bytes]) -> Iterator[Any]:
    """Yield the JSON of each line."""
    left = b""
    for chunk in chunks:
        *whole, left = (left + chunk).split(b"\n")
        yield from (json.loads(line) for line in whole if line.strip())
    if left.strip():
        yield json.loads(left)


def _write_bundle(output: Path, files: Mapping[str, Any]) -> None:
    for path, value in files.items():
        file = output / path
        file.parent.mkdir(parents=True, exist_ok=True)
        is_lines = file.suffix == ".jsonl"
        whole = (
            "".join(f"{dumps(one)}\n" for one in value) if is_lines else json.dumps(value, ensure_ascii=False, indent=1)
        )
        file.write_text(whole, "utf-8")


def _write(output: Path, chunks: Iterable[bytes]) -> None:
    """Write to a temporary file beside the target, and rename it once it is complete."""
    part = output.with_name(f"{output.name}.part")
    try:
        with part.open("wb") as file:
            for chunk in chunks:
                file.write(chunk)
        part.replace(output)
    finally:
        part.unlink(missing_ok=True)
