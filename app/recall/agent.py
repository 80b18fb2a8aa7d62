"""The recall agent's rules, independent of any model or database: its permitted moves, and its end.

An iteration looks at a number of the conversation's latest messages. Asking for more of them ends it and begins the
next. Only a handoff ends the task; if the agent uses up its limits without one, its results are handed over on its
behalf.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any

from app.core.model import Language
from app.recall.tools import EXPAND_CONTEXT_WINDOW, HANDOFF, SEARCH_MEMORIES

FIRST_MESSAGES = 5
MORE_MESSAGES = 5
"""Messages that an expansion adds by default."""
MESSAGES_MAX = 100
SEARCHES_IN_A_ROW = 3
REFUSALS_IN_A_ROW = 3
"""A model that was refused so often does not understand its task, and each further reply costs money."""
STEPS_MAX = 12
"""Replies of the model in one iteration."""
CHARACTERS_MAX = 100_000
"""Characters that all tools can return in one task."""
NAME_SHOWN = 60
SHOWN_CHARACTERS = 500
"""Characters of a tool's answer in the trace."""

_SAID: dict[str, dict[Language, str]] = json.loads(files("app.recall").joinpath("agent.json").read_text("utf-8"))


def said(what: str, language: Language) -> str:
    return _SAID[what][language].replace("{searches}", str(SEARCHES_IN_A_ROW))


def as_sizes(given: Mapping[str, Any], messages: int) -> Mapping[str, Any]:
    """Return an expansion's arguments with ``messages`` (how many more) converted to the total number."""
    more = given.get("messages")
    if not isinstance(more, int) or "requested_size" in given:
        return given
    rest = {name: value for name, value in given.items() if name != "messages"}
    return {**rest, "requested_size": messages + more}


@dataclass(frozen=True, slots=True)
class Handoff:
    search_summary: str
    relevant_memory_keys: tuple[str, ...]
    confidence: float
    needs_more_info: bool = False
    follow_up_question: str | None = None


@dataclass
class Task:
    iterations_max: int
    language: Language
    iteration: int = 1
    messages: int = FIRST_MESSAGES
    """Number of the conversation's latest messages in view."""
    searches: int = 0
    """In a row."""
    refusals: int = 0
    """In a row."""
    has_searched: bool = False
    characters: int = CHARACTERS_MAX
    """Characters that tools can still return."""
    seen: dict[str, float] = field(default_factory=dict)
    """The memory keys that it was shown, with their best relevance."""

    def refusal(self, tool: str) -> str | None:
        """Return why a tool cannot be used now; None if it can."""
        if tool == SEARCH_MEMORIES.name and self.searches >= SEARCHES_IN_A_ROW:
            return said("searches", self.language)
        if tool == EXPAND_CONTEXT_WINDOW.name and self.iteration >= self.iterations_max:
            return said("iterations", self.language)
        if tool not in (EXPAND_CONTEXT_WINDOW.name, HANDOFF.name) and self.characters <= 0:
            return said("characters", self.language)
        return None

    def used(self, tool: str) -> None:
        self.searches = self.searches + 1 if tool == SEARCH_MEMORIES.name else 0
        self.has_searched |= tool == SEARCH_MEMORIES.name

    def answered(self, *, is_refusal: bool) -> bool:
        """Count an unusable reply. Return whether there were too many."""
        self.refusals = self.refusals + 1 if is_refusal else 0
        return self.refusals >= REFUSALS_IN_A_ROW

    def expand(self, more: int) -> None:
        """Begin the next iteration, with more of the latest messages in view."""
        self.iteration += 1
        self.searches = 0
        self.messages = min(MESSAGES_MAX, self.messages + more)

    def admitted(self, text: str) -> str:
        """Return as much of a tool's answer as fits."""
        if len(text) > self.characters:
            text = text[: self.characters] + said("cut", self.language)
        self.characters = max(0, self.characters - len(text))
        return text

    def show(self, results: Sequence[Mapping[str, Any]]) -> None:
        """Record the memories that a search or a detail returned."""
        for result in results:
            key, score = result["memory_key"], float(result["relevance_score"])
            self.seen[key] = max(score, self.seen.get(key, 0.0))

    def handoff(self, arguments: Mapping[str, Any]) -> Handoff:
        """Build the agent's handoff from valid arguments: its own verdict, whatever the scores say.

        Keys that it never saw are dropped.
        """
        keys = [key for key in dict.fromkeys(arguments.get("relevant_memory_keys", ())) if key in self.seen]
        best = max((self.seen[key] for key in keys), default=0.0)
        return Handoff(
            search_summary=arguments.get("search_summary") or arguments.get("reason", ""),
            relevant_memory_keys=tuple(keys),
            confidence=round(float(arguments.get("confidence", best)), 4),
            needs_more_info=bool(arguments.get("needs_more_info", False)),
            follow_up_question=arguments.get("follow_up_question"),
        )

    def best(self, count: int) -> list[str]:
        """Return the keys seen, the most relevant first."""
        return sorted(self.seen, key=lambda key: -self.seen[key])[:count]
