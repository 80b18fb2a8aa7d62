"""`quire completion`: what a shell needs to complete Quire's commands."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print the completion of SHELL, for its start-up file: `eval "$(quire completion bash)"`."""
    kind = get_completion_class(shell)
    assert kind is not None
    click.echo(kind(ctx.find_root().command, {}, "quire", "_QUIRE_COMPLETE").source())
