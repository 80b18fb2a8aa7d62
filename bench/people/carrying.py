"""Wishes that hold everywhere without a model, and are in the first window of a next conversation; and all others."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random

from bench.harness import Api
from bench.people import lines, talk
from bench.people.calls import Json, Row, ask, each, least, listed, say, share, view
from bench.people.lines import FOLLOWING, LANGUAGES, NEVER, Half, Line

CONVERSATIONS = 6
WISHES = ("name", "answer_language", "units", "diet", "time_zone", "need", "lasting", "lasting", "lasting", "lasting")
"""A person's wishes in five conversations, one a message. Afterwards some keys get a new value."""
CHANGED = ("name", "answer_language", "time_zone")
TOGETHER = ("need", "lasting", "lasting", "pronouns")
"""The wishes in one message of the sixth conversation."""
APPENDED = 100
"""The messages of an append."""
TELLING = 12
"""Characters at the end of a wish by which it is recognised, because its head can be cut."""
CLAUSE = 3
"""A clause with more characters than this is not only thanks."""


@dataclass(frozen=True)
class Person:
    name: str
    language: str
    alone: tuple[Line, ...]
    changed: tuple[Line, ...]
    together: tuple[Line, ...]
    seed: int

    @property
    def current(self) -> list[Line]:
        """Return the wishes stated one by one that are valid at the end."""
        changed = {line.key for line in self.changed}
        return [line for line in self.alone if line.key not in changed or line.key is None] + list(self.changed)


def people(count: int, seed: int) -> list[Person]:
    return [_person(number, Random(seed * 1_000 + number)) for number in range(count)]


def _person(number: int, rng: Random) -> Person:
    language = LANGUAGES[number % 2]

    def of(kinds: Sequence[str], taken: set[str]) -> tuple[Line, ...]:
        found: list[Line] = []
        for kind in kinds:
            line = next(one for one in lines.some(rng, language, 400, kind) if end(one.text) not in taken)
            taken.add(end(line.text))
            found.append(line)
        return tuple(found)

    taken: set[str] = set()
    return Person(
        f"p{number}", language, of(WISHES, taken), of(CHANGED, taken), of(TOGETHER, taken), rng.randrange(10**6)
    )


def end(text: str) -> str:
    """Return the end of a line's last sentence, by which it is found in a head; in Chinese without a greeting."""
    last = re.split("[。！!]", text.rstrip("。.！! "))[-1]
    clauses = [one for one in last.split("，") if len(one) >= CLAUSE]
    return (clauses[-1] if clauses else last)[-TELLING:].lstrip()


def live(api: Api, person: Person, turns: int) -> None:
    """Let a person have their conversations, with ordinary talk around each wish."""
    rng = Random(person.seed)
    wishes = [[line] for line in person.alone] + [[line] for line in person.changed]
    parts = [wishes[at :: CONVERSATIONS - 1] for at in range(CONVERSATIONS - 2)]
    parts = [wishes[at * 3 : at * 3 + 3] for at in range(CONVERSATIONS - 1)]
    parts.append([list(person.together)])
    for number, said in enumerate(parts):
        messages: list[Json] = []
        places = sorted(rng.sample(range(turns), len(said)))
        for at, turn in enumerate(talk.turns(rng, person.language, turns)):
            if at in places:
                told = said[places.index(at)]
                text = ("" if person.language == "zh" else " ").join(line.text for line in told)
                messages += [{"role": "user", "content": text}, {"role": "assistant", "content": "OK."}]
            messages += turn
        for at in range(0, len(messages), APPENDED):
            say(api, f"{person.name}-{number}", messages[at : at + APPENDED], user_id=person.name)


def first_window(api: Api, person: Person) -> tuple[list[bool], list[bool], int, int]:
    """Return whether each wish is in the first window of the next conversation, of those said alone and those said
    together; how many former values are; and its tokens of memories.
    """
    say(api, f"{person.name}-next", [{"role": "user", "content": talk.HELLO[person.language]}], user_id=person.name)
    head, window = view(api, f"{person.name}-next")
    former = [line for line in person.alone if line.key is not None and line not in person.current]
    return (
        [end(line.text) in head for line in person.current],
        [end(line.text) in head for line in person.together],
        sum(end(line.text) in head for line in former),
        window["usage"]["sections"]["notes"],
    )


def in_first_windows(port: int, *, count: int, turns: int) -> list[Row]:
    of = people(count, seed=39)
    each(port, lambda api, person: live(api, person, turns), of)
    found = each(port, first_window, of)
    alone = [one for seen in found for one in seen[0]]
    together = [one for seen in found for one in seen[1]]
    former, tokens = sum(seen[2] for seen in found), max(seen[3] for seen in found)
    return [
        Row("lasting wishes and traits in the first window (rule words)", share(sum(alone), len(alone)), "≥ .99", sum(alone) >= 0.99 * len(alone)),
        Row("… several in one message", share(sum(together), len(together)), "≥ .95", sum(together) >= 0.95 * len(together)),
        Row("former values of a key in it", f"{former} of {count * len(CHANGED)}", "0", former == 0),
        Row("tokens of the block, largest", f"{tokens}", "≤ 600", tokens <= 600),
    ]  # fmt: skip


# --- Precision ---------------------------------------------------------------------------------------


def _follows(api: Api, said: tuple[str, Line]) -> bool:
    """Return whether a line holds everywhere for a person who has said nothing else."""
    user, line = said
    say(api, user, [{"role": "user", "content": line.text}], user_id=user)
    return bool(listed(api, user, scope="user", pinned="true"))


def precision(port: int, half: Half, count: int) -> Iterator[Row]:
    what = "untouched" if half == "b" else "mended on"
    for language in LANGUAGES:
        rng = Random(7)
        some = [*lines.some(rng, language, count // 2, *sorted(FOLLOWING), half=half)]
        some += lines.some(rng, language, count // 2, *NEVER, half=half)
        carried = each(port, _follows, [(f"{half}-{language}-{at}", line) for at, line in enumerate(some)])
        right = sum(line.follows for line, is_so in zip(some, carried, strict=True) if is_so)
        low = least(right, sum(carried))
        met = right >= 0.99 * sum(carried) and low >= 0.97
        yield Row(
            f"precision of what follows, {count} lines {what}, {language}",
            f"{share(right, sum(carried))}, lower end {low:.3f}; found {share(right, count // 2)}",
            "≥ .99, lower end ≥ .97",
            met,
        )


# --- Wishes that nobody meant to last ----------------------------------------------------------------


def _injected(api: Api, kind: str, language: str, some: Sequence[Line]) -> int:
    """Return how many lines hold everywhere for a user whose conversation contains them where nobody means them."""
    user = f"{kind}-{language}"
    conversation: Json = {"id": user, "user_id": user}
    if kind == "sub-agent":
        say(api, f"{user}-parent", [{"role": "user", "content": talk.HELLO[language]}], user_id=user)
        conversation = {"id": user, "parent": f"{user}-parent", "shares": "write"}
    api.call("POST", "/conversations", conversation)
    messages = [message for number, line in enumerate(some) for message in _in_place(kind, number, line)]
    for at in range(0, len(messages), APPENDED):
        say(api, user, messages[at : at + APPENDED])
    held = listed(api, user, scope="user", pinned="true")
    versions = [ask(api, f"/memories/{one['memory_key']}/versions", limit=200)["items"] for one in held if one["key"]]
    return sum(not one["key"] for one in held) + sum(map(len, versions))


def _in_place(kind: str, number: int, line: Line) -> Iterator[Json]:
    """Yield the messages around a line: a wish of somebody else, or words that are no wish."""
    if kind == "assistant":
        yield from ({"role": "user", "content": "?"}, {"role": "assistant", "content": line.text})
    elif kind == "tool":
        call = {"id": f"c{number}", "type": "function", "function": {"name": "look", "arguments": "{}"}}
        yield from ({"role": "user", "content": "?"}, {"role": "assistant", "content": None, "tool_calls": [call]})
        yield {"role": "tool", "tool_call_id": f"c{number}", "content": line.text}
    elif kind == "another speaker":
        yield {"role": "user", "name": "Somebody", "content": line.text}
    else:
        yield {"role": "user", "content": line.text}


PLACES = ("play", "quote", "paste", "assistant", "tool", "sub-agent", "another speaker")


def injected(port: int, count: int) -> list[Row]:
    wanted = []
    for kind in PLACES:
        for language in LANGUAGES:
            kinds = (kind,) if kind in NEVER else sorted(FOLLOWING)
            wanted.append((kind, language, [*lines.some(Random(11), language, count // 2, *kinds, half="b")]))
    found = each(port, lambda api, one: _injected(api, *one), wanted)
    rows = []
    for kind in PLACES:
        carried = sum(held for (of, *_), held in zip(wanted, found, strict=True) if of == kind)
        named = {"play": "role play", "quote": "quotations", "paste": "pastes"}.get(kind, kind)
        rows.append(Row(f"carried from {named}", f"{carried} of {count:,}", "0", carried == 0))
    return rows
