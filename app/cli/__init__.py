"""The command `quire`. Composition root.

A command's module is imported when the command is run, so that `quire --help` imports none of them. This table and the
modules that tests/guards/test_imports.py lists are the only places that import anything while the program runs.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from typing import Final, NamedTuple

import click

from app import __version__


class Listed(NamedTuple):
    """Where a command is, and what the list of commands says of it."""

    module: str
    name: str
    help: str


COMMANDS: Final[Mapping[str, Listed]] = {
    "demo": Listed("app.demo.command", "demo", "Replay a long conversation and watch the window."),
    "doctor": Listed("app.cli.doctor", "doctor", "Check that everything is healthy."),
    "export": Listed("app.cli.transfer", "export", "Write a user's or a conversation's data as lines."),
    "import": Listed("app.cli.transfer", "import_file", "Send exported data to a running Quire."),
    "jobs": Listed("app.cli.jobs", "jobs", "List background jobs, and retry the dead ones."),
    "keys": Listed("app.cli.keys", "keys", "Create, list and revoke API keys."),
    "migrate": Listed("app.cli.migrate", "migrate", "Bring the schema to the newest version."),
    "openapi": Listed("app.cli.openapi", "openapi", "Print the API's OpenAPI document."),
    "retention": Listed("app.cli.retention", "retention", "Erase and prune what is past its time."),
    "serve": Listed("app.cli.serve", "serve", "Serve the API, do its jobs, and bring a database."),
    "tenants": Listed("app.cli.tenants", "tenants", "Manage tenants, fully isolated from one another."),
    "worker": Listed("app.cli.worker", "worker", "Do the background jobs only."),
}


class Commands(click.Group):
    """A group whose commands are imported when they are needed, and listed without."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        listed = COMMANDS.get(cmd_name)
        if listed is None:
            return None
        with _no_collections():
            found: click.Command = getattr(import_module(listed.module), listed.name)
        return found

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, COMMANDS[name].help) for name in self.list_commands(ctx)])


@contextmanager
def _no_collections() -> Iterator[None]:
    """Imports make objects that stay: looking for garbage among them takes a quarter of a start, and finds none."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


@click.group(cls=Commands)
@click.version_option(__version__, prog_name="quire", message="%(prog)s %(version)s")
def main() -> None:
    """Quire: memory as a service for LLM agents. Settings are environment variables."""
