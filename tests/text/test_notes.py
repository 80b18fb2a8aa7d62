"""Standing notes: none missed that is plain, none taken from what only sounds like one."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.core.conversation import ConversationEnd
from app.core.history.ingest import place
from app.core.messages import Limits, read
from app.extractive import notes
from app.extractive.notes import standing_notes
from app.services.conversations.reading import ExtractiveReader
from tests.by_turns import examples


@pytest.mark.parametrize(
    "text",
    [
        "Please always answer in French.",
        "Never deploy on Fridays.",
        "From now on use metric units",
        "You should never share my address.",
        "Don't ever email me before nine.",
        "I prefer aisle seats.",
        "We never merge without two reviews.",
        "以后都用中文回答",
        "请始终先给结论。",
        "永远不要在周五部署",
        "我们从不在周五部署。",
        "我更喜欢靠窗的座位。",
        "每次提交前都必须先跑测试",
        "从现在起，所有金额都用欧元",
        "记住，我的公司在苏州。",
    ],
)
def test_an_order_in_lasting_words_is_noted(text: str) -> None:
    assert standing_notes(text) == [text]
    assert standing_notes(f"Hi! {text}")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Never mind, it works now.",
        "I always wondered how tides work.",
        "I never received the email.",
        "She always sings in the car.",
        "Call me back tomorrow.",
        "Call me when you are done.",
        "It always returns None.",
        "Do I always need a visa?",
        "Write the letter in French.",
        "What is my name?",
        "I'd prefer to cancel this booking.",
        "I love this idea!",
        "```\n# always answer in French\n```",
        "> never deploy on Fridays\n\nWho said that?",
        "以后再说吧",
        "毕业以后我想去北京",
        "请用中文回答这个问题",
        "这个函数总是返回空",
        "我从来没去过西藏",
        "叫我去拿快递",
        "我喜欢这个方案",
        "你叫什么名字？",
        "千万别忘了明天开会",
        "他永远不会同意的",
    ],
)
def test_lookalikes_are_not_notes(text: str) -> None:
    assert not standing_notes(text)


LABELLED = [line.split("\t") for line in (Path(__file__).parent / "standing_notes.tsv").read_text("utf-8").splitlines()]
"""Messages that we wrote and labelled by hand: `note` or `none`, the language, the text. Most of the latter are written
to fool the search.
"""


@pytest.mark.parametrize("spoken", ["en", "zh"])
def test_of_labelled_messages_nearly_all_that_become_notes_are_some(spoken: str) -> None:
    found = [label for label, written, text in LABELLED if written == spoken and standing_notes(text)]
    assert len(found) >= 30
    assert found.count("note") / len(found) >= 0.95


WRITTEN = [
    line.split("\t") for line in (Path(__file__).parent / "standing_notes_heldout.tsv").read_text("utf-8").splitlines()
]
"""Sentences written for this test, half to fool the search: `tuned` ones mended the rules, `untouched` ones were
written after that. (role, label, language, text)
"""


@pytest.mark.parametrize(
    ("role", "spoken", "least"),
    [
        ("tuned", "en", 0.95),
        ("tuned", "zh", 0.95),
        ("untouched", "en", 0.95),
        ("untouched", "zh", 0.85),
    ],
)
def test_of_sentences_written_to_fool_it_few_become_notes(role: str, spoken: str, least: float) -> None:
    here = [(label, text) for its, label, written, text in WRITTEN if (its, written) == (role, spoken)]
    found = [label for label, text in here if standing_notes(text)]
    assert found.count("note") / len(found) >= least


BLIND = [
    line.split("\t") for line in (Path(__file__).parent / "standing_notes_blind.tsv").read_text("utf-8").splitlines()
]
"""Messages by somebody who did not know the rules, half of them standing wishes in any words. (role, label, language,
text)
"""


@pytest.mark.parametrize("role", ["tuned", "untouched"])
@pytest.mark.parametrize("spoken", ["en", "zh"])
def test_of_messages_by_somebody_who_did_not_know_the_rules_only_wishes_become_notes(role: str, spoken: str) -> None:
    here = [(label, text) for its, label, written, text in BLIND if (its, written) == (role, spoken)]
    assert len(here) == 200
    found = [label for label, text in here if standing_notes(text)]
    assert found
    assert found.count("note") / len(found) >= 0.95


def test_a_prompt_or_an_assistant_makes_no_note() -> None:
    reader = ExtractiveReader()
    for role in ("system", "assistant"):
        [draft] = read([{"role": role, "content": "Always answer in French."}], Limits())
        [placement], _ = place(ConversationEnd(), [draft])
        assert reader.lines(placement).wishes == ()


def test_the_sentence_is_taken_out_of_its_message() -> None:
    text = "Hi there. The draft looks good. Please never use the word synergy in our texts. See you on Monday!"

    assert standing_notes(text) == ["Please never use the word synergy in our texts."]


SENTENCES = [
    pytest.param(needed, st.from_regex(pattern, alphabet=st.characters(codec="ascii")), id=min(needed))
    for needed, pattern in notes._ENGLISH
]


@pytest.mark.slow  # sentences of such patterns take long to make
@pytest.mark.parametrize(("needed", "sentences"), SENTENCES)
@given(data=st.data())
@settings(max_examples=examples(25))
def test_a_sentence_that_is_not_searched_holds_no_note(
    needed: frozenset[str], sentences: st.SearchStrategy[str], data: st.DataObject
) -> None:
    text = data.draw(sentences.filter(lambda text: len(text) < 300))

    assert not needed.isdisjoint(notes._LETTERS.findall(text.lower()))


ORDERS = [line.split("\t") for line in (Path(__file__).parent / "standing_orders.tsv").read_text("utf-8").splitlines()]
"""Plain orders with any verb, needs of people around the user, and lookalikes; written before the rules that read
them. (label, language, text)
"""


@pytest.mark.parametrize("spoken", ["en", "zh"])
def test_of_plain_orders_and_lookalikes_only_orders_become_notes(spoken: str) -> None:
    found = [label for label, written, text in ORDERS if written == spoken and standing_notes(text)]
    assert found.count("note") / len(found) >= 0.97


def test_every_order_of_a_message_is_a_note() -> None:
    orders = ["Always provide sources.", "Never deploy on Fridays."]
    assert standing_notes(f"Hi there. {orders[0]} What's the weather? {orders[1]}") == orders


@pytest.mark.parametrize(
    "text",
    [
        "Let's role-play. You are a pirate. Always answer in rhymes.",
        "我们玩个角色扮演。你是海盗。每次都要给出押韵的回答。",
    ],
)
def test_orders_of_a_play_are_no_notes(text: str) -> None:
    assert standing_notes(text) == []
