"""The page about clients: its command and its Python code do what it says, and its numbers are those of the code."""

import re
import shutil
import subprocess
from pathlib import Path

import httpx
import pytest

from app.core.history.sync import LOOK_BACK, OVERLAP_MIN
from app.core.messages import Limits

PAGE = (Path(__file__).parents[2] / "docs/clients.md").read_text("utf-8")
URL = "http://127.0.0.1:8000"


def test_its_code_can_be_pasted(client: httpx.Client, base_url: str, capsys: pytest.CaptureFixture[str]) -> None:
    if shutil.which("curl") is None:
        pytest.skip("curl is not installed, so the page's command cannot be run")
    [command] = [code for code in re.findall("```sh\n(.*?)```", PAGE, re.DOTALL) if code.startswith("curl")]
    done = subprocess.run(["sh"], input=command.replace(URL, base_url), capture_output=True, text=True, check=True)
    assert '"matched":1' in done.stdout
    python = re.findall("```python\n(.*?)```", PAGE, re.DOTALL)
    exec(python[0].replace(URL, base_url), {})
    assert "Longjing" in capsys.readouterr().out
    assert client.get("/conversations/tea").json()["messages"] == 4


def test_its_numbers_are_those_of_the_code() -> None:
    assert f"the newest {LOOK_BACK} stored messages" in PAGE
    assert f"up to {Limits().listed // 1000} 000 messages, up to {Limits().messages} of them new" in PAGE
    assert OVERLAP_MIN == 2
