"""The examples of the OpenAPI document, which the page at /docs sends: they work on a fresh service."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from app.core.canonical import dumps
from tests.api.kit import Json

UNKNOWN = "Quire makes this id, so a fresh service has none"
NO_MODEL = "no model is set up behind the proxy"
REFUSED = {
    **dict.fromkeys(("get_archive", "delete_archive", "change_note", "delete_note"), (404, UNKNOWN)),
    **dict.fromkeys(
        ("get_memory", "forget", "change_memory", "list_versions", "retry_job", "revoke_key"), (404, UNKNOWN)
    ),
    **dict.fromkeys(("get_response", "delete_response", "list_response_input_items"), (404, UNKNOWN)),
    **dict.fromkeys(("create_chat_completion", "create_embeddings", "list_models", "get_model"), (404, NO_MODEL)),
    **dict.fromkeys(("create_message", "count_message_tokens"), (404, NO_MODEL)),
    **dict.fromkeys(("create_response", "compact_response", "count_response_tokens"), (404, NO_MODEL)),
    **dict.fromkeys(("delete_webhook", "limit_key"), (404, UNKNOWN)),
    "report_result": (409, "the conversation of the examples has no parent"),
    "delete_conversation": (409, "a fork of the examples shares its messages"),
    "create_key": (422, "the first key has to be confirmed: from then on every request needs one"),
}
"""The operations whose examples are refused on a fresh service, and why."""
ORDER = ("post", "put", "patch", "get", "delete")


def operations(document: Json) -> list[tuple[str, str, Json]]:
    """Return path, verb and operation: what makes something first, and the message that makes the conversation."""
    found = [(path, verb, one) for path, verbs in document["paths"].items() for verb, one in verbs.items()]
    return sorted(found, key=lambda o: (o[2]["operationId"] != "append_messages", ORDER.index(o[1]), -len(o[0])))


def send(client: httpx.Client, path: str, verb: str, operation: Json) -> httpx.Response:
    given: dict[str, dict[str, Any]] = {"path": {}, "query": {}, "header": {}}
    for parameter in operation.get("parameters", ()):
        if "example" in parameter:
            given[parameter["in"]][parameter["name"]] = parameter["example"]
        else:
            assert not parameter["required"], f"{verb} {path}: {parameter['name']} has no example"
    where = path.format(**given["path"])
    bodies = operation.get("requestBody", {}).get("content", {})
    if not bodies:
        return client.request(verb, where, params=given["query"], headers=given["header"])
    answers = []
    for kind, content in bodies.items():
        example = content.get("example", {})
        text = example if isinstance(example, str) else dumps(example)
        headers = {**given["header"], "content-type": kind}
        answers.append(client.request(verb, where, params=given["query"], headers=headers, content=text))
    assert len({answer.status_code for answer in answers}) == 1, f"{verb} {path}"
    return answers[0]


@pytest.mark.usefixtures("clean")
def test_every_example_works_on_a_fresh_service_or_is_refused_for_a_known_reason(client: httpx.Client) -> None:
    refused = {}
    for path, verb, operation in operations(client.get("/openapi.json").json()):
        answer = send(client, path, verb, operation)
        if not answer.is_success:
            refused[operation["operationId"]] = answer.status_code, answer.text[:120]
    unexpected = {name: answer for name, answer in refused.items() if REFUSED.get(name, (0, ""))[0] != answer[0]}
    assert not unexpected, "\n".join(f"{name} {answer}" for name, answer in unexpected.items())
    assert sorted(refused) == sorted(REFUSED)
