#!/usr/bin/env bash
# json_repair 0.64.6 (Python) and jsonrepair 3.15.0 (npm) make a text of a literal that was cut: {"delete": fals becomes
# "fals", which is true in both languages, and nul is "nul". partial-json-parser and partial-json make false and null of them.
# Guessed: what can only be false is false, or left out.
set -euo pipefail
folder=$(mktemp --directory)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet json_repair==0.64.6 partial-json-parser==0.2.1.1.post7
cd "$folder"
npm install --silent jsonrepair@3.15.0 partial-json@0.1.7 >/dev/null 2>&1
cat > literals.mjs <<'JAVASCRIPT'
import assert from "node:assert";
import { jsonrepair } from "jsonrepair";
import { parse } from "partial-json";

const cut = ['{"delete": fals', '{"delete": tru', '{"until": nul'];
const [repaired, parsed] = [cut.map((text) => JSON.parse(jsonrepair(text))), cut.map((text) => parse(text))];
console.log("npm:", JSON.stringify(repaired), JSON.stringify(parsed));
assert.deepStrictEqual(repaired, [{ delete: "fals" }, { delete: "tru" }, { until: "nul" }]);
assert.deepStrictEqual(parsed, [{ delete: false }, { delete: true }, { until: null }]);
JAVASCRIPT
node literals.mjs
"$folder/venv/bin/python" - <<'PYTHON' 2>/dev/null
import json_repair
import partial_json_parser

CUT = ['{"delete": fals', '{"delete": tru', '{"until": nul']
repaired, parsed = [json_repair.loads(text) for text in CUT], [partial_json_parser.loads(text) for text in CUT]
print("PyPI:", repaired, parsed)
assert repaired == [{"delete": "fals"}, {"delete": "tru"}, {"until": "nul"}]
assert parsed == [{"delete": False}, {"delete": True}, {"until": None}]
PYTHON
