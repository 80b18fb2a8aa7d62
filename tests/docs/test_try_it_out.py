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
# The page is there, with all operations in view: its script reads the document after the page is loaded.
OPENED = """
(async () => {
  while (document.querySelector(".opblock") === null) await new Promise(resolve => setTimeout(resolve, 20));
  whole = ui.specSelectors.specJson().toJS();
  return [...document.querySelectorAll(".opblock")].map(one => one.id);
})()
"""
# Leaves one operation on the page, with what its part of the document refers to, clicks both buttons, and returns the
# status that the page shows for the answer. The page walks the whole document for each operation that it opens, which
# takes it a second, and draws everything again at each change.
TRY_OUT = """
(async (path, verb, milliseconds) => {
  const kept = {};
  const keep = part => {
    for (const [, name] of JSON.stringify(part).matchAll(/"#.components.schemas.([^"]+)"/g))
      if (!(name in kept)) keep(kept[name] = whole.components.schemas[name]);
  };
  const operation = whole.paths[path][verb], deadline = Date.now() + milliseconds;
  keep(operation);
  const left = {paths: {[path]: {[verb]: operation}}, components: {...whole.components, schemas: kept}};
  ui.specActions.updateSpec(JSON.stringify({...whole, ...left}));
  const found = async selector => {
    for (;;) {
      const blocks = document.querySelectorAll(".opblock");
      const shown = blocks.length === operation.tags.length && blocks[0].id.endsWith("-" + operation.operationId);
      const element = shown ? blocks[0].querySelector(selector) : null;
      if (element !== null) return element;
      if (Date.now() > deadline) throw new Error(`${operation.operationId}: no ${selector}`);
      await new Promise(resolve => setTimeout(resolve, 10));
    }
  };
  (await found(".opblock-summary-control")).click();
  while (document.querySelector(".execute") === null) {  // a click is lost while the page resolves references
    const opened = await found(".try-out__btn");
    if (!opened.classList.contains("cancel")) opened.click();
    await new Promise(resolve => setTimeout(resolve, 10));
  }
  (await found(".execute")).click();
  return parseInt((await found(".live-responses-table tbody .response-col_status")).textContent);
})(%s, %s, %d)
"""


@pytest.fixture(scope="module")
def tab() -> Iterator[Browser]:
    with browser() as opened:
        yield opened


def test_every_button_works_on_a_fresh_service_or_is_refused_for_a_known_reason(
    tab: Browser, client: httpx.Client
) -> None:
    asked = operations(client.get("/openapi.json").json())
    tab.look()
    tab.go(f"{client.base_url}/docs")
    listed = [f"operations-{tag.replace(' ', '_')}-{one['operationId']}" for _, _, one in asked for tag in one["tags"]]
    assert sorted(tab.ask(OPENED)) == sorted(listed)
    shown = {
        one["operationId"]: tab.ask(TRY_OUT % (json.dumps(path), json.dumps(verb), SECONDS * 1000))
        for path, verb, one in asked
    }
    refused = {name: status for name, status in shown.items() if not 200 <= status < 300}
    assert refused == {name: status for name, (status, _) in REFUSED.items()}
    assert all(url.startswith((str(client.base_url), "data:")) for url in tab.requested)
    assert [said for said in tab.complaints if "Content Security Policy" in said] == []
