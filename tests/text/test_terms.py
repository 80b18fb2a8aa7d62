"""Key terms."""

from app.extractive.terms import key_terms


def test_identifiers_rank_above_plain_words() -> None:
    text = (
        "The nightly job sync_orders.py failed with ERR_7741 at 03:12 after importing 48 GB. "
        "Please ask Noor Haddad (noor@depot.test) whether the job may run again today."
    )

    assert set(key_terms(text, 6)) >= {"sync_orders.py", "ERR_7741", "Noor Haddad", "noor@depot.test"}


def test_chinese_terms_are_words_and_not_filler() -> None:
    terms = key_terms("我们昨天在讨论会上决定把搜索引擎换掉，因为分词效果不好，分词错误太多，搜索引擎也很慢。", 5)

    assert "分词" in terms
    assert any("搜索引擎" in term for term in terms)
    assert not {"我们", "因为", "昨天"} & set(terms)


def test_values_of_json_count_more_than_its_keys() -> None:
    rows = ", ".join(f'{{"station_name": "{name}", "latitude": 1.5}}' for name in ("Kelvinbridge", "Ibrox", "Govan"))

    assert set(key_terms(f"[{rows}]", 3)) == {"Kelvinbridge", "Ibrox", "Govan"}


def test_plurals_and_parts_are_not_repeated() -> None:
    terms = key_terms("A turbine. Two turbines. The turbine blade, turbine blades and another turbine blade.", 10)

    assert len([term for term in terms if "turbine" in term]) == 1
