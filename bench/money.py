"""What a conversation's input tokens cost under four ways of remembering, with and without a provider's prompt cache.

Replayed with the same transcripts and before the same model calls:

* the whole history, each time;
* the newest messages that fit the budget, from a user message on (`trim_messages` and its like);
* a rolling summary: when the history since the last one fills the budget, its older half is summarised, which costs
  reading it once, and SUMMARY_TOKENS stand for all that is summarised;
* Quire's windows, as they were answered, recall tools included.

The unit is the price of an input token that is not cached. A token is read from the cache if the prompt begins with
the one before it up to there, and what is shared is at least LEAST_CACHED tokens; such a token costs CACHED.
Output tokens are not counted: they are the same for all, but for the summaries', which are left out in favour of the
third way.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

CACHED = 0.1
"""Of a token's price, when it is cached: OpenAI's and Anthropic's newest models, 2026."""
LEAST_CACHED = 1024
SUMMARY_TOKENS = 500
USABLE = 0.9

Prompt = Sequence[tuple[str, int]]
"""Parts of a prompt in order: what tells one from another, and its tokens."""


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

    def __add__(self, other: "Bill") -> "Bill":
        return Bill(self.plain + other.plain, self.cached + other.cached)


def bill(prompts: Iterable[Prompt], more: int = 0) -> Bill:
    """Of prompts in the order they were sent, and of `more` tokens that were read beside them and never again."""
    plain = cached = float(more)
    before: Prompt = ()
    for prompt in prompts:
        tokens, shared = sum(part[1] for part in prompt), _shared(before, prompt)
        plain += tokens
        cached += tokens - (1 - CACHED) * shared
        before = prompt
    return Bill(plain, cached)


def _shared(before: Prompt, prompt: Prompt) -> int:
    shared = 0
    for one, other in zip(before, prompt, strict=False):
        if one != other:
            break
        shared += one[1]
    return shared if shared >= LEAST_CACHED else 0


def whole(history: Sequence[Said], calls: Sequence[int]) -> Bill:
    """`calls`: how many messages there were at each model call."""
    return bill(_parts(history[:call]) for call in calls)


def newest(history: Sequence[Said], calls: Sequence[int], budget: int) -> Bill:
    return bill(_newest(history[:call], int(budget * USABLE)) for call in calls)


def _newest(history: Sequence[Said], room: int) -> Prompt:
    system = [said for said in history[:1] if said.role == "system"]
    room -= sum(said.tokens for said in system)
    first = last_user = next((at for at in range(len(history) - 1, -1, -1) if history[at].role == "user"), 0)
    room -= sum(said.tokens for said in history[last_user:])
    for at in range(last_user - 1, len(system) - 1, -1):
        room -= history[at].tokens
        if room < 0:
            break
        if history[at].role == "user":
            first = at
    return _parts([*system, *history[max(first, len(system)) :]])


def summarised(history: Sequence[Said], calls: Sequence[int], budget: int) -> Bill:
    room, cut, version, read = int(budget * USABLE), 0, 0, 0
    prompts: list[Prompt] = []
    for call in calls:
        since = history[cut:call]
        if sum(said.tokens for said in since) > room - SUMMARY_TOKENS * (version > 0):
            kept = _kept_from(since, room // 2)
            if kept:
                read += sum(said.tokens for said in since[:kept]) + SUMMARY_TOKENS * (version > 0)
                cut, version = cut + kept, version + 1
        summary = [(f"summary {version}", SUMMARY_TOKENS)] if version else []
        prompts.append([*summary, *_parts(history[cut:call])])
    return bill(prompts, read)


def _kept_from(since: Sequence[Said], room: int) -> int:
    """Where what stays after a summary begins: at the oldest user message from which on all fits, or at the newest."""
    users = [at for at, said in enumerate(since) if said.role == "user"]
    fitting = [at for at in users if sum(said.tokens for said in since[at:]) <= room]
    return min(fitting, default=max(users, default=0))


def _parts(history: Sequence[Said]) -> list[tuple[str, int]]:
    return [(said.text, said.tokens) for said in history]
