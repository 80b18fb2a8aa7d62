#!/usr/bin/env bash
# claude-agent-sdk 0.2.189: of a session that was compacted `get_session_messages` gives what came after, and before it the summary,
# as a message of the user with nothing that tells it from one; what the file holds from before is not given. Guessed: the whole
# conversation, or a mark.
set -euo pipefail
folder=$(mktemp --directory)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet claude-agent-sdk==0.2.189
CLAUDE_CONFIG_DIR="$folder" "$folder/venv/bin/python" - <<'PYTHON'
import dataclasses
import json
import os
from pathlib import Path
from uuid import UUID

from claude_agent_sdk import get_session_messages

SESSION = str(UUID(int=1))
SUMMARY = "This session is being continued from a previous conversation. Summary: a password was named."


def entry(number, before, role, text, **more):
    said = {"role": role, "content": text}
    return {"uuid": str(UUID(int=number)), "parentUuid": before and str(UUID(int=before)), "sessionId": SESSION, "type": role,
            "isSidechain": False, "timestamp": f"2026-11-01T10:00:{number:02}Z", "message": said, **more}


boundary = {**entry(20, None, "system", ""), "subtype": "compact_boundary", "logicalParentUuid": str(UUID(int=11))}
lines = [
    entry(10, None, "user", "The harbour closes at nine."), entry(11, 10, "assistant", "Noted."), boundary,
    entry(21, 20, "user", SUMMARY, isCompactSummary=True), entry(22, 21, "user", "And now?"),
    entry(23, 22, "assistant", "We wait."),
]
folder = Path(os.environ["CLAUDE_CONFIG_DIR"]) / "projects" / "-work-shop"
folder.mkdir(parents=True)
for count in (2, len(lines)):
    (folder / f"{SESSION}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines[:count]))
    found = get_session_messages(SESSION)
    print([(one.type, one.message["content"]) for one in found])
assert [one.message["content"] for one in found] == [SUMMARY, "And now?", "We wait."]
summary, asked, _ = map(dataclasses.asdict, found)
assert {name: value for name, value in summary.items() if name not in ("uuid", "message")} == {
    name: value for name, value in asked.items() if name not in ("uuid", "message")
}
assert summary["message"] == {"role": "user", "content": SUMMARY}
PYTHON
