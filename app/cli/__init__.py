"""The command `quire`."""

from app.cli.commands import main

__all__ = ["main"]
