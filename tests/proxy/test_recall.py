"""Memory that comes by itself: the newest user message brings in what answers it, and nothing of it is stored."""

from collections.abc import Iterator

import httpx
import openai
import pytest

from app.main import build_app
from app.postgres.embedded import EmbeddedPostgres
from app.settings import Settings
from tests.api.kit import Json, append, assistant, ok, path, user
from tests.conftest import serving
from tests.proxy.kit import Script, ask, openai_of, stored

FACT = "The boiler's service code is KX-2291."
QUESTION = "What is the boiler's service code?"


def remembering(client: httpx.Client) -> None:
    append(client, "before", [user(FACT), assistant("Noted.")], user_id="me")


def asker(base_url: str, **headers: str) -> openai.OpenAI:
    return openai_of(base_url, "c", headers={"X-Quire-User": "me", **headers})


def seen(script: Script, call: int = -1) -> str:
    return str(script.asked[call]["messages"])


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
def test_recalled_answers_are_shown_but_not_stored(
    base_url: str, client: httpx.Client, script: Script, stream: bool
) -> None:
    remembering(client)
    script.says("It is on the plate.")
    ask(asker(base_url), [user(QUESTION)], stream=stream)
    assert "KX-2291" in seen(script)
    assert script.asked[0]["messages"][-1]["content"] == QUESTION
    assert "KX-2291" in script.asked[0]["messages"][-2]["content"]
    assert stored(client, "c") == [("user", QUESTION), ("assistant", "It is on the plate.")]
    append(client, "c", [user("thanks")], user_id="me")
    assert "KX-2291" not in str(ok(client.get(path("c", "context"), params={"budget": 8000}))["messages"])


@pytest.mark.parametrize("said", ["thanks", "谢谢", "What now?", "and now?", "How many moons does Neptune have?"])
def test_small_talk_and_unanswerable_questions_recall_nothing(
    base_url: str, client: httpx.Client, script: Script, said: str
) -> None:
    remembering(client)
    ask(asker(base_url), [user(said)])
    assert "KX-2291" not in seen(script)
    assert script.asked[0]["messages"][-1]["content"] == said


def test_a_question_asked_again_and_again_hides_no_fact(base_url: str, client: httpx.Client, script: Script) -> None:
    remembering(client)
    openings = ["", "Hey, ", "So ", "Sorry, ", "And ", "Again: "]
    script.says(*["I do not know."] * (len(openings) + 2))
    for number, opening in enumerate(openings):
        other = openai_of(base_url, f"asked {number}", headers={"X-Quire-User": "me"})
        ask(other, [user(opening + QUESTION)])
    ask(asker(base_url), [user(QUESTION)])
    ask(asker(base_url), [user(QUESTION), assistant("I do not know."), user(QUESTION)])
    for call in (-2, -1):
        recalled = script.asked[call]["messages"][-2]["content"]
        assert "KX-2291" in recalled
        assert QUESTION not in recalled


def test_a_text_part_is_a_query_too_and_an_image_is_not(base_url: str, client: httpx.Client, script: Script) -> None:
    remembering(client)
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    ask(asker(base_url), [user([{"type": "text", "text": QUESTION}, image])])
    assert "KX-2291" in seen(script)
    ask(asker(base_url), [user([image])])
    assert "KX-2291" not in seen(script)


def test_a_header_turns_it_off_for_a_request(base_url: str, client: httpx.Client, script: Script) -> None:
    remembering(client)
    ask(asker(base_url, **{"X-Quire-Recall": "off"}), [user(QUESTION)])
    assert "KX-2291" not in seen(script)
    body: Json = {"model": "fake", "messages": [user("hi")]}
    problem_ = client.post("/v1/chat/completions", json=body, headers={"X-Quire-Recall": "sometimes"})
    assert problem_.status_code == 400
    assert "X-Quire-Recall" in problem_.text


def test_recall_stays_within_its_cap(base_url: str, client: httpx.Client, script: Script) -> None:
    for number in range(60):
        append(client, "before", [user(f"Boiler {number} has the service code KX-{number}." + " Check it." * 20)],
               user_id="me")  # fmt: skip
    ask(asker(base_url), [user("Which boiler service codes are there?")])
    recalled = script.asked[0]["messages"][-2]["content"]
    assert "KX-" in recalled
    assert len(recalled) < 800 * 6


@pytest.fixture
def silent_url(postgres: EmbeddedPostgres, proxy_settings: Settings, clean: None) -> Iterator[str]:
    yield from serving(build_app(proxy_settings.model_copy(update={"memory_recall": "off"}), postgres.app_dsn))


def test_a_deployment_may_turn_it_off_and_a_request_on_again(
    silent_url: str, client: httpx.Client, script: Script
) -> None:
    remembering(client)
    ask(asker(silent_url), [user(QUESTION)])
    assert "KX-2291" not in seen(script)
    ask(openai_of(silent_url, "d", headers={"X-Quire-User": "me", "X-Quire-Recall": "auto"}), [user(QUESTION)])
    assert "KX-2291" in seen(script)
