"""Python client of Quire, memory as a service for LLM agents."""

from quire_client.client import AsyncQuire, Quire
from quire_client.errors import (
    BudgetTooSmall,
    Conflict,
    ConnectionFailed,
    Fork,
    Invalid,
    NotFound,
    Problem,
    QuireError,
    RateLimited,
    Unauthorized,
    Unavailable,
)
from quire_client.retries import Retries
from quire_client.shapes import Appended, Json, Recalled, Searched, Stored, Synced, ToolResult, Usage, Window

__all__ = [
    "Appended",
    "AsyncQuire",
    "BudgetTooSmall",
    "Conflict",
    "ConnectionFailed",
    "Fork",
    "Invalid",
    "Json",
    "NotFound",
    "Problem",
    "Quire",
    "QuireError",
    "RateLimited",
    "Recalled",
    "Retries",
    "Searched",
    "Stored",
    "Synced",
    "ToolResult",
    "Unauthorized",
    "Unavailable",
    "Usage",
    "Window",
]
