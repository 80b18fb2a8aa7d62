"""What models were used for: by whom, in which conversation, of which model, and what it costs."""

import asyncio
import json
from uuid import UUID

import httpx
import pytest

from app.postgres.database import Database
from app.postgres.embedded import EmbeddedPostgres
from app.store import spending
from app.store.spending import Spent
from tests.api.kit import Json, ok, problem
from tests.keys.conftest import Serve
from tests.keys.kit import ELSEWHERE, HERE, Mint, bearing

PRICES = '{"big": {"input": 10, "cached_input": 1, "cache_write": 20, "output": 100}}'


@pytest.fixture
def used(postgres: EmbeddedPostgres, clean: None) -> None:
    """Two users of one tenant, a conversation of nobody, and a call for none; and another tenant."""

    async def fill() -> None:
        database = await Database.connect(postgres.app_dsn, pool_size=1)
        for tenant, names in ((HERE, (("a", "ann"), ("b", "bob"), ("n", None))), (ELSEWHERE, (("a", "ann"),))):
            async with database.begin(tenant) as tx:
                for name, user in names:
                    await tx.execute(
                        "INSERT INTO conversations (tenant_id, id, uid, user_id) VALUES ($1, $2, $3, $4)",
                        name, UUID(int=1), user,
                    )  # fmt: skip
                    await spending.add(tx, name, "proxy", "big-1", Spent(1, 1000, 10, 600, 100, 9000))
                await spending.add(tx, "a", "page", "small", Spent(2, 50, 5))
                await spending.add(tx, None, "expand", "small", Spent(1, 7, 3))
        await database.close()

    asyncio.run(fill())


def usage(client: httpx.Client, key: str, **query: str | int) -> list[Json]:
    found: list[Json] = ok(client.get("/usage", params=query, headers=bearing(key)))["items"]
    return found


def test_usage_by_each(serve: Serve, mint: Mint, used: None) -> None:
    client, key = serve(quire_proxy_prices=PRICES), mint()
    one = 300 * 10e-6 + 600 * 1e-6 + 100 * 20e-6 + 10 * 100e-6
    [tenant] = usage(client, key)
    counted = (
        "calls",
        "prompt_tokens",
        "completion_tokens",
        "cached_tokens",
        "written_tokens",
        "saved_tokens",
        "unpriced_calls",
    )
    assert [tenant[name] for name in counted] == [6, 3057, 38, 1800, 300, 27_000, 3]
    assert tenant["cost"] == pytest.approx(3 * one)
    models = {item["model"]: (item["calls"], item["cost"]) for item in usage(client, key, by="model")}
    assert models == {"big-1": (3, pytest.approx(3 * one)), "small": (3, None)}
    users = {item["user_id"]: item["calls"] for item in usage(client, key, by="user")}
    assert users == {None: 1, "ann": 3, "bob": 1}
    conversations = [(item["conversation_id"], item["calls"]) for item in usage(client, key, by="conversation")]
    assert conversations == [("a", 3), ("b", 1), ("n", 1)]
    assert usage(client, key, since="2100-01-01") == []
    assert [item["user_id"] for item in usage(client, mint(ELSEWHERE), by="user")] == ["ann"]


def test_a_row_of_the_table_of_models_can_have_prices(serve: Serve, mint: Mint, used: None) -> None:
    cache = {"kind": "marks", "read": 0.1, "write": 1.25}
    rows = {"big": {"prefixes": ["big"], "input_price": 10, "output_price": 100, "cache": cache}}
    prices = '{"small": {"input": 1, "output": 2}}'
    client, key = serve(quire_models=json.dumps(rows), quire_proxy_prices=prices), mint()
    models = {item["model"]: item["cost"] for item in usage(client, key, by="model")}
    one = 300 * 10e-6 + 600 * 1e-6 + 100 * 12.5e-6 + 10 * 100e-6
    assert models["big-1"] == pytest.approx(3 * one)
    assert models["small"] is not None


@pytest.mark.parametrize(("by", "names"), [("user", [None, "ann", "bob"]), ("conversation", ["a", "b", "n"])])
def test_usage_comes_in_pages(serve: Serve, mint: Mint, used: None, by: str, names: list[str | None]) -> None:
    client, key, found, more, page = serve(), bearing(mint()), list[str | None](), Json(), Json()
    for _ in names:
        page = ok(client.get("/usage", params={"by": by, "limit": 1, **more}, headers=key))
        found += [item[f"{by}_id"] for item in page["items"]]
        more = {"cursor": page["next_cursor"]}
    assert (found, page["next_cursor"]) == (names, None)


def test_what_a_user_used_goes_with_the_user(serve: Serve, mint: Mint, used: None) -> None:
    client, key = serve(), mint()
    ok(client.delete("/users/ann", headers=bearing(key)))
    assert [item["user_id"] for item in usage(client, key, by="user")] == [None, "bob"]
    assert usage(client, key)[0]["calls"] == 6, "the tenant was billed for it all the same"


def test_usage_that_is_asked_wrongly(serve: Serve, mint: Mint) -> None:
    client, key = serve(), bearing(mint())
    problem(client.get("/usage?by=day", headers=key), 422, "by")
    problem(client.get("/usage?since=yesterday", headers=key), 422, "since")
    problem(client.get("/usage", headers=bearing(mint(user="ann"))), 403, "bound to one user")
