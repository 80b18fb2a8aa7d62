#!/usr/bin/env bash
# langchain-core 1.8.3: `count_tokens_approximately`, which trimming and LangMem use, takes four characters for a token in
# every script. Of English, Mistral's tokenizer makes .74 of the estimate, of Chinese 3.7 times as many, so a Chinese
# window may hold almost four times its limit. Guessed: at most a third off.
set -euo pipefail
folder=$(mktemp --directory)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet langchain-core==1.8.3 mistral-common==1.13.1
"$folder/venv/bin/python" - <<'PYTHON' 2>/dev/null
from langchain_core.messages import HumanMessage
from langchain_core.messages.utils import count_tokens_approximately
from mistral_common.tokens.tokenizers.mistral import MistralTokenizer

TEXTS = {
    "en": "We discuss the release plan at three this afternoon. Please bring the test report and the checklist. " * 10,
    "zh": "今天下午三点我们在会议室讨论新版本的发布计划，请提前准备好测试报告和上线清单。" * 10,
}
tokenizer = MistralTokenizer.v3(is_tekken=True).instruct_tokenizer.tokenizer
ratios = {}
for language, text in TEXTS.items():
    estimate = count_tokens_approximately([HumanMessage(text)])
    tokens = len(tokenizer.encode(text, bos=False, eos=False))
    ratios[language] = tokens / estimate
    print(f"{language}: estimated {estimate}, counted {tokens}, ratio {ratios[language]:.2f}")
assert ratios["en"] < 1
assert ratios["zh"] > 3
PYTHON
