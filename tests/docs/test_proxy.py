"""The page about the proxy: its numbers are those of the code, and its code is code."""

import re
from pathlib import Path

from app import inflight
from app.api.http import model_api_errors
from app.providers.upstream import ANSWER_BYTES_MAX, TOLD
from app.services.proxy.keeping import STORE_PAUSE_SECONDS, STORE_TRIES
from app.settings import Settings

PAGE = (Path(__file__).parents[2] / "docs/proxy.md").read_text("utf-8")


def test_its_numbers_are_those_of_the_code() -> None:
    defaults = {name: field.default for name, field in Settings.model_fields.items()}
    assert f"`QUIRE_PROXY_ROUNDS`, {defaults['quire_proxy_rounds']}" in PAGE
    assert f"`QUIRE_PROXY_SECONDS` ({defaults['quire_proxy_seconds']:g})" in PAGE
    assert f"`QUIRE_REQUEST_SECONDS` ({defaults['quire_request_seconds']:g})" in PAGE
    assert f"At most {defaults['quire_messages_max']} messages of a list can be new" in PAGE
    assert f"An answer has {ANSWER_BYTES_MAX // 2**20} MiB" in PAGE
    assert f"a process waits {inflight.CLOSING_SECONDS:g} seconds" in PAGE
    assert "for ten minutes" in PAGE
    assert "within a second of its end" in PAGE
    assert (inflight.KEPT_SECONDS, inflight.AT_ONCE_SECONDS) == (600, 1)
    assert 5 < STORE_PAUSE_SECONDS * (2 ** (STORE_TRIES - 1) - 1) < 10, "within some seconds"


def test_its_statuses_are_those_of_the_code() -> None:
    assert "for 400, 404, 409, 413 and 422 alone" in PAGE
    assert sorted(TOLD) == [400, 404, 409, 413, 422]
    assert set(model_api_errors.STATUSES) == {409, 422}


def test_its_python_is_python() -> None:
    for code in re.findall("```python\n(.*?)```", PAGE, re.DOTALL):
        compile(code, "docs/proxy.md", "exec")
