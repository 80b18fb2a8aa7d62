"""Values that replace each other, and memories that are taken back."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from random import Random

from bench.harness import Api
from bench.people.calls import Json, Row, ask, each, listed, say, send, share, view
from bench.people.lines import LANGUAGES

FIRST = datetime(2020, 1, 1, tzinfo=UTC)
KEYS_EACH = 10
SAID = {"en": "Lives in place {n}.", "zh": "住在{n}号地方。"}


def updated(port: int, count: int) -> list[Row]:
    """Write values of keys in any order by eight writers; query the current value, and those of many days."""
    rng = Random(3)
    days = rng.sample(range(2_000), count)
    updates = [(number, f"key-{number % KEYS_EACH}", day) for number, day in enumerate(days)]
    wanted = {key: sorted((day, number) for number, of, day in updates if of == key) for _, key, _ in updates}
    shuffled = rng.sample(updates, len(updates))

    def write(api: Api, update: tuple[int, str, int]) -> None:
        number, key, day = update
        content = SAID[LANGUAGES[number % 2]].format(n=number)
        at = (FIRST + timedelta(days=day)).isoformat()
        send(api, "POST", "/memories", user_id="mover", content=content, key=key, pinned=True, valid_from=at)

    each(port, write, shuffled)

    def as_of(api: Api, day: int) -> bool:
        key = f"key-{day % KEYS_EACH}"
        at = (FIRST + timedelta(days=day, hours=1)).isoformat()
        held = [one["content_preview"] for one in listed(api, "mover", key=key, as_of=at)]
        told = [number for since, number in wanted[key] if since <= day]
        return held == ([SAID[LANGUAGES[told[-1] % 2]].format(n=told[-1])] if told else [])

    then = each(port, as_of, [rng.randrange(2_000) for _ in range(count)])
    api = Api(port)
    current = {one["key"]: one["content_preview"] for one in listed(api, "mover")}
    newest = {key: SAID[LANGUAGES[told[-1][1] % 2]].format(n=told[-1][1]) for key, told in wanted.items()}
    right = sum(current.get(key) == text for key, text in newest.items())
    api.close()
    return [
        Row(f"current value after {count:,} updates by 8 writers", share(right, len(newest)), "all", right == len(newest)),
        Row(f"`as_of` on {count:,} days", share(sum(then), len(then)), "all", all(then)),
    ]  # fmt: skip


KEPT = {
    "en": ("Call me Lin.", "I'm allergic to walnuts.", "Always answer in French.", "My time zone is UTC+2.", "Never use emojis."),
    "zh": ("叫我小林就好。", "我对核桃过敏。", "以后都用法语回答。", "我的时区是东八区。", "永远不要用表情符号。"),
}  # fmt: skip
ENDED = {"en": ("I am vegetarian.", "I'm not vegetarian any more."), "zh": ("我吃素。", "我不再吃素了。")}
ALIKE = {
    "en": (
        "I never call anybody.",
        "My brother isn't allergic to walnuts any more.",
        "I didn't use metric units today.",
    ),
    "zh": ("我从来不叫外卖。", "我弟弟不再对核桃过敏了。", "今天我没用公制。"),
}
"""Sentences that could be mistaken for the end of something else."""


def retired(port: int, count: int) -> list[Row]:
    """Count the memories that an ended key, and sentences that resemble an end, also end."""

    def live(api: Api, number: int) -> tuple[int, bool]:
        language, user = LANGUAGES[number % 2], f"ender-{number}"
        for at, text in enumerate((*KEPT[language], ENDED[language][0], *ALIKE[language], ENDED[language][1])):
            say(api, f"{user}-{at % 3}", [{"role": "user", "content": text}], user_id=user)
        held = [one["content_preview"] for one in listed(api, user, scope="user", pinned="true")]
        return sum(text not in held for text in KEPT[language]), ENDED[language][0] in held

    found = each(port, live, range(count))
    lost, still = sum(one for one, _ in found), sum(one for _, one in found)
    return [
        Row("retired wrongly", f"{lost} of {count * len(KEPT['en']):,}", "0", lost == 0),
        Row("ended by its person and still held", f"{still} of {count}", "0", still == 0),
    ]


WAYS = ("erase", "end", "unpin", "lost membership")


def withdrawn(first: int, second: int, count: int) -> list[Row]:
    """Take memories back in one process, and read the next window in another, which has shown them before."""

    def one(api: Api, number: int) -> bool:
        user, way = f"w{number}", WAYS[number % len(WAYS)]
        other = Api(second)
        memory: Json = {"content": f"Always mention number {number}.", "pinned": True}
        conversation: Json = {"id": f"{user}-c", "user_id": user}
        if way == "lost membership":
            send(
                api,
                "POST",
                "/spaces",
                id=f"s{number}",
                members={user: "read", "host": "write"} if number < 300 else {user: "read", f"host{number}": "write"},
            )
            memory["scope"], conversation["spaces"] = f"space:s{number}", [f"s{number}"]
        else:
            memory["user_id"] = user
        kept = send(api, "POST", "/memories", **memory)["memory_key"]
        api.call("POST", "/conversations", conversation)
        say(api, f"{user}-c", [{"role": "user", "content": "Hello there"}])
        before = all(memory["content"] in view(asked, f"{user}-c")[0] for asked in (api, other))
        _take_back(api, way, kept, number)
        after = memory["content"] in view(other, f"{user}-c")[0]
        other.close()
        if not before:
            raise RuntimeError(f"{memory['content']} was not in view")
        return after

    shown = sum(each(first, one, range(count)))
    return [Row("withdrawn and in the next window of another process", f"{shown} of {count}", "0", shown == 0)]


def _take_back(api: Api, way: str, kept: str, number: int) -> None:
    if way == "erase":
        api.call("DELETE", f"/memories/{kept}")
    elif way == "end":
        since = ask(api, f"/memories/{kept}")["valid_from"]
        api.call("PATCH", f"/memories/{kept}", {"valid_to": since})
    elif way == "unpin":
        api.call("PATCH", f"/memories/{kept}", {"pinned": False})
    else:
        api.call("DELETE", f"/spaces/s{number}/members/w{number}")
