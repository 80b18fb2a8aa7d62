"""The command `quire`. Composition root.

A command's module is imported when the command runs, so that `quire --help` imports none of them. Only this table and
the modules listed in tests/guards/test_imports.py import anything while the program runs.
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
    """A command's location, and its line in the list of commands."""

    module: str
    name: str
    help: str


COMMANDS: Final[Mapping[str, Listed]] = {
    "audit": Listed("app.cli.audit", "audit", "Export the log of reads and erasures."),
    "backup": Listed("app.cli.backup", "backup", "Copy the embedded database, also while it is in use."),
    "connect": Listed("app.cli.connect", "connect", "Print or write a coding agent's configuration for Quire."),
    "demo": Listed("app.demo.command", "demo", "Replay a long conversation and watch the window."),
    "doctor": Listed("app.cli.doctor", "doctor", "Check that everything is healthy."),
    "eval": Listed("app.cli.eval", "evaluation", "Evaluate Quire on conversations of your own."),
    "export": Listed("app.cli.transfer", "export", "Write a user's or a conversation's data as lines."),
    "fork": Listed("app.cli.fork", "fork", "Make a branch of a conversation."),
    "import": Listed("app.cli.transfer", "import_file", "Send exported data to a running Quire."),
    "jobs": Listed("app.cli.jobs", "jobs", "List background jobs, and retry the dead ones."),
    "keys": Listed("app.cli.keys", "keys", "Create, list and revoke API keys."),
    "mcp": Listed("app.cli.mcp", "serve_stdio", "Serve MCP over stdio, for clients that start their servers."),
    "memories": Listed("app.cli.memories", "memories", "List memories, and accept or refuse proposals."),
    "migrate": Listed("app.cli.migrate", "migrate", "Bring the schema to the newest version."),
    "openapi": Listed("app.cli.openapi", "openapi", "Print the API's OpenAPI document."),
    "replay": Listed("app.cli.replay", "replay", "Show what a model saw."),
    "restore": Listed("app.cli.backup", "restore", "Put a backup into an empty data directory."),
    "retention": Listed("app.cli.retention", "retention", "Erase and prune what is past its time."),
    "serve": Listed("app.cli.serve", "serve", "Serve the API, do its jobs, and bring a database."),
    "tenants": Listed("app.cli.tenants", "tenants", "Manage tenants, fully isolated from one another."),
    "worker": Listed("app.cli.worker", "worker", "Do the background jobs only."),
}


class Commands(click.Group):
    """A group that imports a command when it runs, and lists commands without importing them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        listed = COMMANDS.get(cmd_name)
        if listed is None:
            return None
        with _no_collections():
            command: click.Command = getattr(import_module(listed.module), listed.name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, COMMANDS[name].help) for name in self.list_commands(ctx)])


@contextmanager
def _no_collections() -> Iterator[None]:
    """Pause garbage collection: imports only create objects that stay, and collecting takes a quarter of the start.

    Nor does any later collection search what was imported.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


@click.group(cls=Commands)
@click.version_option(__version__, prog_name="quire", message="%(prog)s %(version)s")
def main() -> None:
    """Quire: memory as a service for LLM agents. Settings are environment variables."""
