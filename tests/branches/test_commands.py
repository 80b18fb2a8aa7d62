"""`quire fork` against a running service."""

import httpx

from tests.api.kit import append, ok, path, turn
from tests.cli.kit import invoke


def test_fork_makes_a_branch_and_names_it(client: httpx.Client) -> None:
    append(client, "team/c", [*turn(1), *turn(2)])
    url = str(client.base_url).rstrip("/")
    done = invoke({}, "fork", "team/c", "--at", "3", "--before", "--id", "b", "--title", "B", "--url", url)
    assert (done.exit_code, done.output) == (0, "b shares everything up to message 2 with team/c.\n")
    assert ok(client.get(path("b")))["title"] == "B"
    refused = invoke({}, "fork", "team/c", "--at", "99", "--url", url)
    assert refused.exit_code == 1
    assert "422: `at` is no message of the conversation; messages 1–4 exist." in refused.output
