"""The requests to append: a type for each kind of caller, with the facts that only this kind has."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, assert_never
from uuid import UUID

from app import errors
from app.core.calibration import ReportedUsage
from app.core.conversation import Conversation
from app.core.history.preparation import Arrival, Origin
from app.core.messages import Draft
from app.core.scope import space_of_keys
from app.postgres.transactions import ReadTx, Tx
from app.services.conversations.lists import CallersList
from app.store import conversations, spaces

OnFork = Literal["branch", "append", "error"]


@dataclass(frozen=True, slots=True)
class PostedMessages:
    """New messages from the API."""

    drafts: Sequence[Draft]
    user_id: str | None = None
    system: str | None = None
    bound_to: str | None = None
    """The one user whose conversations the caller can see."""
    space_id: str | None = None
    """The space of the conversation, if the request creates it."""
    reported_usage: ReportedUsage | None = None
    """The model API's token count of a window of the conversation."""
    is_large: bool = False
    """Whether the request had a long body, of which the drafts' texts can be the smaller part."""


@dataclass(frozen=True, slots=True)
class SyncedList:
    """A caller's whole list, most of it already stored."""

    messages: CallersList
    user_id: str | None = None
    on_fork: OnFork = "error"
    """What to do with a list that contradicts the stored messages."""
    bound_to: str | None = None
    reported_usage: ReportedUsage | None = None
    is_large: bool = False


@dataclass(frozen=True, slots=True)
class Follows:
    """The message that a list follows, if the client names it."""

    seq: int
    is_last: bool = False
    """Whether the list branches off if it leaves out an answer given since."""


@dataclass(frozen=True, slots=True)
class ProxyQuestion:
    """The list of a chat request to the proxy. Its conversation can be new and without a user."""

    messages: CallersList
    digest: bytes
    """A hash that is equal for equal requests."""
    arrived: float
    """The time of arrival on the event loop's clock."""
    arrived_at: datetime
    user_id: str | None = None
    new_user_id: str | None = None
    """The user of the conversation, if the request creates it."""
    retried: bool = False
    """Whether the client marked the request as a retry."""
    bound_to: str | None = None
    is_large: bool = False
    follows: Follows | None = None
    was_passed: bool = False
    """Whether the model is asked before the question is stored."""


@dataclass(frozen=True, slots=True)
class ProxyAnswer:
    """An answer from the model behind the proxy, or a part of it that no client sees."""

    arrivals: Sequence[Arrival]
    conversation_uid: UUID
    """The uid of the question's conversation, so that another one that reuses its id does not get the answer."""
    is_whole: bool
    """False if the model continues after its recalls."""
    after: int
    """The seq of the question's last message. If more is stored, the client's next list can have brought the answer."""


@dataclass(frozen=True, slots=True)
class ImportedMessages:
    arrivals: Sequence[Arrival]
    first_seq: int
    """The seq that the first message must get."""
    created_at: datetime
    bound_to: str | None = None


AppendRequest = PostedMessages | SyncedList | ProxyQuestion | ProxyAnswer | ImportedMessages


def origin_of(request: AppendRequest) -> Origin:
    match request:
        case PostedMessages() | SyncedList():
            return "caller"
        case ProxyQuestion():
            return "proxy question"
        case ProxyAnswer():
            return "proxy answer" if request.is_whole else "proxy recall"
        case ImportedMessages():
            return "import"
        case _:
            assert_never(request)


def new_conversation_user(request: AppendRequest) -> str | None:
    """Return the user that a new conversation gets. Raises NotFound for a request that creates none."""
    match request:
        case PostedMessages(space_id=str()):
            return None
        case PostedMessages(user_id=str()) | SyncedList(user_id=str()):
            return request.user_id
        case ProxyQuestion():
            return request.new_user_id
        case _:
            raise errors.NotFound("There is no such conversation. Send `user_id` to create it.")


def new_conversation_place(request: AppendRequest) -> tuple[str | None, str | None]:
    """Return the user and the space that a new conversation gets. Raises NotFound for a request that creates none."""
    user_id = new_conversation_user(request)
    space_id = getattr(request, "space_id", None) or space_of_keys(user_id)
    return (user_id, None) if space_id is None else (None, space_id)


async def check(tx: ReadTx, conversation: Conversation | None, request: AppendRequest) -> None:
    """Raise NotFound, Forbidden or Conflict unless the request can append to the conversation."""
    if conversation is None:
        _, space_id = new_conversation_place(request)
        if space_id is not None:
            read = spaces.hold if isinstance(tx, Tx) else spaces.get
            await read(tx, space_id, getattr(request, "bound_to", None), right="write")
        return
    match request:
        case ProxyAnswer():
            if conversation.uid != request.conversation_uid:
                raise errors.missing("conversation")
        case ImportedMessages():
            await _check_admitted(tx, conversation, request.bound_to)
            if conversation.end.last_seq + 1 != request.first_seq:
                raise errors.Conflict("The conversation changed during the import. Send the rest again.")
        case PostedMessages() | SyncedList() | ProxyQuestion():
            await _check_admitted(tx, conversation, request.bound_to)
            if not _has_user(conversation, request.user_id):
                raise conversations.anothers()
            if isinstance(request, PostedMessages) and request.space_id not in (None, conversation.space_id):
                said = "The conversation does not belong to this space."
                raise errors.Conflict.at(["body", "space_id"], "is not the conversation's space", said)
        case _:
            assert_never(request)


def can_use(conversation: Conversation, request: PostedMessages | ProxyAnswer | ProxyQuestion) -> bool:
    """Return whether ``check`` is certain to pass, without a query."""
    if isinstance(request, ProxyAnswer):
        return conversation.uid == request.conversation_uid
    if conversations.seen(conversation, request.bound_to) is None or not _has_user(conversation, request.user_id):
        return False
    return not isinstance(request, PostedMessages) or request.space_id in (None, conversation.space_id)


async def _check_admitted(tx: ReadTx, conversation: Conversation, bound_to: str | None) -> None:
    if await conversations.admitted(tx, conversation, bound_to, right="write") is None:
        raise errors.missing("conversation")


def _has_user(conversation: Conversation, user_id: str | None) -> bool:
    """Return whether a request's user, if it names one, fits the conversation. A space's conversation has no user."""
    return user_id is None or conversation.user_id in (None, user_id)
