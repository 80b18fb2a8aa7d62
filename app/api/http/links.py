"""Links of the OpenAPI document: the operations to which a response's values can be passed."""

from typing import Any

CONVERSATION = "conversation_id"
_SAME = "$request.path."
_BODY = "$response.body#/"


def made(status: int, **operations: dict[str, str]) -> dict[int | str, dict[str, Any]]:
    """Return a route's `responses`: with this status, it passes these parameters to these operations."""
    links = {
        operation: {
            "operationId": operation,
            "parameters": {name: _expression(name, source) for name, source in parameters.items()},
        }
        for operation, parameters in operations.items()
    }
    return {status: {"links": links}}


def _expression(name: str, source: str) -> str:
    """Return the expression for a place in the response's body; "" stands for the parameter of the request's path."""
    return f"{_BODY}{source}" if source else f"{_SAME}{name}"


IN_PATH = {CONVERSATION: ""}
BY_ID = {CONVERSATION: "id"}
OF_CONVERSATION = (
    "get_conversation", "change_conversation", "append_messages", "sync_messages", "list_messages", "get_context",
    "post_context", "get_contents", "list_pages", "get_summary", "list_topics", "add_note", "list_notes", "get_status",
    "run_attp", "export_conversation", "delete_conversation",
)  # fmt: skip

CONVERSATION_MADE = made(201, **dict.fromkeys(OF_CONVERSATION, BY_ID))
APPENDED = made(
    201, **dict.fromkeys(("append_messages", "list_messages", "get_context", "get_contents", "list_pages"), IN_PATH),
    get_page={CONVERSATION: "", "page": "page"}, delete_page={CONVERSATION: "", "page": "page"},
    delete_message={CONVERSATION: "", "message": "messages/0/id"}, get_archive={"uuid": "messages/0/archive_id"},
)  # fmt: skip
NOTE_MADE = made(
    201, list_notes=IN_PATH, change_note={CONVERSATION: "", "note": "id"}, delete_note={CONVERSATION: "", "note": "id"}
)
ARCHIVED = made(201, get_archive={"uuid": "uuid"}, delete_archive={"uuid": "uuid"})
REMEMBERED = made(201, get_memory={"memory_key": "memory_key"}, forget={"memory_key": "memory_key"})
KEY_MADE = made(201, revoke_key={"key_id": "id"})
CONVERSATION_ERASED = made(200, get_conversation=BY_ID)
