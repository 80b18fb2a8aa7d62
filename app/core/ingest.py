"""Giving new messages their place in a conversation, and the forms in which windows will show them.

``place`` decides seq, page, call group and kind; ``shown_forms`` decides the texts. Both depend on the conversation
through ``ConversationEnd`` alone, the little that an append must know of what came before.

A page begins with a user message. (The first page also takes in what precedes the first user message.) A user
message that carries tool results in Anthropic form continues the page instead, for it answers the calls before.
System messages that lead the conversation are its prompt: they are shown in the system section for ever.

What imitates a frame or a placeholder of Quire's is shown so that it is none (``neutral``), but for the prompt, which
is the caller's own, and for what a recall tool brought in, whose frames are Quire's. The original keeps it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from app.core.canonical import dumps
from app.core.messages import THINKING_FIELDS, THINKING_PARTS, Draft, Result, has_thinking, weigh
from app.core.model import Kind, Language, Policy
from app.core.neutral import neutral
from app.core.nul import replace_nul

MARK_ARGUMENTS_MAX = 100
"""Characters of a call's arguments in the mark of what it loaded."""
OPEN_ARGUMENTS_MAX = 4_000
"""Characters of a call's arguments that are kept for its archive while the call is open."""


@dataclass(frozen=True, slots=True)
class OpenCall:
    """A call that awaits its result."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class ConversationEnd:
    """The end of a conversation, as far as the next message's place depends on it."""

    last_seq: int = 0
    last_page: int = 0
    user_seq: int = 0
    """``seq`` of the last page's user message; 0 while it has none."""
    prompt_through: int = 0
    """``seq`` of the last message of the leading prompt."""
    group: int = 0
    open_calls: tuple[OpenCall, ...] = ()


@dataclass(frozen=True, slots=True)
class AnsweredCall:
    result: Result
    call: OpenCall


@dataclass(frozen=True, slots=True)
class Placement:
    draft: Draft
    index: int
    """Which message of the append it is."""
    seq: int
    page: int
    user_seq: int
    group: int
    kind: Kind
    answers: tuple[AnsweredCall, ...] = ()

    @property
    def opens_page(self) -> bool:
        return self.user_seq == self.seq


def place(end: ConversationEnd, drafts: Sequence[Draft]) -> tuple[list[Placement], ConversationEnd]:
    placements = []
    for index, draft in enumerate(drafts):
        placement, end = _place_one(end, draft, index)
        placements.append(placement)
    return placements, end


def _place_one(end: ConversationEnd, draft: Draft, index: int) -> tuple[Placement, ConversationEnd]:
    seq = end.last_seq + 1
    answers = _answered_calls(end, draft)
    page, user_seq = max(end.last_page, 1), end.user_seq
    group = seq
    open_calls: tuple[OpenCall, ...] = ()
    prompt_through = end.prompt_through
    kind: Kind = "message"
    if answers:
        kind, group = "result", end.group
        answered = {answer.call.id for answer in answers}
        # Text beside the results ends the group: nothing can come between a call and its results.
        open_calls = () if draft.view else tuple(c for c in end.open_calls if c.id not in answered)
    elif draft.results and not draft.view:
        kind, group, open_calls = "orphan", seq, end.open_calls
    elif draft.role in ("system", "developer") and end.last_seq == end.prompt_through:
        kind, prompt_through = "prompt", seq
    elif draft.role == "user":
        page = end.last_page + 1 if end.user_seq else page
        user_seq = seq
    elif draft.calls:
        kind = "call"
        open_calls = tuple(OpenCall(c.id, c.name, c.arguments[:OPEN_ARGUMENTS_MAX]) for c in draft.calls)
    placement = Placement(draft, index, seq, page, user_seq, group, kind, answers)
    after = replace(
        end,
        last_seq=seq,
        last_page=page,
        user_seq=user_seq,
        prompt_through=prompt_through,
        group=end.group if kind == "orphan" else group,
        open_calls=open_calls,
    )
    return placement, after


def _answered_calls(end: ConversationEnd, draft: Draft) -> tuple[AnsweredCall, ...]:
    """The results that answer an open call; of two for one call, the first."""
    open_calls = {call.id: call for call in end.open_calls}
    answers = []
    for result in draft.results:
        call = open_calls.pop(result.call_id, None)
        if call is not None:
            answers.append(AnsweredCall(result, call))
    return tuple(answers)


@dataclass(frozen=True, slots=True)
class ShownForms:
    """How windows show a message: lists of chat messages in OpenAI form."""

    view: list[dict[str, Any]]
    """Verbatim. A loaded result is the mark that it shrinks to."""
    short: list[dict[str, Any]] | None = None
    """Condensed, where that differs."""
    loaded: list[dict[str, Any]] | None = None
    """With what a recall tool brought in, in full, where there is such a result."""
    anthropic: dict[str, Any] | None = None
    """As sent, for a message in Anthropic form."""
    archived: tuple[int, ...] = field(default=())
    """Indices of the answers whose results are archived."""


@dataclass(frozen=True, slots=True)
class FormTokens:
    """Tokens of a message's forms."""

    full: int
    short: int
    loaded: int
    """0 where no recall tool brought anything in."""


def form_tokens(forms: ShownForms, kind: Kind, counts: Mapping[str, int]) -> FormTokens:
    """Return what a message weighs in each form; nothing while it is in no zone. ``counts``: tokens by text.

    As sent in Anthropic form it keeps its thinking, which the OpenAI form has not: the larger one is charged,
    so that the window fits in either.
    """
    if kind in ("prompt", "orphan"):
        return FormTokens(0, 0, 0)
    full = weight(forms.view, counts) + sum(counts[text] + 3 for text in thinking(forms))
    short = weight(forms.short if forms.short is not None else forms.view, counts)
    return FormTokens(full, min(full, short), weight(forms.loaded, counts) if forms.loaded is not None else 0)


def weight(chat_messages: Sequence[dict[str, Any]], counts: Mapping[str, int]) -> int:
    """Return the tokens of chat messages, by those of their texts."""
    total = 0
    for message in chat_messages:
        texts, overhead = weigh(message)
        total += overhead + sum(counts[text] for text in texts)
    return total


def thinking(forms: ShownForms) -> list[str]:
    """The texts that a message has as sent in Anthropic form only."""
    blocks = forms.anthropic["content"] if forms.anthropic else []
    return [dumps(block) for block in blocks if block["type"] in THINKING_PARTS]


def archived_answers(
    placement: Placement, policy: Policy, recall_tools: frozenset[str], tokens: Mapping[str, int]
) -> list[int]:
    """Which of the answers go to the archive: the long ones, but never what a recall tool brought back.

    ``tokens`` are those of the results' texts; needed only where the policy has a threshold in tokens.
    """
    limit = policy.archive_threshold_tokens
    return [
        i
        for i, answer in enumerate(placement.answers)
        if answer.call.name not in recall_tools
        and (len(answer.result.text) > policy.archive_threshold or (limit and tokens[answer.result.text] > limit))
    ]


def shown_forms(
    placement: Placement,
    placeholders: Mapping[int, str],
    policy: Policy,
    language: Language,
    recall_tools: frozenset[str],
) -> ShownForms:
    """The forms of a placed message. ``placeholders`` are the texts that stand for archived answers, by index."""
    draft = placement.draft
    marks = {
        i: _loaded_mark(answer.call, language)
        for i, answer in enumerate(placement.answers)
        if answer.call.name in recall_tools
    }
    view = _without_nul(_messages(placement, {**marks, **placeholders}, recall_tools))
    first_lines = {_without_nul(text): text.split("\n", 1)[0] for text in placeholders.values()}
    short = _condensed(view, placement.page, policy, language, first_lines)
    loaded = _without_nul(_messages(placement, placeholders, recall_tools)) if marks else None
    # Calls beside the content are OpenAI's form: such a message is turned into Anthropic's like any other.
    as_sent = draft.is_anthropic and not draft.original.get("tool_calls")
    anthropic = _as_sent(placement, {**marks, **placeholders}) if as_sent else None
    return ShownForms(
        view=view,
        short=short if short != view else None,
        loaded=loaded,
        anthropic=_without_nul(anthropic) if anthropic else None,
        archived=tuple(placeholders),
    )


def _messages(placement: Placement, contents: Mapping[int, str], recall_tools: frozenset[str]) -> list[dict[str, Any]]:
    """The chat messages of a placement, with ``contents`` in place of the answers they name."""
    results = [
        {
            "role": "tool",
            "tool_call_id": answer.result.call_id,
            "content": contents[i] if i in contents else _result_content(answer, recall_tools),
        }
        for i, answer in enumerate(placement.answers)
    ]
    if placement.kind == "orphan":
        return []
    return [*results, *([_said(placement)] if placement.draft.view else [])]


def _said(placement: Placement) -> dict[str, Any]:
    """What is said besides results."""
    view = placement.draft.view
    if placement.kind == "prompt" or "content" not in view:
        return view
    return {**view, "content": _disarmed(view["content"])}


def _result_content(answer: AnsweredCall, recall_tools: frozenset[str]) -> Any:
    result = answer.result
    content = result.content if isinstance(result.content, str | list) else result.text
    return content if answer.call.name in recall_tools else _disarmed(content)


def _disarmed(content: Any) -> Any:
    """Content whose texts are neutral. Thinking stays as it is: it may be signed."""
    if isinstance(content, str):
        return neutral(content)
    if not isinstance(content, list):
        return content
    return [_disarmed_part(part) if isinstance(part, dict) else part for part in content]


def _disarmed_part(part: dict[str, Any]) -> dict[str, Any]:
    if part.get("type") in THINKING_PARTS:
        return part
    texts = {"text": neutral(part["text"])} if isinstance(part.get("text"), str) else {}
    inner = {"content": _disarmed(part["content"])} if part.get("type") == "tool_result" and "content" in part else {}
    return {**part, **texts, **inner}


def _as_sent(placement: Placement, contents: Mapping[int, str]) -> dict[str, Any]:
    """A message in Anthropic form as Anthropic takes it: results nobody asked for and cache marks taken out."""
    by_call = {answer.call.id: i for i, answer in enumerate(placement.answers)}
    blocks = []
    content = placement.draft.original["content"]
    for block in content if isinstance(content, list) else [{"type": "text", "text": content}]:
        kept = {name: value for name, value in block.items() if name != "cache_control"}
        if block["type"] == "tool_result":
            index = by_call.pop(block["tool_use_id"], None)
            if index is None:
                continue
            if index in contents:
                blocks.append({**kept, "content": contents[index]})
                continue
        blocks.append(_disarmed_part(kept))
    return {"role": placement.draft.role, "content": blocks}


def _condensed(
    view: list[dict[str, Any]], page: int, policy: Policy, language: Language, first_lines: Mapping[str, str]
) -> list[dict[str, Any]]:
    """System and user messages whole; assistants without their thinking; tool results cut."""
    short = []
    for message in view:
        if message["role"] == "tool":
            content = message["content"]
            longest = policy.condensed_tool_max
            if isinstance(content, str) and content in first_lines:
                longest = max(longest, len(first_lines[content]))  # so that it still resolves
            short.append({**message, "content": _cut(content, page, longest, language)})
        elif message["role"] == "assistant" and has_thinking(message):
            short.append(_without_thinking(message))
        else:
            short.append(message)
    return short


def _without_thinking(message: dict[str, Any]) -> dict[str, Any]:
    kept = {name: value for name, value in message.items() if name not in THINKING_FIELDS}
    if isinstance(kept.get("content"), list):
        kept["content"] = [part for part in kept["content"] if part["type"] not in THINKING_PARTS] or ""
    return kept


def _cut(content: Any, page: int, longest: int, language: Language) -> Any:
    """A tool result's first characters, and a mark that says where the rest is."""
    text = content if isinstance(content, str) else "\n".join(_part_text(part) for part in content)
    if len(text) <= longest:
        return text
    if language == "zh":
        return f"{text[:longest]}…[共{len(text)}字符,全文用 recall_page({page}) 取回]"
    return f"{text[:longest]}… [{len(text)} characters in all; recall_page({page}) has the rest]"


def _part_text(part: Any) -> str:
    if isinstance(part, dict) and isinstance(part.get("text"), str):
        return str(part["text"])
    return f"[{part.get('type', 'part')}]" if isinstance(part, dict) else dumps(part)


def _loaded_mark(call: OpenCall, language: Language) -> str:
    arguments = neutral(call.arguments[:MARK_ARGUMENTS_MAX])
    if language == "zh":
        return f"[{call.name}({arguments}) 的结果已在当时完整显示;需要时可再次调用]"
    return f"[{call.name}({arguments}) was shown in full at the time; call it again to see it again]"


def _without_nul(value: Any) -> Any:
    """NUL has no place in what a model is sent; the original keeps it."""
    if isinstance(value, str):
        return replace_nul(value)
    if isinstance(value, list):
        return [_without_nul(item) for item in value]
    if isinstance(value, dict):
        return {key: _without_nul(item) for key, item in value.items()}
    return value
