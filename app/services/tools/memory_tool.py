"""Anthropic's memory tool (`memory_20250818`): files of an agent's user, space or conversation."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal
from uuid import UUID

from app import errors
from app.core.canonical import dumps
from app.core.conversation import Conversation
from app.core.dialects import memory_files
from app.core.dialects.memory_files import ROOT, FileMistake
from app.core.scope import Scope
from app.postgres.transactions import Tx
from app.runtime import Runtime
from app.services.idempotency import IdempotencyKey, StoredResponse, run_idempotently
from app.services.memory import files as service
from app.services.memory.files import StoredFile
from app.store import conversations
from app.store.memory import files
from app.store.memory.files import MemoryFile

NAME = "memory"
ARGUMENTS: dict[str, dict[str, type]] = {
    "view": {"path": str},
    "create": {"path": str, "file_text": str},
    "str_replace": {"path": str, "old_str": str, "new_str": str},
    "insert": {"path": str, "insert_line": int, "insert_text": str},
    "delete": {"path": str},
    "rename": {"old_path": str, "new_path": str},
}
ABSENT = "The path {path} does not exist. Please provide a valid path."


@dataclass(frozen=True, slots=True)
class MemoryCall:
    """A call of the tool in a conversation, with its caller."""

    conversation_id: str
    arguments: dict[str, Any]
    bound_to: str | None

    @property
    def writes(self) -> bool:
        return self.arguments.get("command") != "view"


@dataclass(frozen=True, slots=True)
class _Files:
    runtime: Runtime
    tx: Tx
    scope: Scope
    user_id: str | None
    rows: Mapping[str, tuple[UUID, int]]
    """Id and size of each by its key."""

    async def read(self, path: str) -> MemoryFile:
        """Return a file. Raises FileMistake."""
        key = memory_files.key_of(path)
        if key not in self.rows:
            is_directory = memory_files.below(key, self.rows) or not key
            raise FileMistake(f"The path {path} is not a file." if is_directory else ABSENT.format(path=path))
        [found] = await files.contents(self.tx, self.scope, [self.rows[key][0]])
        return found

    async def write(self, row: MemoryFile, content: str) -> None:
        await service.change(self.runtime, self.tx, row, StoredFile(self.scope, row.key, content))


async def run(runtime: Runtime, tenant: UUID, call: MemoryCall, idempotency: IdempotencyKey | None) -> str:
    """Run a command and return its answer as JSON text. A model's mistake is an answer too. Raises NotFound."""

    async def work(tx: Tx) -> StoredResponse:
        read = conversations.hold if call.writes else conversations.find
        conversation = errors.existing(await read(tx, call.conversation_id, bound_to=call.bound_to), "conversation")
        try:
            content, is_error = await _run(runtime, tx, conversation, call), False
        except FileMistake as mistake:
            content, is_error = str(mistake), True
        said = dumps({"name": NAME, "content": content, "is_error": is_error})
        return StoredResponse.about(said, conversation)

    return await run_idempotently(runtime.database, tenant, idempotency, work)


async def _run(runtime: Runtime, tx: Tx, conversation: Conversation, call: MemoryCall) -> str:
    command = _command_of(call.arguments)
    try:
        await service.hold(tx, conversation.scope)
        rows = await files.keys(tx, conversation.scope)
        found = _Files(runtime, tx, conversation.scope, conversation.user_id, rows)
        return await _COMMANDS[command](found, call.arguments)
    except (errors.Invalid, errors.Conflict) as error:
        raise FileMistake(error.detail) from error


def _command_of(arguments: dict[str, Any]) -> str:
    command = arguments.get("command")
    if not isinstance(command, str) or command not in ARGUMENTS:
        raise FileMistake(f"Unknown command. The commands are {', '.join(ARGUMENTS)}.")
    for name, kind in ARGUMENTS[command].items():
        if not isinstance(arguments.get(name), kind) or isinstance(arguments[name], bool):
            wanted: Literal["a number", "a text"] = "a number" if kind is int else "a text"
            raise FileMistake(f"The command {command} needs `{name}`, {wanted}.")
    return command


async def _view(found: _Files, given: dict[str, Any]) -> str:
    path, key = given["path"], memory_files.key_of(given["path"])
    if key in found.rows:
        lines = given.get("view_range")
        is_range = isinstance(lines, list) and all(type(line) is int for line in lines)
        return memory_files.file(path, (await found.read(path)).content, lines if is_range else None)
    inside = memory_files.below(key, found.rows)
    if key and not inside:
        raise FileMistake(ABSENT.format(path=path))
    return memory_files.directory(path.rstrip("/"), key, {name: found.rows[name][1] for name in inside})


async def _create(found: _Files, given: dict[str, Any]) -> str:
    key = memory_files.key_of(given["path"])
    if key in found.rows or not key or memory_files.below(key, found.rows):
        raise FileMistake(f"File {given['path']} already exists")
    await service.create(found.runtime, found.tx, StoredFile(found.scope, key, given["file_text"]))
    return f"File created successfully at: {given['path']}"


async def _str_replace(found: _Files, given: dict[str, Any]) -> str:
    row = await found.read(given["path"])
    content, told = memory_files.replaced(given["path"], row.content, given["old_str"], given["new_str"])
    await found.write(row, content)
    return told


async def _insert(found: _Files, given: dict[str, Any]) -> str:
    row = await found.read(given["path"])
    await found.write(row, memory_files.inserted(row.content, given["insert_line"], given["insert_text"]))
    return f"The file {given['path']} has been edited."


def _keys_at(found: _Files, path: str, doing: str) -> list[str]:
    key = memory_files.key_of(path)
    if not key:
        raise FileMistake(f"Cannot {doing} the {ROOT} directory itself")
    named = [key] if key in found.rows else memory_files.below(key, found.rows)
    if not named:
        raise FileMistake(f"The path {path} does not exist")
    return named


async def _delete(found: _Files, given: dict[str, Any]) -> str:
    named = [found.rows[key][0] for key in _keys_at(found, given["path"], "delete")]
    for row in await files.contents(found.tx, found.scope, named):
        await service.delete(found.tx, row, found.user_id)
    return f"Successfully deleted {given['path']}"


async def _rename(found: _Files, given: dict[str, Any]) -> str:
    old, new = memory_files.key_of(given["old_path"]), memory_files.key_of(given["new_path"])
    if old and (new in found.rows or not new or memory_files.below(new, found.rows)):
        raise FileMistake(f"The destination {given['new_path']} already exists")
    named = _keys_at(found, given["old_path"], "rename")
    if new.startswith(f"{old}/"):
        raise FileMistake(f"{given['new_path']} is inside {given['old_path']}")
    rows = await files.contents(found.tx, found.scope, [found.rows[key][0] for key in named])
    for row in rows:
        moved = StoredFile(found.scope, new + row.key.removeprefix(old), row.content)
        await service.change(found.runtime, found.tx, row, moved)
    return f"Successfully renamed {given['old_path']} to {given['new_path']}"


_COMMANDS: dict[str, Callable[[_Files, dict[str, Any]], Awaitable[str]]] = {
    "view": _view,
    "create": _create,
    "str_replace": _str_replace,
    "insert": _insert,
    "delete": _delete,
    "rename": _rename,
}
