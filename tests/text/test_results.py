"""What stands for a large tool result."""

import json
import re

import pytest

from app.extractive.calls import query_summary
from app.extractive.results import sources
from app.extractive.shapes import describe, examine
from app.text.language import Language

ROWS = [{"id": n, "name": f"Pump {n}", "state": "idle", "hours": n * 7} for n in range(1, 41)]
CSV = "plant,city,capacity_mw\n" + "".join(f"P{n},Town {n},{n * 10}\n" for n in range(1, 51))
MARKDOWN = "| city | rain |\n| --- | --- |\n| Bergen | 2250 |\n| Oslo | 763 |\n| Troms | 1031 |\n"
LOG = (
    "2024-06-01 10:00:00 INFO starting\n" * 30
    + "2024-06-01 10:00:31 ERROR pump 7 lost pressure\n"
    + "2024-06-01 10:00:32 WARN retrying\n2024-06-01 10:00:40 INFO stopped\n"
)
CODE = (
    "import math\n\nclass Tank:\n    def level(self, depth):\n        return math.pi * depth\n\ndef "
    "drain(tank):\n    return tank.level(0)\n"
)
HTML = (
    "<!doctype html><html><head><title>Pump care</title></head><body><h1>Daily</h1><h2>Oil &amp; "
    "seals</h2></body></html>"
)
PROSE = (
    "The station was built in 1931. It rained a lot that year. Pump 7 failed twice because its seal was too small, "
    "and the council decided to replace all seals by May 2025. The weather is nice. People like the station."
)


def wrapped(text: str) -> str:
    """The way MCP results arrive when a client prints the object."""
    inner = json.dumps({"_meta": None, "content": [{"type": "text", "text": text}], "isError": False})
    return f"meta=None content=[TextContent(type='text', text={inner!r}, annotations=None)] isError=False"


def summarize(text: str, *, language: Language) -> str:
    return describe(examine(text), max_chars=200, language=language)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (json.dumps(ROWS), "json"),
        (json.dumps(ROWS)[:900], "json"),
        ("\n".join(map(json.dumps, ROWS)), "json"),
        (CSV, "table"),
        (CSV.replace(",", "\t"), "table"),
        (MARKDOWN, "table"),
        (LOG, "log"),
        (CODE, "code"),
        (HTML, "html"),
        (PROSE, "prose"),
        ("[1] Smith et al. argue otherwise.\n[2] So does Jones.", "prose"),
        ("", "prose"),
    ],
)
def test_the_kind_is_that_of_the_innermost_text(text: str, expected: str) -> None:
    assert examine(text).kind == expected
    if text:
        assert examine(wrapped(text)).kind == expected


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        (json.dumps(ROWS), ("40 objects", "id, name, state, hours", "Pump 1, Pump 2")),
        (json.dumps({"error": {"message": "quota exceeded"}, "retry": 3}), ("error: quota exceeded",)),
        (CSV, ("50 rows × 3 columns", "plant, city, capacity_mw", "P1, Town 1, 10")),
        (MARKDOWN, ("3 rows × 2 columns", "city, rain", "Bergen")),
        (LOG, ("33 lines", "1 error,", "1 warning;", "pump 7 lost pressure", "stopped")),
        (CODE, ("Python code", "class Tank", "def drain(tank)")),
        (HTML, ("“Pump care”", "Daily", "Oil")),
        (PROSE, ("Pump 7 failed twice",)),
    ],
)
def test_a_summary_says_what_is_in_it(text: str, parts: tuple[str, ...]) -> None:
    for given in (text, wrapped(text)):
        summary = summarize(given, language="en")
        assert len(summary) <= 200
        assert all(part in summary for part in parts), summary


def test_labels_follow_the_language_and_content_stays() -> None:
    assert summarize(json.dumps(ROWS), language="zh").startswith(
        "JSON 数组，40 个对象（id, name, state, hours）：Pump 1"
    )
    assert summarize(CSV, language="zh").startswith("表格，50 行 × 3 列：plant, city, capacity_mw")
    assert summarize(LOG, language="zh").startswith("日志，33 行，1 个错误，1 个警告")


def test_a_json_text_that_was_cut_off_is_read_as_far_as_it_goes() -> None:
    cut = json.dumps({"city": "Bergen", "stations": ROWS})[:1500]

    assert "city=Bergen" in summarize(cut, language="en")
    assert "Pump 1" in summarize(cut, language="en")


def test_a_page_in_json_is_summarised_by_its_text() -> None:
    page = json.dumps({"url": "https://a.test/pumps", "content": PROSE * 3})

    assert "url=https://a.test/pumps" in summarize(page, language="en")
    assert "Pump 7 failed twice" in summarize(page, language="en")


def test_declared_sources_come_first_then_urls_of_different_hosts_then_paths() -> None:
    text = "See https://a.test/1, https://a.test/2 and https://b.test/x.png or /srv/data/pumps.csv."

    assert sources(text, ["Pump manual"]) == ["Pump manual", "https://a.test/1", "https://a.test/2"]
    assert sources("Saved to /srv/data/pumps.csv") == ["/srv/data/pumps.csv"]
    assert sources("nothing here") == []


def test_a_query_summary_is_the_question_or_the_arguments() -> None:
    assert query_summary("web_search", {"query": "rainfall in Bergen", "limit": 3}) == "web_search: rainfall in Bergen"
    assert query_summary("get_rain", '{"city": "Bergen", "year": 2023}') == "get_rain(city=Bergen, year=2023)"
    assert query_summary("搜索", '{"query": "卑尔根的降雨量"}') == "搜索: 卑尔根的降雨量"


TOOLS = """success: true
matched_tools:
- server_name: okppt
  tool_name: add_slide
  tool_description: Inserts a new slide with a layout
    and returns what came of it.
  inputschema:
    path: (string)
- server_name: ppt
  tool_name: add_chart
  tool_description: Adds a chart.
"""
SKILL = """---
name: image-generation
description: Use this skill when the user asks to draw characters, scenes or products.
---

# Image Generation

## Layout
```
│ Panel 1 │ Panel 2 │ Row 1: y=200, height=380
"border": { "width": 4 },
```

Each picture gets a prompt file of its own.
"""
PIP = """Obtaining file:///srv/marshmallow
Installing build dependencies: started
Installing build dependencies: finished with status 'done'
Getting requirements to build: started
Getting requirements to build: finished with status 'done'
Preparing editable metadata: started
Preparing editable metadata: finished with status 'done'
Successfully built marshmallow
"""
TICKER = {
    "dateShortInterest": 1749772800, "address1": "One Apple Park Way", "symbol": "AAPL", "longName": "Apple Inc.",
    "longBusinessSummary": "Apple Inc. designs, manufactures and markets smartphones and tablets worldwide. " * 8,
}  # fmt: skip
FILE = {"/srv/customers.csv": {"ranges": [{"content": "Index,Name,City\n" + "1,Sheryl,Chile\n" * 40, "start": 1}]}}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (TOOLS, "matched_tools (2: okppt add_slide, ppt add_chart)"),
        (SKILL, "image-generation: Use this skill when the user asks to draw characters, scenes or products."),
        (PIP, "Successfully built marshmallow"),
        (json.dumps(TICKER), "symbol=AAPL, longName=Apple Inc."),
        (json.dumps(FILE), "content: Table, 40 rows × 3 columns: Index, Name, City"),
    ],
)
def test_a_summary_says_what_a_result_holds(text: str, told: str) -> None:
    summary = summarize(text, language="en")

    assert told in summary
    assert not re.search(r"│|border|\(string\)|=started|dateShort", summary)
