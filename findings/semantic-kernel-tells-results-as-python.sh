#!/usr/bin/env bash
# semantic-kernel 1.45.0: a function that returns a dictionary answers the model with Python's text of it, single quotes, `True`
# and `None`; a list of models is their `repr`. Guessed: JSON.
set -euo pipefail
folder=$(mktemp --directory)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet semantic-kernel==1.45.0
"$folder/venv/bin/python" - <<'PYTHON' 2>/dev/null
import asyncio
import json

from pydantic import BaseModel
from semantic_kernel import Kernel
from semantic_kernel.contents import ChatHistory, FunctionCallContent
from semantic_kernel.functions import kernel_function


class Room(BaseModel):
    floor: int


class Hotel:
    @kernel_function
    def state(self) -> dict:
        return {"is_open": True, "closes": None, "name": "Harbour"}

    @kernel_function
    def rooms(self) -> list[Room]:
        return [Room(floor=2), Room(floor=3)]


async def told(name):
    kernel, history = Kernel(), ChatHistory()
    kernel.add_plugin(Hotel(), "hotel")
    asked = FunctionCallContent(id="1", plugin_name="hotel", function_name=name, arguments="{}")
    await kernel.invoke_function_call(asked, history)
    return history.messages[-1].to_dict()["content"]


found = {name: asyncio.run(told(name)) for name in ("state", "rooms")}
print(found)
assert found["state"] == "{'is_open': True, 'closes': None, 'name': 'Harbour'}"
for text in found.values():
    try:
        json.loads(text)
        raise SystemExit("it is JSON now")
    except ValueError:
        pass
PYTHON
