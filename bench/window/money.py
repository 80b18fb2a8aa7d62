"""The cost of a conversation's input tokens with five ways of remembering, with and without a prompt cache.

Replayed with the same transcripts and before the same model calls:

* the whole history, each time;
* the newest messages that fit the budget, from a user message on (`trim_messages` and its like);
* cut to half: everything until it fills the budget, then the newest half of it, from a message that is no result on;
* a rolling summary: when the history since the last one fills the budget, its older half is summarised, which costs
  reading it once, and SUMMARY_TOKENS stand for all that is summarised;
* Quire's windows, as they were answered, recall tools included.

A system prompt always stays. So does, in the second and fourth way, the user message of a turn that alone does not fit;
of what follows it, the newest call groups do.

The unit is the price of an input token that is not cached. A token is read from the cache if the prompt begins with
the one before it up to there, by the rules and at the price of a vendor's cache (KINDS).
Output tokens are not counted: they are the same for all, but for the summaries', which are left out in favour of the
fourth way.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate

from app.core.models import TABLE, PromptCache

PREFIX = TABLE.rows["gpt-5"].cache
"""The cache of OpenAI's models up to 5.5: a token that is read costs 0.1, and one that is written nothing extra."""
CACHED = PREFIX.read
KINDS = {
    "prefix (OpenAI to 5.5)": PREFIX,
    "blocks (DeepSeek V4)": TABLE.rows["deepseek-v4"].cache,
    "breakpoints (OpenAI 5.6, 6)": TABLE.rows["gpt-5.6"].cache,
    "marks (Claude to 4.8)": TABLE.rows["claude-4.6"].cache,
}
"""The kinds of caches, each of a vendor; prices are in `app/core/models.json`."""
SUMMARY_TOKENS = 500
USABLE = 0.9

Prompt = Sequence[tuple[str, int]]
"""The parts of a prompt in order: a key that identifies each, and its tokens."""


@dataclass(frozen=True)
class Said:
    """A message of the history."""

    text: str
    tokens: int
    role: str


@dataclass(frozen=True)
class Bill:
    plain: float
    cached: float


@dataclass(frozen=True)
class Way:
    """The prompts of a way in the order of sending, and the tokens that were read once besides them."""

    prompts: Sequence[Prompt]
    read: int = 0

    def bill(self) -> Bill:
        return bill(self.prompts, self.read)


def bill(prompts: Iterable[Prompt], more: int = 0, cache: PromptCache = PREFIX) -> Bill:
    """Of prompts in the order they were sent, and of `more` tokens that were read beside them and never again.

    A prefix is read up to where the prompt before is the same, in the cache's steps; so are units, in blocks. With
    breakpoints and marks only what was written is read: a prompt marks its end, and where it parts from the one before.
    """
    plain = cached = float(more)
    before: Prompt = ()
    written: set[Prompt] = set()
    for prompt in (tuple(prompt) for prompt in prompts):
        tokens, same = sum(part[1] for part in prompt), _same(before, prompt)
        new = 0
        if cache.kind in ("breakpoints", "marks"):
            read = max((weight_of(one) for one in written if prompt[: len(one)] == one), default=0)
            written = {*(one for one in written if prompt[: len(one)] == one), prompt, prompt[:same]}
            new = tokens - read if tokens >= cache.least else 0
        else:
            read = weight_of(prompt[:same]) // cache.step * cache.step
        read = read if read >= max(1, cache.least) else 0
        plain += tokens
        cached += tokens - (1 - cache.read) * read + (cache.write - 1) * new
        before = prompt
    return Bill(plain, cached)


def _same(before: Prompt, prompt: Prompt) -> int:
    pairs = enumerate(zip(before, prompt, strict=False))
    return next((at for at, (one, other) in pairs if one != other), min(len(before), len(prompt)))


def weight_of(parts: Prompt) -> int:
    return sum(tokens for _, tokens in parts)


def whole(history: Sequence[Said], calls: Sequence[int]) -> Way:
    """Return the whole history at each call. `calls`: the number of messages at each model call."""
    return Way([_parts(history[:call]) for call in calls])


def newest(history: Sequence[Said], calls: Sequence[int], budget: int) -> Way:
    system = _system(history)
    room = int(budget * USABLE) - weight(system)
    return Way([_parts([*system, *fitting(history[len(system) : call], room)]) for call in calls])


def halved(history: Sequence[Said], calls: Sequence[int], budget: int) -> Way:
    system = _system(history)
    room, start, prompts = int(budget * USABLE) - weight(system), len(system), list[Prompt]()
    for call in calls:
        if weight(history[start:call]) > room:
            start = call - 1
            while start > len(system) and weight(history[start - 1 : call]) <= room / 2:
                start -= 1
            while start < call - 1 and history[start].role == "tool":
                start += 1
        prompts.append(_parts([*system, *history[start:call]]))
    return Way(prompts)


def summarised(history: Sequence[Said], calls: Sequence[int], budget: int) -> Way:
    system = _system(history)
    room, at, version, read = int(budget * USABLE) - weight(system), len(system), 0, 0
    since: Sequence[Said] = ()
    prompts: list[Prompt] = []
    for call in calls:
        since, at = [*since, *history[at:call]], max(at, call)
        if weight(since) > room - SUMMARY_TOKENS * (version > 0):
            kept = fitting(since, room // 2)
            if len(kept) < len(since):
                read += weight(since) - weight(kept) + SUMMARY_TOKENS * (version > 0)
                since, version = kept, version + 1
        summary = [(f"summary {version}", SUMMARY_TOKENS)] if version else []
        prompts.append([*_parts(system), *summary, *_parts(since)])
    return Way(prompts, read)


def fitting(said: Sequence[Said], room: int) -> Sequence[Said]:
    """The newest that fit, from a user message on; of a turn that alone does not, its user message and the newest call
    groups that fit beside it. The newest turn's message and its newest call group stay, whatever they weigh.
    """
    left = list(accumulate(one.tokens for one in reversed(said)))[::-1]
    users = [at for at, one in enumerate(said) if one.role == "user"]
    if starts := [at for at in users if left[at] <= room]:
        return said[starts[0] :]
    last = users[-1] if users else -1
    opening = said[last : last + 1] if users else ()
    groups = [at for at in range(last + 1, len(said)) if said[at].role == "assistant"]
    starts = [at for at in groups if left[at] <= room - weight(opening)] or groups[-1:]
    return [*opening, *(said[starts[0] :] if starts else said[last + 1 :])]


def weight(said: Iterable[Said]) -> int:
    return sum(one.tokens for one in said)


def _system(history: Sequence[Said]) -> Sequence[Said]:
    return [one for one in history[:1] if one.role == "system"]


def _parts(history: Iterable[Said]) -> list[tuple[str, int]]:
    return [(said.text, said.tokens) for said in history]
