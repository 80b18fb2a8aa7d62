"""The README and the page about clients: their code runs, and every link of the documentation leads somewhere."""

import os
import re
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from app.cli.serve import WELCOME
from tests.examples.scripted_model import calling, scripted_model

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
CLIENTS = (ROOT / "docs/clients.md").read_text()
PAGES = [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), ROOT / "bench/results/README.md"]


def block(words: str) -> str:
    """Return the Python block of the page about clients that contains these words."""
    [code] = [found for found in re.findall("```python\n(.*?)```", CLIENTS, re.DOTALL) if words in found]
    return str(code)


def test_the_first_command_is_the_one_that_quire_prints() -> None:
    printed = WELCOME.format(url="http://127.0.0.1:8000", where="", header="", door="")
    [command] = re.findall("curl.*", printed)
    assert command in README


def test_the_agent_loop_runs(client: httpx.Client, base_url: str) -> None:
    code = block("def turn(")
    assert sum(bool(line.strip()) for line in code.splitlines()) <= 22
    script = (lambda _: calling("recall_page", page=1), lambda messages: {"content": messages[-1]["content"]})
    with scripted_model(*script) as model:
        done = subprocess.run(
            [sys.executable, "-c", code.replace("http://127.0.0.1:8000", base_url)],
            env={"OPENAI_BASE_URL": model.url, "OPENAI_API_KEY": "key", "MODEL": "scripted"},
            capture_output=True, text=True, check=False, timeout=60,
        )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "[1] user: What did we say on page 1?" in done.stdout
    assert client.get("/conversations/demo").json()["messages"] == 4


EXCHANGE = ["Hello", "Welcome."]
MODEL = """
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
class Model(GenericFakeChatModel):
    def bind_tools(self, tools, **_):
        return self
model, tools = Model(messages=iter(["Welcome."])), []
"""


@pytest.mark.slow
def test_the_langchain_agent_remembers(client: httpx.Client, base_url: str) -> None:
    pytest.importorskip("langchain", reason="langchain is not installed: it comes with the development requirements")
    code = MODEL + block("create_agent").replace("http://127.0.0.1:8000", base_url)
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "clients" / "python")}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 0, done.stderr
    assert [message["content"] for message in client.get("/conversations/demo/messages").json()["items"]] == EXCHANGE
    assert client.get("/conversations/demo").json()["user_id"] == "me"


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.*)$", page.read_text("utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    links = re.findall(r"\]\(([^)]+)\)", page.read_text())
    for link in links:
        path, _, anchor = link.partition("#")
        if link.startswith("https://"):
            continue
        target = page.parent / path if path else page
        assert target.exists(), f"{page.name} links to {link}"
        if anchor:
            assert anchor in anchors(target), f"{page.name} links to {link}"
