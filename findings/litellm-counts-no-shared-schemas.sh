#!/usr/bin/env bash
# litellm 1.110.2: `token_counter` counts a tool's parameters, objects within objects too, and nothing below `$defs`, where pydantic
# puts every nested model: the same 300 words cost 300 tokens or none. Guessed: what is sent is counted.
set -euo pipefail
folder=$(mktemp --directory)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet litellm==1.110.2
LITELLM_LOCAL_MODEL_COST_MAP=True "$folder/venv/bin/python" - <<'PYTHON' 2>/dev/null
from litellm import token_counter
from pydantic import BaseModel, Field

MODEL, ASKED = "gpt-4o", [{"role": "user", "content": "Which tea?"}]
WORDS = "words " * 300


class Plain(BaseModel):
    town: str = Field(description=WORDS)


class Optional(BaseModel):
    town: str | None = Field(None, description=WORDS)


class Nested(BaseModel):
    place: Plain


class Listed(BaseModel):
    places: list[Plain] | None = None


def tokens_of(schema):
    tool = {"type": "function", "function": {"name": "find", "description": "Find it.", "parameters": schema}}
    return token_counter(model=MODEL, messages=ASKED, tools=[tool]) - token_counter(model=MODEL, messages=ASKED)


inlined = {"type": "object", "properties": {"place": Plain.model_json_schema()}}
counts = {model.__name__: tokens_of(model.model_json_schema()) for model in (Plain, Optional, Nested, Listed)}
counts["inlined"] = tokens_of(inlined)
print(counts)
assert counts["Plain"] > 300 and counts["inlined"] > 300 and counts["Optional"] > 300
assert counts["Nested"] < 50
assert counts["Listed"] < 50
PYTHON
