"""Every door that writes a memory keeps what is promised of memories: one walk of doors and promises."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

import httpx
import pytest

from app.main import build_app
from app.postgres.embedded import EmbeddedPostgres
from app.settings import Settings
from tests.api.kit import Json, append, assistant, call, history, ok, path, result, user, window
from tests.archive.conftest import Grep, tables_with  # noqa: F401 - a fixture
from tests.conftest import serving

OLD = "The blue heron nests behind the boathouse."
SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" * 2
LIMIT = 4_000
STATUSES = ("held", "proposed")


@dataclass(frozen=True)
class Person:
    """A user with a conversation of the same name: what a process counted for another is not theirs."""

    client: httpx.Client
    name: str
    written: dict[Any, str] = field(default_factory=dict)
    """What doors that change something change, by how it was written."""

    def key(self, write: "Door", name: str) -> str:
        if write not in self.written:
            self.written[write] = ok(write(self, OLD), 201)[name]
        return self.written[write]

    def say(self, text: str) -> None:
        append(self.client, self.name, [user(text)], user_id=self.name)

    def has_found(self, query: str) -> list[Json]:
        answer = ok(self.client.post("/memories/search", json={"user_id": self.name, "query": query}))
        return [one for one in answer["results"] if one["memory_type"] != "episode"]

    def imports(self, **line: Any) -> httpx.Response:
        content = json.dumps({"id": str(uuid4()), "user_id": self.name, **line})
        return self.client.post("/import", content=content, headers={"Content-Type": "application/x-ndjson"})


def posted(by: Person, text: str) -> httpx.Response:
    return by.client.post("/memories", json={"user_id": by.name, "content": text, "memory_type": "fact"})


def patched(by: Person, text: str) -> httpx.Response:
    return by.client.patch(f"/memories/{by.key(posted, 'memory_key')}", json={"content": text})


def noted(by: Person, text: str) -> httpx.Response:
    return by.client.post(path(by.name, "notes"), json={"text": text})


def note_edited(by: Person, text: str) -> httpx.Response:
    return by.client.put(path(by.name, "notes", by.key(noted, "id")), json={"text": text})


def form_noted(by: Person, text: str) -> httpx.Response:
    return by.client.post(f"/ui/conversations/{by.name}", data={"do": "note", "text": text})


def form_edited(by: Person, text: str) -> httpx.Response:
    return by.client.post(f"/ui/memories/{by.key(posted, 'memory_key')}", data={"do": "edit", "content": text})


def remembered(by: Person, text: str) -> httpx.Response:
    return by.client.post(path(by.name, "tools", "remember"), json={"arguments": {"content": text}})


def imported(by: Person, text: str) -> httpx.Response:
    return by.imports(type="memory", content=text, memory_type="fact", source="person")


Door = Callable[[Person, str], httpx.Response]
DOORS: list[Door] = [posted, patched, noted, note_edited, form_noted, form_edited, remembered, imported]
each_door = pytest.mark.parametrize("door", DOORS)


@pytest.fixture(scope="module")
def limited_url(postgres: EmbeddedPostgres, settings: Settings) -> Iterator[str]:
    changes = {"quire_masks": "secrets", "quire_user_storage_bytes": LIMIT}
    yield from serving(build_app(settings.model_copy(update=changes), postgres.app_dsn))


@pytest.fixture
def ann(limited_url: str, clean: None) -> Iterator[Person]:
    with httpx.Client(base_url=limited_url, timeout=60) as opened:
        person = Person(opened, f"ann-{uuid4()}")
        person.say("Hello.")
        yield person


@each_door
def test_what_is_written_is_found_by_its_own_words_and_masked(
    ann: Person,
    door: Door,
    tables_with: Grep,  # noqa: F811
) -> None:
    text = f"The vault code lives with Wilhelmina, token {SECRET}."
    if door is remembered:
        ann.say(text)
    answer = door(ann, text)
    assert answer.status_code in (200, 201, 303), answer.text
    [hit] = ann.has_found("Wilhelmina vault")
    assert "Wilhelmina" in hit["content_preview"].replace("*", "")
    assert not [one for one in ann.has_found("heron nests behind the boathouse") if one["relevance_score"] > 0.5]
    assert tables_with(SECRET) == []


@each_door
def test_who_has_no_room_left_stores_nothing(ann: Person, door: Door) -> None:
    answers = [door(ann, f"Number {turn}. " + "y" * 1_500) for turn in range(4)]
    assert answers[0].status_code in (200, 201, 303), answers[0].text
    assert answers[-1].status_code == 429
    listed = [ok(ann.client.get("/memories", params={"user_id": ann.name, "status": one})) for one in STATUSES]
    assert not [one for some in listed for one in some["items"] if "Number 3" in one["content_preview"]]


def test_an_archive_line_needs_room_too(ann: Person) -> None:
    line = {"type": "archive", "tool_name": "f", "tool_input": "{}", "created_at": "2026-01-01T00:00:00Z"}

    def archived() -> httpx.Response:
        content = json.dumps({**line, "user_id": ann.name, "result": "z" * LIMIT, "card": {"uuid": str(uuid4())}})
        return ann.client.post("/import", content=content, headers={"Content-Type": "application/x-ndjson"})

    assert archived().status_code == 200
    assert archived().status_code == 429


ERASERS: list[Callable[[httpx.Client, str], httpx.Response]] = [
    lambda client, key: client.delete(f"/memories/{key}"),
    lambda client, key: client.delete(path("c", "notes", key)),
    lambda client, key: client.post("/ui/conversations/c", data={"do": "delete-note", "note": key}),
    lambda client, key: client.post(f"/ui/memories/{key}", data={"do": "delete"}),
]


@pytest.mark.parametrize("erase", ERASERS, ids=["memories", "notes", "form of notes", "form of memories"])
def test_erasing_by_any_door_takes_the_copies_and_says_so(
    client: httpx.Client,
    erase: Any,
    tables_with: Grep,  # noqa: F811
    run_as_superuser: Any,
) -> None:
    assert client.get("/events?wait=false").status_code == 200  # from now on they are written
    append(client, "c", [user("Hello."), assistant("Hi.")])
    note = ok(noted(Person(client, "c"), OLD), 201)["id"]
    append(client, "d", [user("Where?"), call("t", name="search_memories"), result("t", f"Found: {OLD}")])
    assert OLD in json.dumps(window(client, "c"))
    answer = erase(client, note)
    assert answer.status_code in (200, 303)
    assert OLD not in json.dumps(window(client, "c"))
    assert all(OLD not in json.dumps(one) for one in history(client, "d"))
    assert tables_with(OLD) == []
    [event] = run_as_superuser(f"SELECT data FROM events WHERE type = 'erasure.done' AND data LIKE '%{note}%'")
    assert json.loads(event[0])["of"] == "memory"


def test_a_rules_key_goes_with_the_words_it_was_read_in(client: httpx.Client) -> None:
    append(client, "a", [user("From now on, call me Lin."), assistant("Yes.")])
    [note] = ok(client.get(path("a", "notes")))["items"]
    edited = ok(client.put(path("a", "notes", note["id"]), json={"text": "Never use emojis."}))
    assert (edited["id"], edited["source"], edited["seq"]) == (note["id"], "person", None)
    append(client, "b", [user("From now on, call me Bo."), assistant("Yes.")])
    append(client, "d", [user("Hello.")])
    shown = json.dumps(window(client, "d"))
    assert "Never use emojis." in shown
    assert "call me Bo." in shown
    assert "call me Lin" not in shown


def test_a_rules_key_stays_with_words_that_say_the_same(client: httpx.Client) -> None:
    append(client, "a", [user("From now on, call me Lin."), assistant("Yes.")])
    [note] = ok(client.get(path("a", "notes")))["items"]
    ok(client.put(path("a", "notes", note["id"]), json={"text": "Call me Linda."}))
    versions = ok(client.get(f"/memories/{note['id']}/versions"))["items"]
    assert [one["content"] for one in versions] == ["Call me Linda.", "From now on, call me Lin."]
    append(client, "b", [user("From now on, call me Bo."), assistant("Yes.")])
    append(client, "d", [user("Hello.")])
    assert "Linda" not in json.dumps(window(client, "d"))


def test_the_inspector_keeps_ids_and_versions_as_the_api_does(client: httpx.Client) -> None:
    made = ok(client.post("/memories", json={"user_id": "u", "content": "Lives in Bern", "key": "home"}), 201)
    assert (
        client.post(f"/ui/memories/{made['memory_key']}", data={"do": "edit", "content": "Lives in Basel"}).status_code
        == 303
    )
    versions = ok(client.get(f"/memories/{made['memory_key']}/versions"))["items"]
    assert [one["content"] for one in versions] == ["Lives in Basel", "Lives in Bern"]
