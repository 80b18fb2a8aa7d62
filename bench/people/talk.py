"""Ordinary talk to fill histories with, from the public texts that the project ships."""

from collections.abc import Iterator
from functools import cache
from itertools import cycle, islice, pairwise
from random import Random
from typing import Any

from app.extractive.blocks import take_apart
from app.extractive.wishes import wishes_of
from app.text.language import language, window
from bench.search import talks
from quire_command.demo.command import CONVERSATION
from quire_command.demo.transcript import load

HELLO = {"en": "Hello there", "zh": "你好呀"}
NEUTRAL = {
    "en": ("Thanks!", "ok", "Good morning.", "Sounds good.", "One moment, please."),
    "zh": ("谢谢！", "好的", "早上好。", "听起来不错。", "稍等一下。"),
}


@cache
def _turns(spoken: str) -> list[list[dict[str, Any]]]:
    """Return turns of a user and the assistant without wishes, which would change the right answers."""
    sets = (talks.shipped(spoken), talks.long("a"), talks.long("b"))
    said = [message for of in sets for talk in of.talks for message in talk.messages]
    said += [m for m in load(CONVERSATION)[0].messages if isinstance(m.get("content"), str)]
    pairs = [[one, other] for one, other in pairwise(said) if _is_turn(one, other, spoken)]
    return [[{"role": m["role"], "content": m["content"]} for m in pair] for pair in pairs]


def _is_turn(one: dict[str, Any], other: dict[str, Any], spoken: str) -> bool:
    roles = one["role"], other["role"]
    if roles != ("user", "assistant") or other.get("tool_calls") or language(one["content"]) != spoken:
        return False
    return not wishes_of(one["content"], take_apart(window(one["content"])).prose)


def turns(rng: Random, spoken: str, count: int) -> Iterator[list[dict[str, Any]]]:
    """Yield turns of talk in a language, from a random place on."""
    known = _turns(spoken)
    return islice(cycle(known[(at := rng.randrange(len(known))) :] + known[:at]), count)
