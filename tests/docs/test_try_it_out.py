"""The page at /docs in a real browser: "Try it out" and "Execute" of every operation, on a fresh service."""

from __future__ import annotations

import json
from collections.abc import Iterator

import httpx
import pytest

from tests.api.test_examples import REFUSED, operations
from tests.ui.browser import PROGRAM, Browser, browser

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(PROGRAM is None, reason="no Chromium is installed (Debian: apt-get install chromium)"),
]

SECONDS = 30
"""What an operation may take from the first click to its answer."""
# Opens an operation, clicks both buttons, and returns the status that the page shows for the answer.
TRY_OUT = """
(async (name, milliseconds) => {
  const deadline = Date.now() + milliseconds;
  const found = async (where, selector) => {
    for (;;) {
      const element = where.querySelector(selector);
      if (element !== null) return element;
      if (Date.now() > deadline) throw new Error(`${name}: no ${selector}`);
      await new Promise(resolve => setTimeout(resolve, 20));
    }
  };
  const operation = await found(document, `.opblock[id$="-${name}"]`);
  operation.querySelector(".opblock-summary-control").click();
  while (operation.querySelector(".execute") === null) {  // a click is lost while the page resolves references
    const opened = await found(operation, ".try-out__btn");
    if (!opened.classList.contains("cancel")) opened.click();
    await new Promise(resolve => setTimeout(resolve, 100));
  }
  (await found(operation, ".execute")).click();
  const status = await found(operation, ".live-responses-table tbody .response-col_status");
  const shown = parseInt(status.textContent);
  operation.querySelector(".opblock-summary-control").click();
  return shown;
})(%s, %d)
"""


@pytest.fixture(scope="module")
def tab() -> Iterator[Browser]:
    with browser() as opened:
        yield opened


def test_every_button_works_on_a_fresh_service_or_is_refused_for_a_known_reason(
    tab: Browser, client: httpx.Client
) -> None:
    names = [one["operationId"] for _, _, one in operations(client.get("/openapi.json").json())]
    tab.look()
    tab.go(f"{client.base_url}/docs")
    shown = {name: tab.ask(TRY_OUT % (json.dumps(name), SECONDS * 1000)) for name in names}
    refused = {name: status for name, status in shown.items() if not 200 <= status < 300}
    assert refused == {name: status for name, (status, _) in REFUSED.items()}
    assert all(url.startswith((str(client.base_url), "data:")) for url in tab.requested)
