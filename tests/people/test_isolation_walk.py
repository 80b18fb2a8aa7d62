"""Nobody is shown what is not theirs, whoever joins or leaves: a random walk judged after every step."""

import os
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from tests.by_turns import few
from tests.keys.kit import ELSEWHERE, HERE, bearing, minting
from tests.people.walk import Walk

STEPS, SEED = int(os.environ.get("QUIRE_WALK_STEPS", "1500")), int(os.environ.get("QUIRE_WALK_SEED", "40"))
"""Of the long walk: `QUIRE_WALK_STEPS=100000` takes more than an hour."""


def walked(client: httpx.Client, run_as_superuser: Callable[[str], list[Any]], steps: int, seed: int) -> Walk:
    mint = minting(run_as_superuser)
    keys = {"a": mint(HERE), "b": mint(ELSEWHERE)}

    def asked(tenant: str, user: str | None, method: str, path: str, json: Any = None, **params: Any) -> httpx.Response:
        bound = {"X-Quire-User": user} if user is not None else {}
        return client.request(method, path, json=json, params=params, headers=bearing(keys[tenant], **bound))

    walk = Walk(asked, seed)
    for _ in range(steps):
        walk.step()
    assert walk.read > steps / 4
    assert walk.marks > steps
    return walk


@pytest.mark.parametrize("steps", few([200, 500]))
def test_nothing_is_shown_to_whom_it_does_not_belong(
    client: httpx.Client, run_as_superuser: Callable[[str], list[Any]], steps: int
) -> None:
    walked(client, run_as_superuser, steps, seed=39)


@pytest.mark.slow
def test_nothing_is_shown_to_whom_it_does_not_belong_in_a_long_walk(
    client: httpx.Client, run_as_superuser: Callable[[str], list[Any]]
) -> None:
    walked(client, run_as_superuser, STEPS, seed=SEED)
