"""The terms of a chapter without a model."""

from datetime import UTC, datetime

import pytest

from app.extractive.chapters import ToldPage, described, words_told

NOW = datetime(2026, 1, 1, tzinfo=UTC)
TOLD = {
    "en": (["I love how people change. My kayak leaks.", "People change; the kayak too."], "kayak"),
    "zh": (["我很喜欢尝试新的东西，感到高兴。皮划艇漏水。", "朋友很高兴，喜欢皮划艇。"], "皮划艇"),
}  # fmt: skip


@pytest.mark.parametrize("language", TOLD)
def test_what_any_talk_has_comes_after_what_names_something(language: str) -> None:
    texts, first = TOLD[language]
    pages = [ToldPage(at, NOW, NOW, words_told(text)) for at, text in enumerate(texts, 1)]
    assert described(pages, []).terms[0] == first


@pytest.mark.parametrize("text", ["Sure, I'd be happy to help you with that!", "好的，已处理。", "好的，我来看看。"])
def test_a_courtesy_tells_no_words(text: str) -> None:
    assert words_told(text) == []


def test_the_label_of_an_attachment_tells_no_words() -> None:
    assert words_told("[image: a photo of a kayak]") == ["kayak"]


def test_a_date_tells_no_words() -> None:
    assert words_told('{"time": "2026-11-28T20:00", "memory": 300}, 2026-11-28') == ["time", "memory", "300"]
