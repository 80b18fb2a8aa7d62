"""Whatever happens to a conversation, a served window is given back, or the answer lists what was erased of it."""

from __future__ import annotations

from typing import Any

import httpx
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tests.api.kit import Json, append, assistant, call, ok, path, recall, result, user
from tests.by_turns import examples
from tests.served.kit import BUDGETS, FORMATS, Sent, given_back, records

LONG = "The committee heard the third reading and sent it back once more. "
EVENTS = ("turn", "calls", "archived", "open call", "recall", "note", "system", "budget", "erase", "query", "load")
looks = st.tuples(st.sampled_from(BUDGETS), st.sampled_from(FORMATS))
histories = st.lists(st.tuples(st.sampled_from(EVENTS), looks), min_size=4, max_size=14)


def happen(client: httpx.Client, event: str, number: int, erased: set[int]) -> Json:
    """Do something to a conversation. Return the parameters of the next window."""
    marker = f"word{number}"
    said = [user(f"question {number} about {marker}"), assistant(f"{marker}: {LONG * 8}")]
    match event:
        case "calls":
            said = [user(marker), call(f"a{number}", f"b{number}"), result(f"a{number}"), result(f"b{number}", LONG)]
        case "archived":
            said = [user(marker), call(f"a{number}"), result(f"a{number}", f"{marker} {LONG}" * 200)]
        case "open call":
            said = [user(marker), call(f"a{number}", f"b{number}"), result(f"b{number}"), user("go on")]
        case "recall":
            recall(client, "c", 1)
        case "note":
            ok(client.post(path("c", "notes"), json={"text": f"Always mention {marker}."}), 201)
        case "system":
            ok(client.patch(path("c"), json={"system": f"Be {marker}."}))
        case "budget":
            ok(client.patch(path("c"), json={"budget": 4_000 + number}))
        case "erase" if number > 2:
            seq = 1 + number % 3
            if client.delete(path("c", "messages", str(seq))).status_code == 200:
                erased.add(seq)
    append(client, "c", said)
    return {"query": {"query": f"What about word{number // 2}?"}, "load": {"pages": "1"}}.get(event, {})


TURN, LOAD, ERASE = (("turn", (3000, "openai")), ("load", (3000, "openai")), ("erase", (3000, "openai")))


@example([TURN] * 3 + [ERASE] + [TURN] * 4 + [LOAD, ERASE])  # the same message twice
@given(histories)
@settings(max_examples=examples(12), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_served_window_is_given_back_after_anything(
    client: httpx.Client, history: list[tuple[str, tuple[int, str]]]
) -> None:
    client.delete("/users/u")
    sent: list[tuple[Sent, set[int]]] = []
    erased: set[int] = set()
    append(client, "c", [user("hello"), assistant("hello")])
    for number, (event, (budget, form)) in enumerate(history):
        more: dict[str, Any] = happen(client, event, number, erased)
        answer = client.get(path("c", "context"), params={"budget": budget, "format": form, **more})
        if answer.status_code == 200:
            sent.append((Sent(answer.content, "", answer.headers["x-quire-receipt"]), set(erased)))
    listed = {one["root"]: one for one in records(client, "c")}
    assert len(listed) == len({one.root for one, _ in sent})
    for one, gone_then in sent:
        found, body = given_back(client, "c", listed[one.root]["id"])
        if found["verified"]:
            assert body.startswith(one.body[:-1] + b",")
        else:
            assert erased - gone_then
            assert found["erased"]["messages"] or found["erased"]["parts"]
