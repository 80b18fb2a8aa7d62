"""A text of a window is kept as the places that it quotes, and comes back as it was."""

from __future__ import annotations

from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from app.core.canonical import dumps
from app.core.window.served_quotes import QuotedPlace, joined, pack, pieces, unpack

words = st.text(min_size=1, max_size=60)
places = st.builds(
    QuotedPlace, st.one_of(st.integers(1, 10**6), st.uuids()), st.integers(0, 10**5), st.integers(1, 10**5)
) | st.builds(QuotedPlace, st.one_of(st.integers(1, 10**6), st.uuids()))


@given(st.dictionaries(places, words, max_size=6), st.lists(words, max_size=6), st.booleans(), st.data())
def test_a_packed_text_comes_back(
    quoted: dict[QuotedPlace, str], others: list[str], is_json: bool, data: st.DataObject
) -> None:
    parts = data.draw(st.permutations([*quoted.values(), *others]))
    text = dumps(parts) if is_json else "\n".join(parts)
    kept = unpack(pack(pieces(text, quoted, is_json=is_json)))
    assert joined(kept, quoted, is_json=is_json) == text


def test_words_that_stand_elsewhere_are_not_kept_again() -> None:
    said = 'The harbour "seeds" are under\n  the pier at noon.'
    text = dumps([f"2030-01-01 user: {said}", f"memory: {said[::-1]}"])
    quoted = {QuotedPlace(7, 3, 40): said, QuotedPlace(UUID(int=9)): said[::-1]}
    body = pack(pieces(text, quoted, is_json=True))
    assert {part for part in unpack(body) if isinstance(part, QuotedPlace)} == set(quoted)
    assert "harbour" not in str(unpack(body))
    assert len(body) < len(text) / 2


def test_a_text_is_gone_with_any_of_its_words() -> None:
    said = "The harbour seeds are under the pier."
    assert joined(pieces(f"user: {said}!", {QuotedPlace(7): said}), {}) is None
