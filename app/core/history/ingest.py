"""Place new messages in a conversation, and derive the forms that windows show.

``place`` decides seq, page, call group and kind; ``shown_forms`` decides the texts. All that either needs to know of
earlier messages is in ``ConversationEnd``.

A page begins with a user message. (The first page includes what precedes the first user message.) A user message that
carries tool results in Anthropic form continues the page, because it answers earlier calls. System messages that lead
the conversation are its prompt: windows always show them in the system section.

Text that imitates one of Quire's frames or placeholders is shown in a changed form (``neutral``), except in the prompt,
which is the caller's own, and in text that a recall tool loaded, where the frames are Quire's. The stored original is
never changed.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import compress, count
from typing import Any

from app.core import wording
from app.core.canonical import dumps
from app.core.conversation import ConversationEnd, OpenCall
from app.core.encoded import marked
from app.core.history.author import author_of
from app.core.messages import LATE, NO_FILES, NO_ID, REPEATED, THINKING_PARTS, Draft, Result, weigh
from app.core.model import UNZONED, Author, Kind, Language, Policy
from app.core.neutral import neutral, replace_nul
from app.core.window.condensing import Condensing
from app.core.window.profile import marks_in

MARK_ARGUMENTS_MAX = 100
"""Characters of a recall call's arguments that the mark of its result shows."""
LATE_MAX = 30
"""A result joins its call only if at most this many messages lie between them, because all of them become one call
group. A later result stays at its own place (``LATE``): it is *far*.
"""
FAR_MAX, FAR_ARGUMENTS_MAX = 64, 100
"""How many calls that await a far result are remembered (the newest), and how many characters of their arguments."""
LATE_TOKENS = 24
"""Tokens of the text that introduces a far result, without the tool's name."""
OPEN_ARGUMENTS_MAX = 4_000
"""Characters of an open call's arguments that are kept for the archive of its result."""


@dataclass(frozen=True, slots=True)
class AnsweredCall:
    result: Result
    call: OpenCall


@dataclass(frozen=True, slots=True)
class Placement:
    draft: Draft
    index: int
    """The message's position in the append."""
    seq: int
    page: int
    user_seq: int
    group: int
    kind: Kind
    answers: tuple[AnsweredCall, ...] = ()
    author: Author = "person"

    @property
    def opens_page(self) -> bool:
        return self.user_seq == self.seq

    @property
    def is_late(self) -> bool:
        """Return whether it joins an open call after other messages have followed the call."""
        return any(answer.call.is_left and not answer.call.is_far for answer in self.answers)

    @property
    def far(self) -> list[AnsweredCall]:
        """Return its results that came too late to join their calls."""
        return [answer for answer in self.answers if answer.call.is_far]


def place(
    end: ConversationEnd, drafts: Sequence[Draft], refused: Collection[int] = (), user_id: str | None = None
) -> tuple[list[Placement], ConversationEnd]:
    """Return the messages' places and the conversation's end after them. ``refused``: indices of refused messages.

    A late result joins the group of its call, and so do all messages between them.
    """
    placements: list[Placement] = []
    for index, draft in enumerate(drafts):
        author = author_of(draft, drafts[index - 1] if index else None, user_id)
        placement, end = (_place_refused if index in refused else _place_one)(end, draft, index, author)
        if placement.is_late:
            group = placement.group
            placements = [replace(p, group=min(p.group, group)) if p.seq > group else p for p in placements]
        placements.append(placement)
    return placements, end


def joined_from(end: ConversationEnd, placements: Sequence[Placement]) -> int | None:
    """Return the call group that stored messages join because of late results. ``end`` is before the placements."""
    return min((p.group for p in placements if p.is_late and p.group <= end.last_seq), default=None)


def _place_one(end: ConversationEnd, draft: Draft, index: int, author: Author) -> tuple[Placement, ConversationEnd]:
    seq = end.last_seq + 1
    answers = _answered_calls(end, draft)
    page, user_seq = max(end.last_page, 1), end.user_seq
    group, next_group = seq, 0
    open_calls = _left(end, seq)
    prompt_through = end.prompt_through
    kind: Kind = "message"
    if answers:
        near = [answer.call for answer in answers if not answer.call.is_far]
        awaited = near or [call for call in end.open_calls if not call.is_left]
        kind, group = "result", min((call.group for call in awaited), default=seq)
        answered = {answer.call.id for answer in answers}
        is_late = any(call.is_left for call in near)
        rest = open_calls if draft.view else end.open_calls
        open_calls = tuple(
            replace(call, group=min(call.group, group)) if is_late and call.group > group else call
            for call in rest
            if call.id not in answered
        )
    elif draft.results and not draft.view:
        kind, group, next_group, open_calls = "orphan", seq, end.group, end.open_calls
    elif draft.role in ("system", "developer") and end.last_seq == end.prompt_through:
        kind, prompt_through = "prompt", seq
    elif draft.role == "user":
        page = end.last_page + 1 if end.user_seq else page
        user_seq = seq
    elif draft.calls:
        kind = "call"
        names = {call.id for call in draft.calls}
        if end.group and names.isdisjoint(call.id for call in end.open_calls):
            group, open_calls = end.group, end.open_calls
        next_group = group
        new = [OpenCall(c.id, c.name, marked(c.arguments)[:OPEN_ARGUMENTS_MAX], group) for c in draft.calls]
        open_calls = (*(call for call in open_calls if call.id not in names), *new)
    placement = Placement(draft, index, seq, page, user_seq, group, kind, answers, author)
    after = replace(
        end,
        last_seq=seq,
        last_page=page,
        user_seq=user_seq,
        prompt_through=prompt_through,
        group=next_group,
        open_calls=open_calls,
    )
    return placement, after


def _left(end: ConversationEnd, seq: int) -> tuple[OpenCall, ...]:
    """Return the open calls after a message that is no result."""
    left = [replace(call, is_left=True, is_far=call.is_far or seq - call.group > LATE_MAX) for call in end.open_calls]
    far = [replace(call, arguments=call.arguments[:FAR_ARGUMENTS_MAX]) for call in left if call.is_far]
    return (*far[-FAR_MAX:], *(call for call in left if not call.is_far))


def _place_refused(end: ConversationEnd, draft: Draft, index: int, author: Author) -> tuple[Placement, ConversationEnd]:
    """Place a refused message. Unless it opens a page, earlier calls stay open."""
    placement, after = _place_one(end, draft, index, author)
    if placement.opens_page:
        return replace(placement, kind="refused", answers=()), after
    after = replace(after, group=end.group, open_calls=end.open_calls)
    return replace(placement, kind="refused", answers=(), group=placement.seq), after


def unmatched_results(placement: Placement) -> list[str]:
    """Return the call ids of a message's results that answer no open call."""
    if placement.kind == "refused":
        return []
    answered = {id(answer.result) for answer in placement.answers}
    return [result.call_id for result in placement.draft.results if id(result) not in answered]


def _answered_calls(end: ConversationEnd, draft: Draft) -> tuple[AnsweredCall, ...]:
    """Pair the results with open calls: the first result of each call, and calls that share an id in their order."""
    open_calls = {call.id: call for call in end.open_calls}
    repeated: dict[str, list[str]] = {}
    for id_ in reversed(open_calls):
        repeated.setdefault(id_.rpartition(REPEATED)[0], []).append(id_)
    answers = []
    for result in draft.results:
        id_ = next(iter(open_calls), NO_ID) if result.call_id == NO_ID else result.answers or result.call_id
        if id_ not in open_calls and repeated.get(id_):
            id_ = repeated[id_].pop()
        call = open_calls.pop(id_, None)
        if call is not None:
            answers.append(AnsweredCall(result, call))
    return tuple(answers)


@dataclass(frozen=True, slots=True)
class ShownForms:
    """The forms in which windows show a message: lists of chat messages in OpenAI form, if not said otherwise."""

    view: list[dict[str, Any]]
    """The verbatim form, with a mark in place of each recalled text."""
    short: list[dict[str, Any]] | None = None
    """The condensed form; None if it equals ``view``."""
    loaded: list[dict[str, Any]] | None = None
    """The form with recalled texts in full; None if there are none."""
    anthropic: dict[str, Any] | None = None
    """The message in Anthropic form, if it was sent so."""
    archived: tuple[int, ...] = field(default=())
    """Indices of the answers whose results are archived."""


@dataclass(frozen=True, slots=True)
class FormTokens:
    full: int
    short: int
    loaded: int
    """0 if no recall tool loaded anything."""


def form_tokens(
    forms: ShownForms, kind: Kind, counts: Mapping[str, int], files: Mapping[str, int] = NO_FILES
) -> FormTokens:
    """Return the tokens of a message in each form; 0 for kinds that no zone shows. ``files``: see ``weigh``.

    ``full`` includes thinking that only the Anthropic form shows, so that a window fits in either form.
    """
    if kind in UNZONED:
        return FormTokens(0, 0, 0)
    shown = weight(forms.view, counts, files)
    full = shown + sum(counts[text] + 3 for text in thinking(forms))
    short = weight(forms.short, counts, files) if forms.short is not None else shown
    return FormTokens(full, min(full, short), weight(forms.loaded, counts, files) if forms.loaded is not None else 0)


def form_marks(forms: ShownForms, archived: Sequence[str], files: Mapping[str, int] = NO_FILES) -> tuple[int, ...]:
    """Return the marks (see ``profile.marks_in``) of the verbatim form, the condensed form, and the texts that recall
    tools loaded or that were ``archived``, without trailing zeros.
    """
    full = marks_in(forms.view, thinking(forms), files)
    short = full if forms.short is None else marks_in(forms.short, (), files)
    passing = marks_in(forms.loaded or (), archived, files) if forms.loaded or archived else ()
    marks = (*full, *short, *passing)
    return marks[: max(compress(count(1), marks), default=0)]


def weight(
    chat_messages: Sequence[dict[str, Any]], counts: Mapping[str, int], files: Mapping[str, int] = NO_FILES
) -> int:
    """Return the tokens of chat messages. ``counts`` holds the tokens of their texts."""
    total = 0
    for message in chat_messages:
        texts, overhead = weigh(message, files)
        total += overhead + sum(map(counts.__getitem__, texts))
        total += LATE_TOKENS + len(message[LATE]) if LATE in message else 0
    return total


def thinking(forms: ShownForms) -> list[str]:
    """Return the thinking blocks, as JSON, which only a message's Anthropic form shows."""
    blocks = forms.anthropic["content"] if forms.anthropic else []
    return [dumps(block) for block in blocks if block["type"] in THINKING_PARTS]


def archived_answers(
    placement: Placement, policy: Policy, recall_tools: frozenset[str], tokens: Mapping[str, int]
) -> list[int]:
    """Return the indices of the answers to archive: long results, except those of recall tools.

    ``tokens`` holds the tokens of the results' texts; it is read only if the policy has a threshold in tokens.
    """
    limit = policy.archive_threshold_tokens
    return [
        i
        for i, answer in enumerate(placement.answers)
        if answer.call.name not in recall_tools
        and (
            len(answer.result.text) > policy.archive_threshold or (limit and tokens[marked(answer.result.text)] > limit)
        )
    ]


def shown_forms(
    placement: Placement,
    placeholders: Mapping[int, str],
    policy: Policy,
    language: Language,
    recall_tools: frozenset[str],
) -> ShownForms:
    """Return the forms of a placed message. ``placeholders`` replace archived answers, by index."""
    draft = placement.draft
    marks = {
        i: _loaded_mark(answer.call, language)
        for i, answer in enumerate(placement.answers)
        if answer.call.name in recall_tools
    }
    view = _without_nul(_messages(placement, {**marks, **placeholders}, recall_tools))
    first_lines = {_without_nul(text): text.split("\n", 1)[0] for text in placeholders.values()}
    condensing = Condensing(placement.page, policy.condensed_tool_max, language)
    short = condensing.messages(view, first_lines)
    loaded = _without_nul(_messages(placement, placeholders, recall_tools)) if marks else None
    # Calls outside of the content are in OpenAI form, so the message is converted to Anthropic form like any other.
    as_sent = draft.is_anthropic and not draft.original.get("tool_calls") and not placement.far
    anthropic = _as_sent(placement, {**marks, **placeholders}) if as_sent else None
    return ShownForms(
        view=view,
        short=short if short != view else None,
        loaded=loaded,
        anthropic=_without_nul(anthropic) if anthropic else None,
        archived=tuple(placeholders),
    )


def _messages(placement: Placement, contents: Mapping[int, str], recall_tools: frozenset[str]) -> list[dict[str, Any]]:
    """Return the chat messages of a placement. ``contents`` replaces the contents of answers, by index."""
    results = [
        {
            "role": "tool",
            "tool_call_id": answer.call.id,
            "content": contents[i] if i in contents else _result_content(answer, recall_tools),
            **({"is_error": True} if answer.result.is_error else {}),
            **({LATE: answer.call.name} if answer.call.is_far else {}),
        }
        for i, answer in enumerate(placement.answers)
    ]
    if placement.kind == "orphan":
        return []
    return [*results, *([_said(placement)] if placement.draft.view else [])]


def _said(placement: Placement) -> dict[str, Any]:
    view = placement.draft.view
    if placement.kind == "prompt":
        return view
    if "tool_calls" in view:
        view = {**view, "tool_calls": [_marked_call(call) for call in view["tool_calls"]]}
    return {**view, "content": _disarmed(view["content"])} if "content" in view else view


def _marked_call(call: dict[str, Any]) -> dict[str, Any]:
    return {**call, "function": {**call["function"], "arguments": marked(call["function"]["arguments"])}}


def _result_content(answer: AnsweredCall, recall_tools: frozenset[str]) -> Any:
    result = answer.result
    content = result.content if isinstance(result.content, str | list) else result.text
    return content if answer.call.name in recall_tools else _disarmed(content)


def _disarmed(content: Any) -> Any:
    """Make the texts of content neutral, with marks for embedded files. Thinking stays as it is: it can be signed."""
    if isinstance(content, str):
        return neutral(marked(content))
    if not isinstance(content, list):
        return content
    return [_disarmed_part(part) if isinstance(part, dict) else part for part in content]


def _disarmed_part(part: dict[str, Any]) -> dict[str, Any]:
    if part.get("type") in THINKING_PARTS:
        return part
    texts = {"text": neutral(marked(part["text"]))} if isinstance(part.get("text"), str) else {}
    inner = {"content": _disarmed(part["content"])} if part.get("type") == "tool_result" and "content" in part else {}
    return {**part, **texts, **inner}


def _as_sent(placement: Placement, contents: Mapping[int, str]) -> dict[str, Any]:
    """Return an Anthropic message in a form that the API accepts: without unmatched results and cache marks."""
    by_result = {id(answer.result): i for i, answer in enumerate(placement.answers)}
    blocks = []
    content = placement.draft.original["content"]
    calls, results = iter(placement.draft.calls), iter(placement.draft.results)
    for block in content if isinstance(content, list) else [{"type": "text", "text": content}]:
        part = {name: value for name, value in block.items() if name != "cache_control"}
        if block["type"] == "tool_use":
            call = next(calls)
            part["id"] = call.id
            if (arguments := marked(call.arguments)) != call.arguments:
                part["input"] = json.loads(arguments)
        if block["type"] == "tool_result":
            index = by_result.get(id(next(results)))
            if index is None:
                continue
            part["tool_use_id"] = placement.answers[index].call.id
            if index in contents:
                blocks.append({**part, "content": contents[index]})
                continue
        blocks.append(_disarmed_part(part))
    name = {"name": placement.draft.name} if placement.draft.name else {}
    return {"role": placement.draft.role, **name, "content": blocks}


def _loaded_mark(call: OpenCall, language: Language) -> str:
    arguments = neutral(call.arguments[:MARK_ARGUMENTS_MAX])
    return wording.SHOWN_BEFORE.say(language, name=call.name, arguments=arguments)


def _without_nul(value: Any) -> Any:
    """Replace NUL, which must not be sent to a model. The stored original keeps it."""
    if isinstance(value, str):
        return replace_nul(value)
    if isinstance(value, list):
        return [_without_nul(item) for item in value]
    if isinstance(value, dict):
        return {key: _without_nul(item) for key, item in value.items()}
    return value
