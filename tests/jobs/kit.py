"""A model that answers by what it is asked, and a worker that works until nothing is due."""

import json
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from anyio.from_thread import BlockingPortal

from app.jobs.asking import HARMLESS_REQUEST
from app.jobs.chapter import name_chapter
from app.jobs.page import index_page
from app.jobs.summary import refresh_summary
from app.postgres.tenants import DEFAULT_TENANT
from app.prompts import prompt
from app.providers import ProviderError
from app.queue import table
from app.queue.table import Claimed, LeaseLost
from app.runtime import Runtime
from app.text.language import language
from tests.api.kit import Json

ROUNDS = 100
JOBS = {"page": index_page, "chapter": name_chapter, "summary": refresh_summary}
Kind = Literal["page", "chapter", "summary", "compress"]
Shown = dict[int, tuple[str, str]]
"""The messages that the model is shown: role and text by seq."""

_MESSAGE = re.compile(r"^\[(\d+)\] (\w+): ", re.MULTILINE)


def kind_of(request: Json) -> Kind:
    said = request["messages"][0]["content"]
    kinds: tuple[Kind, ...] = ("page", "chapter", "summary", "compress")
    [kind] = [k for k in kinds if said in (prompt(k, "en"), prompt(k, "zh"))]
    return kind


def data_of(request: Json) -> str:
    """What stands in the frame; there is one, and nothing of the conversation is outside."""
    text = request["messages"][1]["content"]
    assert text.count("<quire-data>") == text.count("</quire-data>") == 1
    return str(text.split("<quire-data>\n")[1].split("\n</quire-data>")[0])


def shown(request: Json) -> Shown:
    parts = _MESSAGE.split(data_of(request))[1:]
    return {int(seq): (role, text.rstrip("\n")) for seq, role, text in zip(*(iter(parts),) * 3, strict=True)}


def index_of(request: Json, **changes: Any) -> Json:
    """A sound index of a page: each line is `line SEQ`, and the title names the first message."""
    seqs = list(shown(request))
    found = {"title": f"Title {seqs[0]}", "lines": {str(s): f"line {s}" for s in seqs}, "topics": [], "memories": []}
    return {**found, **changes}


def name_of(request: Json) -> Json:
    """A sound name of a chapter, after its first message."""
    seq = next(iter(shown(request)))
    return {"title": f"Title from {seq}"}


def summary_of(request: Json) -> str:
    """A sentence of one length that names something of the newest message."""
    newest = max(found := shown(request))
    words = " ".join(sorted(re.findall(r"\w+", found[newest][1]), key=len)[-3:])
    if language("\n".join(text for _, text in found.values())) == "zh":
        return f"到第 {newest} 条消息为止的话都在这里，其中提到：{words}。"
    return f"All up to message {newest} was said. It names {words}."


@dataclass
class Model:
    """The reply of a scripted model: the page's index, and a summary of one length.

    How many messages a summary covers is a matter of time; one that shrank with them could be refused as too short.
    """

    page: Callable[[Json], Json | str] = index_of
    chapter: Callable[[Json], Json | str] = name_of
    summary: Callable[[Json], str] = summary_of
    compress: Callable[[Json], str] = lambda _: "All that was said was compressed to a third of it."
    asked: list[Json] = field(default_factory=list)

    def __call__(self, request: Json) -> str:
        if request["messages"][-1]["content"] == HARMLESS_REQUEST:
            return "{}"
        self.asked.append(request)
        answer = getattr(self, kind_of(request))(request)
        return answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False)

    def of(self, kind: Kind) -> list[Json]:
        return [request for request in self.asked if kind_of(request) == kind]


@dataclass
class Worker:
    """Works in a loop of its own, so that tests can speak to the API at the same time."""

    runtime: Runtime
    portal: BlockingPortal

    def claims(self, kinds: Sequence[str] = tuple(JOBS)) -> list[Claimed]:
        return self.portal.call(table.claim, self.runtime.database, DEFAULT_TENANT, "llm", kinds, 100)

    def run(self, claimed: Claimed) -> str:
        """What became of the job: done, lost, or the error's name; one that failed is due again."""
        return self.portal.call(self._run, claimed)

    async def _run(self, claimed: Claimed) -> str:
        try:
            await JOBS[claimed.kind](self.runtime, claimed)
        except LeaseLost:
            return "lost"
        except ProviderError as error:
            await table.fail(self.runtime.database, claimed, str(error), 0)
            return type(error).__name__
        return "done"

    def drain(self, *kinds: str, rounds: int | None = None) -> Counter[str]:
        """Work until nothing is due, or as many rounds; the outcomes. Without a number of rounds it has to end."""
        outcomes: Counter[str] = Counter()
        for _ in range(rounds or ROUNDS):
            claimed = self.claims(kinds or tuple(JOBS))
            if not claimed:
                return outcomes
            outcomes.update(self.run(job) for job in claimed)
        assert rounds is not None, f"jobs are due for ever: {outcomes}"
        return outcomes
