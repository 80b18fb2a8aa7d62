"""Blocks of requests that several benchmarks send, and the conversations to which they go."""

import json
from dataclasses import dataclass, field

from bench.clients import Job
from bench.harness import Api, Cpu, Harness
from bench.words import history

BUDGET = 8_000
BLOCK = 25


@dataclass
class Series:
    """One operation at one size."""

    latencies: list[float] = field(default_factory=list)
    cpu: Cpu = field(default_factory=lambda: Cpu(0, 0))

    @property
    def cpu_each(self) -> Cpu:
        return Cpu(self.cpu.server / len(self.latencies), self.cpu.postgres / len(self.latencies))


def build(api: Api, conversation: str, size: int, seed: int | None = None) -> None:
    api.create(conversation, BUDGET)
    api.append(conversation, history(size, seed=size if seed is None else seed))


def block(harness: Harness, wanted: Job, series: Series) -> None:
    if wanted.method == "GET":
        harness.clients.run(Job(wanted.port, "GET", wanted.targets, requests=1))  # the cut is made here
    before = harness.quire.cpu()
    series.latencies += harness.clients.run(wanted).latencies
    series.cpu += harness.quire.cpu() - before


def bodies(seed: int) -> list[str]:
    messages = history(2 * BLOCK, seed)
    return [json.dumps({"messages": messages[at : at + 2]}) for at in range(0, len(messages), 2)]
