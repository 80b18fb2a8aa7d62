"""Decide whose words a message holds, once, when it comes in.

A role says who may speak, not who spoke: machines speak in the user's role too. Their texts have a form: a head that
names a result, a summary, a hand-off, a hook or a file of instructions, or one element of markup around everything.
What an agent says of its own message (`isMeta` and others), and `author`, can only lower what the form shows.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from app.core.messages import Draft
from app.core.model import AUTHORS, PEOPLE, Author

HEAD_CHARACTERS = 400
"""Characters in which a machine's text shows its form; what a person pastes further down is another matter."""
_PARTS = {
    "result": r"(?:observation|result|response|output|feedback|error|stdout|stderr|traceback|exit ?code|exit status)s?",
    "tool": r"(?:tool|function|command|execution|code|script|call|terminal|shell|browser|search|mcp)",
    "made": r"(?:summary|recap|compaction|compacted|condensed|continued|continuation|hand-?off|handed off|so far"
    r"|transferred (?:to|from))",
    "talk": r"(?:conversations?|sessions?|chat|dialogue|messages|interactions|history|context|transcript|agent"
    r"|language model)",
    "file": r"(?:(?:agents|claude|gemini|copilot[\w-]*|memory|readme|skill|conventions|rules)\.(?:md|mdc|txt)"
    r"|\.cursorrules)\b",
}
_FORMS = r"""
# A result: `Observation: …`, `EXECUTION RESULT of [bash]:`, `exitcode: 0 (…)`, `Result of running ls:` before a line
\W*(?:call id: ?\S*\s+)?(?:observation|exit ?code|exit status|stdout|stderr)\b[^\n:：]{0,40}[:：]
\W*(?:tool|function|execution|mcp)[\w ]{0,30} {result}\b[^\n:：]{0,80}(?:[:：\]>]|\n)
\W*{tool}[\w ]{0,30} {result}\b[^\n:：]{0,80}[:：]?[ \t]*\n
\W*(?:results?|outputs?|response) (?:of|from|for) [^\n:：]{0,80}[:：][ \t]*\n
# `[read_file for 'a.md'] Result:`, `[retry-feedback] …`, `[system] …`, `[tool_call x failed] …`
\W*\[[^\]\n]{1,200}\]\W{0,3}{result}\b
\W*\[(?:[^\]\n]{0,80}[\s_-])?(?:{result}|retry[\w-]*|tool[\w -]*|function[\w -]*|system)(?:[\s_:-][^\]\n]{0,160})?\]
\W*\[(?:[^\]\n]{0,80}[\s_-])?(?:hook|reminder|notification|automated|context|summary|hand-?off|background)(?:[\s_:-][^\]\n]{0,160})?\]
# `The tool returned: …`, `I ran this command: … And got this output:`
\W*(?:the )?(?:tool|function)\b[^\n:：]{0,80}\b(?:returned|finished|failed|succeeded|printed|exited|completed)\b[^\n:：]{0,40}(?:[:：]|\n)
\W*the (?:previous |last )?(?:tool|function) call (?:above )?(?:generated|was malformed|was invalid)\b
\W*i ran (?:this|the) (?:command|code)[:\s][\s\S]{0,300}output
\*{3,} ?(?:response|output|suggested)\b
\W*(?:\d+ )?validation (?:errors?|feedback)\b[^\n:：]{0,40}[:：]
\W*(?:观察|观测)(?:结果)?\s*[:：]
\W*(?:工具|函数|命令|执行|代码|脚本)(?:的|调用|运行|执行)*(?:结果|输出|返回|反馈)[^\n:：]{0,20}[:：]
\W*[\[【](?:工具|函数|系统|命令|摘要|自动)[^\]】\n]{0,40}[\]】]
# A summary or a hand-off, which says of which talk
\W*(?:this|the|that) (?:session|conversation|chat|context)\b[^\n]{0,120}\b(?:is being|was|has been|ran out)\b
\W*another (?:language )?(?:model|agent|assistant)\b
\W*(?:here(?:['’]s| is)|this is|below is|the following is|conversation|session|chat|previous|prior|earlier|context)\b(?=[^\n]{0,160}\b{made}\b)(?=[^\n]{0,160}\b{talk}\b)
\W*(?:conversation|session|chat) {made}\b
\W*{made}\b[^\n]{0,100}\b{talk}\b
\W*context from (?:the |our |a )?(?:previous|prior|earlier)\b
for context[:,] (?:\[|(?:here is|here['’]s|the)\b[^\n]{0,80}\b(?:conversation|agent|history|messages)\b)
\W*(?:以下|下面|上文|此前|之前|本次|这)[^\n]{0,20}(?:对话|会话|聊天|上下文)[^\n]{0,20}(?:摘要|总结|概要|延续|继续|交接|接续)
# A hook, a reminder, a file of instructions
[\w :/-]{0,60}\bhooks?\b (?:feedback|blocked|error|additional context|success|output|result)
\W*(?:contents? of |instructions (?:from|in) |file:? ?)?[`'"]?[\w./\\~-]*{file}[`'"]?\W{0,3}(?:\(|instructions|contents?|[:：]|\n|$)
caveat: the messages below
(?:skipped|omitted|removed) \d+ (?:\w+ )?(?:messages|turns|events)\.
(?:handle|continue processing) (?:the |previous )?requests? as (?:specified|instructed)\b
\W*(?:this is an )?(?:automated|automatic|system) (?:message|reminder|notification|notice)\b
\W*you are (?:now )?(?:a sub-?agent|taking over|continuing (?:a|the|from))
"""  # noqa: E501 - a line is a form
_PART = re.compile(r"\{(" + "|".join(_PARTS) + r")\}")
MACHINES = re.compile(
    "|".join(
        f"(?:{_PART.sub(lambda found: _PARTS[found[1]], line)})"
        for line in _FORMS.strip().splitlines()
        if not line.startswith("#")
    ),
    re.IGNORECASE,
)
"""Heads of texts that machines write."""
WRAPPED = re.compile(r"\s*<([A-Za-z][\w:-]{0,60})(?:\s[^<>]{0,300})?>[\s\S]*</\1\s*>\s*\Z")
"""A text that is one element of markup, and nothing besides."""
PERSONS_TAGS = frozenset({"user_query", "user_message", "task", "user", "query", "question", "prompt", "message"})
"""Elements into which clients put what a person typed."""
CALLED = re.compile(
    r"<([a-z]+(?:_[a-z]+)+)>[\s\S]*</\1>\s*\Z|^\W*Action(?: Input)?:[^\n]*(?:\n[^\n]*){0,3}\s*\Z", re.MULTILINE
)
"""The end of an assistant's text that calls a tool in words: an element with a tool's name, or ReAct's lines."""


def author_of(draft: Draft, before: Draft | None = None, user_id: str | None = None) -> Author:
    """Return whose words a message holds. ``before``: the message it follows, where that is known."""
    own = _by_form(draft, before, user_id)
    return max(own, *_flags(draft.original), draft.author or own, key=AUTHORS.index)


def _by_form(draft: Draft, before: Draft | None, user_id: str | None) -> Author:
    match draft.role:
        case "assistant":
            return "assistant"
        case "tool":
            return "tool"
        case "user":
            if draft.results and not draft.text.strip():
                return "tool"
            if _calls_in_words(before) or is_machines(draft.text):
                return "machine"
            return "person" if draft.name in (None, user_id) else "participant"
    return "machine"


def _calls_in_words(before: Draft | None) -> bool:
    return before is not None and before.role == "assistant" and CALLED.search(before.text[-2_000:]) is not None


def is_machines(text: str) -> bool:
    """Return whether a text in the user's role has the form of a machine's."""
    head = text[:HEAD_CHARACTERS].lstrip("\ufeff \t\r\n")
    if MACHINES.match(head) is not None:
        return True
    wrapped = WRAPPED.match(text) if text.lstrip().startswith("<") else None
    return wrapped is not None and wrapped[1].lower() not in PERSONS_TAGS


def _flags(original: Mapping[str, Any]) -> list[Author]:
    """Return what agents write beside their own messages: Claude Code's transcripts."""
    found: list[Author] = ["sub-agent"] if original.get("isSidechain") is True else []
    origin = original.get("origin")
    is_made = isinstance(origin, dict) and origin.get("kind") not in (None, "human")
    if is_made or any(original.get(name) is True for name in ("isMeta", "isCompactSummary")):
        found.append("machine")
    return found


def is_persons(author: Author) -> bool:
    return author in PEOPLE
