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
# Opens an operation, clicks both buttons, and returns the status that the page shows for the answer. Only its own
# section is open: the page draws everything that is open again at each change.
TRY_OUT = """
(async (section, name, milliseconds) => {
  const deadline = Date.now() + milliseconds;
  const found = async (where, selector) => {
    for (;;) {
      const element = where.querySelector(selector);
      if (element !== null) return element;
      if (Date.now() > deadline) throw new Error(`${name}: no ${selector}`);
      await new Promise(resolve => setTimeout(resolve, 20));
    }
  };
  for (const one of document.querySelectorAll(".opblock-tag"))
    if ((one.dataset.isOpen === "true") !== (one.dataset.tag === section)) one.click();
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
})(%s, %s, %d)
"""

# The page is there: its script reads the document after the page is loaded.
OPENED = """
(async () => {
  while (document.querySelector(".opblock-tag") === null) await new Promise(resolve => setTimeout(resolve, 20));
})()
"""


@pytest.fixture(scope="module")
def tab() -> Iterator[Browser]:
    with browser() as opened:
        yield opened


def test_every_button_works_on_a_fresh_service_or_is_refused_for_a_known_reason(
    tab: Browser, client: httpx.Client
) -> None:
    asked = [(one["tags"][0], one["operationId"]) for _, _, one in operations(client.get("/openapi.json").json())]
    tab.look()
    tab.go(f"{client.base_url}/docs")
    tab.ask(OPENED)
    shown = {
        name: tab.ask(TRY_OUT % (json.dumps(section), json.dumps(name), SECONDS * 1000)) for section, name in asked
    }
    refused = {name: status for name, status in shown.items() if not 200 <= status < 300}
    assert refused == {name: status for name, (status, _) in REFUSED.items()}
    assert all(url.startswith((str(client.base_url), "data:")) for url in tab.requested)
