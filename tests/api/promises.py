"""What must hold of every window, checked from what the API returns and what was sent, and nothing else."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import httpx

from quire_command.demo.promises import Prefix, breaks_prefix, splits_blocks, splits_calls
from tests.api.kit import Json, canonical, ok, path

Count = Callable[[str], int]
SECTIONS = {"tools", "system", "notes", "summary", "contents", "condensed", "recent", "tail"}
HEAD = "<quire-memory>"
TAIL = "<quire-recalled>"
DATES = ("[Date: ", "[日期：")
KEPT_CHARACTERS = 200
ARCHIVED_CHARACTERS = 10_000
UNREPORTED = 112
"""The percent of our tokens that a model is charged that has reported no usage."""
FRAME, RECALLED_MOST = 20, 700
"""Tokens of a message's frame, and of what is recalled unasked; and what tools of the other form can weigh more."""


@dataclass(frozen=True)
class Sent:
    """A message as it was sent, with the page it must be on, if a model may see it."""

    page: int
    message: Json


def visible(messages: Sequence[Json]) -> list[Sent]:
    """The messages, without a leading prompt, results nobody asked for and a last group that still waits."""
    found: list[Sent] = []
    waiting: list[str] = []
    page, group = 1, 0
    leading = users = True
    for message in messages:
        role = message["role"]
        if role == "tool":
            if message["tool_call_id"] in waiting:
                waiting.remove(message["tool_call_id"])
                found.append(Sent(page, message))
            continue
        if leading and role in ("system", "developer"):
            continue
        leading = False
        if role == "user":
            page, users = page + (not users), False
        waiting = [c["id"] for c in message.get("tool_calls") or ()]
        if role == "assistant" and not message.get("content") and not waiting and not message.get("reasoning_content"):
            continue  # an empty answer is sent to nobody
        group = len(found)
        found.append(Sent(page, message))
    return found[:group] if waiting else found


@dataclass
class Watch:
    """Looks at the window of one conversation for one budget and format again and again."""

    client: httpx.Client
    conversation: str
    count: Count
    budget: int | None
    format: str = "openai"
    before: Json | None = None
    looks: int = 0
    epochs: set[int] = field(default_factory=set)
    limits_pages: bool = False
    """Whether the conversation has a limit of pages in view: pages leave it before the window is full."""

    def look(self, messages: Sequence[Json]) -> Json | None:
        """The window, checked; None where the budget is too small for it, and then that is checked."""
        asked: Json = {"format": self.format, **({"budget": self.budget} if self.budget else {})}
        answer = self.client.get(path(self.conversation, "context"), params=asked)
        if answer.status_code == 422:
            self._assert_too_small(answer)
            return None
        found = ok(answer)
        assert f'"messages":{canonical(found["messages"])},"system":' in answer.text
        assert_within_budget(found, self.count)
        assert_pages_add_up(found)
        if self.format == "openai":
            assert_openai(found)
            assert_nothing_between(found, messages)
        else:
            assert_anthropic(found)
            begins = [found["messages"][0]["role"]] if found["messages"] else []
            assert begins in ([], ["user"]) or visible(messages)[0].message["role"] == "assistant"
        if not self.limits_pages:
            assert_whole_where_it_fits(found, messages)
        assert self.budget is None or found["usage"]["budget"] == self.budget
        assert found["lag"]["last_seq"] == len(messages)
        if self.before is not None:
            assert_begins_as(found, self.before)
            if not self.limits_pages:
                assert_cut_only_where_due(found, self.before, messages, self.count)
        self.before = found
        self.looks += 1
        self.epochs.add(found["epoch"])
        return found

    def _assert_too_small(self, answer: httpx.Response) -> None:
        smallest = answer.json()["minimum_budget"]
        assert self.budget is not None
        assert smallest > self.budget
        asked = {"format": self.format, "budget": smallest}
        assert_within_budget(ok(self.client.get(path(self.conversation, "context"), params=asked)), self.count)
        asked["budget"] -= 1
        assert self.client.get(path(self.conversation, "context"), params=asked).json()["minimum_budget"] == smallest


def assert_within_budget(found: Json, count: Count) -> None:
    """Invariant 1: every section is itemised, and counting it anew finds no more."""
    usage = found["usage"]
    assert usage["sections"].keys() == SECTIONS
    assert usage["total"] == sum(usage["sections"].values())
    assert usage["total"] * usage["token_percent"] <= usage["budget"] * 100
    returned = [*(text for m in found["messages"] for text in texts(m)), found["system"] or ""]
    weight = sum(map(count, returned)) + 3 * len(found["messages"])
    weight += sum(count(canonical(tool)) for tool in found["tools"]) * 9 // 10
    assert weight <= usage["total"], f"{weight} tokens were returned and {usage['total']} reported"
    assert 0 <= found["stable_tokens"] <= usage["total"]
    assert 0 <= usage["saved"] <= 1


def assert_cut_only_where_due(found: Json, before: Json, messages: Sequence[Json], count: Count) -> None:
    """A cut is made only where the last one does not fit: what is shown by it, and all that came since."""
    codes = {warning["code"] for warning in before["warnings"]}
    is_charged_alike = found["usage"]["token_percent"] == before["usage"]["token_percent"]
    if found["epoch"] == before["epoch"] or "window_squeezed" in codes or not is_charged_alike:
        return
    new = messages[before["lag"]["last_seq"] :]
    most = before["usage"]["total"] + sum(count(canonical(message)) + FRAME for message in new) + RECALLED_MOST
    assert most * max(UNREPORTED, found["usage"]["token_percent"]) > found["usage"]["budget"] * 100


def assert_whole_where_it_fits(found: Json, messages: Sequence[Json]) -> None:
    """Nothing that fits is dropped: while the history leaves the reserve free, all of it is there as it was sent."""
    usage = found["usage"]
    fixed = usage["sections"]["tools"] + usage["sections"]["system"]
    available = usage["budget"] * 100 // usage["token_percent"] * 9 // 10 - fixed
    if usage["full_history"] - fixed > available - min(int(available * 0.15), 6_000):
        return
    assert not [name for name in ("condensed", "summary", "contents") if usage["sections"][name]]
    assert (found["pages"]["condensed"], found["pages"]["listed"]) == ([], [])
    if found["format"] == "openai":
        for shown, sent in zip(body_of(found), visible(messages), strict=True):
            archived = sent.message["role"] == "tool" and len(sent.message["content"]) > ARCHIVED_CHARACTERS
            assert archived or (shown["content"] or "") == (sent.message["content"] or "")


def texts(message: Json) -> Iterator[str]:
    """What of a message a model reads."""
    content = message.get("content")
    if isinstance(content, str):
        yield content
    for block in content if isinstance(content, list) else ():
        yield from texts({"content": block["content"]} if block.get("type") == "tool_result" else {"content": None})
        yield block.get("text", "") or block.get("thinking", "")
        if block.get("type") == "tool_use":
            yield block["name"] + canonical(block["input"])
    for call in message.get("tool_calls") or ():
        yield call["function"]["name"]
        yield call["function"]["arguments"]


def assert_pages_add_up(found: Json) -> None:
    """Invariant 2: each page is in exactly one place."""
    pages = found["pages"]
    placed = [*pages["verbatim"], *pages["condensed"], *pages["listed"]]
    assert len(placed) == len(set(placed))
    assert len(placed) + pages["unlisted"] == found["lag"]["last_page"]
    head = head_of(found)
    assert bool(pages["listed"]) <= bool(head)
    for page in pages["listed"]:
        assert f"\n{page}: " in head


def head_of(found: Json) -> str:
    for message in found["messages"][:2]:
        [text, *_] = [*texts(message), ""]
        if message["role"] == "user" and text.startswith(HEAD):
            return text
    return ""


def body_of(found: Json) -> list[Json]:
    """The messages between head and tail, in OpenAI form, without date lines."""
    messages = found["messages"]
    start = 1 if messages and messages[0]["role"] == "system" and found["usage"]["sections"]["system"] else 0
    start += bool(head_of(found))
    return [m for m in messages[start:] if not str(m["content"]).startswith((TAIL, *DATES))]


def assert_nothing_between(found: Json, messages: Sequence[Json]) -> None:
    """Invariant 2: the body is the end of the conversation without a gap, each message in a form of itself.

    Before it may stand the user message whose page it begins in. A window that is squeezed keeps the newest user
    message, and says so.
    """
    sent, body = visible(messages), body_of(found)
    at = len(sent)
    for shown in reversed(body):
        if at and shows(sent[at - 1].message, shown):
            at -= 1
            continue
        earlier = [i for i in range(at) if shows(sent[i].message, shown)]
        assert earlier, f"{canonical(shown)[:300]} is none of what was sent, or not in its place"
        pinned = (
            shown is body[0] and shown["role"] == "user" and [sent[earlier[-1]].page] == [s.page for s in sent[at:][:1]]
        )
        assert pinned or is_squeezed(found), f"messages are missing after {canonical(shown)[:300]}"
        at = earlier[-1]
    newest = [s.message["content"] for s in sent if s.message["role"] == "user"][-1:]
    assert all(text in [m["content"] for m in body] for text in newest)


def is_squeezed(found: Json) -> bool:
    return "window_squeezed" in [warning["code"] for warning in found["warnings"]]


def shows(sent: Json, shown: Json) -> bool:
    """Whether the one is a form of the other: as it was, without thinking, cut, or archived."""
    if sent["role"] != shown["role"]:
        return False
    if sent["role"] == "tool":
        text = shown["content"]
        cut = text.startswith((sent["content"][:KEPT_CHARACTERS], "[Archived tool", "[已归档的工具"))
        return sent["tool_call_id"] == shown["tool_call_id"] and (cut or "recall_page(" in text)
    if sent["role"] == "assistant":
        answered = {c["id"] for c in shown.get("tool_calls") or ()}
        lost = [c for c in sent.get("tool_calls") or () if c["id"] not in answered]
        text = sent.get("content") or ""
        return str(shown["content"] or "").startswith(text) and (not lost or "no result]" in shown["content"])
    return bool(sent["content"] == shown["content"])


def assert_begins_as(found: Json, before: Json) -> None:
    """Invariant 3: within an epoch, tools, system and every stable message are as they were, byte for byte, but for
    marks at the next user message.
    """
    assert found["epoch"] >= before["epoch"]
    assert not breaks_prefix(prefix_of(before), prefix_of(found))
    if found["epoch"] > before["epoch"] or found["lag"]["last_page"] > before["lag"]["last_page"]:
        return
    assert found["stable_messages"] >= before["stable_messages"]
    assert found["stable_tokens"] >= before["stable_tokens"]


def prefix_of(found: Json) -> Prefix:
    fixed = canonical([found["tools"], found["system"]])
    return Prefix(found["epoch"], fixed, tuple(map(canonical, found["messages"])), found["stable_messages"])


def assert_openai(found: Json) -> None:
    """Invariant 4: each call is followed at once by its results, and each result has its call before it."""
    assert found["system"] is None
    assert not splits_calls(found["messages"])


def assert_anthropic(found: Json) -> None:
    """Invariant 4 in the other form; and what that API demands of the list."""
    assert not splits_blocks(found["messages"])
    for message in found["messages"]:
        assert message["role"] in ("user", "assistant")
        assert message["content"], "a message without content"
        assert all(block.get("text", "x").strip() for block in message["content"]), "an empty text"
    marks = canonical([found["tools"], found["messages"]]).count('"cache_control"')
    assert marks <= 4, "Anthropic takes four cache breakpoints"
