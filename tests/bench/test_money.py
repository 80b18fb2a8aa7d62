"""What prompts cost with each kind of cache."""

import pytest

from app.core.models import PromptCache
from bench.window.money import KINDS, bill

TALK = [[(f"part {part}", 5_000) for part in range(call + 2)] for call in range(10)]
"""Each prompt is the one before and a part more."""
VOLATILE = [[*prompt, (f"recalled {at}", 1_000)] for at, prompt in enumerate(TALK)]


@pytest.mark.parametrize("kind", list(KINDS))
def test_every_kind_reads_what_the_prompt_before_had(kind: str) -> None:
    for prompts in (TALK, VOLATILE):
        found, cache = bill(prompts, cache=KINDS[kind]), KINDS[kind]
        assert found.plain == sum(tokens for prompt in prompts for _, tokens in prompt)
        assert found.cached < found.plain * (cache.read + (1 - cache.read) * 0.6)


def test_a_mark_is_paid_for_and_read_where_it_was_set() -> None:
    cache = PromptCache("marks", "cache_control", read=0.1, write=1.25)
    two = [[("a", 100), ("b", 100)], [("a", 100), ("b", 100), ("c", 100)]]
    assert bill(two, cache=cache).cached == pytest.approx(200 * 1.25 + 200 * 0.1 + 100 * 1.25)
    parted = [[("a", 100), ("b", 100)], [("a", 100), ("c", 100)], [("a", 100), ("d", 100)]]
    assert bill(parted, cache=cache).cached == pytest.approx(200 * 1.25 * 2 + 100 * 0.1 + 100 * 1.25)
