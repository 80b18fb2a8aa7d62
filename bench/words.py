"""Meaningless chat of even size, for histories of any length. The same seed gives the same words."""

from collections.abc import Sequence
from itertools import combinations
from random import Random
from typing import Any
from urllib.parse import quote_plus

from app.text import bm25

WORDS = """
the order of pallets for warehouse seven was moved to the morning shift because a truck from Lyon came late and
nobody had told Marta about it so please check which invoices carry the wrong date and write down what each driver
said about the ramp the cold store and the broken scanner then compare totals with last week and tell me where the
difference comes from before we call the customer who asked twice already whether batteries can travel by air
""".split()  # noqa: SIM905 - read and edited as text
WORDS_PER_MESSAGE = 48
QUERIES = (
    "Lyon invoices", "Marta ramp", "cold store", "broken scanner", "wrong date", "morning truck", "pallets warehouse",
    "customer batteries",
)  # fmt: skip
"""Sentences with words that about half of all messages have."""


def pair(rng: Random) -> list[dict[str, Any]]:
    """Return a question and its answer, of about sixty tokens each."""
    return [{"role": role, "content": _text(rng)} for role in ("user", "assistant")]


def history(messages: int, seed: int) -> list[dict[str, Any]]:
    rng = Random(seed)
    return [message for _ in range(messages // 2) for message in pair(rng)]


def new_queries() -> tuple[list[str], list[str]]:
    """Twice as many as two words can be put together, no two alike: those of the second list have the words of the
    first's in the other order. Asked in turn, each is forgotten by the cache of vectors when it comes again.
    """
    words = [word for word in dict.fromkeys(WORDS) if bm25.query(word)]
    pairs = [*combinations(words, 2)]
    Random(5).shuffle(pairs)
    return [f"{one} {other}" for one, other in pairs], [f"{other} {one}" for one, other in pairs]


def searches(users: Sequence[str]) -> list[str]:
    """Return the paths to GET, for each user with the next query."""
    return [search(user, QUERIES[n % len(QUERIES)], "keyword") for n, user in enumerate(users)]


def search(user: str, query: str, mode: str) -> str:
    return f"/memories/search?user_id={user}&query={quote_plus(query)}&search_mode={mode}"


def _text(rng: Random) -> str:
    words = rng.choices(WORDS, k=WORDS_PER_MESSAGE)
    numbers = [str(rng.randint(100, 9999)) for _ in range(4)]
    return " ".join([*words[:20], *numbers, *words[20:]]).capitalize() + "."
