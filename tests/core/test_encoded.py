"""Base64 files within a text become marks; texts that merely look like base64 do not change."""

from __future__ import annotations

import base64
import json
import random
import re
import uuid
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.encoded import blanked, marked
from tests.by_turns import by_turns, few

ROOT = Path(__file__).parents[2]
WORDS = re.findall(r"[A-Za-z]{3,}", (ROOT / "README.md").read_text("utf-8"))
SYMBOLS = "ABCDEFGHJKMNPQRSTVWXYZ0123456789"


def several(rng: random.Random, glue: str, form: Callable[[str], str] = str) -> str:
    return glue.join(form(word) for word in rng.choices(WORDS, k=60))


LOOK_ALIKES: dict[str, Callable[[random.Random], str]] = {
    "hex": lambda rng: rng.randbytes(400).hex(),
    "upper hex": lambda rng: rng.randbytes(400).hex().upper(),
    "a hex dump": lambda rng: "\n".join(rng.randbytes(32).hex() for _ in range(20)),
    "digests": lambda rng: "\n".join(base64.b64encode(rng.randbytes(32)).decode() for _ in range(20)),
    "a lock file": lambda rng: " ".join(f"sha512-{base64.b64encode(rng.randbytes(64)).decode()}" for _ in range(9)),
    "a path": lambda rng: several(rng, "/"),
    "a path of all kinds": lambda rng: several(rng, "/", lambda word: rng.choice([word, word.upper(), f"{word}7"])),
    "camel case": lambda rng: several(rng, "", str.capitalize),
    "numbered": lambda rng: several(rng, "", lambda word: f"{word.capitalize()}{rng.randrange(99)}"),
    "constants": lambda rng: several(rng, "_", lambda word: f"{word.upper()}{rng.randrange(9)}"),
    "a slug": lambda rng: several(rng, "-", str.lower),
    "uuids": lambda rng: "-".join(str(uuid.UUID(bytes=rng.randbytes(16))) for _ in range(20)),
    "ulids": lambda rng: "_".join("".join(rng.choices(SYMBOLS, k=26)) for _ in range(20)),
    "genes": lambda rng: "".join(rng.choices("ACGT", k=800)),
    "proteins": lambda rng: "".join(rng.choices("ACDEFGHIKLMNPQRSTVWY", k=800)),
    "digits": lambda rng: "".join(rng.choices("0123456789", k=800)),
    "a table": lambda rng: "\n".join(["+" + "-" * rng.randrange(60, 80) + "+"] * 8),
    "one letter": lambda rng: rng.choice("AxQ7/") * 900,
    "minified": lambda rng: several(rng, rng.choice([".", "(){", ";var ", "=>"])),
    "Chinese": lambda rng: "".join(rng.choices("港口的锅炉编号是二零二五年三月七日", k=900)),
    "an alphabet": lambda _: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789" * 9,
    "a key of SSH": lambda rng: base64.b64encode(b"\0\0\0\7ssh-rsa" + rng.randbytes(500)).decode(),
}  # fmt: skip
CONTENTS: dict[str, Callable[[random.Random], bytes]] = {
    "image/png": lambda rng: b"\x89PNG\r\n\x1a\n" + rng.randbytes(2_000),
    "image/jpeg": lambda rng: b"\xff\xd8\xff\xe0" + bytes(900) + rng.randbytes(900),
    "application/pdf": lambda rng: b"%PDF-1.7\n" + rng.randbytes(2_000),
    "application/zip": lambda rng: b"PK\x03\x04" + rng.randbytes(700),
    "audio/mpeg": lambda rng: b"ID3\x04" + bytes(500) + rng.randbytes(2_000),
    "text/plain": lambda rng: several(rng, " ").encode(),
    "text/plain, Chinese": lambda rng: "".join(rng.choices("港口的锅炉编号是二零二五年", k=300)).encode(),
    "": lambda rng: b"\1" + rng.randbytes(rng.randrange(400, 4_000)),  # no type begins with it
    ", hollow": lambda rng: b"".join(rng.randrange(2_000).to_bytes(4, "little") for _ in range(300)),
}  # fmt: skip


def lines(text: str, length: int, end: str) -> str:
    return end.join(text[at : at + length] for at in range(0, len(text), length))


FORMS: dict[str, Callable[[str], str]] = {
    "in one": str,
    "for URLs": lambda text: text.replace("+", "-").replace("/", "_").rstrip("="),
    "MIME": lambda text: lines(text, 76, "\r\n"),
    "PEM": lambda text: lines(text, 64, "\n"),
    "indented": lambda text: lines(text, 76, "\n    "),
    "within JSON": lambda text: json.dumps(lines(text, 76, "\r\n"))[1:-1],
    "within JSON in JSON": lambda text: json.dumps(json.dumps(lines(text, 76, "\n")))[3:-3],
}


@pytest.mark.parametrize("kind", few(LOOK_ALIKES, 8))
@given(st.integers(0, 2**32))
def test_look_alikes_stay_as_they_are(kind: str, seed: int) -> None:
    rng = random.Random(seed)
    for text in (LOOK_ALIKES[kind](rng) for _ in range(5)):
        said = f"See {text}\nand {text}."
        assert marked(said) == blanked(said) == said


@pytest.mark.parametrize(("kind", "form"), by_turns(CONTENTS, FORMS, every=12))
@given(st.integers(0, 2**32))
def test_a_file_is_a_mark_of_its_type_and_size(kind: str, form: str, seed: int) -> None:
    rng = random.Random(seed)
    content = CONTENTS[kind](rng)
    text = FORMS[form](base64.b64encode(content).decode())
    said = f'Before: {{"data": "{text}"}}\nafter it'
    mark = f"[base64: {', '.join(filter(None, [kind.split(', ', maxsplit=1)[0], f'{len(content):,} bytes']))}]"
    assert marked(said) == f'Before: {{"data": "{mark}"}}\nafter it'
    assert marked(marked(said)) == marked(said)
    blanks = re.sub("[^\n]", " ", text)
    assert blanked(said) == f'Before: {{"data": "{blanks}"}}\nafter it'


def test_a_data_url_says_what_it_is() -> None:
    data = base64.b64encode(random.Random(1).randbytes(120)).decode()
    said = f"![chart](data:image/svg+xml;charset=utf-8;base64,{data * 2}) and so on"
    assert marked(said) == "![chart]([base64: image/svg+xml, 240 bytes]) and so on"


@given(st.text())
def test_any_text_keeps_its_length_when_blanked(text: str) -> None:
    assert len(blanked(text)) == len(text)
    assert marked(text) == text


ESCAPED = st.sampled_from(["\n", "\r\n", "\t", "\\", '"', "é", "\\n", " ", "A",
    base64.b64encode(random.Random(3).randbytes(171)).decode(), "QUJD" * 19])  # fmt: skip


@given(st.lists(ESCAPED, max_size=12).map("".join))
def test_json_stays_json(text: str) -> None:
    for written in (json.dumps({"a": text}), json.dumps(json.dumps([text]), ensure_ascii=False)):
        assert type(json.loads(marked(written))) is type(json.loads(written))
