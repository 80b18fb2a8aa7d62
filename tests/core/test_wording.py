"""What models read in Chinese has the punctuation of Chinese."""

import re
from pathlib import Path

import pytest

import app
from app.core import wording
from app.core.wording import Wording
from app.recall.tools import TOOLS

_HALF_WIDTH = re.compile(r"[\u4e00-\u9fff] ?[,:;!?()]|[,:;!?)][\u4e00-\u9fff]|\}[,;]\{")
PROMPTS = sorted((Path(app.__file__).parent / "prompts").glob("*.zh.md"))
TEXTS = {name: said.zh for name, said in vars(wording).items() if isinstance(said, Wording)}
TEXTS |= {path.name: path.read_text("utf-8") for path in PROMPTS}
TEXTS |= {tool.name: tool.description("zh") for tool in TOOLS}


@pytest.mark.parametrize("name", TEXTS)
def test_chinese_is_punctuated_in_full_width(name: str) -> None:
    assert _HALF_WIDTH.findall(TEXTS[name]) == []
