"""A conversation's requests tell the API's cache that they belong together, where its row has a name for that."""

import httpx
import openai

from tests.api.kit import user
from tests.proxy.kit import Script, openai_of

KEY = "prompt_cache_key"


def said(base_url: str, conversation: str, model: str, text: str = "hello", **more: str) -> None:
    asker: openai.OpenAI = openai_of(base_url, conversation)
    asker.chat.completions.create(model=model, messages=[user(text)], extra_body=more)  # type: ignore[list-item]


def test_the_key_is_the_conversations_and_the_clients_own_wins(
    base_url: str, client: httpx.Client, script: Script
) -> None:
    for conversation, text in (("a", "one"), ("a", "two"), ("b", "one")):
        said(base_url, conversation, "gpt-5", text)
    first, again, other = (asked[KEY] for asked in script.asked)
    assert first == again != other
    said(base_url, "a", "gpt-5", "three", prompt_cache_key="mine")
    assert script.asked[-1][KEY] == "mine"


def test_an_api_without_a_name_for_it_gets_none(base_url: str, client: httpx.Client, script: Script) -> None:
    said(base_url, "a", "unheard-of")
    assert KEY not in script.asked[-1]
