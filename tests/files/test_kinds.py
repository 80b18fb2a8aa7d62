"""Files of other tools are known by their content, and come out as messages that an import takes."""

from __future__ import annotations

import json
import random
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.messages import Limits, read
from app.errors import QuireError
from quire_command.files import kinds, lines
from quire_command.files.reading import Document, document
from quire_command.files.values import Memory, Skipped, Talk
from tests.files.samples import (
    CLAUDE_CODE,
    CODEX,
    DOCUMENTS,
    HINDSIGHT,
    MESSAGES,
    NAMED,
    OPEN_WEBUI_ITEMS,
    Json,
    chatgpt,
    line,
    node,
    recorded,
)

ROLES = "user, assistant, tool, developer, system"


def talks(source: str, found: Document) -> list[Talk]:
    return [one for one in kinds.found_in(found, kinds.BY_NAME[source]) if isinstance(one, Talk)]


def texts(talk: Talk) -> list[str]:
    return [draft.text or "".join(result.text for result in draft.results) for draft in drafts(talk)]


def drafts(talk: Talk) -> list[Any]:
    return read([message for message, _ in talk.said], Limits())


@pytest.mark.parametrize("source", DOCUMENTS)
def test_a_file_is_known_by_its_content(source: str) -> None:
    kind = kinds.kind_of(DOCUMENTS[source])
    assert kind is not None
    assert kind.name == source


@pytest.mark.parametrize("source", DOCUMENTS)
def test_a_talk_is_read_as_it_was_shown(source: str) -> None:
    main, *others = talks(source, DOCUMENTS[source])
    assert main.id == f"{source}:{NAMED.get(source, source)}"
    said = drafts(main)
    assert said[-1].text == "Here it is"
    assert "Plot it" in next(draft.text for draft in said if draft.role == "user")
    calls = {call.id: call for draft in said for call in draft.calls}
    results = {result.call_id: result.text for draft in said for result in draft.results}
    assert calls.keys() == results.keys()
    assert source in ("zep", "redis") or calls
    for ran in [call for call in calls.values() if call.name == "python"]:
        assert (json.loads(ran.arguments), results[ran.id]) == ({"input": "plot()"}, "done")
    shown = json.dumps([message for message, _ in main.said])
    assert not any(gone in shown for gone in ("replaced", "taken back", "Its answer", "sub-agent", '"hm"'))
    assert all(talk.parent == main.id or "agent" in talk.metadata for talk in others)


@pytest.mark.parametrize("source", [name for name, found in DOCUMENTS.items() if found.value is not None])
@pytest.mark.parametrize("value", [None, 1, "x", {}, [], [1], [{"role": "captain"}], {"messages": 1}, [{"mapping": 3}]])
def test_what_is_of_no_kind_is_refused(source: str, value: Any) -> None:
    assert kinds.kind_of(Document("x.json", value)) is None
    with pytest.raises(ValueError, match=r"has no|has the role|is a|of another type"):
        list(kinds.found_in(Document("x.json", value), kinds.BY_NAME[source]))


def test_a_tree_gives_a_branch_for_each_other_answer() -> None:
    main, branch = talks("chatgpt", DOCUMENTS["chatgpt"])
    assert (branch.parent, branch.shared, texts(branch)) == (main.id, 1, ["An answer that was replaced"])


def test_a_conversation_with_a_cycle_or_nothing_in_it_stops_no_other() -> None:
    cycle = chatgpt(node("a", "b", "user", "x"), node("b", "a", "assistant", "y"), current="b")
    empty: list[Json] = [{"conversation_id": "c2", "mapping": {}}]
    found = list(
        kinds.found_in(Document("c.json", [*cycle, *empty, *DOCUMENTS["chatgpt"].value]), kinds.BY_NAME["chatgpt"])
    )
    assert [type(one) for one in found] == [Skipped, Skipped, Talk, Talk]
    assert "cycle" in str(found[0])


def test_what_a_person_told_chatgpt_not_to_remember_is_left_out_and_named() -> None:
    value = [
        {**talk, "is_do_not_remember": told} for told in (None, False, True) for talk in DOCUMENTS["chatgpt"].value
    ]
    found = list(kinds.found_in(Document("c.json", value), kinds.BY_NAME["chatgpt"]))
    assert [type(one) for one in found] == [Talk, Talk, Talk, Talk, Skipped]
    assert found[-1] == Skipped("c.json, conversation 3", "ChatGPT was told not to remember it")


def test_a_half_written_line_is_left_out_and_named() -> None:
    text = "\n".join(json.dumps(one) for one in CODEX) + '\n{"type": "resp'
    found = document("r.jsonl", text.encode())
    assert found.value == CODEX
    assert found.skipped == (Skipped(f"r.jsonl, line {len(CODEX) + 1}", "it is not whole JSON"),)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"PK\x03\x04", "is a ZIP archive: unpack it first"),
        (b"\x1f\x8b\x08", "is compressed: unpack it first"),
        (b"<html>", "is XML or HTML"),
        (b"Dear diary", "is text, not JSON"),
        (b'{\n "half": 1,\n "a": [1 2]\n}', "is JSON with a mistake in line 3"),
        (b"  ", "is empty"),
        (b"[" * 100_000, "is"),
    ],
)
def test_a_file_that_is_no_document_says_what_it_looks_like(content: bytes, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        document("x", content)


def test_what_a_shell_of_windows_redirects_is_read() -> None:
    text = json.dumps(MESSAGES, ensure_ascii=False)
    assert document("m.json", text.encode("utf-16")).value == MESSAGES


def test_what_a_machine_wrote_in_the_users_role_is_no_turn() -> None:
    notes = [
        line("a", "6", "user", "<command-name>/model</command-name>"),
        line("b", "a", "user", "This session is being continued. Summary: plots.", isCompactSummary=True),
        line("c", "b", "user", [{"type": "text", "text": "<system-reminder>Empty.</system-reminder>"}], isMeta=True),
        {"type": "custom-title", "customTitle": "Plots", "sessionId": "c3"},
    ]
    [talk, agent] = talks("claude-code", Document("s.jsonl", [*CLAUDE_CODE, *notes]))
    assert texts(talk)[-1] == "Here it is"
    assert (talk.title, list(talk.summaries)) == ("Plots", ["This session is being continued. Summary: plots."])
    assert (agent.metadata["parent"], texts(agent)) == (talk.id, ["said to a sub-agent"])


def test_turns_that_were_rolled_back_are_left_out() -> None:
    rolled = [*CODEX, {"type": "event_msg", "payload": {"type": "thread_rolled_back", "num_turns": 1}}]
    again = {
        "type": "response_item",
        "payload": {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Anew"}]},
    }
    [talk] = talks("codex", Document("r.jsonl", [*rolled, again]))
    assert texts(talk) == ["Anew"]


def test_memories_keep_their_ids_their_users_and_their_end() -> None:
    rows = [
        {"id": "m", "memory": "Likes tea", "user_id": "ann", "agent_id": "desk", "metadata": {"a": 1},
         "created_at": "2025-09-25T10:31:31-07:00", "expiration_date": "2030-01-01"},
        {"id": "n", "memory": " "},
    ]  # fmt: skip
    with pytest.raises(ValueError, match="has no text"):
        list(kinds.found_in(Document("m.json", rows), kinds.BY_NAME["mem0"]))
    [memory] = kinds.found_in(Document("m.json", rows[:1]), kinds.BY_NAME["mem0"])
    assert isinstance(memory, Memory)
    assert (memory.user, list(memory.keywords), memory.expires) == ("ann", ["desk"], "2030-01-01T00:00:00+00:00")
    first, second = (list(lines.memory_lines([memory], "ann"))[1] for _ in range(2))
    assert first == second


def test_the_default_number_of_rows_is_said() -> None:
    rows = [{"id": str(n), "memory": f"fact {n}"} for n in range(20)]
    *_, left = kinds.found_in(Document("m.json", {"results": rows}), kinds.BY_NAME["mem0"])
    assert isinstance(left, Skipped)
    assert "default of get_all" in left.reason


def test_a_list_without_a_name_is_called_after_its_file() -> None:
    [talk] = talks("messages", Document("folder/tea.json", MESSAGES))
    assert talk.id == "messages:tea"


def spoiled(value: Any, chance: random.Random) -> Any:
    """A value of which members are gone, or others."""
    if chance.random() < 0.04:
        return chance.choice([None, 7, "x", [], {}, [{}], {"type": "text"}])
    if isinstance(value, dict):
        return {key: spoiled(one, chance) for key, one in value.items() if chance.random() > 0.04}
    return [spoiled(one, chance) for one in value] if isinstance(value, list) else value


@pytest.mark.parametrize("source", DOCUMENTS)
@given(seed=st.integers(0, 2**32))
def test_a_spoiled_file_is_read_or_refused(source: str, seed: int) -> None:
    whole, chance = DOCUMENTS[source], random.Random(seed)
    found = Document(
        whole.name, *(spoiled(one, chance) for one in (whole.value, dict(whole.tables), dict(whole.files)))
    )
    with suppress(ValueError):
        for talk in talks(source, found):
            sendable, _ = lines.sendable(talk, lines.now())
            with suppress(QuireError):
                drafts(sendable)


def test_what_a_person_took_back_and_what_an_agent_said_is_told_apart() -> None:
    for source in ("gemini-cli", "copilot-cli"):
        found = list(kinds.found_in(DOCUMENTS[source], kinds.BY_NAME[source]))
        assert "2 messages were taken back" in str(next(one for one in found if isinstance(one, Skipped)))
    helper = talks("copilot-cli", DOCUMENTS["copilot-cli"])[1]
    assert (texts(helper), helper.metadata) == (["said by a helper"], {"parent": "copilot-cli:c20", "agent": "explore"})
    [agent] = talks("gemini-cli", Document("main/agent-1.jsonl", recorded("gemini-cli-agent.jsonl").value))
    assert (agent.metadata["parent"], texts(agent)) == ("gemini-cli:main", ["said to a sub-agent", "Its report"])


def test_failed_calls_thoughts_titles_and_summaries_are_kept() -> None:
    [talk] = talks("gemini-cli", DOCUMENTS["gemini-cli"])
    failed = [message["tool_call_id"] for message, _ in talk.said if message.get("is_error")]
    assert (talk.title, failed) == ("Tea", ["k2"])
    assert talk.said[1][0]["reasoning_content"] == "Plan\nplot first"
    copilot = talks("copilot-cli", DOCUMENTS["copilot-cli"])[0]
    assert (copilot.title, list(copilot.summaries)) == ("Tea", ["They plotted."])


def test_a_folder_of_opencode_is_read_as_its_export() -> None:
    whole = DOCUMENTS["opencode"].value
    session = whole["info"]["id"]
    files = [Document(f"storage/session/global/{session}.json", whole["info"])]
    for message in whole["messages"]:
        key = message["info"]["id"]
        files.append(Document(f"storage/message/{session}/{key}.json", message["info"]))
        files += [Document(f"storage/part/{key}/{part['id']}.json", part) for part in message["parts"]]
    [folder] = kinds.together(files)
    assert talks("opencode", folder) == talks("opencode", DOCUMENTS["opencode"])
    reverted = {**whole, "info": {**whole["info"], "revert": {"messageID": whole["messages"][1]["info"]["id"]}}}
    [skipped, talk] = kinds.found_in(Document("x.json", reverted), kinds.BY_NAME["opencode"])
    assert "2 messages were taken back" in str(skipped)
    assert isinstance(talk, Talk)
    assert len(talk.said) == 1


def test_answers_in_items_and_prompts_of_chat_interfaces_are_read() -> None:
    [talk] = talks("open-webui", Document("c.json", OPEN_WEBUI_ITEMS))
    assert [message["role"] for message, _ in talk.said] == ["user", "assistant", "tool", "assistant"]
    for source in ("open-webui", "librechat"):
        main, branch = talks(source, DOCUMENTS[source])
        assert main.said[0][0] == {"role": "system", "content": "Be brief.", "client_id": f"{NAMED[source]}:system"}
        assert (branch.parent, texts(branch)) == (main.id, ["An answer that was replaced"])


def test_facts_of_a_bank_are_memories() -> None:
    [memory, gone, more] = kinds.found_in(Document("m.json", HINDSIGHT), kinds.BY_NAME["hindsight"])
    assert isinstance(memory, Memory)
    assert (memory.text, list(memory.keywords)) == ("Likes tea", ["world", "Ann", "Tea", "user:ann"])
    assert memory.metadata == {"source": "slack", "context": "a talk", "fact_type": "world"}
    assert "invalidated" in str(gone)
    assert "2 of 3" in str(more)


def test_shapes_of_older_and_newer_versions_are_known() -> None:
    shapes: dict[str, Any] = {
        "letta": {
            "agent_type": "memgpt_agent", "name": "desk", "core_memory": [{"label": "human", "value": "Likes tea"}],
            "messages": [{"role": "user", "content": [{"type": "text", "text": "Plot it"}], "tool_returns": []}],
        },
        "claude-code": {"loglines": [{"type": "user", "message": {"role": "user", "content": "Plot it"}}]},
        "llama-index": json.dumps({"store": {"me": [{"role": "user", "content": "Plot it"}]}, "class_name": "x"}),
        "chatgpt": [{**chatgpt(node("u", "root", "user", "Plot it"), current="u")[0], "conversation_id": None}],
    }  # fmt: skip
    ids = []
    for source, shape in shapes.items():
        found = document("old.json", json.dumps(shape).encode())
        kind = kinds.kind_of(found)
        assert kind is not None
        assert kind.name == source
        [talk] = talks(source, found)
        assert texts(talk) == ["Plot it"]
        ids.append(talk.id)
    assert ids == ["letta:desk", "claude-code:old", "llama-index:me", "chatgpt:root:None"]


def test_a_result_that_older_agents_kept_beside_its_return_is_read() -> None:
    result = {"role": "tool", "tool_call_id": "k", "content": [{"type": "text", "text": "Four."}]}
    returns: list[Json] = [{"status": "success", "stdout": []}, {"status": "error", "func_response": None}]
    agent = {"agent_type": "memgpt_agent", "messages": [{**result, "tool_returns": [one]} for one in returns]}
    [talk] = talks("letta", Document("old.af", agent))
    assert [(m["tool_call_id"], m["content"], m.get("is_error")) for m, _ in talk.said] == [
        ("k", "Four.", None),
        ("k", "Four.", True),
    ]


def test_code_that_a_chat_interface_ran_stays_where_it_stood() -> None:
    ran = '<details type="code_interpreter" output="&quot;4&quot;"><summary>Ran</summary>\n2 + 2\n</details>'
    chat = json.loads(json.dumps(OPEN_WEBUI_ITEMS))
    nodes = (chat[0] if isinstance(chat, list) else chat)["chat"]["history"]["messages"]
    answer = next(one for one in nodes.values() if one["role"] == "assistant")
    answer.pop("output")
    answer["content"] = f"Let me see.\n{ran}\nIt is four."
    [talk] = talks("open-webui", Document("c.json", chat))
    assert texts(talk)[-1] == "Let me see.\n2 + 2\n\n4\nIt is four."


def test_what_a_machine_wrote_is_counted() -> None:
    for source, rows, more in (
        ("claude-code", CLAUDE_CODE, line("a", "6", "user", "<command-name>/model</command-name>")),
        ("codex", CODEX, {"type": "response_item", "payload": {"type": "message", "role": "user", "content": [
            {"type": "input_text", "text": "<environment_context>here</environment_context>"}]}}),
    ):  # fmt: skip

        def count(value: list[Json], source: str = source) -> int:
            found = kinds.found_in(Document("s.jsonl", value), kinds.BY_NAME[source])
            reasons = [one.reason for one in found if isinstance(one, Skipped)]
            return sum(int(reason.split()[0]) for reason in reasons if "a machine's" in reason)

        assert count([*rows, more]) == count(rows) + 1


def test_what_lies_beside_a_session_is_read_with_it(tmp_path: Path) -> None:
    def result(name: str, where: str) -> Json:
        text = f"<persisted-output>\nOutput too large (2MB). Full output saved to: {where}{name}\n\nPreview:\nAll"
        return line(name, None, "user", [{"type": "tool_result", "tool_use_id": name, "content": text}])

    folder = tmp_path / "projects" / "p"
    results = folder / "c3" / "tool-results"
    (folder / "c3" / "subagents").mkdir(parents=True)
    results.mkdir()
    (results / "b1.txt").write_text("All of it")
    (results / "b2.txt").write_text("All of that")
    (tmp_path / "secret.txt").write_text("hidden")
    rows = [
        result("b1.txt", "/home/me/tool-results/"),
        result("b2.txt", "C:\\me\\tool-results\\"),
        result("b3.txt", "/"),
        result("..", "/tool-results/"),
    ]
    (folder / "c3.jsonl").write_text("\n".join(map(json.dumps, rows)))
    helper = [{**row, "isSidechain": True, "agentId": "a1"} for row in rows[:1]]
    (folder / "c3" / "subagents" / "agent-a1.jsonl").write_text("\n".join(map(json.dumps, helper)))
    (folder / "c3" / "subagents" / "agent-a1.meta.json").write_text('{"description": "Count tea"}')
    found = list(kinds.documents(tmp_path / "projects"))
    assert [one.name for one in found] == ["p/c3.jsonl", "p/c3/subagents/agent-a1.jsonl"]
    [agent], [talk] = (talks("claude-code", one) for one in sorted(found, key=lambda one: len(one.name), reverse=True))
    said = [message["content"][0]["content"] for message, _ in talk.said]
    assert said[:2] == ["All of it", "All of that"]
    assert [text.startswith("<persisted-output>") for text in said[2:]] == [True, True]
    assert (agent.title, agent.said[0][0]["content"][0]["content"]) == ("Count tea", "All of it")


def test_custom_instructions_are_proposed_and_only_the_newest() -> None:
    def told(time: int, text: str) -> Json:
        data = {"about_user_message": "A baker.", "about_model_message": text}
        content = {"content_type": "user_editable_context", "user_profile": "x", "user_instructions": "y"}
        hidden = {"is_visually_hidden_from_conversation": True, "user_context_message_data": data}
        first = node("i", "root", "user", content=content, metadata=hidden)
        [talk] = chatgpt(first, node("u", "i", "user", "Plot it"), current="u")
        return {**talk, "conversation_id": f"c{time}", "create_time": time}

    found = list(
        kinds.found_in(Document("c.json", [told(2, "In French."), told(1, "In Latin.")]), kinds.BY_NAME["chatgpt"])
    )
    memories = [one for one in found if isinstance(one, Memory)]
    assert [one.text for one in memories] == ["A baker.", "In French."]
    written = [json.loads(line) for line in lines.memory_lines(memories, "ann")][1:]
    assert all((one["status"], one["pinned"], one["source"]) == ("proposed", True, "person") for one in written)


def test_what_another_model_remembered_is_proposed_and_never_pinned() -> None:
    listed = "# Model Set Context\n\n1. [2025-04-05]. Likes longjing,\nno sugar.\n\n2. Has two cats."
    kept = {"content_type": "model_editable_context", "model_set_context": listed}
    fenced = {"content_type": "user_editable_context", "user_profile": "Of no use to most:\n```A baker.```"}
    [talk] = chatgpt(
        node("i", "root", "user", content=fenced),
        node("k", "i", "assistant", content=kept),
        node("u", "k", "user", "Plot it"),
        current="u",
    )
    file = {"path": "/profile.md", "content": "# Ann\nBakes.", "updated_at": "2026-08-24T19:55:22Z"}
    remembered = {
        "conversations_memory": "**Work**\n\nBakes.\n\n**Home**\n\nTwo cats.",
        "project_memories": {"p": "Ships."},
    }
    claude = {**remembered, "memory_files": [file], "account_uuid": "a"}
    for kind, value, expected in (
        ("chatgpt", [talk], [("A baker.", True), ("Likes longjing,\nno sugar.", False), ("Has two cats.", False)]),
        (
            "claude-ai",
            [remembered],
            [("**Work**\n\nBakes.", False), ("**Home**\n\nTwo cats.", False), ("Ships.", False)],
        ),
        ("claude-ai", claude, [("Ships.", False), ("# Ann\nBakes.", False)]),
    ):
        document = Document("m.json", value)
        assert kinds.kind_of(document) is kinds.BY_NAME[kind]
        memories = [one for one in kinds.found_in(document, kinds.BY_NAME[kind]) if isinstance(one, Memory)]
        assert [(one.text, one.more["pinned"]) for one in memories][-len(expected) :] == expected
        assert all(one.more["status"] == "proposed" for one in memories)
        assert all((one.more["source"] == "person") is one.more["pinned"] for one in memories)


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("Green \ue200cite\ue202turn0search1\ue202turn0news2\ue201.", "Green."),
        ('In \ue200entity\ue202["city","Hangzhou","China"]\ue201.', "In Hangzhou."),
        ("See \ue200url\ue202the shop\ue202https://tea.example\ue201!", "See the shop!"),
        ("\ue203Longjing\ue204 is green【12†source】", "Longjing is green"),
        ("Leaves 【绿茶】", "Leaves 【绿茶】"),
        ("Cut \ue200cite\ue202 off. Green \ue200cite\ue202turn0\ue201.", "Cut cite off. Green."),
    ],
)
def test_an_answer_of_chatgpt_is_what_a_person_read(written: str, read: str) -> None:
    [talk] = talks("chatgpt", Document("c.json", chatgpt(node("a", "root", "assistant", written), current="a")))
    assert texts(talk) == [read]


def test_a_sub_agents_rollout_names_its_parent() -> None:
    spawn = {"thread_spawn": {"parent_thread_id": "p", "depth": 1, "agent_nickname": "Ada"}}
    for source, expected in ((spawn, {"agent": "Ada", "parent": "codex:p"}), ("review", {"agent": "review"})):
        head = {"type": "session_meta", "payload": {"id": "s", "source": {"subagent": source}}}
        [talk] = talks("codex", Document("r.jsonl", [head, *CODEX[1:]]))
        assert talk.metadata == expected
