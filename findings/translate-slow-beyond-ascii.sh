#!/usr/bin/env bash
# CPython 3.11: str.translate with a dict costs 50 to 500 times as much once one character of the text is beyond ASCII,
# as it looks each character up and catches a KeyError. Guessed: as in a text of ASCII, about a nanosecond a character.
# It was half of the time of reading an export of ChatGPT; re.sub of the same characters takes a nanosecond or two.
set -euo pipefail
python3 - <<'PYTHON'
import re
import sys
from timeit import repeat

TABLE = dict.fromkeys(range(0xE200, 0xE205))
PATTERN = re.compile("[\ue200-\ue204]")


def microseconds(work):
    return min(repeat(work, number=20, repeat=5)) / 20 * 1e6


plain = "tea and the words of it " * 70
mixed = plain[:-1] + "茶"
found = {
    "a dict, ASCII": microseconds(lambda: plain.translate(TABLE)),
    "a dict, one character beyond": microseconds(lambda: mixed.translate(TABLE)),
    "re.sub, the same text": microseconds(lambda: PATTERN.sub("", mixed)),
}
print(sys.version.split()[0], len(plain), "characters")
print(*(f"{what}: {taken:.1f} µs" for what, taken in found.items()), sep="\n")
ascii_only, beyond, by_pattern = found.values()
assert beyond > 20 * ascii_only
assert beyond > 5 * by_pattern
PYTHON
