"""What is said in one form is found in another: scripts of Chinese, width, case, parts of names, numbers."""

import httpx
import pytest

from tests.api.kit import Json, append, history, ok, user, window
from tests.archive.made import archived, load_tool, loaded, made
from tests.tools.kit import said

TRADITIONAL = "昨天我在臺灣買了龍井茶葉,準備週末請陳醫師來嚐嚐。"
SIMPLIFIED = "上个月她在杭州订购了丝绸围巾,打算送给王律师当礼物。"
FILLER = ["今天的會議改到三點。", "报表已经发给大家了。", "Lunch was fine.", "我們明天再談。", "我们后天再说。"]

BOTH_WAYS = [
    (TRADITIONAL, "龙井茶叶", "龍井茶葉"), (TRADITIONAL, "龍井茶葉", "龍井茶葉"), (TRADITIONAL, "陈医师", "陳醫師"),
    (SIMPLIFIED, "絲綢圍巾", "丝绸围巾"), (SIMPLIFIED, "丝绸围巾", "丝绸围巾"), (SIMPLIFIED, "給王律師", "给王律师"),
]  # fmt: skip


@pytest.fixture
def seeded(client: httpx.Client) -> httpx.Client:
    append(client, "c", [user(text) for text in (*FILLER, TRADITIONAL, SIMPLIFIED)])
    return client


def plain(found: Json) -> str:
    """A result's text, with no match marked."""
    return str(found["content_preview"]).replace("**", "")


@pytest.mark.parametrize(("text", "query", "written"), BOTH_WAYS)
def test_either_script_finds_the_other_everywhere(seeded: httpx.Client, text: str, query: str, written: str) -> None:
    found = ok(seeded.post("/memories/search", json={"user_id": "u", "query": query}))["results"][0]
    assert plain(found) == text
    assert f"**{written}**" in found["content_preview"]
    only = {"user_id": "u", "query": "医师 律師", "keywords": [query]}
    assert [plain(r) for r in ok(seeded.post("/memories/search", json=only))["results"]] == [text]
    assert [plain(r) for r in ok(seeded.get("/memories/search", params=only))["results"]] == [text]
    assert text in said(seeded, "c", "recall_memory", query=query)
    assert text in said(seeded, "c", "search_memories", query="医师 律师", keywords=[query]).replace("**", "")
    append(seeded, "another", [user("好的")])
    assert text in str(window(seeded, "another", budget=4000, query=query)["messages"])


def test_text_is_returned_in_its_original_script(seeded: httpx.Client) -> None:
    assert [m["content"] for m in history(seeded, "c")] == [*FILLER, TRADITIONAL, SIMPLIFIED]
    key = ok(seeded.get("/memories/search", params={"user_id": "u", "query": "龙井"}))["results"][0]["memory_key"]
    assert ok(seeded.get(f"/memories/{key}"))["content"] == TRADITIONAL


@pytest.mark.parametrize(("text", "query"), [(TRADITIONAL, "台湾的龙井茶叶"), (SIMPLIFIED, "訂購的絲綢圍巾")])
def test_passages_of_an_archive_are_found_in_either_script(client: httpx.Client, text: str, query: str) -> None:
    lines = made("prose", "zh", 20_000).splitlines()
    lines.insert(len(lines) // 2, text)
    uuid = archived(client, "c", 1, "\n".join(lines))
    best = max(loaded(client, uuid, query=query)["passages"], key=lambda p: p["relevance_score"])
    assert text in best["text"]
    assert text in load_tool(client, "c", uuid=uuid, query=query, max_tokens=600)["content"]


def test_a_memory_and_its_keywords_are_found_in_either_script(client: httpx.Client) -> None:
    for content, keywords in (("喜歡喝烏龍茶", ["飲料"]), ("住在广州的图书馆旁边", ["地址"])):
        ok(client.post("/memories", json={"user_id": "u", "content": content, "keywords": keywords}), 201)
    for query, content in (
        ("乌龙茶", "喜歡喝烏龍茶"),
        ("饮料", "喜歡喝烏龍茶"),
        ("廣州圖書館", "住在广州的图书馆旁边"),
    ):
        [found] = ok(client.get("/memories/search", params={"user_id": "u", "query": query}))["results"]
        assert found["summary"] == content


@pytest.mark.parametrize(
    ("text", "queries"),
    [
        ("東京タワーに行きたいです。", ["東京タワー", "タワー", "ﾀﾜｰ", "东京"]),
        ("내일 서울에서 김치찌개를 먹어요.", ["김치찌개", "서울", "\u1109\u1165\u110b\u116e\u11af"]),
        ("訂單編號是ＡＢ１２３４，請確認。", ["AB1234", "ab1234", "ＡＢ１２３４", "订单编号"]),
        ("The build runs max_retry_count times.", ["max_retry_count", "retry count", "MAX_RETRY_COUNT", "ＲＥＴＲＹ"]),
        ("See parseHTTPResponse in userProfileLoader.", ["parseHTTPResponse", "http response", "profile loader"]),
        ("Deploy with docker-compose.prod.yml tonight.", ["docker-compose.prod.yml", "compose prod", "yml"]),
        ("The meter shows 73914 and 1,250.75 kWh.", ["73914", "1,250.75", "１２５０.75 73914"]),
        ("Write to Marta.Oja-Lind@example.org, please.", ["marta.oja-lind@example.org", "oja lind", "example.org"]),
        ("Version v2.14.3 broke it on 2024-05-20.", ["v2.14.3", "2024-05-20"]),
        ("Straße und CAFÉ, naïve résumé.", ["strasse", "café", "CAFÉ", "cafe\u0301", "NAÏVE"]),
        ("У нас встреча во вторник в Харькове.", ["встреча", "ХАРЬКОВЕ"]),
        ("הפגישה ביום שלישי בחיפה", ["הפגישה", "בחיפה"]),
    ],
)
def test_names_numbers_and_other_scripts_are_found_in_each_of_their_forms(
    client: httpx.Client, text: str, queries: list[str]
) -> None:
    append(client, "c", [*map(user, FILLER), user(text)])
    for query in queries:
        for more in ({}, {"keywords": [query]}):
            body = {"user_id": "u", "query": query, **more}
            results = ok(client.post("/memories/search", json=body))["results"]
            assert results, query
            assert plain(results[0]) == text, query
