"""What a file weighs is learned from what the model's API reports, within bounds."""

from typing import Any

import httpx
import pytest

from app.core.calibration import FILE_PERCENTS
from tests.api.kit import Json, append, assistant, ok, path, user, window

USUAL = 25_000


def document(number: int) -> Json:
    data = f"JVBERi0{number}" + "QUJD" * 75_000
    source = {"type": "base64", "media_type": "application/pdf", "data": data}
    return user([{"type": "document", "source": source}, {"type": "text", "text": f"Sum up number {number}"}])


def audio(number: int) -> Json:
    sound = {"data": f"{number}" + "QUJD" * 75_000, "format": "mp3"}
    return user([{"type": "input_audio", "input_audio": sound}, {"type": "text", "text": f"Write down {number}"}])


def tokens(sent: Json) -> int:
    return int(sent["messages"][-1]["tokens"])


def reported(client: httpx.Client, prompt: float) -> Any:
    shown = window(client, "c", budget=120_000)["usage"]["total"]
    body = {
        "messages": [assistant("It says this.")],
        "reported_usage": {"window_tokens": shown, "prompt_tokens": int(prompt)},
    }
    return ok(client.post(path("c", "messages"), json=body), 201)


@pytest.mark.parametrize(("part", "learned"), [(0.4, 0.4), (0.02, 0.25), (3.0, 3.0), (30.0, 4.0)])
def test_after_a_report_files_of_the_kind_weigh_what_was_reported(
    client: httpx.Client, part: float, learned: float
) -> None:
    first = tokens(append(client, "c", [document(1)]))
    assert first == pytest.approx(USUAL, rel=0.05)
    reported(client, first * part)
    for number in (2, 3):
        weight = tokens(append(client, "c", [document(number)]))
        assert weight == pytest.approx(learned * USUAL, rel=0.1)
        assert tokens(append(client, "c", [audio(number)])) == pytest.approx(USUAL, rel=0.05)
    assert FILE_PERCENTS == (25, 400)


@pytest.mark.parametrize("form", ["openai", "anthropic"])
@pytest.mark.parametrize("kind", ["video_url", "audio_url"])
def test_a_file_by_data_url_is_no_text(client: httpx.Client, kind: str, form: str) -> None:
    data = "data:video/mp4;base64," + "QUJD" * 75_000
    made = append(client, "c", [user([{"type": kind, kind: {"url": data}}, {"type": "text", "text": "What is it?"}])])
    assert tokens(made) < 60_000
    shown = str(window(client, "c", budget=60_000, format=form)["messages"])
    if form == "openai":  # a part of its own dialect goes on as it came
        assert f"'type': '{kind}'" in shown
    else:
        assert "QUJDQUJD" not in shown
        assert f"[{kind}: " in shown


def test_without_a_file_in_the_window_nothing_is_learned(client: httpx.Client) -> None:
    append(client, "c", [user("Tell me about the boiler. " * 100)])
    reported(client, 5_000)
    assert tokens(append(client, "c", [document(1)])) >= USUAL


def test_what_was_learned_holds_in_every_process(client: httpx.Client, other: httpx.Client) -> None:
    """One process serves the window, another one is told what it weighed, and the first one knows."""
    first = tokens(append(client, "c", [document(1)]))
    shown = window(client, "c", budget=120_000)["usage"]["total"]
    assert len(ok(client.get(path("c", "windows")))["items"]) == 1
    usage = {"window_tokens": shown, "prompt_tokens": int(first * 0.4)}
    append(other, "c", [assistant("It says this.")], reported_usage=usage)
    for each in (client, other):
        assert tokens(append(each, "c", [document(2)])) == pytest.approx(0.4 * USUAL, rel=0.1)
    forked = ok(client.post(path("c", "fork"), json={"id": "f"}), 201)["id"]
    assert tokens(append(other, forked, [document(3)])) == pytest.approx(0.4 * USUAL, rel=0.1)


def test_another_model_weighs_files_anew(client: httpx.Client) -> None:
    first = tokens(append(client, "c", [document(1)]))
    reported(client, first * 0.4)
    ok(client.patch(path("c"), json={"model": "gpt-5"}))
    assert tokens(append(client, "c", [document(2)])) == pytest.approx(USUAL, rel=0.05)


def test_files_of_two_kinds_tell_nothing_of_each(client: httpx.Client) -> None:
    append(client, "c", [document(1), audio(1)])
    reported(client, 10_000)
    assert tokens(append(client, "c", [document(2)])) >= USUAL
