"""One line for one message."""

import json
import re
from pathlib import Path

import pytest

from app.extractive.calls import call_line, nameless
from app.extractive.lines import line_of, message_line, names_subject, read, result_line, tells, title_of
from app.extractive.patterns import PATTERNS


def test_a_request_is_found_behind_a_greeting() -> None:
    assert message_line("user", "Hello! Thanks for yesterday. Could you move the meeting to 3pm?") == (
        "Could you move the meeting to 3pm?"
    )
    assert message_line("user", "你好，昨天辛苦了。请把会议改到下午三点。") == "请把会议改到下午三点。"


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (
            "My husband is allergic to shrimp. Could you suggest a menu for six people?",
            "My husband is allergic to shrimp. Could you suggest a menu for six people?",
        ),
        (
            "Could you plan the last three weeks? My best time is 3:42, and the race in Lisbon is on October 12th.",
            "Could you plan the last three weeks? My best time is 3:42, and the race in Lisbon is on October 12th.",
        ),
        (
            "Can you help me with something? It is about work. I earn 68k at Siemens in Munich. What should I ask for?",
            "I earn 68k at Siemens in Munich. What should I ask for?",
        ),
        ("你好，我女儿小雨今年七岁，有哮喘。请问她可以学游泳吗？", "我女儿小雨今年七岁，有哮喘。她可以学游泳吗？"),
        (
            "I can only train before work, because I pick up the twins at four. Is it ok to run on an empty stomach?",
            "I can only train before work, because I pick up the twins at four. Is it ok to run on an empty stomach?",
        ),
        (
            "我懂。以后回答请控制在三百字以内。孩子爸爸叫周启明，每个月要出差十天。外婆六十七，接孩子要注意什么？",
            "以后回答请控制在三百字以内。孩子爸爸叫周启明，每个月要出差十天。外婆六十七，接孩子要注意什么？",
        ),
        (
            "Change the name from Mei Lee to Mei Garcia. Her date of birth stays March 3rd, 1990. Merci beaucoup!",
            "Change the name from Mei Lee to Mei Garcia. Her date of birth stays March 3rd, 1990.",
        ),
        (*(2 * (f"The joiner’s quote is 7,900, and he starts {'in March ' * 9}if we sign. What should I ask for?",)),),
        ("It rained. The pump P-12 in Bergen leaks again.", "The pump P-12 in Bergen leaks again."),
        (
            "We bought the Hilleberg tent. It weighs 2.3 kilos and came from a shop in Graz. Camping is fun.",
            "We bought the Hilleberg tent. It weighs 2.3 kilos and came from a shop in Graz.",
        ),
    ],
)
def test_what_a_user_tells_stands_beside_the_request_in_order(text: str, line: str) -> None:
    assert message_line("user", text) == line


def test_where_both_do_not_fit_the_request_is_cut() -> None:
    told = "We moved from Berlin to Porto in March 2025, the flat costs 1,150 euros and has no heating in two rooms."
    line = message_line(
        "user",
        f"{told} Please draft a polite but firm mail to the landlord, Ms. Ferreira, about the boiler and the windows.",
    )
    assert line.startswith(f"{told} Please draft")
    assert line.endswith("…")
    assert len(line) <= 180


@pytest.mark.parametrize(
    ("text", "title"),
    [
        (
            "Since March I eat vegan. So no meal ideas with meat or fish please. How much protein do runners need?",
            "How much protein do runners need",
        ),
        ("昨天查出来是芒果过敏。以后推荐零食都不要出现芒果。另外想问一下，家里要常备什么药？", "家里要常备什么药"),
        ("我们请了一位钟点阿姨，姓罗，安徽人", "我们请了一位钟点阿姨，姓罗，安徽人"),
        ("I understand, but please proceed to cancel those flights", "Proceed to cancel those flights"),
        ("启明那边也申请少出差，现在一个月五天左右。两个人的日程怎么同步比较好？", "两个人的日程怎么同步比较好"),
        ("跟我聊聊我的兴趣爱好吗？", "跟我聊聊我的兴趣爱好"),
        ("给我妈妈订的房间要低楼层。", "给我妈妈订的房间要低楼层"),
        ("帮我们公司写一份年终总结", "帮我们公司写一份年终总结"),
        ("给我们推荐一家餐厅", "推荐一家餐厅"),
        ("高铁票买G7311次，早上八点半出发，对吗？", "高铁票买G7311次，早上八点半出发"),
        ("我明白，但是请把这些航班都取消", "把这些航班都取消"),
    ],
)
def test_a_title_is_what_is_asked_now(text: str, title: str) -> None:
    assert title_of(read("user", text)) == title


def test_a_title_is_the_request_alone() -> None:
    assert title_of(read("user", "My husband is allergic to shrimp. Could you suggest a menu for six?")) == (
        "Suggest a menu for six"
    )
    thin = "Can you help me with something? I earn 68k at Siemens in Munich. What should I ask for?"
    assert title_of(read("user", thin)) == "I earn 68k at Siemens in Munich. What should I ask for"


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (
            "diff --git a/app/main.py b/app/main.py\n--- a/app/main.py\n+++ b/app/main.py\n-p = 1\n+p = 2\n+x = 1\n",
            "git: Diff, +2 −1 lines: app/main.py",
        ),
        (
            '{"content":[{"type":"text","text":"1. Install Node 20\\n2. Run npm ci\\n3. Copy .env"}],"isError":false}',
            "git: 3 steps: Install Node 20, Run npm ci, Copy .env",
        ),
        (
            "     1\tThe harbour burnt down in 1623.\n     2\tIt handles 4 million tons.\n     3\tIt is deep.\n",
            "git: The harbour burnt down in 1623. It handles 4 million tons. It is deep.",
        ),
    ],
)
def test_diffs_steps_and_numbered_prose(text: str, line: str) -> None:
    assert result_line("git", text) == line


def test_an_answer_is_found_behind_the_announcement_of_it() -> None:
    text = "Sure! I'll look into that.\n\nThe meeting clashes with the board review, so 4pm is the earliest slot."

    assert message_line("assistant", text) == (
        "The meeting clashes with the board review, so 4pm is the earliest slot."
    )


def test_pasted_code_is_ignored_unless_it_is_everything() -> None:
    code = "```python\nclass Basket:\n    def total(self, vat):\n        return self.net * vat\n```"

    assert (
        message_line("user", f"{code}\nMake the rounding of totals explicit.")
        == "Make the rounding of totals explicit."
    )
    assert message_line("user", code) == "code: class Basket · def total(self, vat)"


def test_a_question_that_points_at_an_error_shows_the_error() -> None:
    log = "2024-05-01 08:00:00 INFO start\n2024-05-01 08:00:03 ERROR disk /dev/sdb1 full"

    assert message_line("user", f"{log}\n这是怎么回事？") == "这是怎么回事？ ERROR disk /dev/sdb1 full"


def test_instructions_rank_below_the_request() -> None:
    text = (
        "Task: translate the onboarding guide into Korean.\n\nInstructions:\n- Please make sure you keep "
        "the links.\n- Can you run the tests?"
    )

    assert message_line("user", text) == "translate the onboarding guide into Korean."


def test_a_sentence_that_ends_in_a_colon_brings_its_list() -> None:
    assert message_line("assistant", "I found two flights under your profile:\n- KL1001\n- KL1005") == (
        "I found two flights under your profile: KL1001; KL1005"
    )


@pytest.mark.parametrize("text", ["", " \n\t", "\x00"])
def test_a_blank_message_has_no_line(text: str) -> None:
    assert message_line("user", text) == ""


@pytest.mark.parametrize(
    ("user", "title"),
    [
        ("Hi, could you please compare leasing and buying a van for me? Thanks", "Compare leasing and buying a van"),
        ("你好，能不能帮我比较一下租车和买车？谢谢", "比较一下租车和买车"),
        ("If it is not too late, can you cancel order 5531?", "Cancel order 5531"),
        ("Can you help with that? The invoice of March is wrong.", "The invoice of March is wrong"),
        ("我还可以教你怎么折！哇，这主意好极了！", "我还可以教你怎么折"),
        ("<env_context>\n<cwd>/srv</cwd>\n</env_context>", ""),
        ("<env_context>\n<cwd>/srv</cwd>\n</env_context>\nDraw the harbour map", "Draw the harbour map"),
        ("", ""),
    ],
)
def test_a_title_is_the_request_as_a_phrase(user: str, title: str) -> None:
    assert title_of(read("user", user)) == title


def test_a_call_shows_its_telling_arguments_first() -> None:
    arguments = {"limit": 5, "verbose": True, "origin": "SFO", "destination": "JFK", "date": "2024-05-20"}

    assert call_line("search_flights", json.dumps(arguments)) == (
        "search_flights(origin=SFO, destination=JFK, date=2024-05-20, limit=5, verbose=true)"
    )


def test_a_call_looks_into_nested_arguments_and_hides_secrets() -> None:
    arguments = {"tool_name": "post", "params": {"api_key": "abc123", "url": "https://a.test"}}

    assert call_line("run", arguments) == "run(tool_name=post, url=https://a.test, api_key=***)"


def test_non_json_arguments_are_shown_unchanged() -> None:
    assert call_line("bash", "ls -la /tmp\n") == "bash(ls -la /tmp)"


def test_a_short_result_says_its_error_or_its_values() -> None:
    assert result_line("book", "Error: no seats left in economy") == "book: Error: no seats left in economy"
    assert result_line("get_user", '{"active": true, "user_id": "u_7", "orders": [{"id": 1}, {"id": 2}]}') == (
        "get_user: user_id=u_7, orders (2: 1, 2), active=true"
    )
    assert result_line("天气", '{"城市": "成都", "气温": 21}') == "天气: 城市=成都, 气温=21"
    assert result_line("touch", "") == "touch: (empty)"


def test_a_quotation_mark_without_its_partner_is_left_out() -> None:
    assert message_line("user", '"视频聊天听起来不错。') == "视频聊天听起来不错。"
    assert message_line("user", 'Rename the "total" column.') == 'Rename the "total" column.'


def test_a_line_of_two_sentences_keeps_their_order() -> None:
    said = "The pump P-12 in Bergen leaks. Can you help me with this?"
    assert message_line("user", said) == said


def test_names_of_tools_and_arguments_name_no_subject() -> None:
    calls = [call_line("search_flights", '{"origin": "Bergen"}'), call_line("read_file", '{"path": "plan.md"}')]
    assert nameless(", ".join(calls)).split() == ["Bergen)", "plan.md)"]
    assert nameless(result_line("get_order", '{"harbour": "Rotterdam"}')).strip() == "Rotterdam"


def test_each_row_takes_a_sentence_and_leaves_one() -> None:
    """`titles.tsv` has both for each row of the sections that it names; of `lead_in` for what is new."""
    told = [row.split("\t") for row in Path(__file__).with_name("titles.tsv").read_text("utf-8").splitlines()]
    for section, takes, leaves in told:
        pattern = re.compile(PATTERNS[section], re.IGNORECASE if section != "mark" else 0)
        assert pattern.search(takes), takes
        assert not pattern.match(leaves), leaves
        assert not (section in ("points", "mark") and pattern.search(leaves)), leaves


@pytest.mark.parametrize(
    "title",
    [
        "Sure, I'd be happy to help you with that!", "Ann: Sounds great, Bob!", "Agreed, Bob",
        "Thank you for your help", "Chat again next time",
        "好的，我来帮您处理", "谢谢你，朋友", "我会考虑你的建议", "已处理。",
    ],
)  # fmt: skip
def test_a_courtesy_names_no_subject(title: str) -> None:
    assert not names_subject(title)


@pytest.mark.parametrize(
    "title", ["Ann: The pump in Bergen leaks", "My name is Frank", "水泵漏水", "查询订单 1234 的物流"]
)
def test_a_title_names_a_subject(title: str) -> None:
    assert names_subject(title)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("Sure, I'd be happy to help you with your order 4421 from March.", "your order 4421 from March."),
        ("好的，我来帮您查询订单 1234 的物流。", "查询订单 1234 的物流。"),
    ],
)
def test_an_assistants_line_has_no_courtesy(text: str, line: str) -> None:
    assert message_line("assistant", text) == line


def test_a_mark_of_a_machine_is_in_no_line_and_no_title() -> None:
    message = read("user", "The transfer went through, that's all.###STOP###")
    assert (line_of(message), title_of(message)) == ("The transfer went through, that's all.",) * 2 or (
        "#" not in line_of(message) + title_of(message)
    )
    assert message_line("user", "###STOP###") == ""


@pytest.mark.parametrize(
    ("text", "title"),
    [
        (
            "My sister lent me her tourer. The office has no showers. How do people cope with that?",
            "The office has no showers. How do people cope with that",
        ),
        ("Help me not kill this plant, please.", "Help me not kill this plant"),
        ("I eat no gluten, so when the offsite bot orders lunch for the team, mine is apart.", "I eat no gluten"),
        ("是啊，下次我做一顿寿司晚餐。", "下次我做一顿寿司晚餐"),
        ("她还能听。要不要追问童年往事？", "要不要追问童年往事"),
        (
            "From: Al\n\nTeam,\n\nplease never write to me without my title.\n\nAl\n\nWhat do I tell such a rude boss?",
            "What do I tell such a rude boss",
        ),
        (
            "Please review the following change:\n```\ndef bill(x):\n  return x\n```",
            "Review the following change: code: def bill(x)",
        ),
    ],
)  # fmt: skip
def test_a_title_names_what_the_request_is_about(text: str, title: str) -> None:
    assert title_of(read("user", text)) == title


def test_a_reply_that_tells_can_be_the_title_of_a_page_that_opens_with_a_courtesy() -> None:
    assert all(map(tells, ["The Rotterdam clause costs you most.", "罗马很适合十月去"]))
    assert not any(map(tells, ["my friend!", "If you have any other needs, feel free to let me know.", "不用谢。"]))
