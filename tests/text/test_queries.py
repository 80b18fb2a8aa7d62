"""What a query tells: whether it has a subject, and by which words; and how much a message asks."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.text.bm25 import ASKING, document
from app.text.queries import bare, has_subject, repeating, subject_of, tells

NOTHING = """
thanks|Thank you so much, that was really helpful!|ok|Sounds good, go ahead.
Great job!|Good morning! How are you?
yes please|Continue.|got it, makes sense|What do you think?|bye, see you later|THANKS!!!
Can you say that again?
谢谢|非常感谢你的帮助!|好的|可以,就这样吧|太棒了!|早上好,最近怎么样?
继续|没问题,谢谢啦|能再说一遍吗?|謝謝|再试一次|嗯嗯
What now?|and now?|So what comes next?|What did we talk about last time?|what were we discussing?|Do you remember?|done
接下来呢?|那现在呢?|下一步是什么?|我们刚才聊到哪了?|上次说的那个|你还记得吗?|我们讨论了什么?
""".replace("\n", "|")
SUBJECTS = """
What do I like?|Where do I work?|What's my name?|What is my job?|When do we meet?
Who was that director we talked about?|What did you mention about Oslo?|我们聊过的导演是谁?|讨论班几点开始?
Thanks, and which tea was it?|42nd street|Who am I?|我是谁?
我喜欢什么?|我叫什么名字?|我在哪里工作?|我家的狗叫什么?|谢谢,那家面馆叫什么?|kubectl|QX7-4410
""".replace("\n", "|")


@pytest.mark.parametrize("text", [text for text in NOTHING.split("|") if text] + ["", " ", "?!…", "👍"])
def test_small_talk_has_no_subject(text: str) -> None:
    assert not has_subject(text)


@pytest.mark.parametrize("text", [text for text in SUBJECTS.split("|") if text])
def test_other_texts_have_a_subject(text: str) -> None:
    assert has_subject(text)


@pytest.mark.parametrize(("query", "subject"), [
    ("Who was that director we talked about?", "Who was that director?"),
    ("The film that you mentioned earlier, what is its name?", "The film, what is its name?"),
    ("我们刚才聊到的那个导演是谁?", "那个导演是谁?"), ("你之前提到的餐厅叫什么?", "餐厅叫什么?"),
    ("What did Ann talk about?", "What did Ann talk about?"), ("What did we discuss?", "What did we discuss?"),
    ("Ann: we talked about tea\nBen: did we discuss it?", "Ann: we talked about tea\nBen: did we discuss it?"),
])  # fmt: skip
def test_that_it_was_talked_about_is_no_subject(query: str, subject: str) -> None:
    assert subject_of(query) == subject


@given(st.text(max_size=300))
def test_every_text_is_taken(text: str) -> None:
    assert has_subject(text) in (True, False)


def test_the_question_asked_again_answers_nothing() -> None:
    query = "Which tea do I prefer?"
    texts = ["which tea do I prefer?", "Which tea do I prefer ?", "I prefer tea.", "My favourite tea is longjing."]
    assert repeating(texts, query) == {*texts[:3]}  # a statement is shown all the same
    chinese = ["我更喜欢哪种茶?", "我最喜欢的茶是龙井。"]
    assert repeating(chinese, "我更喜欢哪种茶") == {chinese[0]}


@pytest.mark.parametrize(("said", "texts"), [
    ("Sum up", ["[document]\nSum up", "ok", "sum up.", "Sum up the contract of May"]),
    ("总结一下这份文件", ["[file]\n总结一下这份文件", "好的", "总结一下这份文件。", "这份文件是五月的合同"]),
])  # fmt: skip
def test_what_repeats_what_was_just_said_tells_no_more(said: str, texts: list[str]) -> None:
    repeats = repeating(texts, said)
    assert [text for text in texts if text not in repeats and tells(bare(text))] == [texts[3]]


@given(st.text(max_size=30), st.text(max_size=30))
def test_a_text_and_its_beginning_repeat_it(said: str, more: str) -> None:
    assert repeating([said], said) == {said}
    assert repeating([said], f"{said}\n{more}") == {said}


@pytest.mark.parametrize(
    "text",
    [
        "we talked about that", "which I had already mentioned to you", "what we were only discussing",
        "as previously discussed", "did we ever go over that", "have you gone over what we brought up before",
        "can you bring up what we chatted on", "what we spoke of",
    ],
)  # fmt: skip
def test_words_that_only_refer_to_the_talk_are_no_subject(text: str) -> None:
    assert not has_subject(text)
    assert has_subject(f"{text} boiler")


@pytest.mark.parametrize(("bare", "told"), [
    ("What should I bring her?", "My sister Edith moved to Harlesden in May. What should I bring her?"),
    ("带什么礼物好吗？", "我妹妹五月搬到了清水湾小区。带什么礼物好吗？"),
])  # fmt: skip
def test_a_message_asks_less_the_more_it_tells(bare: str, told: str) -> None:
    assert _asking(bare) == 1
    assert 0 < _asking(told) < 0.5


def _asking(text: str) -> float:
    (component,) = re.findall(r"\d+", ASKING.partition(":")[0])
    return float(dict(re.findall(r"(\d+):([\d.]+)", document(text)))[component])
