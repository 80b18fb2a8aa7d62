"""Describe the members of JSON objects and lists in a few words."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice

from app.extractive.patterns import any_case
from app.text.language import clip, one_line

_IDENTIFYING, TITLE_KEYS = any_case("identifying_keys"), any_case("title_keys")
_DULL_KEYS = any_case("dull_keys")


def members_line(members: Sequence[tuple[str, object]], room: int) -> str:
    """Describe the members of an object: first plain values, then lists and objects, then flags."""
    holders = [(key, item) for key, item in members if isinstance(item, (list, Mapping))]
    values = [f"{key}={brief(item)}" for key, item in members if _is_plain(item) and not isinstance(item, bool)]
    flags = [f"{key}={brief(item)}" for key, item in members if isinstance(item, bool)]
    parts = [fitted(values, room // 3 if holders else room)] if values else []
    left = room - sum(map(len, parts)) - 8
    for at, (key, item) in enumerate(holders[:8]):
        part = _container(key, item, max(left // min(len(holders) - at, 3) - len(key) - 8, 24))
        left -= len(part) + 2
        parts.append(part)
    return fitted([*parts, *flags], room)


def _is_plain(item: object) -> bool:
    return item is not None and item != "" and not isinstance(item, (list, Mapping))


def _container(key: str, item: object, room: int) -> str:
    """Describe a nested list or object in a few words: flights (2: HAT028, HAT277)."""
    name = one_line(key, 30)
    if isinstance(item, Mapping) and item:
        inside = [f"{key}={brief(value)}" for key, value in item.items() if not isinstance(value, (list, Mapping))]
        return f"{name} ({fitted(inside or keys_of(item), room)})"
    if not isinstance(item, list) or not item:
        return f"{name} (0)"
    objects = [part for part in item[:30] if isinstance(part, Mapping)]
    return f"{name} ({len(item)}: {entries(objects, room) if objects else fitted(map(brief, item[:30]), room)})"


def entries(objects: Sequence[Mapping[str, object]], room: int) -> str:
    """Name objects of the same kind by their identifying values. If these are no titles or leave room, further values
    of the first object are shown.
    """
    names = list(dict.fromkeys(_identity(item) for item in objects[:30]))
    is_named = any(TITLE_KEYS.match(str(key)[:80]) for key in islice(objects[0], 40))
    if room < 70 or (is_named and sum(map(len, names)) + 2 * len(names) > room):
        return fitted(names, room)
    first = names[0]
    details = [
        f"{one_line(str(key), 20)}={brief(value)}"
        for key, value in islice(objects[0].items(), 20)
        if _is_plain(value) and not _DULL_KEYS.match(str(key)[:80]) and brief(value) not in first
    ]
    if details:
        names[0] = f"{first} [{fitted(details, room // 2 - len(first)).removesuffix(', …')}]"
    return fitted(names, room)


def telling_first(value: Mapping[str, object]) -> list[tuple[str, object]]:
    """Return the members with identifying ones first and flags last, otherwise in their order."""

    def rank(member: tuple[str, object]) -> int:
        key, item = member
        if item is None or item == "" or isinstance(item, bool):
            return 3
        if isinstance(item, (list, Mapping)):
            return 1 if item else 3
        return 0 if _IDENTIFYING.match(str(key)) else 2

    return sorted(((str(key)[:80], item) for key, item in islice(value.items(), 200)), key=rank)


def _identity(item: Mapping[str, object]) -> str:
    """Return the value by which a reader would recognise an object."""
    members = [
        (str(key), value)
        for key, value in islice(item.items(), 40)
        if isinstance(value, (str, int)) and not isinstance(value, bool)
    ]
    for pattern in (TITLE_KEYS, _IDENTIFYING):
        for key, value in members:
            if pattern.match(key[:80]) and value != "":
                return brief(value)
    return f"{one_line(members[0][0], 20)}={brief(members[0][1])}" if members else "{…}"


def keys_of(item: Mapping[str, object]) -> Iterator[str]:
    return (one_line(str(key), 24) for key in islice(item, 40))


def brief(value: object) -> str:
    if isinstance(value, str):
        return one_line(value, 48)
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value) if value.bit_length() <= 200 else "…"
    if isinstance(value, (list, Mapping)):
        return f"[{len(value)}]" if isinstance(value, list) else "{…}"
    return {"None": "null", "True": "true", "False": "false"}.get(str(value), str(value))


def fitted(parts: Iterable[str], room: int) -> str:
    """Return the parts that fit, with "…" if some do not. The first part is cut rather than left out."""
    shown: list[str] = []
    left = room
    omitted = False
    for part in islice(parts, 60):
        if shown and len(part) + 5 > left:
            omitted = True
            continue
        fitting = part if shown else clip(part, max(left, 8))
        shown.append(fitting)
        left -= len(fitting) + 2
    return ", ".join([*shown, "…"] if omitted else shown)
