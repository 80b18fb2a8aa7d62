"""`quire connect`: the configuration that connects a coding agent, printed or merged into its files."""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path
from typing import get_args

import click

from quire_command import connecting
from quire_command.connecting import Client, ConfigFile, JsonFile, Target, UnmergeableError
from quire_command.service import AsJson, Url, opened

BACKUP = ".before-quire"


@click.command()
@click.argument("client", type=click.Choice(get_args(Client)))
@click.option("--write", is_flag=True, help="Merge it into the client's files; each is backed up first.")
@click.option("--check", is_flag=True, help="Ask Quire whether an event of the client's hooks ever came.")
@click.option("--user", default=None, help="Whose memory it is; else the key's user, or QUIRE_DEFAULT_USER.")
@click.option("--key", default=None, help="API key to put into the files, instead of the name QUIRE_API_KEY.")
@AsJson
@Url
def connect(
    client: Client, user: str | None, key: str | None, url: str, *, write: bool, check: bool, as_json: bool
) -> None:
    """Print the configuration that connects CLIENT to Quire: its hooks, where it has them, and Quire's MCP server."""
    if check:
        _check(client, url, key or os.environ.get(connecting.KEY_VARIABLE))
        return
    target = Target(url.rstrip("/"), user, key, _program())
    wanted = connecting.files(client, target)
    if as_json and not write:
        texts = {f"~/{file.path}": _shown(file) for file in wanted}
        click.echo(json.dumps({"files": texts, "base_url": connecting.base_url(client, target)}, indent=1))
        return
    if write:
        _write(wanted)
    else:
        for file in wanted:
            click.echo(f"~/{file.path}:\n{_shown(file)}")
    if write and client in connecting.NEXT:
        click.echo(connecting.NEXT[client])
    if line := connecting.base_url(client, target):
        click.echo(f"Or, instead of hooks, send the model's requests through Quire:\n{line}")
    if key is None:
        click.echo(f"If Quire asks for keys, put one into the environment of {client} as {connecting.KEY_VARIABLE}.")


def _program() -> str:
    own = Path(sys.argv[0]).absolute()
    if own.name == "quire" and own.exists():
        return str(own)
    beside = Path(sys.executable).with_name("quire")
    return str(beside) if beside.exists() else shutil.which("quire") or "quire"


def _check(client: Client, url: str, key: str | None) -> None:
    """Say when the newest event of a client's hooks came. Raises ClickException if none ever did."""
    with opened(url, key) as service:
        answer = service.get("/conversations", params={"q": f"{client}:", "limit": 100})
        if not answer.is_success:
            raise click.ClickException(f"Quire at {url} answers {answer.status_code}: {answer.text[:300]}")
    for found in answer.json()["items"]:
        if found["id"].startswith(f"{client}:"):
            click.echo(f"Events arrive: the last one at {found['updated_at']}, in the conversation {found['id']}.")
            return
    hint = connecting.NEXT.get(client, "It has no hooks; ask it for Quire's tools instead.")
    raise click.ClickException(f"No event of {client} has come to {url} yet. {hint}")


def _shown(file: ConfigFile) -> str:
    return json.dumps(file.content, indent=2, ensure_ascii=False) + "\n" if isinstance(file, JsonFile) else file.block


def _write(wanted: tuple[ConfigFile, ...]) -> None:
    """Merge every file before the first is written, so that one that cannot be merged leaves all as they are."""
    merged = [(Path.home() / file.path, _merged(file)) for file in wanted]
    for path, (before, after) in merged:
        if before == after:
            click.echo(f"{path} is connected already.")
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        if before is not None:
            _keep(path, before)
        part = path.with_name(f"{path.name}.part")
        part.write_text(after, "utf-8")
        if before is not None:
            part.chmod(path.stat().st_mode)
        part.replace(path.resolve())
        click.echo(f"{path} is written.")


def _merged(file: ConfigFile) -> tuple[str | None, str]:
    """Return the file's text, None if it is not there, and the one that it is to have. Raises ClickException."""
    path = Path.home() / file.path
    try:
        before = path.read_text("utf-8") if path.exists() else None
        if isinstance(file, JsonFile):
            return before, connecting.merged_json(before or "", file.content)
        return before, connecting.merged_toml(before or "", file.block)
    except (UnmergeableError, UnicodeDecodeError, OSError) as error:
        raise click.ClickException(
            f"{path} is left as it is: {error}. Run without --write and merge by hand."
        ) from None


def _keep(path: Path, text: str) -> None:
    """Keep the text beside the file. The first backup, from before Quire, is never replaced."""
    backup = path.with_name(f"{path.name}{BACKUP}")
    if backup.exists():
        return
    backup.touch(mode=path.stat().st_mode & 0o777)
    backup.write_text(text, "utf-8")
    click.echo(f"{backup} keeps the file as it was.")
