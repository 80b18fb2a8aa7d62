"""Tool results of every kind, made from a seed, and the calls that the archive's tests make all the time."""

import asyncio
import json
import re
from random import Random
from typing import Any

import httpx

from app.assembly import runtime_of
from app.postgres.embedded import EmbeddedPostgres
from app.postgres.tenants import DEFAULT_TENANT
from app.services.memory.indexing import Text, index_rest
from app.settings import Settings
from tests.api.kit import Json, append, call, ok, path, result, user

ENGLISH = re.findall(
    r"\w+",
    "harbour warehouse ledger invoice shipment customs broker pallet container freight tariff schedule carrier cargo "
    "dispatch inspection permit insurance crane terminal voyage charter manifest weather delay storage contract",
)
CHINESE = (
    "港口仓库账本发票货运海关经纪托盘集装箱关税时刻表承运人调度检查许可证保险起重机码头航程租船舱单"
    "天气延误仓储合同价格上海宁波"
)

KINDS = ("json", "table", "log", "code", "prose")


def made(kind: str, language: str = "en", size: int = 20_000, seed: int = 1, ending: str = "") -> str:
    """A result of at least so many characters."""
    rng = Random(f"{kind} {language} {seed}")
    parts = [_HEADS.get(kind, "")]
    length = 0
    number = 0
    while length < size:
        number += 1
        parts.append(_line(kind, rng, language, number))
        length += len(parts[-1]) + 1
    if kind == "json":
        last = [json.dumps({"shipment": ending})] if ending else []
        return "[" + ",\n".join([*parts[1:], *last]) + "]"
    return "\n".join(part for part in [*parts, ending] if part)


_HEADS = {"table": "shipment,port,weight_kg,carrier", "code": "import json"}


def sentence(rng: Random, language: str, words: int = 9) -> str:
    if language == "zh":
        return "".join(rng.choice(CHINESE) for _ in range(words * 2)) + "。"
    return " ".join(rng.choice(ENGLISH) for _ in range(words)).capitalize() + "."


def _line(kind: str, rng: Random, language: str, number: int) -> str:
    said = sentence(rng, language)
    match kind:
        case "json":
            return json.dumps(
                {"shipment": f"SH-{number}", "title": said, "weight": rng.randint(1, 900)}, ensure_ascii=False
            )
        case "table":
            return f"SH-{number},{said[:12].replace(',', ' ')},{rng.randint(1, 900)},{rng.choice(ENGLISH)}"
        case "log":
            level = rng.choice(["INFO"] * 9 + ["ERROR"])
            return f"2025-03-{number % 28 + 1:02} 10:00:00,000 {level} dispatch: {said}"
        case "code":
            return f"def {rng.choice(ENGLISH)}_{number}(value: int) -> str:\n    # {said}\n    return json.dumps(value)"
        case _:
            return said


def looked_up(number: int, text: Any, arguments: str = '{"query":"freight rates"}', name: str = "search") -> list[Json]:
    """A whole turn in which a tool is called and answers."""
    call_id = f"call_{number}"
    return [
        user(f"What about shipment {number}?"),
        call(call_id, name=name, arguments=arguments),
        result(call_id, text),
        {"role": "assistant", "content": f"Shipment {number} is on its way."},
    ]


def archived(client: httpx.Client, conversation: str, number: int, text: Any, **body: Any) -> str:
    """Append a turn whose result is archived; the archive's uuid."""
    answer = append(client, conversation, looked_up(number, text), **body)
    uuid = answer["messages"][2]["archive_id"]
    assert uuid is not None
    return str(uuid)


def archive(client: httpx.Client, text: str, **body: Any) -> Json:
    sent = {"user_id": "u", "tool_name": "search", "tool_input": {"query": "freight rates"}, "result": text, **body}
    return ok(client.post("/archive", json=sent), 201)


def loaded(client: httpx.Client, uuid: str, **query: Any) -> Json:
    return ok(client.get(f"/archive/{uuid}", params=query))


def load_tool(client: httpx.Client, conversation: str, **arguments: Any) -> Json:
    return ok(client.post(path(conversation, "tools", "load_tool_history"), json={"arguments": arguments}))


def listed(client: httpx.Client, **query: Any) -> list[str]:
    return [item["uuid"] for item in ok(client.get("/archive", params=query))["items"]]


def all_text(window: Json) -> str:
    """Everything that a window says."""
    return json.dumps([window["messages"], window["system"]], ensure_ascii=False)


def index(settings: Settings, postgres: EmbeddedPostgres, *wanted: Text, times: int = 1) -> None:
    """Do the job that goes on with the index of long texts, several at once."""

    async def go() -> None:
        async with runtime_of(settings, postgres.app_dsn) as runtime:
            tasks = [index_rest(runtime, DEFAULT_TENANT, of) for of in wanted for _ in range(times)]
            await asyncio.gather(*tasks)

    asyncio.run(go())
