"""Bringing the schema to the newest migration."""

import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory

Run = Callable[[Coroutine[Any, Any, None]], None]
SCRIPTS = Path(__file__).parents[2] / "alembic"


def upgrade(owner_dsn: str, run: Run = asyncio.run) -> None:
    """Run what is missing, as the role that owns the tables. Not to be called from an event loop: ``run`` brings one.

    Two processes may do so at once: the second waits and finds nothing left to do.
    """
    config = _config()
    config.attributes.update(dsn=owner_dsn, run=run)
    command.upgrade(config, "head")


def head() -> str:
    """The newest migration, or an empty string while there is none."""
    return ScriptDirectory.from_config(_config()).get_current_head() or ""


def known() -> frozenset[str]:
    """Every migration that this version has."""
    return frozenset(script.revision for script in ScriptDirectory.from_config(_config()).walk_revisions())


def _config() -> Config:
    config = Config()
    config.set_main_option("script_location", str(SCRIPTS).replace("%", "%%"))
    return config
