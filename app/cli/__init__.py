"""The server's commands, beside those of its client. Composition root.

Only this table and the modules listed in tests/guards/test_imports.py import anything while the program runs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import click

from app import __version__
from quire_command import COMMANDS as CLIENTS
from quire_command import Commands, Listed

COMMANDS: Final[Mapping[str, Listed]] = {
    **CLIENTS,
    "audit": Listed("app.cli.audit", "audit", "Export the log of reads and erasures."),
    "backup": Listed("app.cli.backup", "backup", "Copy the embedded database, also while it is in use."),
    "doctor": Listed("app.cli.doctor", "doctor", "Check that everything is healthy."),
    "jobs": Listed("app.cli.jobs", "jobs", "List background jobs, and retry the dead ones."),
    "keys": Listed("app.cli.keys", "keys", "Create, list and revoke API keys."),
    "memories": Listed("app.cli.memories", "memories", "List memories, and accept or refuse proposals."),
    "migrate": Listed("app.cli.migrate", "migrate", "Bring the schema to the newest version."),
    "openapi": Listed("app.cli.openapi", "openapi", "Print the API's OpenAPI document."),
    "restore": Listed("app.cli.backup", "restore", "Put a backup into an empty data directory."),
    "retention": Listed("app.cli.retention", "retention", "Erase and prune what is past its time."),
    "serve": Listed("app.cli.serve", "serve", "Serve the API, do its jobs, and bring a database."),
    "tenants": Listed("app.cli.tenants", "tenants", "Manage tenants, fully isolated from one another."),
    "worker": Listed("app.cli.worker", "worker", "Do the background jobs only."),
}


class _Commands(Commands):
    listed = COMMANDS


@click.group(cls=_Commands)
@click.version_option(__version__, prog_name="quire", message="%(prog)s %(version)s")
def main() -> None:
    """Quire: memory as a service for LLM agents. Settings are environment variables."""
