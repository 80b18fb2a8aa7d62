"""Windows are within the budget as the models' own tokenizers count the shipped conversation, before any report.

`python -m bench.tokens.shipped` counts its texts; what else a window shows is charged as its family is.
"""

import json
from collections import Counter
from pathlib import Path

import httpx
import pytest

from app.core.calibration import Charge, marks_of
from app.core.model import Mix
from app.core.models import FAMILIES
from app.text.tokens import TokenCounter
from bench.tokens.shipped import texts_of
from bench.tokens.windows import MODELS
from quire_command.demo.transcript import load, steps
from tests.api.kit import SHIPPED, Json, append, canonical, created, window

COUNTS: dict[str, list[int]] = json.loads(Path(__file__).with_name("shipped_tokens.json").read_text("utf-8"))
BUDGETS = (4_000, 8_000, 32_000)


@pytest.mark.slow
@pytest.mark.parametrize("family", MODELS)
def test_no_window_is_over_the_budget_in_the_models_tokens(
    client: httpx.Client, counter: TokenCounter, family: str
) -> None:
    [transcript] = load(SHIPPED)
    texts = list(dict.fromkeys(text for message in transcript.messages for text in texts_of(message)))
    counted = dict(zip(texts, COUNTS[family], strict=True))
    charge, seen = Charge(FAMILIES[family]), Counter[str]()

    def tokens(text: str) -> int:
        seen["counted" if text in counted else "charged"] += len(text)
        return counted[text] if text in counted else charge.tokens(Mix.of(counter.count(text), marks_of(text)))

    created(client, id="c", model=MODELS[family])
    for step in steps(transcript.messages):
        append(client, "c", list(step.messages))
        for budget in BUDGETS:
            assert sum(map(tokens, shown(window(client, "c", budget=budget)))) <= budget
    assert 2 * seen["counted"] > seen["charged"]


def shown(found: Json) -> list[str]:
    tools = [canonical(tool) for tool in found["tools"]]
    return [*tools, *(text for message in found["messages"] for text in texts_of(message))]
