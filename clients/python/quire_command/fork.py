"""`quire fork`: a branch of a conversation of a running service, over its HTTP API."""

from __future__ import annotations

from urllib.parse import quote

import click

from quire_command.service import AsJson, Key, Url, opened, refuse_problem, show


@click.command(name="fork")
@click.argument("conversation_id", metavar="CONVERSATION")
@click.option("--at", help="A message's seq or id. Default: the newest message.")
@click.option("--before", is_flag=True, help="Leave the message out.")
@click.option("--id", help="Id of the branch. Default: a new one.")
@click.option(
    "--shares", type=click.Choice(["none", "read", "write"]), help="For a sub-agent: what it shares with CONVERSATION."
)
@click.option("--title", help="Title of the branch. Default: the conversation's.")
@AsJson
@Url
@Key
def fork(
    conversation_id: str, url: str, api_key: str | None, *, before: bool, as_json: bool, **given: str | None
) -> None:
    """Make a branch of CONVERSATION that shares everything up to a message, and print its id."""
    body = {**given, "position": "before" if before else "after"}
    with opened(url, api_key) as client:
        answer = client.post(f"/conversations/{quote(conversation_id, safe='')}/fork", json=body)
    refuse_problem(answer)
    made = answer.json()
    words = f"{made['id']} shares everything up to message {made['forked_after']} with {made['parent_id']}."
    show(made, [words], as_json=as_json)
