"""Render the chart's templates without Helm: the part of its language that they use, and an error for anything else."""

from __future__ import annotations

import hashlib
import json
import re
import shlex
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

Json = dict[str, Any]
ACTION = re.compile(r"(\{\{.*?\}\})", re.DOTALL)
OPENS = ("define", "range", "if")


@dataclass(frozen=True)
class Block:
    """What `range`, `if` or `define` stands over, and what stands after its `else`."""

    head: list[str]
    body: list[Block | str] = field(default_factory=list)
    otherwise: list[Block | str] = field(default_factory=list)


def render(chart: Path, release: str, values: Json) -> list[Json]:
    """Return the objects of a chart under a release's name."""
    about = yaml.safe_load((chart / "Chart.yaml").read_text("utf-8"))
    scope: Json = {
        "Values": _merged(yaml.safe_load((chart / "values.yaml").read_text("utf-8")), values),
        "Release": {"Name": release},
        "Chart": {"AppVersion": about["appVersion"]},
    }
    files = sorted((chart / "templates").iterdir())
    parsed = [_parsed(file.read_text("utf-8")) for file in files]
    named = {shlex.split(b.head[1])[0]: b for p in parsed for b in p if isinstance(b, Block) and b.head[0] == "define"}
    writer = _Writer(scope, named)
    texts = [writer.text(p, {}) for p, file in zip(parsed, files, strict=True) if file.suffix == ".yaml"]
    return [found for text in texts for found in yaml.safe_load_all(text)]


def _merged(old: Json, new: Json) -> Json:
    both = {**old, **new}
    return {
        key: _merged(old[key], value) if isinstance(value, dict) and key in old else value
        for key, value in both.items()
        if value is not None
    }


def _parsed(text: str) -> list[Block | str]:
    text = re.sub(r"-\}\}\s*", "}}", re.sub(r"\s*\{\{-", "{{", text))
    return _block(iter(ACTION.split(text)), Block([""])).body


def _block(pieces: Iterator[str], block: Block) -> Block:
    into = block.body
    for piece in pieces:
        words = piece[2:-2].split() if piece.startswith("{{") else []
        if words and words[0] == "end":
            return block
        if words and words[0] == "else":
            into = block.otherwise
        elif words and words[0] in OPENS:
            into.append(_block(pieces, Block(words)))
        elif not (words and words[0].startswith("/*")):
            into.append(piece)
    return block


class _Writer:
    def __init__(self, scope: Json, named: dict[str, Block]) -> None:
        self._scope, self._named = scope, named
        self._functions: dict[str, Callable[..., Any]] = {
            "include": lambda name, _: self.text(self._named[name].body, {}),
            "default": lambda instead, value: value or instead,
            "kindIs": lambda kind, value: kind == {str: "string"}.get(type(value), "other"),
            "nindent": lambda spaces, text: "\n" + textwrap.indent(text, " " * spaces),
            "quote": lambda value: json.dumps(str(value)),
            "sha256sum": lambda text: hashlib.sha256(text.encode()).hexdigest(),
            "toJson": lambda value: json.dumps(value, sort_keys=True, separators=(",", ":")),
            "toYaml": lambda value: yaml.safe_dump(value).rstrip(),
        }

    def text(self, nodes: list[Block | str], variables: Json) -> str:
        return "".join(self._one(node, variables) for node in nodes)

    def _one(self, node: Block | str, variables: Json) -> str:
        if isinstance(node, str):
            return str(self._value(node[2:-2], variables)) if node.startswith("{{") else node
        match node.head:
            case ["define", _]:
                return ""
            case ["if", *words]:
                holds = self._value(" ".join(words), variables)
                return self.text(node.body if holds else node.otherwise, variables)
            case ["range", key, value, ":=", path]:
                items = sorted(self._value(path, variables).items())
                return "".join(self.text(node.body, {key.rstrip(","): k, value: v}) for k, v in items)
        raise ValueError(f"{node.head} is not read here")

    def _value(self, pipeline: str, variables: Json) -> Any:
        found: tuple[Any, ...] = ()
        for step in pipeline.split(" | "):
            name, *words = shlex.split(step, posix=False)
            arguments = [self._term(word, variables) for word in words]
            found = (
                self._functions[name](*arguments, *found) if name in self._functions else self._term(name, variables),
            )
        return found[0]

    def _term(self, word: str, variables: Json) -> Any:
        if word.startswith(("$", '"')):
            return variables[word] if word.startswith("$") else json.loads(word)
        if word.isdecimal():
            return int(word)
        found: Any = self._scope
        for part in filter(None, word.split(".")):
            found = found[part]
        return found
