"""The provider of the tests runs as a process of its own too, and is told by HTTP how to fail."""

import subprocess
import sys
from collections.abc import Iterator

import pytest

from tests import unhurried
from tests.providers.fake_openai import FakeOpenAI, embedding

ASK = {"model": "fake", "messages": [{"role": "user", "content": "hi"}]}


@pytest.fixture
def process() -> Iterator[str]:
    command = [sys.executable, "-m", "tests.providers.fake_openai"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        yield running.stdout.readline().strip()
        running.terminate()


def test_a_test_can_script_failures(process: str) -> None:
    control = process.replace("/v1", "/control")
    order = {"endpoint": "chat", "queue": [["rate_limited", {"retry_after": "7"}]], "default": ["ok", {"reply": "yo"}]}
    assert unhurried.post(control, json=order).json()["chat"]["queued"] == 1
    refused = unhurried.post(f"{process}/chat/completions", json=ASK)
    assert (refused.status_code, refused.headers["Retry-After"]) == (429, "7")
    answer = unhurried.post(f"{process}/chat/completions", json=ASK).json()
    assert answer["choices"][0]["message"]["content"] == "yo"
    assert unhurried.get(f"{process}/models").json()["data"][0]["id"] == "fake"
    assert unhurried.get(control).json()["chat"]["requests"] == 2


def test_similar_texts_have_similar_vectors_in_chinese_too() -> None:
    def cosine(one: str, other: str) -> float:
        return sum(a * b for a, b in zip(embedding(one), embedding(other), strict=True))

    assert cosine("where is the report", "the report is here") > cosine("where is the report", "buy cherries now")
    assert cosine("报告在哪里", "报告在这里") > cosine("报告在哪里", "买一些樱桃")


def test_a_chat_reply_may_be_computed_from_the_request() -> None:
    with FakeOpenAI(reply=lambda request: request["messages"][0]["content"].upper()) as api:
        answer = unhurried.post(f"{api.url}/chat/completions", json=ASK).json()
    assert answer["choices"][0]["message"]["content"] == "HI"
