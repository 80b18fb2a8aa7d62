"""Verify receipts of a file, offline. The verifier is a package of its own: clients/verify."""

import sys
from importlib import import_module

import click


@click.command(add_help_option=False, context_settings={"ignore_unknown_options": True})
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def verify(arguments: tuple[str, ...]) -> None:
    """Verify receipts of FILE offline: an export, a window's receipt, certificates of an erasure."""
    try:
        verifier = import_module("quire_verify.command")
    except ImportError:
        raise click.ClickException("The verifier is not installed. Install it: pip install ./clients/verify") from None
    sys.exit(verifier.main(list(arguments)))
