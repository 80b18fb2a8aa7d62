"""`quire memories` against a running service."""

from pathlib import Path

import httpx
import pytest

from tests.api.kit import append, ok, user, window
from tests.cli.kit import invoke, quire

SAID = "Please call me Lin from now on. I prefer aisle seats. I prefer green tea."


def lines(client: httpx.Client, *arguments: str) -> list[list[str]]:
    """The columns of what is listed."""
    printed = quire({"QUIRE_URL": str(client.base_url)}, "memories", *arguments)
    return [line.split("  ", 5) for line in printed.splitlines()]


def test_memories_are_listed_accepted_and_refused(client: httpx.Client) -> None:
    append(client, "talk", [user(SAID)], user_id="ann")
    [[_, status, scope, key, since, text]] = lines(client, "list", "--user", "ann")
    assert (status, scope, key, text) == ("held", "user", "name*", "Please call me Lin from now on.")
    assert since.count("-") == 2
    proposed = {one[5]: one[0] for one in lines(client, "list", "--user", "ann", "--proposed")}
    [accepted] = lines(client, "accept", proposed["I prefer aisle seats."])
    [refused] = lines(client, "refuse", proposed["I prefer green tea."])
    assert (accepted[1], refused[1]) == ("held", "refused")
    assert lines(client, "list", "--user", "ann", "--proposed") == [["There are none."]]
    append(client, "next", [user("hello")], user_id="ann")
    assert "aisle" in str(window(client, "next")["messages"])
    assert "tea" not in str(window(client, "next")["messages"])


def test_a_spaces_memories_are_listed_and_cannot_steer_a_terminal(client: httpx.Client) -> None:
    ok(client.post("/spaces", json={"id": "team", "members": {"ann": "write"}}), 201)
    ok(client.post("/memories", json={"content": "We deploy\x1b[2J \u202eon Tuesdays.", "scope": "space:team"}), 201)
    ok(client.post("/memories", json={"content": "Ann's own", "user_id": "ann"}), 201)
    [one] = lines(client, "list", "--space", "team")
    assert one[2:4] == ["space:team", "-"]
    assert "deploy" in one[5]
    assert not {"\x1b", "\u202e"} & set(one[5])
    assert len(lines(client, "list", "--user", "ann")) == 2


@pytest.mark.slow
def test_a_long_list_is_read_to_its_end(client: httpx.Client) -> None:
    for number in range(201):
        ok(client.post("/memories", json={"content": f"Fact {number}", "user_id": "ann"}), 201)
    assert len(lines(client, "list", "--user", "ann")) == 201


def test_what_is_wrong_is_said(client: httpx.Client) -> None:
    url = {"QUIRE_URL": str(client.base_url)}
    assert "Name a --user or a --space." in invoke(url, "memories", "list").output
    nobody = "00000000-0000-0000-0000-000000000007"
    for command in ("accept", "refuse"):
        done = invoke(url, "memories", command, nobody)
        assert (done.exit_code, "404: There is no such memory." in done.output) == (1, True)
    assert invoke(url, "memories", "accept", "x").exit_code == 2
    assert "404" in invoke(url, "memories", "list", "--space", "team", "--user", "eve").output


def test_carrying_lists_what_would_follow_a_user_and_lets_it(client: httpx.Client) -> None:
    settings = {"remember": False}
    ok(client.post("/conversations", json={"id": "old", "user_id": "ann", "settings": settings}), 201)
    append(client, "old", [user("Always answer in French. I am vegetarian. I prefer aisle seats.")], user_id="ann")
    assert ok(client.get("/memories", params={"user_id": "ann", "scope": "user"}))["items"] == []
    listed = lines(client, "carry", "--user", "ann", "--dry-run")
    assert sorted(one[5] for one in listed) == ["Always answer in French.", "I am vegetarian."]
    assert {one[3] for one in listed} == {"answer_language*", "diet*"}
    assert ok(client.get("/memories", params={"user_id": "ann", "scope": "user"}))["items"] == []
    assert len(lines(client, "carry", "--user", "ann")) == 2
    append(client, "next", [user("hello")], user_id="ann")
    assert "French" in str(window(client, "next")["messages"])
    assert lines(client, "carry", "--user", "ann") == [["There are none."]]
    assert len(ok(client.get("/memories", params={"user_id": "ann", "scope": "user"}))["items"]) == 2


def test_a_space_is_exported_and_imported(client: httpx.Client, tmp_path: Path) -> None:
    url = {"QUIRE_URL": str(client.base_url)}
    ok(client.post("/spaces", json={"id": "team", "members": {"ann": "write"}}), 201)
    ok(client.post("/memories", json={"content": "We deploy on Tuesdays.", "scope": "space:team"}), 201)
    file = tmp_path / "team.jsonl"
    quire(url, "export", "--space", "team", "-o", str(file))
    ok(client.delete("/spaces/team"))
    assert "1 spaces" in quire(url, "import", str(file))
    assert "Imported: nothing." in quire(url, "import", str(file))
    assert "Name a --user, a --space" in invoke(url, "export", "--user", "ann", "--space", "team").output
