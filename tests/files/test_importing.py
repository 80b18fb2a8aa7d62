"""`quire import` of other tools' files into a running service: once, again, and after their source went on."""

from __future__ import annotations

import asyncio
import json
import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import quote
from zipfile import ZIP_DEFLATED, ZipFile

import asyncpg
import httpx
import pytest

from app.core.messages import Limits, read
from app.postgres import programs
from app.postgres.embedded import EmbeddedPostgres
from tests.erasure.test_commands import quire
from tests.files.samples import CHATGPT, CLAUDE_CODE, DOCUMENTS, STRANDS, WRITTEN, Json, line


def written(folder: Path, name: str, value: Any) -> Path:
    file = folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    is_lines = name.endswith(".jsonl")
    file.write_text("\n".join(map(json.dumps, value)) + "\n" if is_lines else json.dumps(value))
    return file


def receipt(base_url: str, file: Path | str, *more: str, code: int = 0) -> Any:
    done = quire(base_url, "import", str(file), "--json", *more)
    assert done.exit_code == code, done.output
    return json.loads(done.stdout)


def said(client: httpx.Client, name: str) -> list[str]:
    items = client.get(f"/conversations/{name}/messages", params={"limit": 1000}).json()["items"]
    return [one["content"] for one in items if isinstance(one["content"], str)]


def turn(uuid: str, parent: str | None, role: str, text: str) -> Json:
    return line(uuid, parent, role, text)


FIRST = [turn("1", None, "user", "Plot it"), turn("2", "1", "assistant", "Done")]


@pytest.mark.parametrize("source", ["google-adk", "redis", "langgraph"])
def test_a_file_that_says_whose_it_is_needs_no_options(
    client: httpx.Client, base_url: str, tmp_path: Path, source: str
) -> None:
    file = written(tmp_path, "talk.json", DOCUMENTS[source].value)
    found = receipt(base_url, file)
    [kept] = client.get("/conversations", params={"user_id": "u"}).json()["items"]
    assert found["imported"]["messages"] == len(client.get(f"/conversations/{kept['id']}/messages").json()["items"])
    again = receipt(base_url, file)
    assert (again["imported"], again["matched"]["conversations"]) == ({}, 1)


def zipped(path: Path, files: Json) -> Path:
    with ZipFile(path, "w", ZIP_DEFLATED) as archive:
        for name, value in files.items():
            archive.writestr(name, value if isinstance(value, bytes) else json.dumps(value))
    return path


def test_an_export_is_taken_as_it_is_downloaded(client: httpx.Client, base_url: str, tmp_path: Path) -> None:
    archive = zipped(tmp_path / "export.zip", {"conversations.json": CHATGPT, "file-a.png": b"\x89PNG"})
    assert receipt(base_url, archive, "--user", "u")["imported"]["conversations"] == 2
    assert "Plot it" in said(client, "chatgpt:c1")
    assert receipt(base_url, archive, "--user", "u")["imported"] == {}
    for name, content in (("pictures.zip", {"a.png": b"\x89PNG"}), ("cut.zip", None)):
        file = zipped(tmp_path / name, content) if content else tmp_path / name
        if content is None:
            file.write_bytes(archive.read_bytes()[40:])
        done = quire(base_url, "import", str(file), "--user", "u")
        assert (done.exit_code, name in done.output, "ZIP archive" in done.output) == (1, True, True)


PROJECT = {
    "uuid": "p1", "name": "Bakery", "description": "", "is_private": True, "is_starter_project": False,
    "prompt_template": "Answer as a baker.", "created_at": "2025-10-03T12:00:00+00:00",
    "docs": [{"uuid": "d1", "filename": "oven.md", "content": "The oven wants 230 degrees.", "created_at": None}],
}  # fmt: skip


@pytest.mark.parametrize("value", [PROJECT, [PROJECT, {**PROJECT, "is_starter_project": True}]])
def test_a_projects_files_are_found_and_its_instructions_wait_for_the_person(
    client: httpx.Client, base_url: str, tmp_path: Path, value: Any
) -> None:
    receipt(base_url, written(tmp_path, "projects/p1.json", value), "--user", "u")
    [told] = client.get("/memories", params={"user_id": "u", "status": "proposed"}).json()["items"]
    assert (told["content_preview"], told["pinned"], told["source"]) == ("Answer as a baker.", False, "import")
    asked = {"user_id": "u", "query": "How hot is the oven?", "search_mode": "keyword"}
    [hit] = client.post("/memories/search", json=asked).json()["results"]
    assert "The oven wants 230 degrees." in hit["content_preview"]


@pytest.mark.parametrize("name", sorted(one.name for one in WRITTEN.iterdir()))
def test_what_a_tool_wrote_itself_is_stored_once(client: httpx.Client, base_url: str, name: str) -> None:
    found = receipt(base_url, WRITTEN / name, "--user", "u")
    kept = client.get("/conversations", params={"user_id": "u"}).json()["items"]
    assert found["imported"]["messages"] == sum(one["messages"] for one in kept)
    again = receipt(base_url, WRITTEN / name, "--user", "u")
    assert (again["imported"], again["matched"]["messages"]) == ({}, found["imported"]["messages"])


def on_disk(folder: Path, source: str) -> Path:
    found = DOCUMENTS[source]
    for name, value in found.files.items():
        written(folder, name, value)
    for name, rows in found.tables.items():
        written(folder, f"{name}.json", rows)
    return folder if found.files or found.tables else written(folder, "talk.json", found.value)


@pytest.mark.parametrize("source", DOCUMENTS)
def test_a_second_import_of_anything_changes_nothing(
    client: httpx.Client, base_url: str, tmp_path: Path, source: str
) -> None:
    asked = (on_disk(tmp_path, source), "--from", source, "--user", "u")
    found = receipt(base_url, *asked)
    before = client.get("/users/u/export").text
    again = receipt(base_url, *asked)
    assert (again["imported"], again["matched"]["messages"]) == ({}, found["imported"]["messages"])
    assert client.get("/users/u/export").text == before


@pytest.mark.parametrize("source", ["autogen", "semantic-kernel", "messages", "pydantic-ai"])
def test_a_source_that_was_rewound_and_went_on_branches_off_whatever_names_its_messages(
    client: httpx.Client, base_url: str, tmp_path: Path, source: str
) -> None:
    def file(text: str) -> Path:
        return written(
            tmp_path, "talk.json", json.loads(json.dumps(DOCUMENTS[source].value).replace("Here it is", text))
        )

    asked = ("--from", source, "--user", "u")
    count = receipt(base_url, file("Here it is"), *asked)["imported"]["messages"]
    found = receipt(base_url, file("Here is another"), *asked)
    names = [quote(one["id"]) for one in client.get("/conversations", params={"user_id": "u"}).json()["items"]]
    known = [client.get(f"/conversations/{name}").json() for name in names]
    [branch] = [one for one in known if one["parent_id"]]
    assert (found["imported"]["messages"], branch["forked_after"]) == (1, count - 1)
    assert receipt(base_url, file("Here is another"), *asked)["imported"] == {}


def test_a_session_that_grew_goes_on_and_one_that_was_rewound_branches_off(
    client: httpx.Client, base_url: str, tmp_path: Path
) -> None:
    name, user = "claude-code:c3", ("--user", "u")
    receipt(base_url, written(tmp_path, "s.jsonl", FIRST), *user)
    grown = [*FIRST, turn("3", "2", "user", "Larger"), turn("4", "3", "assistant", "Larger now")]
    assert receipt(base_url, written(tmp_path, "s.jsonl", grown), *user)["imported"]["messages"] == 2
    assert said(client, name) == ["Plot it", "Done", "Larger", "Larger now"]
    rewound = [*grown, turn("5", "2", "user", "Smaller"), turn("6", "5", "assistant", "Smaller now")]
    for expected in (2, 0):
        found = receipt(base_url, written(tmp_path, "s.jsonl", rewound), *user)
        assert found["imported"].get("messages", 0) == expected
    assert said(client, f"{name}:5")[-2:] == ["Smaller", "Smaller now"]
    assert said(client, name)[-1] == "Larger now"


def test_a_folder_is_read_with_all_that_is_in_it(client: httpx.Client, base_url: str, tmp_path: Path) -> None:
    for path, value in STRANDS.items():
        written(tmp_path / "session_c13", path, value)
    written(tmp_path, "s.jsonl", [*FIRST, {"type": "odd"}])
    (tmp_path / "notes.txt").write_text("Dear diary")
    found = receipt(base_url, tmp_path, "--user", "u")
    assert (found["files"], found["imported"]["conversations"]) == (2, 2)
    assert [one["place"] for one in found["skipped"]] == ["notes.txt"]


def test_branches_and_sub_agents_are_counted(client: httpx.Client, base_url: str, tmp_path: Path) -> None:
    found = receipt(base_url, written(tmp_path, "conversations.json", CHATGPT), "--user", "u")
    assert (found["branches"], found["imported"]["conversations"]) == (1, 2)
    branch = client.get("/conversations/chatgpt:c1:branch-1").json()
    assert (branch["parent_id"], said(client, "chatgpt:c1:branch-1")[-1]) == (
        "chatgpt:c1",
        "An answer that was replaced",
    )
    found = receipt(base_url, written(tmp_path, "s.jsonl", CLAUDE_CODE), "--user", "u")
    assert found["sub_agents"] == 1
    assert any("taken back" in one["reason"] for one in found["skipped"])


def rollout(name: str, *said: str, **head: Any) -> list[Json]:
    items = [
        {"type": "message", "role": role, "content": [{"type": kind, "text": text}]}
        for number, text in enumerate(said)
        for role, kind in [(("user", "input_text"), ("assistant", "output_text"))[number % 2]]
    ]
    rows = [{"type": "response_item", "payload": item} for item in items]
    return [{"type": "session_meta", "payload": {"id": name, **head}}, *rows]


def test_a_session_that_was_forked_is_a_branch_of_the_other(
    client: httpx.Client, base_url: str, tmp_path: Path
) -> None:
    written(tmp_path, "sessions/b.jsonl", rollout("main", "One", "Two", "Three", "Four"))
    written(tmp_path, "sessions/a.jsonl", rollout("fork", "One", "Two", "Else", "Fine", forked_from_id="main"))
    fork = [
        {**turn("5", "2", "user", "Else"), "sessionId": "s5"},
        {**turn("6", "5", "assistant", "Fine"), "sessionId": "s5"},
    ]
    copied = [
        {**row, "uuid": f"new-{n}", "sessionId": "s5", "forkedFrom": {"sessionId": "c3", "messageUuid": row["uuid"]}}
        for n, row in enumerate(FIRST)
    ]
    written(tmp_path, "sessions/c.jsonl", [*copied, *fork])
    written(
        tmp_path, "sessions/d.jsonl", [*FIRST, turn("3", "2", "user", "Larger"), turn("4", "3", "assistant", "Good")]
    )
    found = receipt(base_url, tmp_path / "sessions", "--user", "u")
    assert (found["branches"], found["imported"]["messages"]) == (2, 12)
    for name, origin, texts in (
        ("codex:fork", "codex:main", ["One", "Two", "Else", "Fine"]),
        ("claude-code:s5", "claude-code:c3", ["Plot it", "Done", "Else", "Fine"]),
    ):
        known = client.get(f"/conversations/{name}").json()
        assert (known["parent_id"], known["forked_after"], said(client, name)) == (origin, 2, texts)
    assert receipt(base_url, tmp_path / "sessions", "--user", "u")["imported"] == {}


def test_a_fork_that_came_before_the_other_stays_whole(client: httpx.Client, base_url: str, tmp_path: Path) -> None:
    fork = written(tmp_path, "a.jsonl", rollout("fork", "One", "Two", "Else", "Fine", forked_from_id="main"))
    main = written(tmp_path, "b.jsonl", rollout("main", "One", "Two", "Three", "Four"))
    for file, count in ((fork, 4), (main, 4), (fork, 0), (tmp_path, 0)):
        assert receipt(base_url, file, "--user", "u")["imported"].get("messages", 0) == count
    assert client.get("/conversations/codex:fork").json()["parent_id"] is None


def test_one_conversation_that_is_refused_stops_no_other(client: httpx.Client, base_url: str, tmp_path: Path) -> None:
    receipt(base_url, written(tmp_path, "a.json", CHATGPT), "--user", "ann")
    other = [{**CHATGPT[0], "conversation_id": "c9"}]
    found = receipt(base_url, written(tmp_path, "b.json", [*CHATGPT, *other]), "--user", "bob", code=1)
    assert [one["place"] for one in found["refused"]] == ["chatgpt:c1", "chatgpt:c1:branch-1"]
    assert found["matched"].get("messages", 0) == 0
    assert said(client, "chatgpt:c9")[-1] == "Here it is"


AGENTS = """
CREATE TABLE agent_messages (id serial PRIMARY KEY, session_id text, message_data text, created_at timestamp);
INSERT INTO agent_messages (session_id, message_data, created_at) VALUES
    ('s', '{"role": "user", "content": "Plot\\tit"}', '2025-10-03'),
    ('s', '{"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Done"}]}', NULL);
"""


def test_a_database_is_read_by_its_url(
    client: httpx.Client, base_url: str, postgres: EmbeddedPostgres, run_as_superuser: Any, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setenv("PATH", f"{programs.binary('pg_dump').parent}{os.pathsep}{os.environ['PATH']}")
    url = postgres.superuser_dsn.replace("/quire?", "/agents?")

    async def fill() -> None:
        connection = await asyncpg.connect(url)
        await connection.execute(AGENTS)
        await connection.close()

    run_as_superuser("CREATE DATABASE agents")
    try:
        asyncio.run(fill())
        done = quire(base_url, "import", url, "--user", "u", "--json")
        assert json.loads(done.stdout)["imported"]["messages"] == 2, done.output
    finally:
        run_as_superuser("DROP DATABASE agents")
    assert said(client, "openai-agents:s") == ["Plot\tit", "Done"]
    gone = quire(base_url, "import", url.replace("postgres@", "postgres:s3cret@"), "--user", "u")
    assert "pg_dump failed" in gone.output
    assert "s3cret" not in gone.output
    table = tmp_path / "agents.db"
    with closing(sqlite3.connect(table)) as connection:
        connection.executescript(AGENTS.replace("serial", "integer").replace("'s'", "'t'"))
    assert receipt(base_url, f"sqlite:///{table}", "--user", "u")["lines"] == 2


def test_half_a_character_stops_no_import(client: httpx.Client, base_url: str, tmp_path: Path) -> None:
    file = written(tmp_path, "odd.json", [{"role": "user", "content": "a\ud800b\x00c"}])
    assert receipt(base_url, file, "--user", "u")["imported"]["messages"] == 1
    assert said(client, "messages:odd") == ["a?b\x00c"]
    assert receipt(base_url, file, "--user", "u")["imported"] == {}


def test_what_belongs_to_several_users_is_not_given_to_one_by_guess(
    client: httpx.Client, base_url: str, tmp_path: Path
) -> None:
    rows = [{"id": f"m{n}", "memory": f"{name} likes tea", "user_id": name} for n, name in enumerate(("ann", "bob"))]
    file = written(tmp_path, "mem0.json", rows)
    done = quire(base_url, "import", str(file))
    assert "names 2 users (ann, bob): add --user, or --each-user" in done.output
    assert receipt(base_url, file, "--each-user")["imported"] == {"memories": 2}
    for name in ("ann", "bob"):
        [kept] = client.get("/memories", params={"user_id": name}).json()["items"]
        assert kept["content_preview"] == f"{name} likes tea"


MEM0 = [{"id": "m", "memory": "Likes tea", "agent_id": "concierge"}]
CREWAI = [{"id": "m", "content": "Likes tea", "scope": "/u", "importance": 0.5, "categories": ["concierge"]}]
REDIS = {
    "session_id": "s", "messages": [{"id": "1", "role": "user", "content": "Hello"}],
    "memories": [{"id": "m", "text": "Likes tea", "topics": ["concierge"]}],
}  # fmt: skip
HINDSIGHT = {"items": [{"id": "m", "text": "Likes tea", "fact_type": "world", "tags": ["concierge"]}]}
PAM: Json = {
    "schema": "portable-ai-memory", "owner": {"id": "u"},
    "memories": [{"id": "m", "content": "Likes tea", "tags": ["concierge"],
                  "provenance": {"platform": "other", "extraction_method": "llm_inference"}}],
}  # fmt: skip


@pytest.mark.parametrize(
    "value", [MEM0, CREWAI, REDIS, HINDSIGHT, PAM], ids=str.split("mem0 crewai redis hindsight pam")
)
def test_a_fact_of_another_memory_is_not_the_persons_own_words_and_is_found_by_its_keywords(
    client: httpx.Client, base_url: str, tmp_path: Path, value: Any
) -> None:
    receipt(base_url, written(tmp_path, "facts.json", value), "--user", "u")
    [kept] = client.get("/memories", params={"user_id": "u"}).json()["items"]
    assert (kept["content_preview"], kept["source"]) == ("Likes tea", "import")
    asked = {"user_id": "u", "query": "concierge", "search_mode": "keyword"}
    [hit] = client.post("/memories/search", json=asked).json()["results"]
    assert hit["memory_key"] == kept["memory_key"]


EDGE: Json = {
    "uuid": "fd4e1215-297d-47b3-830f-0b001d6ba27e", "group_id": "lin", "source_node_uuid": "s", "target_node_uuid": "t",
    "created_at": "2026-03-01T00:00:00Z", "name": "LIVES_IN", "fact": "Lin lives in Hangzhou.", "fact_embedding": None,
    "episodes": ["e"], "expired_at": None, "valid_at": "2026-02-01T00:00:00Z", "invalid_at": "2026-04-01T00:00:00Z",
    "reference_time": None, "attributes": {},
}  # fmt: skip
"""An edge of graphiti-core 0.31.2, whose members zep-cloud 4.0.1 has too, in pages of `items`."""
LATER = {**EDGE, "uuid": "e2", "fact": "Lin lives in Ghent.", "valid_at": "2026-04-01T00:00:00Z", "invalid_at": None}
NEVER = {**EDGE, "uuid": "e3", "fact": "Lin lives in Oslo.", "invalid_at": EDGE["valid_at"]}


@pytest.mark.parametrize("value", [[EDGE, LATER, NEVER], {"items": [EDGE, LATER, NEVER], "next_cursor": None}])
def test_a_fact_of_a_graph_holds_for_the_time_in_which_it_was_true(
    client: httpx.Client, base_url: str, tmp_path: Path, value: Any
) -> None:
    found = receipt(base_url, written(tmp_path, "edges.json", value))
    assert (found["imported"], [one["place"] for one in found["skipped"]]) == ({"memories": 2}, ["edge e3"])
    for time, expected in (("2026-03-01T00:00:00Z", EDGE), ("2026-05-01T00:00:00Z", LATER)):
        asked = {"user_id": "lin", "query": "Where does Lin live?", "search_mode": "keyword", "as_of": time}
        [hit] = client.post("/memories/search", json=asked).json()["results"]
        assert hit["summary"] == expected["fact"]


def test_what_another_tool_says_a_person_wrote_is_theirs(client: httpx.Client, base_url: str, tmp_path: Path) -> None:
    [memory] = PAM["memories"]
    by_hand = {**memory, "provenance": {"platform": "other", "extraction_method": "explicit_user_input"}}
    receipt(base_url, written(tmp_path, "memory-store.json", {**PAM, "memories": [by_hand]}), "--user", "u")
    [kept] = client.get("/memories", params={"user_id": "u"}).json()["items"]
    assert kept["source"] == "person"


def test_a_bundle_of_portable_memory_comes_back_whole(client: httpx.Client, base_url: str, tmp_path: Path) -> None:
    receipt(base_url, written(tmp_path, "conversations.json", CHATGPT), "--user", "u")
    memory = {"user_id": "u", "content": "Likes tea", "keywords": ["tea"], "memory_type": "preference"}
    assert client.post("/memories", json=memory).status_code == 201
    folder = tmp_path / "bundle"
    assert quire(base_url, "export", "--user", "u", "--to", "pam", "--output", str(folder)).exit_code == 0
    store = json.loads((folder / "memory-store.json").read_text())
    [kept], [entry] = store["memories"], store["conversations_index"]
    assert (kept["type"], kept["provenance"]["extraction_method"]) == ("preference", "explicit_user_input")
    tree = json.loads((folder / entry["storage"]["ref"]).read_text())
    by_id = {message["id"]: message for message in tree["messages"]}
    assert len(next(m for m in by_id.values() if m["parent_id"] is None)["children_ids"]) == 2
    before = client.get("/conversations/chatgpt:c1/messages").json()["items"]
    assert client.delete("/users/u").status_code == 200
    found = receipt(base_url, folder, "--user", "other")
    assert (found["branches"], found["imported"]["messages"]) == (1, len(by_id))
    after = client.get("/conversations/pam:chatgpt:c1/messages").json()["items"]
    members = ("role", "content", "tool_calls", "tool_call_id", "client_id")
    assert [[one[name] for name in members] for one in after] == [[one[name] for name in members] for one in before]
    assert "--output" in quire(base_url, "export", "--user", "u", "--to", "pam").output


SEATS = "I prefer aisle seats."
"""What is proposed."""


def test_a_bundle_keeps_what_the_form_can_hold_and_says_the_rest(
    client: httpx.Client, base_url: str, tmp_path: Path
) -> None:
    client.post("/conversations", json={"id": "c", "user_id": "u", "system": "Be brief.", "title": "Tea"})
    client.post(
        "/conversations/c/messages", json={"messages": [{"role": "user", "content": "Always answer in French."}]}
    )
    memory = {"user_id": "u", "content": "No meat.", "key": "diet", "pinned": True, "memory_type": "preference"}
    assert client.post("/memories", json=memory).status_code == 201
    done = quire(base_url, "export", "--user", "u", "--to", "pam", "-o", str(tmp_path / "bundle"))
    assert done.exit_code == 0
    assert client.delete("/users/u").status_code == 200
    found = receipt(base_url, tmp_path / "bundle", "--user", "v")
    assert any("learnt from their conversations again" in one["reason"] for one in found["skipped"])
    assert client.get("/conversations/pam:c").json()["system"] == "Be brief."
    asked = ({"user_id": "v", "scope": "user"}, {"conversation_id": "pam:c", "scope": "conversation"})
    listed = [one for params in asked for one in client.get("/memories", params=params).json()["items"]]
    assert {(one["key"], one["content_preview"], one["pinned"]) for one in listed} == {
        ("diet", "No meat.", True),
        ("answer_language", "Always answer in French.", True),
    }
    client.post("/conversations/n/messages", json={"user_id": "v", "messages": [{"role": "user", "content": SEATS}]})
    done = quire(base_url, "export", "--user", "v", "--to", "pam", "-o", str(tmp_path / "again"))
    assert "pam has no place for: 1 proposals" in done.stderr


def everything(client: httpx.Client, name: str) -> list[Json]:
    """What a conversation says, whatever form its messages have."""
    items = client.get(f"/conversations/{quote(name)}/messages", params={"limit": 1000}).json()["items"]
    drafts = read([{k: v for k, v in one.items() if k in SENT and v is not None} for one in items], Limits())
    calls = [[(call.name, json.loads(call.arguments)) for call in one.calls] for one in drafts]
    results = [[(result.call_id, result.text) for result in one.results] for one in drafts]
    return [
        {"who": "user" if told else one.role, "text": one.text, "calls": made, "results": told}
        for one, made, told in zip(drafts, calls, results, strict=True)
    ]


SENT = ("role", "content", "tool_calls", "tool_call_id")


@pytest.mark.parametrize("form", ["openai", "claude-code"])
@pytest.mark.parametrize("source", ["codex", "claude-code", "gemini-cli", "langchain"])
def test_what_is_written_in_anothers_form_comes_back(
    client: httpx.Client, base_url: str, tmp_path: Path, source: str, form: str
) -> None:
    value = DOCUMENTS[source].value
    receipt(base_url, written(tmp_path, "talk.jsonl" if source != "langchain" else "talk.json", value), "--user", "u")
    names = [one["id"] for one in client.get("/conversations", params={"user_id": "u"}).json()["items"]]
    before = {name: everything(client, name) for name in names}
    folder = tmp_path / "out"
    done = quire(base_url, "export", "--user", "u", "--to", form, "-o", str(folder))
    assert done.exit_code == 0, done.output
    assert client.delete("/users/u").status_code == 200
    found = receipt(base_url, folder, "--user", "v")
    assert (found["skipped"], found["files"]) == ([], len(names))
    after = [one["id"] for one in client.get("/conversations", params={"user_id": "v"}).json()["items"]]
    key = str
    assert sorted((everything(client, name) for name in after), key=key) == sorted(before.values(), key=key)
    assert (receipt(base_url, folder, "--user", "v"))["imported"] == {}


def test_what_a_form_has_no_place_for_is_said(client: httpx.Client, base_url: str, tmp_path: Path) -> None:
    receipt(base_url, written(tmp_path, "talk.json", CHATGPT), "--user", "u")
    client.post("/memories", json={"user_id": "u", "content": "Likes tea."})
    done = quire(base_url, "export", "--user", "u", "--to", "openai", "-o", str(tmp_path / "out"))
    assert "openai has no place for: 1 memories" in done.stderr
    assert "times" in done.stderr
    assert "--output" in quire(base_url, "export", "--user", "u", "--to", "openai").output
    [branch, main] = sorted((tmp_path / "out").iterdir())
    assert "An answer that was replaced" in branch.read_text()
    assert "Plot it" in branch.read_text()
    assert "An answer that was replaced" not in main.read_text()


MEASURED = """
import sys
from app.cli import main
try:
    main(sys.argv[1:], prog_name="quire")
finally:
    peak = next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))
    print(peak.split()[1], file=sys.stderr)
"""


def peak_bytes(file: Path) -> tuple[int, int]:
    """The most memory that an import of a file takes, and the lines that it would send."""
    asked = [sys.executable, "-c", MEASURED, "import", "--print", "--user", "u", str(file)]
    done = subprocess.run(asked, capture_output=True, text=True, check=True)
    return int(done.stderr.split()[-1]) * 1024, done.stdout.count("\n")


@pytest.mark.slow
def test_a_large_export_is_read_conversation_by_conversation(tmp_path: Path) -> None:
    text = "Tea is grown in Hangzhou. " * 4000

    def export(count: int) -> Path:
        talks = ({**CHATGPT[0], "conversation_id": f"c{n}"} for n in range(count))
        whole = ",".join(
            json.dumps(one).replace('"Here it is"', json.dumps(f"{text}{n}")) for n, one in enumerate(talks)
        )
        (file := tmp_path / "conversations.json").write_text(f"[{whole}]")
        return file

    small, lines = peak_bytes(export(4))
    file = export(450)
    assert file.stat().st_size > 45_000_000
    large, more = peak_bytes(file)
    assert more * 4 == lines * 450
    assert large - small < 30_000_000


def test_a_long_conversation_is_stored_in_parts(client: httpx.Client, base_url: str, tmp_path: Path) -> None:
    long = [{"role": "user", "content": f"message {n}"} for n in range(1201)]
    found = receipt(base_url, written(tmp_path, "long.json", long), "--user", "u")
    assert (found["imported"]["messages"], found["matched"].get("conversations", 0)) == (1201, 0)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("<!DOCTYPE html>", "is XML or HTML"),
        (" \n", "is empty"),
        ('[{"a": 1}]', "no tool that Quire knows writes it"),
        ('[{"role": "assistant", "content": ""}]', "it is empty"),
        ('{"messages": [{"role": "user", "content": "Hi"}]}', "names nobody whose it is: add --user"),
    ],
)
def test_what_would_store_nothing_is_refused(base_url: str, tmp_path: Path, content: str, words: str) -> None:
    file = tmp_path / "file.json"
    file.write_text(content)
    more = ("--user", "u") if "empty" in words else ()
    done = quire(base_url, "import", str(file), *more)
    assert done.exit_code != 0
    assert words in " ".join(done.output.split())
