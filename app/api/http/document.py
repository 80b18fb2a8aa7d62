"""Parts of the OpenAPI document that are data: tags, examples, and the forms that no pydantic model has."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

DOCUMENT: dict[str, Any] = json.loads(files("app.api.http").joinpath("document.json").read_text("utf-8"))
