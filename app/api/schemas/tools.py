"""Recall tools and ATTP documents."""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, Field

from app.api.http.body import RequestModel


def _parsed(arguments: Any) -> Any:
    if not isinstance(arguments, str):
        return arguments
    try:
        return json.loads(arguments or "{}")
    except (ValueError, RecursionError) as error:
        raise ValueError("must be an object or its JSON text") from error


class ToolCallBody(RequestModel):
    """A recall tool call of a model."""

    arguments: Annotated[dict[str, Any], BeforeValidator(_parsed)] = Field(
        default={}, description="an object, or its JSON text as models write it"
    )


class ToolResult(BaseModel):
    name: str
    content: str
    is_error: bool


class AttpBody(RequestModel):
    """An ATTP document."""

    document: str = Field(description="the TOML document, with or without a code fence around it")


class AttpCall(BaseModel):
    name: str
    arguments: dict[str, Any]
    error: str | None = Field(description="why the call failed")


class AttpResult(BaseModel):
    """Result of an ATTP document."""

    status: Literal["continue", "done", "error"] = Field(
        description="continue: show the model `content`; done: `message` is the answer; error: `content` says why"
    )
    thought: str | None
    target: str | None
    message: str | None
    result: Any = Field(description="the value of `__result__`")
    error: str | None
    content: str = Field(description="what to show the model")
    is_error: bool
    calls: list[AttpCall]


class ToolSchemas(BaseModel):
    format: Literal["openai", "anthropic", "mcp", "attp"]
    tools: list[dict[str, Any]]
    prompt: dict[str, str] = Field(description="guide to the tools, by language")
    window: list[str] = Field(description="tools that windows include")
