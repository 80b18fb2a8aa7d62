"""The cost of pinned memories: prefixes of windows, tokens, transactions, CPU, and searches in several scopes."""

from __future__ import annotations

import asyncio
from random import Random
from statistics import mean, median
from time import perf_counter

import asyncpg

from bench.harness import Api, Harness
from bench.people import talk
from bench.people.calls import Row, each, say, send, view
from bench.people.lines import LANGUAGES
from bench.words import history

BUDGET = 8_000
ELSEWHERE = 20
"""The number of wishes stated in other conversations meanwhile."""


def _shared(port: int, turns: int, user: str, *, elsewhere: bool) -> float:
    """Return the mean share of a window, without its tail, with which the next one begins."""
    api, shares, before = Api(port), [], ""
    every = max(1, turns // ELSEWHERE)
    for number, turn in enumerate(talk.turns(Random(1), "en", turns)):
        say(api, user, turn, user_id=user)
        if elsewhere and number % every == 0:
            wish = {"role": "user", "content": f"Always mention invoice {number} in answers."}
            say(api, f"{user}-else-{number}", [wish], user_id=user)
        said = "\n".join(map(str, view(api, user, budget=BUDGET, recall="off")[1]["messages"]))
        if before:
            same = next(
                (at for at, (one, two) in enumerate(zip(before, said, strict=False)) if one != two), len(before)
            )
            shares.append(same / len(before))
        before = said
    api.close()
    return mean(shares)


def prefixes(port: int, turns: int) -> list[Row]:
    alone = _shared(port, turns, "prefix-alone", elsewhere=False)
    beside = _shared(port, turns, "prefix-beside", elsewhere=True)
    return [
        Row(
            f"shared prefix with {ELSEWHERE} changes elsewhere in {turns} turns",
            f"{beside:.4f}, without {alone:.4f}",
            "within .002",
            abs(alone - beside) <= 0.002,
        )
    ]


WISHES_MANY = 60


def block(harness: Harness, windows: int) -> list[Row]:
    """Compare windows of a user with a full block and of one without, in turns."""
    api, users = harness.api, ("block-none", "block-full")
    for number in range(WISHES_MANY):
        send(
            api,
            "POST",
            "/memories",
            user_id=users[1],
            content=f"Always mention invoice {number} in answers.",
            pinned=True,
        )
    for user in users:
        say(api, user, history(10, seed=1), user_id=user)
    tokens = view(api, users[1])[1]["usage"]["sections"]["notes"]
    cpu = dict.fromkeys(users, 0.0)
    done = dict.fromkeys(users, 0)
    rounds = 10
    for turn in range(rounds):
        for user in users if turn % 2 else reversed(users):
            view(api, user)
            before, committed = harness.quire.cpu().total, asyncio.run(_committed(harness))
            for _ in range(windows // rounds):
                view(api, user)
            cpu[user] += harness.quire.cpu().total - before
            done[user] += asyncio.run(_committed(harness)) - committed
    more = 1_000 * (cpu[users[1]] - cpu[users[0]]) / windows
    extra = (done[users[1]] - done[users[0]]) / windows
    return [
        Row(f"tokens of the block with {WISHES_MANY} wishes", f"{tokens}", "≤ 600", tokens <= 600),
        Row("more transactions a window with it", f"{extra:.2f}", "0", extra < 0.1),
        Row("more CPU a window with it", f"{more:.2f} ms", "≤ 1 ms", more <= 1),
    ]


async def _committed(harness: Harness) -> int:
    connection = await asyncpg.connect(harness.postgres.superuser_dsn)
    try:
        await connection.execute("SELECT pg_stat_force_next_flush()")
        return int(
            await connection.fetchval(
                "SELECT sum(xact_commit) FROM pg_stat_database WHERE datname = current_database()"
            )
        )
    finally:
        await connection.close()


SCOPES = 5


def searches(harness: Harness, messages: int, rounds: int) -> list[Row]:
    """Compare searches of a user with five scopes and of one whose own scope has the same rows, in turns."""
    api = harness.api
    for number in range(SCOPES - 1):
        send(api, "POST", "/spaces", id=f"part-{number}", members={"reader": "write"})
    for number in range(SCOPES):
        said = history(messages // SCOPES, seed=number)
        where = {"user_id": "reader"} if number == SCOPES - 1 else {"space_id": f"part-{number}"}
        for at in range(0, len(said), 200):
            say(api, f"part-{number}", said[at : at + 200], **where)
            say(api, f"whole-{number}", said[at : at + 200], user_id="whole")
    harness.analyze()
    taken: dict[str, list[float]] = {"reader": [], "whole": []}
    for turn in range(rounds):
        for user in sorted(taken, reverse=bool(turn % 2)):
            for query in ("Lyon invoices", "cold store", "customer batteries"):
                begun = perf_counter()
                send(api, "POST", "/memories/search", user_id=user, query=query, search_mode="keyword")
                taken[user].append(perf_counter() - begun)
    ratio = median(taken["reader"]) / median(taken["whole"])
    shown = f"{ratio:.2f} × ({1_000 * median(taken['reader']):.1f} ms to {1_000 * median(taken['whole']):.1f} ms)"
    return [Row(f"search in {SCOPES} scopes to one, {messages:,} messages", shown, "≤ 1.1 ×", ratio <= 1.1)]


FACTS = {
    "en": (
        "Works as a tram driver.",
        "Has a cat named Miso.",
        "Plays the cello.",
        "Grew up in Porto.",
        "Reads on trains.",
    ),
    "zh": ("是电车司机。", "有一只叫味噌的猫。", "会拉大提琴。", "在波尔图长大。", "喜欢在火车上看书。"),
}


def unpinned(port: int, count: int) -> list[Row]:
    """Look for searchable facts in the windows of unrelated conversations."""

    def one(api: Api, number: int) -> bool:
        language, user = LANGUAGES[number % 2], f"facts-{number % 20}"
        if number < 20:
            for fact in FACTS[language]:
                send(api, "POST", "/memories", user_id=user, content=fact, memory_type="fact")
        text = talk.NEUTRAL[language][number % len(talk.NEUTRAL[language])]
        say(api, f"{user}-{number}", [{"role": "user", "content": text}], user_id=user)
        said = str(view(api, f"{user}-{number}", query=text)[1]["messages"])
        return any(fact in said for fact in FACTS[language])

    shown = sum(each(port, one, range(count)))
    return [Row("unpinned facts in neutral windows", f"{shown} of {count}", "0", shown == 0)]
