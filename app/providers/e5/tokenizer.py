"""Text into the pieces of a unigram vocabulary: of all ways to spell it, the most probable one.

Characters are normalised as the model was trained (NFKC with its own rules for blanks and controls), blanks become
one mark in front of a word, and no piece reaches over a mark, so each word is spelled by itself. A character that no
piece has costs more than any piece, and neighbours of that kind are one unknown piece. What looks like a special
piece is spelled like any other text.
"""

from __future__ import annotations

import unicodedata
from math import inf

from app.providers.e5.weights import Vocabulary

MARK = "▁"

CHARACTERS_READ = 8_192
"""Characters read of a text, without blanks: 512 pieces of 16 characters, the longest there are."""

_CHARACTERS_SEEN = 65_536
"""Characters scanned of the original text: blanks and controls beyond this are not removed to find more."""

_UNKNOWN_PENALTY = 10.0
"""An unknown character's cost above the least probable piece."""


class Tokenizer:
    def __init__(self, vocabulary: Vocabulary) -> None:
        self._normal_forms = vocabulary.normal_forms
        self._scores = vocabulary.scores
        self._unknown = vocabulary.unknown
        self._unknown_score = min(vocabulary.scores) - _UNKNOWN_PENALTY
        self._ids = {piece: id_ for id_, piece in enumerate(vocabulary.pieces) if id_ not in vocabulary.special}
        self._longest: dict[str, int] = {}
        for piece in self._ids:
            self._longest[piece[:2]] = max(len(piece), self._longest.get(piece[:2], 1))

    def pieces(self, text: str, limit: int) -> list[int]:
        result: list[int] = []
        for word in self.normalised(text).split(" "):
            for piece in self._spelled(MARK + word):
                if piece == self._unknown and result and result[-1] == piece:
                    continue
                result.append(piece)
            if len(result) >= limit:
                return result[:limit]
        return result

    def normalised(self, text: str) -> str:
        plain = " ".join(text[:_CHARACTERS_SEEN].translate(self._normal_forms).split())
        return unicodedata.normalize("NFC", plain[:CHARACTERS_READ])

    def _spelled(self, word: str) -> list[int]:
        """Tokenize a word by the Viterbi algorithm: the best tokens up to a position extend those up to another."""
        size = len(word)
        best = [0.0] + [-inf] * size
        begun = [0] * (size + 1)
        pieces = [self._unknown] * (size + 1)
        for start in range(size):
            if best[start] + self._unknown_score > best[start + 1]:
                best[start + 1], begun[start + 1] = best[start] + self._unknown_score, start
                pieces[start + 1] = self._unknown
            longest = self._longest.get(word[start : start + 2], 1)
            for end in range(start + 1, min(start + longest, size) + 1):
                piece = self._ids.get(word[start:end])
                if piece is not None and best[start] + self._scores[piece] > best[end]:
                    best[end], begun[end] = best[start] + self._scores[piece], start
                    pieces[end] = piece
        return [pieces[end] for end in _ends(begun)]


def _ends(begun: list[int]) -> list[int]:
    """Return where the tokens of the best path end, first to last."""
    ends, end = [], len(begun) - 1
    while end:
        ends.append(end)
        end = begun[end]
    return ends[::-1]
