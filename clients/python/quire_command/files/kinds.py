"""Find by its content which tool wrote a file, and the reader of that tool."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from quire_command.files import agents, chats, coding, items, langchain, microsoft, pam, services, terminal, webui
from quire_command.files.large import Kept, plain
from quire_command.files.reading import Document, in_folder, names_in, opened
from quire_command.files.values import Found, Memory, Skipped, Talk, is_list_of


@dataclass(frozen=True, slots=True)
class Kind:
    """A tool whose files are read."""

    name: str
    knows: Callable[[Document], bool]
    read: Callable[[Document], Iterator[Found]]


KINDS: Sequence[Kind] = (
    Kind("pam", pam.knows_pam, pam.pam),
    Kind("strands", agents.knows_strands, agents.strands),
    Kind("agno", agents.knows_agno, agents.agno),
    Kind("langgraph", langchain.knows_langgraph, langchain.langgraph),
    Kind("google-adk", agents.knows_adk, agents.google_adk),
    Kind("openai-agents", items.knows_items, items.agents_sdk),
    Kind("llama-index", agents.knows_llama_index, agents.llama_index),
    Kind("autogen", microsoft.knows_autogen, microsoft.autogen),
    Kind("agent-framework", microsoft.knows_agent_framework, microsoft.agent_framework),
    Kind("semantic-kernel", microsoft.knows_semantic_kernel, microsoft.semantic_kernel),
    Kind("pydantic-ai", agents.knows_pydantic_ai, agents.pydantic_ai),
    Kind("claude-code", coding.knows_claude_code, coding.claude_code),
    Kind("codex", coding.knows_codex, coding.codex),
    Kind("copilot-cli", terminal.knows_copilot, terminal.copilot),
    Kind("gemini-cli", terminal.knows_gemini, terminal.gemini_cli),
    Kind("opencode", terminal.knows_opencode, terminal.opencode),
    Kind("cline", terminal.knows_cline, terminal.cline),
    Kind("open-webui", webui.knows_open_webui, webui.open_webui),
    Kind("librechat", webui.knows_librechat, webui.librechat),
    Kind("lobehub", webui.knows_lobehub, webui.lobehub),
    Kind("chatgpt", chats.knows_chatgpt, chats.chatgpt),
    Kind("claude-ai", chats.knows_claude_ai, chats.claude_ai),
    Kind("letta", services.knows_letta, services.letta),
    Kind("graphiti", services.knows_graphiti, services.graphiti),
    Kind("zep", services.knows_zep, services.zep),
    Kind("redis", services.knows_redis, services.redis),
    Kind("hindsight", services.knows_hindsight, services.hindsight),
    Kind("mem0", services.knows_mem0, services.mem0),
    Kind("crewai", services.knows_crewai, services.crewai),
    Kind("langchain", langchain.knows_langchain, langchain.langchain),
    Kind("messages", chats.knows_messages, chats.messages),
)
"""The first that knows a file reads it: what says more of itself stands before."""
BY_NAME = {kind.name: kind for kind in KINDS}
NAMES = sorted(BY_NAME)


_GROUPED = re.compile(r"(.*/)?(session\.json|(session|message|part)/[^/]+/[^/]+\.json|[^/]*_(sessions|runs)\.json)")
"""Files that can belong with others of their folder."""


_BESIDE = re.compile(r"(.*/)?(tool-results/.*|subagents/.*\.meta\.json)")
"""Files of a folder that are read with the session that they belong to."""


def documents(path: Path) -> Iterator[Document]:
    """Yield the documents of a file or a folder, one after the other. Raises ValueError for another file."""
    if not path.is_dir():
        yield opened(path.name, path)
        return
    names = [name for name in names_in(path) if not _BESIDE.fullmatch(name)]
    roots = tuple(name[: -len("session.json")] for name in names if name.split("/")[-1] == "session.json")
    grouped = [name for name in names if _GROUPED.fullmatch(name) or name.startswith(roots)]
    taken = set(grouped)
    yield from together([in_folder(path, name) for name in grouped])
    for name in names:
        if name not in taken:
            yield in_folder(path, name)


def together(documents: Sequence[Document]) -> list[Document]:
    """Return documents with those in one that belong together: a session's folder, tables with a file each."""
    folders = list(agents.strands_folders(documents))
    taken = {f"{d.name[: -len('session.json')]}{path}" for d in folders for path in d.files}
    if (storage := terminal.opencode_folder(documents)) is not None:
        folders.append(storage)
        taken |= {document.name for document in documents if terminal.is_stored(document)}
    rest = [document for document in documents if document.name not in taken]
    tables = {d.stem: d.value for d in rest if is_list_of(d.value) and d.stem.endswith(("_sessions", "_runs"))}
    whole = Document("tables", tables=tables)
    if len(tables) > 1 and agents.knows_agno(whole):
        return [*folders, whole, *(document for document in rest if document.stem not in tables)]
    return [*folders, *rest]


def kind_of(document: Document) -> Kind | None:
    """Return the kind of a document; None for one that nobody knows."""
    begun = document.sample
    return next((kind for kind in KINDS if _knows(kind, begun)), None)


def _knows(kind: Kind, document: Document) -> bool:
    try:
        return kind.knows(document)
    except (LookupError, TypeError, AttributeError, ValueError):
        return False


def found_in(document: Document, kind: Kind) -> Iterator[Found]:
    """Yield what a document holds. A conversation that its file does not name is called after the file.

    Raises ValueError for a document of another form: nothing of it is taken, unless it is large. A large one is to be
    read to its end before any of it is stored.
    """
    yield from document.skipped
    found = _read(document, kind)
    is_any = False
    for one in found if document.is_large else list(found):
        is_any = is_any or isinstance(one, Memory | Skipped) or bool(one.said)
        if not isinstance(one, Skipped) and one.id is None:
            yield replace(one, id=f"{kind.name}:{document.stem}"[:128])
        else:
            yield one
    if not is_any:
        raise ValueError("it has no messages and no memories")


def _read(document: Document, kind: Kind) -> Iterator[Found]:
    try:
        for one in kind.read(document):
            yield _held(one) if document.is_large else one
    except (LookupError, TypeError, AttributeError) as error:
        raise ValueError("it has a member missing or of another type") from error


def _held(found: Found) -> Found:
    """Return what a large document holds, without any view of its file."""
    match found:
        case Talk() if not isinstance(found.said, Kept):
            return replace(found, said=[(plain(message), time) for message, time in found.said])
        case Memory():
            return replace(found, metadata=plain(found.metadata))
    return found
