"""Read request bodies strictly: everything accepted can be stored and returned unchanged.

Python's JSON parser is dangerously lenient: it accepts NaN and lone surrogates, keeps the last of two equal keys, turns
-0 into 0 and 1e999 into infinity, and exhausts the stack on deep nesting. Each of these is refused here (or, for -0,
preserved) before anything else sees the value.
"""

import json
import math
import re
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import accumulate
from typing import Any, Literal, TypeAlias, TypeVar, TypeVarTuple, Unpack

import anyio.to_thread
from pydantic import BaseModel, ConfigDict, ValidationError
from starlette.requests import ClientDisconnect, Request

from app import errors
from app.api.http.runtime import runtime_of

DEPTH_MAX = 64
CONTAINERS_MAX = 500_000
INTEGER_DIGITS_MAX = 4300
INLINE_BYTES = 256 * 1024
ERRORS_MAX = 20
LOC_CHARACTERS_MAX = 100
Part: TypeAlias = Literal["body", "query"]
"""The part of a request that has its members."""

T = TypeVar("T", bound=BaseModel)
Result = TypeVar("Result")
Arguments = TypeVarTuple("Arguments")


class RequestModel(BaseModel):
    """Base of every request body. Refuses unknown fields and converts no types."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


NAMES = ("user_id", "conversation_id", "space_id")
"""Members of a body that say whose data a request is about."""


async def read_model(request: Request, model: type[T]) -> T:
    """Read the body as a model. Raises what ``read_json`` and ``parse_model`` raise."""
    return parse_model(model, await read_json(request))


async def read_json(request: Request) -> Any:
    """Read the body as JSON, with what is not to be stored masked. Large bodies are parsed in a thread; ``is_large``
    tells afterwards.

    Raises UnsupportedMediaType (not UTF-8 JSON), PayloadTooLarge (as soon as the limit is
    passed), BadRequest (not JSON) or Invalid (JSON that cannot be returned unchanged).
    """
    _require_json(request.headers)
    body = await read_bytes(request)
    request.state.body_is_large = len(body) > INLINE_BYTES
    masks = runtime_of(request).masks
    value = await work_on(request, lambda: masks.value(parse(body)))
    request.state.named = {name: value[name] for name in NAMES if name in value} if isinstance(value, dict) else {}
    return value


async def work_on(request: Request, work: Callable[[Unpack[Arguments]], Result], *arguments: *Arguments) -> Result:
    """Do what takes as long as the body that was read is: that of a large one in a thread."""
    return await anyio.to_thread.run_sync(work, *arguments) if is_large(request) else work(*arguments)


def is_large(request: Request) -> bool:
    return bool(request.state.body_is_large)


def is_media_type(request: Request, *media_types: str) -> bool:
    return request.headers.get("content-type", "").split(";")[0].strip().lower() in media_types


async def read_text(request: Request) -> str:
    """Return the body as text. Raises UnsupportedMediaType (not UTF-8), PayloadTooLarge or BadRequest."""
    return _decoded(await read_bytes(request))


def _decoded(body: bytes) -> str:
    try:
        return body.decode()
    except UnicodeDecodeError as error:
        raise errors.BadRequest(f"The body is not valid UTF-8 at byte {error.start}.") from None


def parse(body: bytes) -> Any:
    """Parse one JSON value from its UTF-8 bytes; raises BadRequest or Invalid."""
    if body.startswith(b"\xef\xbb\xbf"):
        raise errors.BadRequest("The body must not begin with a byte order mark.")
    text = _decoded(body)
    _require_shallow(body)
    try:
        value = _decode(text)
    except json.JSONDecodeError as error:
        raise errors.BadRequest(
            f"The body is not valid JSON: {error.msg} at line {error.lineno}, column {error.colno}."
        ) from None
    except RecursionError:
        raise _too_deep() from None
    if _SURROGATE_ESCAPE.search(text):
        _require_characters(value)
    return value


def parse_model(model: type[T], value: Any, loc: Sequence[str | int] = ("body",), *, strict: bool | None = None) -> T:
    """Return the value as a model. Raises Invalid, which says where and why without repeating the value.

    Unless ``strict`` is given, the model decides whether types are converted.
    """
    try:
        return model.model_validate(value, strict=strict)
    except ValidationError as error:
        problems = field_errors(error.errors(include_url=False), loc)
        raise errors.Invalid(errors=problems) from None


def checked_object(value: Any) -> dict[str, Any]:
    """Return a body that is an object. Raises Invalid."""
    if not isinstance(value, dict):
        raise errors.Invalid.at(["body"], "must be an object")
    return value


def require_storable(part: Part, **texts: str | Iterable[str] | None) -> None:
    """Refuse members of a request that contain NUL. Raises Invalid."""
    if problems := unstorable(part, **texts):
        raise errors.Invalid(errors=problems)


def unstorable(part: Part, **texts: str | Iterable[str] | None) -> list[errors.FieldError]:
    """Return a problem for each member that contains NUL, which PostgreSQL's text cannot hold.

    Only the content of messages, archives and memories can contain it: see ``core.neutral``.
    """
    return [
        {"loc": [part, name], "msg": "must not contain U+0000"}
        for name, text in texts.items()
        if text is not None and any("\x00" in one for one in ((text,) if isinstance(text, str) else text))
    ]


def field_errors(details: Any, loc: Sequence[str | int] = ()) -> list[errors.FieldError]:
    """Return Pydantic's errors, located within ``loc``, without input values, and limited in number.

    A member that can be of several types has one error for each of them, which are joined.
    """
    found: dict[tuple[str | int, ...], str] = {}
    for error in details[:ERRORS_MAX]:
        parts = [part for part in error["loc"] if isinstance(part, int) or not _TYPE.fullmatch(str(part))]
        at = tuple(part if isinstance(part, int) else str(part)[:LOC_CHARACTERS_MAX] for part in (*loc, *parts))
        said = errors.predicate(error)
        found[at] = f"{found[at]} or {said.removeprefix('must be ')}" if at in found else said
    return [{"loc": [*at], "msg": said} for at, said in found.items()]


_TYPE = re.compile(r"str|int|bool|float|constrained-\w+|(?:dict|list|function-\w+)\[.*\]")
"""What Pydantic adds to the place of an error for a type among several: the name of no member."""


def json_body(model: type[BaseModel], example: Any = None) -> dict[str, Any]:
    """Return the `openapi_extra` of a route that reads this model with `read_json`; registers its schema."""
    if BODY_MODELS.setdefault(model.__name__, model) is not model:
        raise ValueError(f"two models are named {model.__name__}")
    content: dict[str, Any] = {"schema": {"$ref": f"#/components/schemas/{model.__name__}"}}
    if example is not None:
        content["example"] = example
    return {"requestBody": {"required": True, "content": {"application/json": content}}}


# Models that only `json_body` knows of, by name; `app.api.http.openapi` adds them to the components.
BODY_MODELS: dict[str, type[BaseModel]] = {}


def require_utf8(headers: Mapping[str, str]) -> None:
    """Raise UnsupportedMediaType for a body that declares a charset other than UTF-8."""
    for parameter in headers.get("content-type", "").lower().split(";")[1:]:
        name, _, setting = parameter.partition("=")
        if name.strip() == "charset" and setting.strip(' "') not in {"utf-8", "utf8"}:
            raise errors.UnsupportedMediaType("The charset must be utf-8.")


def _require_json(headers: Mapping[str, str]) -> None:
    media_type = headers.get("content-type", "").split(";")[0].strip().lower()
    if media_type != "application/json" and not re.fullmatch(r"application/[\w.-]+\+json", media_type):
        raise errors.UnsupportedMediaType("The Content-Type must be application/json.")


async def read_bytes(request: Request, max_bytes: int | None = None) -> bytes:
    """Return the body as it came; ``max_bytes``: None for the limit of the settings.

    Raises UnsupportedMediaType (not UTF-8), PayloadTooLarge or BadRequest.
    """
    require_utf8(request.headers)
    max_bytes = max_bytes or runtime_of(request).defaults.limits.body_bytes
    detail = f"The body is larger than {max_bytes} bytes."
    length = request.headers.get("content-length", "")
    if length.isdecimal() and int(length[:20]) > max_bytes:
        raise errors.PayloadTooLarge(detail)
    body = bytearray()
    try:
        async for chunk in request.stream():
            body += chunk
            if len(body) > max_bytes:
                # Its end is unknown, and the server would read and drop the rest for ever.
                raise errors.PayloadTooLarge(detail, headers={"Connection": "close"})
    except ClientDisconnect:
        raise errors.BadRequest("The body ended early.") from None
    return bytes(body)


_STRING = re.compile(rb'"(?:[^"\\]++|\\.)*+"', re.DOTALL)
_NOT_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))
_STEPS = bytes.maketrans(b"[{]}", b"\x01\x01\xff\xff")  # as signed bytes: 1, 1, -1, -1


def _require_shallow(body: bytes) -> None:
    """Refuse deep nesting before the parser meets it; every step is a loop in C.

    Refuse very many arrays and objects, too: two bytes of text become a hundred bytes of memory.
    """
    if body.count(b"[") + body.count(b"{") <= DEPTH_MAX:
        return
    steps = array("b", _STRING.sub(b"", body).translate(_STEPS, _NOT_BRACKETS))
    if len(steps) > 2 * CONTAINERS_MAX:
        raise errors.Invalid(f"The body has more than {CONTAINERS_MAX} arrays and objects.")
    if any(map(DEPTH_MAX.__lt__, accumulate(steps))):
        raise _too_deep()


def _too_deep() -> errors.Invalid:
    return errors.Invalid(f"The body is nested deeper than {DEPTH_MAX} levels.")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise errors.Invalid(f"An object has the key {_shown(twice)} twice.")
    return members


def _object_with_checked_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    for key, _ in pairs:
        if "\0" in key:
            raise errors.Invalid(f"The key {_shown(key)} contains the character U+0000.")
    return _object(pairs)


def _integer(digits: str) -> int | float:
    if digits == "-0":
        return -0.0
    if len(digits) > INTEGER_DIGITS_MAX:
        raise errors.Invalid(f"A number has more than {INTEGER_DIGITS_MAX} digits.")
    return int(digits)


def _float(digits: str) -> float:
    number = float(digits)
    if math.isinf(number):
        raise errors.Invalid("A number is too large.")
    return number


def _constant(name: str) -> float:
    raise errors.Invalid(f"{name} is not JSON.")


_SURROGATE_ESCAPE = re.compile(r"\\u[dD][89a-fA-F]")


_decoder = partial(json.JSONDecoder, parse_int=_integer, parse_float=_float, parse_constant=_constant)
_PLAIN, _WITH_ESCAPES = _decoder(object_pairs_hook=_object), _decoder(object_pairs_hook=_object_with_checked_keys)


def _decode(text: str) -> Any:
    # A key can only hold NUL by way of an escape, so most bodies skip the look at every key.
    return (_WITH_ESCAPES if "\\u0000" in text else _PLAIN).decode(text)


def _require_characters(value: Any) -> None:
    """Refuse lone surrogates: they are not characters, and neither UTF-8 nor PostgreSQL can hold them."""
    for path in _lone_surrogates(value, ["body"]):
        raise errors.Invalid.at(path, "contains half of a surrogate pair, which is not a character")


def _lone_surrogates(value: Any, path: list[str | int]) -> Iterator[list[str | int]]:
    """Yield the paths of lone surrogates. Recursion is bounded by DEPTH_MAX."""
    if isinstance(value, str):
        if not _is_encodable(value):
            yield path
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _lone_surrogates(item, [*path, index])
    elif isinstance(value, dict):
        for key, item in value.items():
            if not _is_encodable(key):
                yield [*path, _shown(key)]
            yield from _lone_surrogates(item, [*path, key])


def _is_encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _shown(key: str) -> str:
    """Return a key as ASCII JSON, cut short, so that any key can stand in a message."""
    return json.dumps(key[:LOC_CHARACTERS_MAX])
