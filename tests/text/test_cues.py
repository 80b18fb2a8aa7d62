"""How cues are found in sentences."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.extractive import patterns
from app.extractive.patterns import Cue, look

CUES = [
    patterns.PLEASANTRY,
    patterns.REQUEST,
    patterns.QUESTION,
    patterns.PROBLEM,
    patterns.CONCLUSION,
    patterns.DONE,
    patterns.LASTING,
]
PHRASES = [
    "please", "could you", "help", "always", "I'm looking for", "would like me to", "the error was", "resolved",
    "because", "in short", "we've decided", "thank you for", "let me know if", "what", "how often", "isn't working",
    "is it possible", "请", "帮我", "以后", "结论", "?", "QX7-4410",
]  # fmt: skip
SENTENCES = st.lists(st.sampled_from(PHRASES), max_size=12).map(" ".join)


@pytest.mark.parametrize("cue", CUES)
@given(sentence=SENTENCES, data=st.data())
def test_a_cue_does_not_depend_on_case(cue: Cue, sentence: str, data: st.DataObject) -> None:
    cased = "".join(c.upper() if data.draw(st.booleans()) else c for c in sentence)
    assert cue.found(look(cased)) == cue.found(look(sentence))


def test_cues_are_found_in_any_case() -> None:
    assert patterns.PLEASANTRY.found(look("Let Me Know if that helps"))
    assert patterns.PROBLEM.found(look("BUILD FAILED"))
    assert patterns.LASTING.found(look("From now on, answer in French."))
    assert not patterns.LASTING.found(look("The bus leaves at six."))
