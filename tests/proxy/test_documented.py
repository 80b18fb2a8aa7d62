"""The lines of docs/proxy.md, run by the real clients."""

import re
from pathlib import Path
from typing import Any

import httpx

from tests.proxy.kit import Script, stored

PAGE = (Path(__file__).parents[2] / "docs/proxy.md").read_text("utf-8")


def test_its_python_holds_one_conversation_in_three_dialects(
    client: httpx.Client, base_url: str, script: Script
) -> None:
    script.says("Noted.", "Longjing.", "From Hangzhou.")
    [code] = re.findall("```python\n(.*?)```", PAGE, re.DOTALL)
    found: dict[str, Any] = {}
    exec(code.replace("http://127.0.0.1:8000", base_url), found)
    found["openai"].close()
    found["claude"].close()
    assert [text for role, text in stored(client, "tea") if role == "assistant"] == [
        "Noted.", "Longjing.", "From Hangzhou.",
    ]  # fmt: skip
    assert client.get("/conversations/tea").json()["user_id"] == "me"
