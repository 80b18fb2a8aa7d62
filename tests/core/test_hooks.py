"""The decision about an agent's event, as a value."""

from __future__ import annotations

import json
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.edge.hooks import ANSWER_TOKENS_MAX, Agent, Event, HookPlan, answer, named, plan
from app.core.messages import Limits, read
from app.errors import Invalid
from tests.hooks.kit import event, prompt, stop, used

texts = st.text("ab 7\n\0好", max_size=6)
scalars = st.none() | st.booleans() | st.integers() | texts
json_values = scalars | st.lists(scalars, max_size=3) | st.dictionaries(texts, scalars, max_size=3)
fields = st.sampled_from(
    ["prompt", "tool_name", "tool_input", "tool_response", "tool_use_id", "last_assistant_message", "source", "turn_id"]
)
names = st.sampled_from(["UserPromptSubmit", "PostToolUse", "Stop", "SessionStart", "PreCompact", "SessionEnd", "New"])


def of(sent: Any, agent: Agent = "claude-code") -> Event:
    return Event(agent, sent["session_id"], sent["hook_event_name"], sent)


@given(names, st.dictionaries(fields, json_values), st.integers(0, 9))
def test_what_is_stored_is_whole_and_what_is_refused_names_its_field(name: str, data: Any, seq: int) -> None:
    """A result is never stored without its call, nor a call without its result."""
    try:
        decided = plan(of(event(name, **data)))
    except Invalid as error:
        [problem] = error.errors
        assert problem["loc"][0] == "body"
        return
    new = named(decided, None, seq)
    roles = [message["role"] for message in new]
    assert roles in ([], ["user"], ["assistant"], ["assistant", "tool"])
    if roles == ["assistant", "tool"]:
        [call] = new[0]["tool_calls"]
        assert call["id"] == new[1]["tool_call_id"]
        assert isinstance(json.loads(call["function"]["arguments"]), dict)
    if new:
        assert len(read(new, Limits())) == len(new)


@given(st.sampled_from([prompt("Go on."), stop("Done."), used("seen"), used("seen", tool_use_id="t2")]), st.integers(1))
def test_an_event_that_repeats_what_was_stored_last_is_the_same(sent: Any, seq: int) -> None:
    newest = named(plan(of(sent)), None, seq - 1)[-1]["client_id"]
    again = named(plan(of(sent)), newest, seq)
    assert again == [] or again == named(plan(of(sent)), None, seq - 1)


def test_a_failed_tool_is_stored_with_its_error() -> None:
    sent = event("PostToolUseFailure", tool_name="Bash", tool_input={"command": "ls"}, tool_use_id="t", error="exit 1")
    call, result = plan(of(sent)).messages
    assert call["tool_calls"][0]["function"]["name"] == "Bash"
    assert result == {"role": "tool", "tool_call_id": "t", "content": "Error: exit 1"}
    with pytest.raises(Invalid, match="error"):
        plan(of({name: value for name, value in sent.items() if name != "error"}))


def test_a_sub_agents_call_is_marked() -> None:
    sent = {**used("seen"), "agent_type": "Explore"}
    assert plan(of(sent)).messages[0]["content"] == "[sub-agent: Explore]"
    assert plan(of(used("seen"))).messages[0]["content"] is None


def test_the_same_words_can_be_said_again_later() -> None:
    first = named(plan(of(prompt("Go on."))), None, 0)[0]["client_id"]
    answered = named(plan(of(stop("Done."))), first, 1)[0]["client_id"]
    [later] = named(plan(of(prompt("Go on."))), answered, 2)
    assert later["client_id"] != first


@pytest.mark.parametrize("field", ["tool_use_id", "prompt_id", "turn_id"])
def test_ids_make_an_event_the_same_whenever_it_arrives(field: str) -> None:
    sent = used("seen", **{field: "one"}) if field == "tool_use_id" else prompt("Go on.", **{field: "one"})
    assert named(plan(of(sent)), "other", 7) == named(plan(of(sent)), None, 0)
    other = named(plan(of({**sent, field: "two"})), None, 0)
    assert other[0]["client_id"] != named(plan(of(sent)), None, 0)[0]["client_id"]


@pytest.mark.parametrize(
    ("sent", "field"),
    [
        (event("UserPromptSubmit"), "prompt"),
        (event("UserPromptSubmit", prompt=7), "prompt"),
        (event("PostToolUse", tool_response="x"), "tool_name"),
        (event("PostToolUse", tool_name="Bash"), "tool_response"),
        (used("x", tool_name="a\n"), "tool_name"),
        (used("x", tool_use_id=""), "tool_use_id"),
        (event("Stop", last_assistant_message=[]), "last_assistant_message"),
    ],
)
def test_bad_input_names_its_field(sent: Any, field: str) -> None:
    with pytest.raises(Invalid) as caught:
        plan(of(sent))
    assert caught.value.errors[0]["loc"] == ["body", field]


@pytest.mark.parametrize(
    "sent",
    [
        prompt("  "), stop(""), event("Stop"), event("PreCompact", trigger="auto"), event("SessionEnd"),
        event("SessionStart", source="startup"), used("found", tool_name="mcp__quire__search_memories"),
    ],
)  # fmt: skip
def test_nothing_is_stored_of_quires_own_output_and_of_what_says_nothing(sent: Any) -> None:
    assert plan(of(sent)) == HookPlan()


def test_unknown_events_do_not_concern_quire() -> None:
    assert plan(of(event("SubagentStop", last_assistant_message=7))) == HookPlan(is_known=False)


@pytest.mark.parametrize(("source", "reply"), [("compact", "head"), ("resume", "head"), ("clear", None), (None, None)])
def test_the_head_answers_a_compaction_and_a_resumption(source: Any, reply: Any) -> None:
    assert plan(of(event("SessionStart", source=source))).reply == reply


@pytest.mark.parametrize(
    ("response", "text"),
    [
        ("plain", "plain"),
        ([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}], "a\nb"),
        ({"stdout": "好", "stderr": ""}, '{"stdout":"好","stderr":""}'),
        ([], "[]"),
        (None, "null"),
    ],
)
def test_a_result_of_any_form_is_text(response: Any, text: str) -> None:
    assert plan(of(used(response))).messages[1]["content"] == text


def test_a_long_answer_is_no_answer() -> None:
    asked = of(prompt("Which tea?"))
    assert answer(asked, "tea", ANSWER_TOKENS_MAX + 1) == answer(asked, None, 0) == {}
    output = cast("dict[str, Any]", answer(asked, "tea", ANSWER_TOKENS_MAX)["hookSpecificOutput"])
    assert output == {"hookEventName": "UserPromptSubmit", "additionalContext": "tea"}


@pytest.mark.parametrize(
    "image",
    [
        {"type": "image", "mimeType": "image/png", "data": "iVBORw0KGgo+" * 40},
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo+" * 40}},
        {
            "type": "resource",
            "resource": {"uri": "file:///a.png", "mimeType": "image/png", "blob": "iVBORw0KGgo+" * 40},
        },
    ],
)
def test_a_mark_with_type_and_size_stands_for_a_file_in_a_result(image: dict[str, Any]) -> None:
    sent = event(
        "PostToolUse", tool_name="plot", tool_input={}, tool_response=[{"type": "text", "text": "done"}, image]
    )
    content = plan(of(sent)).messages[1]["content"]
    assert "iVBOR" not in content
    assert "done" in content
    assert "[image/png, 360 bytes]" in content


def test_two_images_of_one_size_are_two_events() -> None:
    def digest(data: str) -> str:
        image = {"type": "image", "mimeType": "image/png", "data": data * 100}
        return plan(of(event("PostToolUse", tool_name="plot", tool_input={}, tool_response=[image]))).digest

    assert digest("Zm9v") != digest("YmFy")
