"""`quire openapi`."""

from __future__ import annotations

import json

import click

from app.main import build_app
from app.settings import Settings


@click.command()
def openapi() -> None:
    """Print the API's OpenAPI document."""
    document = build_app(Settings(), "").openapi()
    click.echo(json.dumps(document, indent=2, sort_keys=True, ensure_ascii=False))
