"""Evaluate windows on a transcript: replay it, and look for what is needed again."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any
from urllib.parse import quote

import httpx

from quire_command.demo.probes import KINDS, LATER, PLACES, NeededAgain, Place, needed_again, place, wish
from quire_command.demo.replay import ServiceError
from quire_command.demo.transcript import Message, Transcript

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

    def append(until: int) -> None:
        while len(pages) < until:
            new = messages[len(pages) : min(until, len(pages) + APPENDED_AT_ONCE)]
            pages.extend(_append(client, path, new, name))

    def look(probe: NeededAgain) -> None:
        for budget in budgets:
            window = _window(client, path, budget)
            if window is not None:
                recalled = _window(client, path, budget, probe.query) if probe.query.strip() else None
                usage = window["usage"]
                where = place(probe, window, pages[probe.source], recalled)
                findings.append(Finding(probe, budget, where, usage["total"], usage["full_history"]))

    for probe in needed_again(messages):
        append(probe.use)
        look(probe)
    append(len(messages))
    for source, text in _wishes(client, name, len(messages) - LATER):
        look(wish(messages, source, text))
    return findings


def _wishes(client: httpx.Client, name: str, until: int) -> list[tuple[int, str]]:
    """Return the wishes that the service keeps in mind, with the places of their messages, the first ones first."""
    answer = client.get("/memories", params={"user_id": f"eval {name}", "pinned": "true", "limit": 200})
    if not answer.is_success:
        raise ServiceError(f"no wishes: {answer.json().get('detail', answer.text)}")
    quoted = [one for one in answer.json()["items"] if one["quote"] and one["conversation_id"] == name]
    return sorted((one["quote"]["seq"] - 1, one["quote"]["text"]) for one in quoted if one["quote"]["seq"] <= until)


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


def report(findings: Sequence[Finding], prices: Mapping[str, float]) -> dict[str, Any]:
    """Return the shares of each place, by budget and kind, with tokens and what a thousand windows cost as input.

    ``prices``: dollars for a million tokens of input.
    """
    budgets = []
    for budget in sorted({finding.budget for finding in findings}):
        some = [finding for finding in findings if finding.budget == budget]
        tokens, full = fmean(one.tokens for one in some), fmean(one.full_history for one in some)
        kinds = {kind: _shares([one for one in some if one.probe.kind == kind]) for kind in KINDS}
        budgets.append({
            "budget": budget, "probes": len(some), **_shares(some), "kinds": {k: v for k, v in kinds.items() if v},
            "tokens": round(tokens), "full_history_tokens": round(full),
            "dollars_per_1000_windows": {m: _dollars(price, tokens) for m, price in prices.items()},
            "dollars_per_1000_full_histories": {m: _dollars(price, full) for m, price in prices.items()},
        })  # fmt: skip
    return {"probes": len({(f.probe.source, f.probe.use, f.probe.literal) for f in findings}), "budgets": budgets}


def _shares(some: Sequence[Finding]) -> dict[str, float]:
    found = {where: sum(one.place == where for one in some) / len(some) for where in PLACES} if some else {}
    return {where.replace(" ", "_"): round(share, 4) for where, share in found.items()}


def _dollars(price: float, tokens: float) -> float:
    return round(price * tokens / 1000, 2)


def input_prices(text: str) -> dict[str, float]:
    """Read JSON such as `{"gpt-5": {"input": 1.25, "output": 10}}`: dollars for a million tokens of input.

    Raises ValueError.
    """
    found = json.loads(text or "{}")
    if not isinstance(found, dict):
        raise ValueError("the prices must be a JSON object by model")  # noqa: TRY004 - as JSON that cannot be read
    for model, price in found.items():
        if not isinstance(price, dict) or type(price.get("input")) not in (int, float) or price["input"] < 0:
            raise ValueError(f"the price of {model!r} must have `input`, a number of dollars")
    return {model: float(price["input"]) for model, price in found.items()}


def reached(row: Mapping[str, Any]) -> float:
    """Return the share of the probes that the model sees or can call back, in percent."""
    return 100 * (1 - float(row["lost"]))
