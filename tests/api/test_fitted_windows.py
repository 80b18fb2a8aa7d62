"""A window for a model whose roles must alternate says rightly how much of it the next one repeats."""

from itertools import pairwise

import httpx
import pytest

from tests.api.kit import append, assistant, turn, user, window

MODEL = "devstral-small-2"


@pytest.mark.parametrize("query", [None, "the boiler's service code"])
def test_the_stable_messages_are_those_that_the_next_window_begins_with(
    client: httpx.Client, query: str | None
) -> None:
    append(client, "before", [user("The boiler's service code is KX-2291."), assistant("Noted.")])
    for number in range(40):
        append(client, "c", turn(number))
    append(client, "c", [user("And now?")])
    asked = {"model": MODEL, "budget": 3000, **({"query": query} if query else {})}
    found = window(client, "c", **asked)
    roles = [m["role"] for m in found["messages"] if m["role"] != "system"]
    assert all(one != other for one, other in pairwise(roles))
    assert 0 < found["stable_messages"] <= len(found["messages"])
    append(client, "c", [assistant("Tea.")])
    after = window(client, "c", model=MODEL, budget=3000)
    stable = found["messages"][: found["stable_messages"]]
    assert after["epoch"] != found["epoch"] or after["messages"][: len(stable)] == stable
