import contextlib
import json
import math
import time
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any, Literal

import httpx
import pytest
from fastapi import FastAPI, Request, Response
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field

from app import errors
from app.api.http import body, openapi, problem
from app.core.canonical import dumps
from app.text.masks import Masks
from tests import unhurried
from tests.conftest import serving

BODY_MAX_BYTES = 1000


class Remark(body.RequestModel):
    text: str = Field(max_length=10)
    kind: Literal["short", "long"] = "short"
    parts: list["Part"] = []


class Part(body.RequestModel):
    number: int = Field(0, ge=0)


keys = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(keys, inner),
    max_leaves=20,
)


@given(values)
def test_accepted_json_is_returned_byte_for_byte(value: Any) -> None:
    text = dumps(value)
    assert dumps(body.parse(text.encode())) == text


def test_the_sign_of_zero_and_characters_are_kept() -> None:
    parsed = body.parse('{"zero":-0,"text":"a\\u0000\\ud83d\\ude00","字":[-0.0,0]}'.encode())
    assert math.copysign(1, parsed["zero"]) == -1
    assert dumps(parsed) == '{"zero":-0.0,"text":"a\\u0000😀","字":[-0.0,0]}'


@pytest.mark.parametrize(
    "sent",
    [
        b"",
        b"{",
        b"{'a':1}",
        b"[1,]",
        b"[01]",
        b"nul",
        b"1 2",
        b'"\n"',
        b'\xef\xbb\xbf{"a":1}',
        '{"a":1}'.encode("utf-16"),
        b'"\xff"',
        b'"\xc0\xaf"',
        b'"\xed\xa0\x80"',
        b'"unclosed',
        b"]" * 100,
    ],
)
def test_malformed_json_is_a_bad_request(sent: bytes) -> None:
    with pytest.raises(errors.BadRequest):
        body.parse(sent)


@pytest.mark.parametrize(
    "sent",
    [
        b"NaN",
        b"[-Infinity]",
        b"1e999",
        b"-1e999",
        b"9" * 5000,
        b"[" * 200 + b"]" * 200,
        b"[" * 200_000 + b"]" * 200_000,
        b"[" * 200_000,
        b'{"a":' * 200_000 + b"1" + b"}" * 200_000,
        b'["\\ud800"]',
        b'{"\\udfff":1}',
        b'{"a\\u0000":1}',
        b'{"a":1,"a":1}',
        b'{"a":1,"\\u0061":2}',
        b"[" + b"[]," * 600_000 + b"1]",
    ],
)
def test_json_that_cannot_be_returned_unchanged_is_invalid(sent: bytes) -> None:
    with pytest.raises(errors.Invalid):
        body.parse(sent)


def test_an_error_names_the_key_or_the_place() -> None:
    with pytest.raises(errors.Invalid, match='key "colour" twice'):
        body.parse(b'{"a":[{"colour":1,"colour":2}]}')
    with pytest.raises(errors.Invalid) as caught:
        body.parse(b'{"messages":[{},{"content":"\\udc00"}]}')
    assert caught.value.errors[0]["loc"] == ["body", "messages", 1, "content"]


def test_the_depth_is_counted_outside_strings_only() -> None:
    body.parse(b"[" * 64 + b"]" * 64)
    body.parse(b'[{"a":' * 32 + b"1" + b"}]" * 32)
    assert body.parse(b'["' + b'[{\\"' * 100_000 + b'"]') == ['[{"' * 100_000]
    with pytest.raises(errors.Invalid, match="deeper than 64"):
        body.parse(b"[" * 65 + b"]" * 65)


@pytest.mark.slow
@pytest.mark.parametrize("sent", [b"[" + b"1," * 15_000_000 + b"1]", b'["' + b"x\\n" * 10_000_000 + b'"]'])
def test_parsing_does_not_grow_with_the_square_of_a_body(sent: bytes) -> None:
    started = time.thread_time()
    body.parse(sent)
    assert time.thread_time() - started < 60  # seconds; with the square it would be days


def test_a_model_says_what_is_wrong_where_and_not_what_was_sent() -> None:
    with pytest.raises(errors.Invalid) as caught:
        body.parse_model(Remark, {"text": "secret-secret", "parts": [{"number": -7}], "tenant_id": "secret"})
    found = {tuple(error["loc"]): error["msg"] for error in caught.value.errors}
    assert set(found) == {("body", "text"), ("body", "parts", 0, "number"), ("body", "tenant_id")}
    assert "10" in found[("body", "text")]
    assert "secret" not in str(found).replace("tenant_id", "")


def test_types_are_not_coerced() -> None:
    refused: list[Any] = [{"text": 5}, {"text": None}, {"text": "a", "parts": [{"number": "1"}]}, [], "text"]
    for wrong in refused:
        with pytest.raises(errors.Invalid):
            body.parse_model(Remark, wrong)


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """A small app around the reader, served for real."""
    app = FastAPI()
    app.state.runtime = SimpleNamespace(
        masks=Masks(), defaults=SimpleNamespace(limits=SimpleNamespace(body_bytes=BODY_MAX_BYTES))
    )
    problem.install(app, ())

    @app.post("/notes", openapi_extra=body.json_body(Remark, {"text": "hi"}))
    async def make_note(request: Request) -> Response:
        value = await body.read_json(request)
        body.parse_model(Remark, value)
        return Response(dumps(value), media_type="application/json")

    @app.get("/notes")
    async def list_notes(limit: int) -> int:
        return limit

    @app.get("/broken")
    async def broken() -> None:
        raise ZeroDivisionError("secret")

    openapi.install(app, [app.router])
    yield from serving(app)


@pytest.fixture
def post(url: str) -> Iterator[Callable[..., httpx.Response]]:
    with httpx.Client(base_url=url, timeout=30) as client:

        def send(content: Any, **headers: str) -> httpx.Response:
            named = {name.replace("_", "-"): value for name, value in headers.items()}
            return client.post("/notes", content=content, headers={"content-type": "application/json", **named})

        yield send


def test_a_good_body_is_read(post: Callable[..., httpx.Response]) -> None:
    assert post(b'{ "text": "\xe5\xad\x97" }').text == '{"text":"字"}'
    assert post(b'{"text":""}', content_type="application/json; charset=UTF-8").status_code == 200
    assert post(b'{"text":""}', content_type="application/ld+json").status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"content_type": "text/plain"},
        {"content_type": ""},
        {"content_type": "application/x-www-form-urlencoded"},
        {"content_type": "application/json; charset=latin-1"},
    ],
)
def test_another_media_type_is_415(post: Callable[..., httpx.Response], headers: dict[str, str]) -> None:
    assert_problem(post(b'{"text":""}', **headers), 415, "unsupported-media-type")


def test_a_body_over_the_limit_is_413_with_and_without_its_length(post: Callable[..., httpx.Response]) -> None:
    assert_problem(post(b" " * (BODY_MAX_BYTES + 1)), 413, "payload-too-large")
    assert_problem(post(iter([b" " * 600] * 2)), 413, "payload-too-large")
    assert post(b'{"text":""}' + b" " * (BODY_MAX_BYTES - 11)).status_code == 200


def test_an_endless_body_is_refused_while_it_is_sent(post: Callable[..., httpx.Response]) -> None:
    def endless() -> Iterator[bytes]:
        while True:
            yield b" " * 65_536

    # Or the server hung up before the client had read the answer.
    with contextlib.suppress(httpx.WriteError, httpx.RemoteProtocolError):
        assert_problem(post(endless()), 413, "payload-too-large")


def test_every_error_is_a_problem(url: str, post: Callable[..., httpx.Response]) -> None:
    assert_problem(post(b"{"), 400, "bad-request")
    assert_problem(post(b"{}"), 422, "invalid")
    assert_problem(unhurried.get(url + "/nowhere"), 404, "not-found")
    assert_problem(unhurried.delete(url + "/notes"), 405, "method-not-allowed")
    assert "secret" not in assert_problem(unhurried.get(url + "/broken"), 500, "internal").text


@pytest.mark.parametrize("limit", ["secret", "1e5", "%ff%00", "1" * 5000])
def test_a_bad_parameter_is_named_and_not_repeated(url: str, limit: str) -> None:
    answer = assert_problem(unhurried.get(f"{url}/notes?limit={limit}"), 422, "invalid")
    assert answer.json()["errors"][0]["loc"] == ["query", "limit"]
    assert "secret" not in answer.text
    assert "1111" not in answer.text


def test_a_sane_request_id_is_kept_and_another_replaced(url: str) -> None:
    assert unhurried.get(url + "/nowhere", headers={"x-request-id": "mine-1"}).json()["request_id"] == "mine-1"
    for odd in ("has space", "x" * 200, '"', "{}"):
        assert unhurried.get(url + "/nowhere", headers={"x-request-id": odd}).headers["x-request-id"] != odd


def test_the_api_description_knows_the_body_and_the_problems(url: str) -> None:
    document = unhurried.get(url + "/openapi.json").json()
    content = document["paths"]["/notes"]["post"]["requestBody"]["content"]["application/json"]
    assert content == {"schema": {"$ref": "#/components/schemas/Remark"}, "example": {"text": "hi"}}
    assert {"Remark", "Part", "Problem"} <= set(document["components"]["schemas"])
    assert "HTTPValidationError" not in json.dumps(document)


def assert_problem(answer: httpx.Response, status: int, code: str) -> httpx.Response:
    assert answer.status_code == status
    assert answer.headers["content-type"] == "application/problem+json"
    said = answer.json()
    assert (said["type"], said["status"]) == (f"urn:quire:problem:{code}", status)
    assert said["request_id"] == answer.headers["x-request-id"]
    return answer
