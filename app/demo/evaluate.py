"""Evaluate windows on a transcript: replay it, and look for what is needed again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any
from urllib.parse import quote

import httpx

from app.core.dialects.usage import ModelUsage, Prices
from app.demo.probes import KINDS, PLACES, NeededAgain, Place, needed_again, place
from app.demo.replay import ServiceError
from app.demo.transcript import Message, Transcript

APPENDED_AT_ONCE = 100


@dataclass(frozen=True, slots=True)
class Finding:
    """A probe's place in the window of a budget, and the window's size."""

    probe: NeededAgain
    budget: int
    place: Place
    tokens: int
    full_history: int


def evaluate(client: httpx.Client, transcript: Transcript, budgets: Sequence[int], name: str) -> list[Finding]:
    """Append a transcript to a new conversation, up to each use of a probe, and ask for the windows there.

    Raises ServiceError.
    """
    path, pages, findings = f"/conversations/{quote(name, safe='')}", list[int](), list[Finding]()
    messages = [{key: value for key, value in message.items() if key != "client_id"} for message in transcript.messages]
    for probe in needed_again(messages):
        while len(pages) < probe.use:
            new = messages[len(pages) : min(probe.use, len(pages) + APPENDED_AT_ONCE)]
            pages += _append(client, path, new, name)
        for budget in budgets:
            window = _window(client, path, budget)
            if window is not None:
                recalled = _window(client, path, budget, probe.query) if probe.query.strip() else None
                usage = window["usage"]
                where = place(probe, window, pages[probe.source], recalled)
                findings.append(Finding(probe, budget, where, usage["total"], usage["full_history"]))
    return findings


def _append(client: httpx.Client, path: str, new: Sequence[Message], name: str) -> list[int]:
    answer = client.post(f"{path}/messages", json={"messages": new, "user_id": f"eval {name}"})
    if not answer.is_success:
        raise ServiceError(f"the transcript cannot be stored: {answer.json().get('detail', answer.text)}")
    return [message["page"] for message in answer.json()["messages"]]


def _window(client: httpx.Client, path: str, budget: int, query: str = "") -> dict[str, Any] | None:
    body = {"budget": budget, "recall": "off", **({"query": query} if query else {})}
    answer = client.post(f"{path}/context", json=body)
    if answer.status_code == httpx.codes.UNPROCESSABLE_ENTITY:
        return None
    if not answer.is_success:
        raise ServiceError(f"no window: {answer.json().get('detail', answer.text)}")
    found: dict[str, Any] = answer.json()
    return found


def report(findings: Sequence[Finding], prices: Prices) -> dict[str, Any]:
    """Return the shares of each place, by budget and kind, with tokens and what a thousand windows cost as input."""
    budgets = []
    for budget in sorted({finding.budget for finding in findings}):
        some = [finding for finding in findings if finding.budget == budget]
        tokens, full = fmean(one.tokens for one in some), fmean(one.full_history for one in some)
        kinds = {kind: _shares([one for one in some if one.probe.kind == kind]) for kind in KINDS}
        budgets.append({
            "budget": budget, "probes": len(some), **_shares(some), "kinds": {k: v for k, v in kinds.items() if v},
            "tokens": round(tokens), "full_history_tokens": round(full),
            "dollars_per_1000_windows": {m: _dollars(prices, m, tokens) for m in prices.by_model},
            "dollars_per_1000_full_histories": {m: _dollars(prices, m, full) for m in prices.by_model},
        })  # fmt: skip
    return {"probes": len({(f.probe.source, f.probe.use, f.probe.literal) for f in findings}), "budgets": budgets}


def _shares(some: Sequence[Finding]) -> dict[str, float]:
    found = {where: sum(one.place == where for one in some) / len(some) for where in PLACES} if some else {}
    return {where.replace(" ", "_"): round(share, 4) for where, share in found.items()}


def _dollars(prices: Prices, model: str, tokens: float) -> float | None:
    cost = prices.cost(model, ModelUsage(round(tokens), 0, 0))
    return None if cost is None else round(1000 * cost, 2)


def reached(row: Mapping[str, Any]) -> float:
    """Return the share of the probes that the model sees or can call back, in percent."""
    return 100 * (1 - float(row["lost"]))
