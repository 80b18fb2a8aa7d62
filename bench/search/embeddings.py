"""The cost of the local embedding model: `python -m bench.search.embeddings`.

Measured in a process of its own, which has loaded nothing else, through the same calls that searches and jobs make.
Goal: a query, which a search waits for, at or under 8 ms CPU.
"""

import asyncio
import multiprocessing
import time
from argparse import ArgumentParser
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import cycle, islice
from random import Random
from statistics import median

import psutil
from rich.console import Console

from app.providers import Embedder, local_embeddings
from bench import tables
from bench.harness import Harness
from bench.tables import Table
from bench.words import history

GOAL_MS = 8
QUERY_EN = "How do I retry a webhook delivery that failed?"
QUERY_ZH = "投递失败两次的回调应该怎样重试?"
MEMORY_EN = "Deployments are frozen from Friday noon until Monday morning."
MEMORY_ZH = "周五中午以后禁止上线,因为周末没有人值班,出了问题无法及时回滚。"
PASSAGE_CHARACTERS = 1_200
SENTENCES_ZH = (
    "周五中午以后禁止上线。", "司机说坡道上的扫描器坏了。", "数据库连接池的大小是五个,缓存十分钟后过期。",
    "第七号仓库的托盘改到早班处理。", "请核对哪些发票的日期写错了。", "客户已经问了两次电池能不能空运。",
)  # fmt: skip


@dataclass(frozen=True)
class Series:
    name: str
    texts: int
    cpu: float
    """CPU seconds of all texts."""
    latencies: Sequence[float]

    @property
    def each_ms(self) -> float:
        return 1000 * self.cpu / self.texts


@dataclass(frozen=True)
class Measured:
    load_seconds: float
    rss_before: int
    rss_loaded: int
    rss_peak: int
    series: Sequence[Series]


def main(argv: Sequence[str] | None = None) -> None:
    parser = ArgumentParser(prog="python -m bench.search.embeddings", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer rounds")
    parser.add_argument("--write", action="store_true", help=f"put the table into {tables.DOCUMENT.name}")
    asked = parser.parse_args(argv)
    found = measured_tables(quick=asked.quick)
    for table in found:
        tables.show(Console(width=140), table)
    if asked.write:
        tables.write("embeddings", found, ["embeddings"])


def run(_: Harness, *, quick: bool) -> list[Table]:
    """For `python -m bench`."""
    return measured_tables(quick=quick)


def measured_tables(*, quick: bool) -> list[Table]:
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as process:
        return [table(process.submit(measure, 10 if quick else 60).result())]


def measure(rounds: int) -> Measured:
    """Measure in the separate process."""
    memory = psutil.Process().memory_info
    before, begun = memory().rss, time.perf_counter()
    local = local_embeddings.load()
    if local is None:
        raise SystemExit("the local model is not installed")
    seconds, loaded = time.perf_counter() - begun, memory().rss
    series = asyncio.run(all_series(local, rounds))
    return Measured(seconds, before, loaded, memory().rss, series)


async def all_series(local: Embedder, rounds: int) -> list[Series]:
    async def passage(text: str) -> None:
        await local.embed_passages([text])

    return [
        await timed("query, English", local.embed_query, [QUERY_EN], 5 * rounds),
        await timed("query, Chinese", local.embed_query, [QUERY_ZH], 5 * rounds),
        await timed("memory of a sentence, English", passage, [MEMORY_EN], 5 * rounds),
        await timed("memory of a sentence, Chinese", passage, [MEMORY_ZH], 5 * rounds),
        await timed(f"passage of {PASSAGE_CHARACTERS:,} characters, English", passage, passages_en(), rounds),
        await timed(f"passage of {PASSAGE_CHARACTERS:,} characters, Chinese", passage, passages_zh(), rounds),
        await beside_passages(local, 5 * rounds),
    ]


async def timed(name: str, embed: Callable[[str], Awaitable[object]], texts: Sequence[str], times: int) -> Series:
    await embed(texts[0])
    begun, latencies = time.process_time(), []
    for text in islice(cycle(texts), times):
        started = time.perf_counter()
        await embed(text)
        latencies.append(time.perf_counter() - started)
    return Series(name, times, time.process_time() - begun, latencies)


async def beside_passages(local: Embedder, times: int) -> Series:
    """Measure queries while the other lane is never empty. Their CPU cannot be separated from that of the passages."""
    background = asyncio.create_task(local.embed_passages(passages_en() * times))
    series = await timed("query, English, while passages are embedded", local.embed_query, [QUERY_EN], times)
    background.cancel()
    await asyncio.wait([background])
    return series


def passages_en() -> list[str]:
    text = "\n".join(message["content"] for message in history(60, seed=4))
    return [text[at : at + PASSAGE_CHARACTERS] for at in range(0, 10 * PASSAGE_CHARACTERS, PASSAGE_CHARACTERS)]


def passages_zh() -> list[str]:
    rng = Random(4)
    return ["".join(rng.choices(SENTENCES_ZH, k=120))[:PASSAGE_CHARACTERS] for _ in range(10)]


def table(found: Measured) -> Table:
    *alone, beside = found.series
    rows = [row(series, f"{series.each_ms:.1f}", f"{series.texts / series.cpu:.0f}") for series in alone]
    worst = max(series.each_ms for series in alone[:2])
    return Table(
        "Embeddings of the local model, one thread",
        ("", "ms CPU a text", "texts a CPU second", "ms, median", "ms, 95th percentile"),
        [*rows, row(beside, "", "")],
        (
            f"Loading takes {found.load_seconds:.1f} s.",
            f"Memory: {mega(found.rss_before)} before, {mega(found.rss_loaded)} loaded, {mega(found.rss_peak)} at the end.",
            f"Goal: a query at or under {GOAL_MS} ms CPU: {'met' if worst <= GOAL_MS else 'missed'} ({worst:.1f} ms).",
        ),
    )


def row(series: Series, cpu: str, rate: str) -> tuple[str, ...]:
    ordered = sorted(series.latencies)
    tail = ordered[len(ordered) * 95 // 100]
    return (series.name, cpu, rate, f"{1000 * median(ordered):.1f}", f"{1000 * tail:.1f}")


def mega(size: int) -> str:
    return f"{size / 1e6:.0f} MB"


if __name__ == "__main__":
    main()
