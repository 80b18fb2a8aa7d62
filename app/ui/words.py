"""The inspector's texts, in English and Chinese.

The key of a text is its English; a key that begins with a kind and a name ("zone verbatim") has an English text of its
own.
"""

from __future__ import annotations

from typing import Final

from app.core.model import Language
from app.ui.words_chinese import CHINESE

ENGLISH: Final = {
    "zone system": "system",
    "zone head": "head",
    "zone opening": "opening",
    "zone date": "date",
    "zone condensed": "condensed",
    "zone verbatim": "verbatim",
    "zone tail": "tail",
    "zone listed": "contents page",
    "zone unlisted": "unlisted",
    "section tools": "tools",
    "section system": "system",
    "section notes": "notes",
    "section summary": "summary",
    "section contents": "contents page",
    "section condensed": "condensed",
    "section recent": "verbatim",
    "section tail": "tail",
    "about tools": "schemas of the recall tools and of the caller's own tools",
    "about system": "the caller's system prompt and the guide to the recall tools",
    "about notes": "instructions that always apply",
    "about summary": "a summary of what left the window; frozen for an epoch",
    "about contents": "a line for each page that left, and the head's frame; frozen for an epoch",
    "about condensed": "older messages without thinking and with shortened tool results; frozen for an epoch",
    "about recent": "the newest messages as they were sent",
    "about tail": "what this call requested: relevant memories, loaded pages and archives",
    "part text": "text",
    "part thinking": "thinking",
    "part call": "call",
    "part result": "result of",
    "part media": "media, not loaded",
    "part other": "other",
    "role system": "system",
    "role developer": "developer",
    "role user": "user",
    "role assistant": "assistant",
    "role tool": "tool",
    "language zh": "Chinese",
    "language en": "English",
    "language unknown": "unknown",
    "source person": "written by a person",
    "source extractive": "extracted",
    "source llm": "written by the model",
    "state pending": "Waiting",
    "state running": "Running",
    "state dead": "Dead",
    "lane llm": "LLM",
    "lane embedding": "embeddings",
    "lane local": "local",
    "job page": "page index",
    "job summary": "summary",
    "job embed": "embeddings",
    "job passages": "passages of long texts",
    "job retention": "retention",
    "job recall": "recall agent",
    "job expand": "query expansion",
    "memory episode": "said",
    "memory passage": "archived",
    "memory preference": "preference",
    "memory fact": "fact",
    "memory general": "general",
    "memory command_output": "command output",
    "mode keyword": "by keyword",
    "mode semantic": "by meaning",
    "mode hybrid": "by keyword and meaning",
    "mode window": "window",
    "mode pass-through": "pass-through",
    "dialect chat": "Chat Completions",
    "dialect messages": "Messages",
    "dialect responses": "Responses",
    "view window": "window",
    "view messages": "what the model receives",
    "view pages": "contents and pages",
    "view archives": "archives",
    "view memory": "notes and summary",
    "view requests": "requests",
    "view work": "jobs and cost",
    "warning recall_tools_left_out": "The recall tools were left out.",
    "warning notes_left_out": "Some standing notes were left out.",
    "warning unknown_model": "Unknown model.",
    "warning window_squeezed": "The window is squeezed.",
    "warning tool_results_awaited": "Tool results are outstanding.",
    "warning tail_cut": "Part of the tail did not fit.",
    "warning page_not_found": "Page not found.",
    "warning archive_not_found": "Archive not found.",
    "warning index_lags": "The page index lags.",
    "warning summary_lags": "The summary lags.",
    "warning vectors_lag": "Some memories have no vector yet; only their words find them.",
    "warning semantic_unavailable": "Semantic search is unavailable; keyword search answered.",
    "warning rerank_unavailable": "The reranker did not answer; results are in the search's order.",
    "warning embeddings_absent": "No embedding model is in use; keyword search answered.",
    "warning nothing_to_search_for": "The query has no searchable words.",
}


def translate(text: str, language: Language) -> str:
    """Translate a text; an unknown one is returned as it is, without its kind."""
    if language == "zh" and text in CHINESE:
        return CHINESE[text]
    if text in ENGLISH:
        return ENGLISH[text]
    kind, _, name = text.partition(" ")
    return name.replace("_", " ") if kind in KINDS and name else text


KINDS: Final = frozenset(key.partition(" ")[0] for key in ENGLISH)
