"""Which steps the recall agent can take next."""

from hypothesis import given
from hypothesis import strategies as st

from app.recall import agent
from app.recall.agent import Task
from app.recall.tools import AGENT_TOOLS, EXPAND_CONTEXT_WINDOW, HANDOFF, SEARCH_MEMORIES

NAMES = [tool.name for tool in AGENT_TOOLS]
tasks = st.builds(Task, iterations_max=st.integers(1, 10), language=st.sampled_from(("en", "zh")))


@given(tasks, st.lists(st.sampled_from(NAMES), max_size=60))
def test_searches_in_a_row_and_iterations_are_limited(task: Task, wanted: list[str]) -> None:
    done: list[str] = []
    for name in wanted:
        refused = task.refusal(name)
        assert refused != ""
        if refused is not None or name == HANDOFF.name:
            continue
        if name == EXPAND_CONTEXT_WINDOW.name:
            task.expand(agent.MORE_MESSAGES)
        else:
            task.used(name)
        done.append(name)
    runs = "".join("s" if name == SEARCH_MEMORIES.name else " " for name in done)
    assert "s" * (agent.SEARCHES_IN_A_ROW + 1) not in runs
    assert task.iteration <= task.iterations_max
    assert task.messages <= agent.MESSAGES_MAX


@given(tasks, st.lists(st.text(max_size=50_000), max_size=8))
def test_tools_return_at_most_a_hundred_thousand_characters(task: Task, answers: list[str]) -> None:
    shown = [task.admitted(text) for text in answers]
    marks = sum(len(agent.said("cut", task.language)) for _ in shown)
    assert sum(map(len, shown)) <= agent.CHARACTERS_MAX + marks
    for text, full in zip(shown, answers, strict=True):
        assert full.startswith(text.removesuffix(agent.said("cut", task.language)))
    if task.characters == 0 and sum(map(len, answers)) > agent.CHARACTERS_MAX:
        assert task.refusal(SEARCH_MEMORIES.name)
        assert task.refusal(HANDOFF.name) is None


@given(tasks, st.dictionaries(st.uuids().map(str), st.floats(0, 1), max_size=5), st.lists(st.uuids().map(str)))
def test_only_keys_seen_by_the_agent_are_handed_over(task: Task, seen: dict[str, float], invented: list[str]) -> None:
    task.show([{"memory_key": key, "relevance_score": score} for key, score in seen.items()])
    named = [*seen, *invented, *seen]
    handed = task.handoff({"search_summary": "s", "relevant_memory_keys": named})
    assert list(handed.relevant_memory_keys) == list(seen)
    assert 0 <= handed.confidence <= 1
