"""What of a conversation is asked about, what counts as held, and what the other ways of remembering keep."""

from typing import Any

from bench.window import money
from bench.window.evidence import SAMPLE, WORDS_MAX, Asked, Evidence, evenly, rarest, telling, texts_of, wanted
from bench.window.money import Said


def message(role: str, content: str) -> dict[str, Any]:
    return {"role": role, "content": content}


def said(role: str, text: str, tokens: int) -> Said:
    return Said(text, tokens, role)


def test_the_rarest_words_of_a_message_are_those_that_the_fewest_messages_have() -> None:
    common = {"pallets": 3, "lyon": 1, "batteries": 2, "driver": 5, "invoice": 8, "ramp": 13, "truck": 21, "cold": 34}
    assert rarest(common, common) == ["lyon", "batteries", "pallets", "driver", "invoice", "ramp"]
    assert len(rarest(common, common)) == WORDS_MAX


def test_words_that_are_equally_rare_are_taken_from_all_parts_of_a_text() -> None:
    words = [f"word{number:03}" for number in range(300)]
    taken = [words.index(word) for word in rarest(words, dict.fromkeys(words, 1))]
    assert max(taken) - min(taken) > 100


def test_stop_words_and_single_characters_are_ignored() -> None:
    assert telling(("What would you do in x = 7, with the tea?",)) == {"tea"}
    assert "乌龙茶" in telling(("我 最 喜欢 乌龙茶",))


def test_vague_messages_and_system_prompts_are_not_sampled() -> None:
    history = [
        message("system", "Answer politely, briefly, truthfully."),
        message("user", "ok thanks"),
        message("user", "The truck from Lyon came late."),
    ]
    (asked,) = wanted(history)
    assert asked.texts == ("The truck from Lyon came late.",)
    assert set(asked.query.split()) == {"truck", "lyon", "came", "late"}


def test_a_calls_arguments_count_as_text_of_its_message() -> None:
    call = {"id": "c1", "function": {"name": "search", "arguments": '{"city": "Lyon"}'}}
    assert texts_of({"role": "assistant", "content": None, "tool_calls": [call]}) == ('{"city": "Lyon"}',)


def test_the_sample_is_bounded_and_spans_the_conversation() -> None:
    taken = evenly(range(1000), SAMPLE)
    assert len(set(taken)) == SAMPLE
    assert taken[0] == 0
    assert taken[-1] > 990
    assert evenly([3, 5], SAMPLE) == [3, 5]


def test_evidence_is_verbatim_text_and_duplicates_count_once() -> None:
    asked = [Asked((text,), "") for text in ("Lyon is late.", "Marta knows.", "The ramp broke.", "Marta knows.")]
    known = Evidence(asked, {("Marta knows.",): 7})
    window = [message("system", "Pages 1-3: Lyon"), message("user", "You said: Lyon is late. Why?")]
    assert known.held(window) == 1 / 4
    assert [one.texts for one in known.lost(window)] == [("The ramp broke.",)]
    assert [known.found_within(places) for places in (5, 10)] == [0, 2]


def test_the_newest_that_fit_begin_with_a_user_message() -> None:
    history = [said(role, str(at), 10) for at, role in enumerate(("user", "assistant") * 3)]
    assert [one.text for one in money.fitting(history, 45)] == ["2", "3", "4", "5"]
    assert [one.text for one in money.fitting(history, 5)] == ["4", "5"]


def test_an_oversized_turn_keeps_its_message_and_newest_call_groups() -> None:
    turn = [said("user", "do", 10)] + [
        said(role, f"{role} {at}", 10) for at in range(4) for role in ("assistant", "tool")
    ]
    assert [one.text for one in money.fitting(turn, 55)] == ["do", "assistant 2", "tool 2", "assistant 3", "tool 3"]
    assert [one.text for one in money.fitting(turn, 5)] == ["do", "assistant 3", "tool 3"]


def test_a_rolling_summary_replaces_what_it_covers() -> None:
    history = [said("system", "rules", 100)]
    history += [said(role, f"{role} {at}", 100) for at in range(10) for role in ("user", "assistant")]
    way = money.summarised(history, range(2, 22, 2), budget=1_500)
    assert all(prompt[0] == ("rules", 100) for prompt in way.prompts)
    assert all(sum(tokens for _, tokens in prompt) <= 1_500 for prompt in way.prompts)
    versions = [[text for text, _ in prompt if text.startswith("summary")] for prompt in way.prompts]
    assert versions[0] == []
    assert versions[-1] != []
    assert way.read > 0
    assert way.bill().plain == way.read + sum(tokens for prompt in way.prompts for _, tokens in prompt)
