"""Debian's Chromium without a screen, spoken to over a pipe (DevTools protocol)."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from io import FileIO
from pathlib import Path
from typing import Any

PROGRAM = next(
    (found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))), None
)
OPTIONS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-extensions", "--hide-scrollbars",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--remote-debugging-pipe",
)  # fmt: skip
Json = dict[str, Any]


class Browser:
    """One tab."""

    def __init__(self, reads: FileIO, writes: FileIO) -> None:
        self._answers = reads
        self._commands = writes
        self._left = b""
        self._number = 0
        self._session: str | None = None
        self.requested: list[str] = []
        """Every address that a page asked for."""
        self.complaints: list[str] = []
        """What pages logged: errors, and what the Content-Security-Policy refused."""
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.send(f"{domain}.enable")

    def send(self, method: str, **params: Any) -> Json:
        self._number += 1
        message: Json = {"id": self._number, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        self._commands.write(json.dumps(message).encode() + b"\0")
        while (answer := self._next()).get("id") != self._number:
            self._notice(answer)
        assert "error" not in answer, f"{method}: {answer['error']}"
        result: Json = answer["result"]
        return result

    def wait_for(self, event: str) -> None:
        while (message := self._next()).get("method") != event:
            self._notice(message)

    def _next(self) -> Json:
        while b"\0" not in self._left:
            read = self._answers.read(65_536)
            assert read, "the browser is gone"
            self._left += read
        text, _, self._left = self._left.partition(b"\0")
        message: Json = json.loads(text)
        return message

    def _notice(self, message: Json) -> None:
        params = message.get("params", {})
        match message.get("method"):
            case "Network.requestWillBeSent":
                self.requested.append(params["request"]["url"])
            case "Log.entryAdded":
                self.complaints.append(params["entry"]["text"])
            case "Runtime.exceptionThrown":
                self.complaints.append(json.dumps(params["exceptionDetails"]))

    def look(self, *, width: int = 1280, height: int = 900, dark: bool = False, language: str = "en") -> None:
        """How the next pages are looked at."""
        self.send("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.send("Emulation.setEmulatedMedia", features=[scheme])
        self.send("Network.setExtraHTTPHeaders", headers={"Accept-Language": language})

    def go(self, url: str) -> None:
        self.send("Page.navigate", url=url)
        self.wait_for("Page.loadEventFired")

    def ask(self, script: str) -> Any:
        """What an expression is on the page."""
        answer = self.send("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def press(self, key: str, *, code: int = 9, text: str = "") -> None:
        for kind in ("keyDown", "keyUp"):
            more = {"text": text} if text and kind == "keyDown" else {}
            self.send("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code, **more)

    def picture(self, file: Path, *, whole: bool = True) -> None:
        found = self.send(
            "Page.captureScreenshot", format="png", captureBeyondViewport=whole, **self._clip(whole=whole)
        )
        file.write_bytes(base64.b64decode(found["data"]))

    def _clip(self, *, whole: bool) -> Json:
        if not whole:
            return {}
        size = self.send("Page.getLayoutMetrics")["cssContentSize"]
        height = min(size["height"], 12_000)
        return {"clip": {"x": 0, "y": 0, "width": size["width"], "height": height, "scale": 1}}


@contextmanager
def browser() -> Iterator[Browser]:
    """A browser with a profile of its own."""
    assert PROGRAM is not None
    commands, to_browser = os.pipe()
    from_browser, answers = os.pipe()
    with tempfile.TemporaryDirectory(prefix="quire-browser-", ignore_cleanup_errors=True) as profile:
        # The protocol is spoken on descriptors 3 and 4.
        wiring = f'exec 8<&{commands} 9>&{answers}; exec 3<&8 4>&9; exec "$@"'
        process = subprocess.Popen(
            ["/bin/bash", "-c", wiring, "bash", PROGRAM, *OPTIONS, f"--user-data-dir={profile}"],
            pass_fds=(commands, answers), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        os.close(commands)
        os.close(answers)
        try:
            with (
                os.fdopen(from_browser, "rb", buffering=0) as reads,
                os.fdopen(to_browser, "wb", buffering=0) as writes,
            ):
                yield Browser(reads, writes)
        finally:
            process.terminate()
            process.wait(30)
