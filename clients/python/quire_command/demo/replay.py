"""Replay transcripts through a running Quire and watch the window stay within its budget."""

import re
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
from rich.console import Console

from quire_command.demo.frame import Frame, Report, read_frame, summarise
from quire_command.demo.screen import Screen, print_report
from quire_command.demo.transcript import DemoStep, Message, Transcript, batches, load, steps

APPEND_MESSAGES_MAX = 50
TIMEOUT_SECONDS = 60
RECALLED_PAGE = 2
USER, MODEL = "demo", "gpt-5"


def replay(
    base_url: str,
    path: Path,
    budget: int,
    console: Console,
    *,
    every_message: bool = False,
    api_key: str | None = None,
    transport: httpx.BaseTransport | None = None,
) -> list[Report]:
    """Replay each conversation of the file into a new conversation of the service; return a report for each.

    Raises TranscriptError for an unreadable file, ServiceError for an error response, and httpx.TransportError if the
    service cannot be reached.
    """
    plans = [
        (transcript, steps(transcript.messages, every_message)) for transcript in load(path) if transcript.messages
    ]
    headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
    with httpx.Client(base_url=base_url, headers=headers, timeout=TIMEOUT_SECONDS, transport=transport) as client:
        service = Service(client, uuid.uuid4().hex[:8])
        reports: list[Report] = []
        try:
            with Screen(console, sum(len(plan) for _, plan in plans)) as screen:
                for transcript, plan in plans:
                    reports.append(play(service, screen, transcript, plan, budget))
        finally:  # an error in the fifth conversation does not hide the first four
            for report in reports:
                print_report(console, report)
    return reports


def play(service: "Service", screen: Screen, transcript: Transcript, plan: list[DemoStep], budget: int) -> Report:
    conversation = service.name(transcript)
    screen.open(conversation)
    frames: list[Frame] = []
    for step in plan:
        service.append(conversation, step.messages)
        if not frames:
            service.set_budget(conversation, budget)
        frames.append(service.look(conversation, step.turn, budget))
        screen.show(frames[-1])
    recalled = service.recall(conversation, min(RECALLED_PAGE, frames[-1].turn))
    return summarise(conversation, len(transcript.messages), frames, recalled)


class ServiceError(Exception):
    """The service answered with an error; the text is its own explanation."""


class Service:
    """The API calls that a replay needs. The run's mark keeps two replays apart."""

    def __init__(self, client: httpx.Client, run: str, clock: Callable[[], float] = time.perf_counter) -> None:
        self.client = client
        self.run = run
        self.clock = clock
        self.writes = 0

    def name(self, transcript: Transcript) -> str:
        """Return the id of a conversation of this run, fit for a path: servers decode %2F before they route."""
        return re.sub(r"[^\w.-]", "-", f"{transcript.id[:100]}-{self.run}")

    def append(self, conversation: str, messages: tuple[Message, ...]) -> None:
        for batch in batches(messages, APPEND_MESSAGES_MAX):
            self.writes += 1
            key = f"demo-{self.run}-{self.writes}"
            body = {"messages": batch, "user_id": USER}
            self.call("POST", f"/conversations/{conversation}/messages", json=body, headers={"Idempotency-Key": key})

    def set_budget(self, conversation: str, budget: int) -> None:
        """Make the budget, of a model that counts as Quire does, the conversation's own: the inspector opens with it.
        A refusal changes nothing else.
        """
        self.client.request("PATCH", f"/conversations/{conversation}", json={"budget": budget, "model": MODEL})

    def look(self, conversation: str, turn: int, budget: int) -> Frame:
        begun = self.clock()
        context = self.call("GET", f"/conversations/{conversation}/context", params={"budget": budget})
        return read_frame(turn, budget, context, self.clock() - begun)

    def recall(self, conversation: str, page: int) -> str:
        answer = self.call(
            "POST", f"/conversations/{conversation}/tools/recall_page", json={"arguments": {"page": page}}
        )
        if answer.get("is_error"):
            raise ServiceError(f"recall_page: {answer['content']}")
        return str(answer["content"])

    def call(self, verb: str, path: str, **parts: Any) -> dict[str, Any]:
        answer = self.client.request(verb, path, **parts)
        if answer.is_error:
            raise ServiceError(f"{verb} {path} answered {answer.status_code}: {explanation(answer)}")
        body: dict[str, Any] = answer.json()
        return body


def explanation(answer: httpx.Response) -> str:
    """Return the detail of a problem document, or the beginning of any other body."""
    try:
        problem = answer.json()
    except ValueError:
        return answer.text[:200]
    return str(problem.get("detail") or problem.get("title") or problem) if isinstance(problem, dict) else str(problem)
