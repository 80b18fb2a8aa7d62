"""Show a window's receipt, its proof for a message and a conversation's chain, and record erasures in the chain."""

from __future__ import annotations

import time
from typing import Any
from uuid import UUID

from app import errors
from app.core.conversation import Conversation
from app.core.edge.caller import Caller
from app.core.model import INTEGER_MAX
from app.postgres.transactions import Tx
from app.runtime import Runtime
from app.services.conversations import replaying, sealing, serving
from app.store import conversations
from app.store import served as stored
from app.store.served import Row
from quire_verify.issuer import Signer, Tree, part_of, short_name
from quire_verify.verifier import b64, digest_of

Json = dict[str, Any]


async def shown(runtime: Runtime, caller: Caller, conversation_id: str, window: str, seq: int | None) -> Json:
    """Return a window's receipt, by number or root. With ``seq``, it proves whether the message was in view, in which
    form and words. Raises NotFound.
    """
    await serving.write(runtime)
    async with conversations.snapshot(runtime.database, caller, conversation_id) as (tx, known):
        name, is_number = known.line.own, len(window) < 11 and window.isdecimal()
        number = int(window) if is_number else await stored.number_of(tx, name, window)
        rows = await stored.browse(tx, name, number + 1, 1) if number is not None and number < INTEGER_MAX else []
        receipts = [one for row in rows for one in row.receipts(name) if one["type"] == "window"]
        receipt = next((one for one in receipts if one["number"] == number), None)
        if receipt is None or number is None:
            raise errors.NotFound("The conversation has no such window, or receipts were off when it was served.")
        answer: Json = {"receipt": receipt, "keys": runtime.signer.document if runtime.signer else []}
        if seq is not None:
            then = await replaying.replayed(runtime, tx, known, number, sensitive=caller.sensitive)
            opened = sealing.opened(then.context.window, then.prompt, seq)
            text, opening = opened if opened is not None else ("", {})
            tree = Tree(await stored.parts(tx, name, number))
            answer["proof"] = tree.proof(seq, {part_of(opening): opening})
            if any("opening" in one for one in answer["proof"]["shown"]):
                answer["text"] = text
    return answer


async def enter(tx: Tx, signer: Signer, conversation: Conversation, count: int, seqs: tuple[int, int] | None) -> Json:
    """Return the export line that certifies an erasure: of messages, recorded in the conversation's chain, or of the
    whole conversation.
    """
    name, uid = conversation.line.own, conversation.uid
    last = await stored.last(tx, name)
    row = last or Row.begin(uid)
    entry: Json = {
        "at": time.time_ns() // 1_000_000, "before": b64(row.last), "conversation": short_name(name), "count": count,
        "key": signer.key, "number": row.next - 1, "type": "erasure" if seqs else "end",
    }  # fmt: skip
    if seqs:
        entry = signer.signed(entry | {"first": seqs[0], "last": seqs[1]})
        new = name, uid, row.erased(entry)
        await (stored.change(tx, [new], [len(last.body)]) if last else stored.begin(tx, new))
    else:
        entry = signer.signed(entry)
    return line(name, entry)


def gone(signer: Signer, of: str, name: UUID) -> Json:
    """Return the export line that certifies the erasure of an archive or a memory."""
    entry = {"at": time.time_ns() // 1_000_000, "id": str(name), "key": signer.key, "of": of, "type": "gone"}
    return line(None, signer.signed(entry))


def line(conversation_id: str | None, entry: Json) -> Json:
    """Return a chain entry as an export line."""
    return {"type": "receipt", "conversation_id": conversation_id, "receipt": entry}


def head(signer: Signer, entry: Json) -> Json:
    """Return a signed statement that a chain ends with an entry for now, so that a cut-off end is noticed."""
    return signer.signed({
        "at": time.time_ns() // 1_000_000, "before": digest_of(entry), "conversation": entry["conversation"],
        "key": signer.key, "number": entry["number"], "type": "head",
    })  # fmt: skip
