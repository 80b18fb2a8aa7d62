"""Whether windows keep the budget in the tokens of the models' own tokenizers: `python -m bench tokens`.

A conversation of each kind of text is built, and its windows are taken for a model of each family before any usage was
reported, and after three reports. The tokenizers run in an environment of their own (`requirements.txt` beside this),
whose Python `TOKENIZERS_PYTHON` names. Counted are texts, names, ids, arguments and schemas, as lower bounds: what a
vendor's template adds is not known for most.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from bench.harness import USER, Api, Harness, running
from bench.tables import Table

PYTHON = "TOKENIZERS_PYTHON"
MODELS = {
    "claude": "claude-opus-4-6",
    "claude-4.7": "claude-opus-5",
    "deepseek": "deepseek-v4",
    "qwen": "qwen3.6-plus",
    "qwen-old": "qwen-max",
    "tekken": "mistral-large-3",
}
BUDGETS = (4_000, 8_000, 32_000)
EXACT = "gpt-5"
REPORTS = 3
MESSAGES = 40
AFTERWARDS = 8
"""The windows after the last report, one a message, because the fill of one depends on the distance of its cut."""
NAMES = [
    "MAX",
    "MIN",
    "TIMEOUT",
    "RETRY",
    "CACHE",
    "QUEUE",
    "WORKER",
    "DATABASE",
    "URL",
    "TOKEN",
    "PATH",
    "LOG",
    "LEVEL",
    "SIZE",
    "LIMIT",
    "PORT",
    "HOST",
    "REGION",
]
ENGLISH = (
    "The storm had moved off the coast by morning, and we walked down to the harbour to see what was left of the pier. "
    "Could you plan the next two days so that we still reach the museum before it closes? I would rather take a train. "
)
CHINESE = "昨天我们讨论了下个季度的安排，我觉得预算还可以再压缩一些。你能不能把要点整理成表格，并说明每一项的负责人和截止日期？"
GOALS = "Goal: at most 2 % of any family's over before a report, the worst 1.03; none after three, .95 of an exact model's used."


@dataclass(frozen=True)
class Sample:
    """A window with the count of a model's tokenizer."""

    family: str
    kind: str
    budget: int
    reports: int
    tokens: int

    @property
    def share(self) -> float:
        return self.tokens / self.budget


def run(opened: Harness, *, quick: bool) -> list[Table]:
    budgets = BUDGETS[:1] if quick else BUDGETS
    with running([str(Path(__file__).with_name("counting.py"))], python=os.environ[PYTHON]) as tokenizers:
        samples = [
            sample
            for kind, text in kinds().items()
            for family, model in {EXACT: EXACT, **MODELS}.items()
            for budget in budgets
            for sample in _samples(opened.api, tokenizers, (kind, family, budget), model, text)
        ]
    return [table(samples, 0), table(samples, REPORTS)]


def kinds() -> dict[str, str]:
    """Return a text of each kind, long enough for all budgets."""
    chance = random.Random(55)
    code = "\n".join(file.read_text() for file in sorted(Path("app").rglob("*.py"))[:60])
    rows = [{"id": chance.randint(1, 10**6), "name": chance.choice(NAMES).lower(), "ok": True} for _ in range(5_000)]
    numbers = "\n".join(",".join(str(chance.randint(0, 10**6)) for _ in range(8)) for _ in range(6_000))
    shell = "\n".join(
        f"-rw-r--r-- 1 root root {chance.randint(9, 99_999)} Nov {chance.randint(1, 28)} 0{chance.randint(1, 9)}:12 "
        f"src/{chance.choice(NAMES).lower()}_{chance.randint(1, 99)}.py" for _ in range(6_000)
    )  # fmt: skip
    upper = "\n".join(f"{'_'.join(chance.sample(NAMES, 3))}={chance.choice(NAMES)}" for _ in range(9_000))
    ids = "\n".join(hashlib.md5(str(n).encode(), usedforsecurity=False).hexdigest() for n in range(9_000))
    uuids = "\n".join(f"{i[:8]}-{i[8:12]}-{i[12:16]}-{i[16:20]}-{i[20:]}" for i in ids.split("\n"))
    return {
        "English": ENGLISH * 1_400, "Chinese": CHINESE * 4_500, "code": code, "JSON": json.dumps(rows), "shell": shell,
        "tables": numbers, "UUIDs": uuids, "UPPER_CASE": upper,
    }  # fmt: skip


def _samples(
    api: Api, tokenizers: subprocess.Popen[str], place: tuple[str, str, int], model: str, text: str
) -> Iterator[Sample]:
    kind, family, budget = place
    conversation = f"{kind}-{family}-{budget}"
    size = budget // 5
    parts = [text[at : at + size] for at in range(0, (MESSAGES + REPORTS + AFTERWARDS) * size, size)]
    api.call("POST", "/conversations", {"id": conversation, "user_id": USER, "model": model, "budget": budget})
    api.append(conversation, [_message(number, part) for number, part in enumerate(parts[:MESSAGES])])
    for number, part in enumerate(parts[MESSAGES:]):
        texts, total = _window(api, conversation)
        tokens = total if family == EXACT else counted(tokenizers, family, texts)
        yield Sample(family, kind, budget, min(number, REPORTS), tokens)
        body: dict[str, Any] = {"messages": [_message(number, part)]}
        if number < REPORTS:
            body["reported_usage"] = {"window_tokens": total, "prompt_tokens": tokens}
        api.call("POST", f"/conversations/{conversation}/messages", body)


def _message(number: int, text: str) -> dict[str, Any]:
    return {"role": "assistant" if number % 2 else "user", "content": text or "Go on."}


def _window(api: Api, conversation: str) -> tuple[list[str], int]:
    """Return the texts of a window that a model reads, and its tokens as Quire counts them."""
    found = json.loads(api.window(conversation))
    texts = [json.dumps(tool, ensure_ascii=False) for tool in found["tools"]]
    for message in found["messages"]:
        content = message.get("content")
        texts += [content] if isinstance(content, str) else [part["text"] for part in content or ()]
    return texts, found["usage"]["total"]


def counted(tokenizers: subprocess.Popen[str], family: str, texts: Sequence[str]) -> int:
    """Return the tokens of texts, by the tokenizer of a family."""
    assert tokenizers.stdin is not None
    assert tokenizers.stdout is not None
    tokenizers.stdin.write(json.dumps([family, texts]) + "\n")
    tokenizers.stdin.flush()
    return int(tokenizers.stdout.readline())


def table(samples: Sequence[Sample], reports: int) -> Table:
    shown = [sample for sample in samples if sample.reports == reports]
    exact: dict[tuple[str, int], list[float]] = {}
    for one in shown:
        if one.family == EXACT:
            exact.setdefault((one.kind, one.budget), []).append(one.share)
    rows = []
    for family, model in MODELS.items():
        own = [one for one in shown if one.family == family]
        worst = max(own, key=lambda one: one.share)
        used = [(one.kind, one.share / fmean(exact[one.kind, one.budget])) for one in own]
        over = sum(one.share > 1 for one in own)
        rows.append([model, str(len(own)), str(over), f"{worst.share:.2f}", worst.kind, *_means(used)])
    columns = ("model", "windows", "over the budget", "worst", "of", "used, of an exact model's", "in Chinese")
    title = f"Windows in their models' tokens, after {reports} reports" if reports else "Before any report"
    return Table(title, columns, rows, (GOALS,))


def _means(used: Sequence[tuple[str, float]]) -> tuple[str, str]:
    """Return the mean of all kinds, and of Chinese."""
    return (
        f"{fmean(share for _, share in used):.2f}",
        f"{fmean(share for kind, share in used if kind == 'Chinese'):.2f}",
    )
