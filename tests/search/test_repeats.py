"""Questions that were asked before do not crowd out what answers them."""

import httpx
import pytest

from tests.api.kit import append, assistant, ok, path, user

SAID = {
    "en": ("My favourite tea is longjing.", "which tea is my favourite?", "longjing", "I do not know yet."),
    "zh": ("我最喜欢的茶是龙井。", "我最喜欢的茶是什么?", "龙井", "我还不知道。"),
}


@pytest.mark.parametrize("times", [1, 5, 50])
@pytest.mark.parametrize("language", SAID)
def test_a_fact_ranks_above_repeated_questions(client: httpx.Client, language: str, times: int) -> None:
    fact, question, answer, reply = SAID[language]
    append(client, "fact", [user(fact), assistant("OK.")], user_id="u")
    for number in range(times):
        append(client, f"c{number % 6}", [user(question), assistant(reply)], user_id="u")
    found = ok(client.post("/memories/search", json={"user_id": "u", "query": question, "limit": 5}))["results"]
    previews = [one["content_preview"].replace("*", "") for one in found]
    [place] = [place for place, preview in enumerate(previews) if answer in preview]
    assert previews.count(question) == 1
    assert place < previews.index(question)
    arguments = {"arguments": {"query": question}}
    assert answer in ok(client.post(path("c0", "tools", "search_memories"), json=arguments))["content"].replace("*", "")
    window = ok(client.get(path("c0", "context"), params={"budget": 4000, "query": question}))
    assert answer in str(window["messages"][-1])
