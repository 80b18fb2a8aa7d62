"""Count the tokens of a request as it was sent."""

from __future__ import annotations

from dataclasses import replace

from app.core.canonical import spaced
from app.core.dialects.question import Question
from app.core.messages import Draft, read, weigh
from app.runtime import Runtime


async def input_tokens(runtime: Runtime, question: Question) -> int:
    """Return the tokens of the request's messages and tools. Raises Invalid."""
    limits = runtime.defaults.limits
    drafts = read(list(question.messages), replace(limits, messages=limits.listed))
    weighed = [weigh(view) for draft in drafts for view in _views(draft)]
    texts = [text for found, _ in weighed for text in found]
    if question.tools:
        texts.append(spaced(list(question.tools)))
    return sum(await runtime.tokens.count_many(texts)) + sum(overhead for _, overhead in weighed)


def _views(draft: Draft) -> list[dict[str, object]]:
    results = [{"role": "tool", "tool_call_id": r.call_id, "content": r.content} for r in draft.results]
    return [*results, *([draft.view] if draft.view else [])]
