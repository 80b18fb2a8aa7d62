"""What keyword search sees of a text, and how a text is cut into passages."""

import json

from hypothesis import given
from hypothesis import strategies as st

from app.text import bm25

RECORDS = [{"server_name": "osm-mcp", "说明": "查找停车场", "path": f"/home/ann/notes/{n}.md"} for n in range(5)]


def test_nested_json_is_indexed_by_its_content() -> None:
    once = json.dumps(RECORDS, indent=1, ensure_ascii=False)
    for text in (json.dumps({"text": once}), json.dumps({"text": json.dumps({"text": once})})):
        assert set(bm25.terms(once)) <= set(bm25.terms(text))
        assert "nserver" not in set(bm25.terms(text))


def test_a_path_is_not_taken_for_escapes() -> None:
    assert {"new", "root", "temp"} <= set(bm25.terms(r"C:\new\root\temp"))


def test_a_cut_is_never_within_a_number_or_an_address() -> None:
    text = " ".join(f"see https://papers.example/abs/2507.{n}/v1.pdf (3.14159, 1,234.5)" for n in range(10_000, 10_400))
    for start, length in bm25.passages(text):
        assert (
            text[start : start + length].split(" ")[0] in ("see", "(3.14159,", "1,234.5)")
            or "https" in text[start:][:5]
        )


@given(st.text(max_size=200), st.integers(1, 200))
def test_passages_are_the_whole_text_in_order_and_no_longer_than_allowed(text: str, times: int) -> None:
    whole = text * times
    found = bm25.passages(whole)
    assert "".join(whole[start : start + length] for start, length in found) == whole
    assert all(0 < length <= bm25.PASSAGE_CHARACTERS for _, length in found)


@given(st.text(alphabet="港口仓库发票海关abc \n,。", max_size=4_000))
def test_a_passages_terms_fit_its_vector_in_any_mixture_of_scripts(text: str) -> None:
    for start, length in bm25.passages(text):
        cjk = sum("\u4e00" <= c <= "\u9fff" for c in text[start : start + length])
        assert cjk * bm25.CJK_WEIGHT <= bm25.PASSAGE_CHARACTERS + bm25.CJK_WEIGHT


def test_a_long_texts_term_weighs_at_least_half_of_a_short_ones() -> None:
    def weight(text: str) -> float:
        return float(dict(p.split(":") for p in bm25.document(text).strip("{").split("}")[0].split(","))[term])

    term = str(bm25.component("tallinn"))
    assert weight("Tallinn " + "harbour " * 200) > weight("Tallinn") / 2
