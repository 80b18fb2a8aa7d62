"""The command `quire`: what runs on the user's machine, and the server's commands where a server is installed.

A command's module is imported when the command runs, so that `quire --help` imports none of them.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from importlib.metadata import entry_points
from typing import Final, NamedTuple

import click
from click.shell_completion import CompletionItem

__version__ = "0.1.0"


class Listed(NamedTuple):
    """A command's location, and its line in the list of commands."""

    module: str
    name: str
    help: str


COMMANDS: Final[Mapping[str, Listed]] = {
    "completion": Listed("quire_command.completion", "completion", "Print a shell's completion of these commands."),
    "connect": Listed("quire_command.connect", "connect", "Print or write a coding agent's configuration for Quire."),
    "demo": Listed("quire_command.demo.command", "demo", "Replay a long conversation and watch the window."),
    "eval": Listed("quire_command.eval", "evaluation", "Evaluate Quire on conversations of your own."),
    "export": Listed("quire_command.transfer", "export", "Write a user's or a conversation's data as lines."),
    "fork": Listed("quire_command.fork", "fork", "Make a branch of a conversation."),
    "import": Listed("quire_command.transfer", "import_file", "Put files of Quire or of other tools into a Quire."),
    "mcp": Listed("quire_command.mcp", "serve_stdio", "Serve MCP over stdio, for clients that start their servers."),
    "memories": Listed("quire_command.memories", "memories", "List memories, and accept or refuse proposals."),
    "replay": Listed("quire_command.replay", "replay", "Show what a model saw."),
    "search": Listed("quire_command.looking", "search", "Find memories and messages."),
    "verify": Listed("quire_command.verify", "verify", "Verify receipts of a file, offline."),
    "wait": Listed("quire_command.waiting", "wait", "Wait until everything is indexed."),
    "why": Listed("quire_command.looking", "why", "Tell where a message is, and what brings it back."),
    "window": Listed("quire_command.looking", "window", "Show what a model would see now."),
}


class Commands(click.Group):
    """A group that imports a command when it runs, and lists commands without importing them."""

    listed: Mapping[str, Listed] = COMMANDS

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's methods are given their context
        return sorted(self.listed)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - as above
        listed = self.listed.get(cmd_name)
        if listed is None:
            return None
        with _no_collections():
            command: click.Command = getattr(import_module(listed.module), listed.name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, self.listed[name].help) for name in self.list_commands(ctx)])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        names = [name for name in self.list_commands(ctx) if name.startswith(incomplete)]
        options = click.Command.shell_complete(self, ctx, incomplete)
        return [*(CompletionItem(name, help=self.listed[name].help) for name in names), *options]


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
def client() -> None:
    """Quire, memory as a service for LLM agents: the commands of its client. QUIRE_URL names the service."""


def main() -> None:
    """Run the command of the server that is installed, which has the client's commands too; else the client's."""
    servers = entry_points(group="quire.server")
    command = next((entry.load() for entry in servers), client)
    command()
