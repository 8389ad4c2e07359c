"""Windows as bytes, for a cache outside the process; what cannot be read with certainty is no window."""

from __future__ import annotations

from functools import cache
from hashlib import blake2b

import msgspec

from recollect.domain.scope import Scope
from recollect.domain.window import Window
from recollect.errors import RecollectError

#: A window that takes more bytes is not worth moving about.
MAX_BYTES = 1_000_000


class Payload(msgspec.Struct, frozen=True, array_like=True):
    """A window with whose it is."""

    form: bytes
    tenant: str
    user: str
    conversation_id: str
    window: Window


def pack(scope: Scope, window: Window) -> bytes | None:
    """Return the bytes of a window, or None if it has none that can be read again."""
    try:
        packed = msgspec.msgpack.encode(Payload(form(), scope.tenant, scope.user, window.conversation.id, window))
    except (OverflowError, TypeError, ValueError):
        # Such as a whole number of more than 64 bits, which JSON may hold.
        return None
    return packed if len(packed) <= MAX_BYTES else None


def unpack(scope: Scope, conversation_id: str, packed: bytes) -> Window | None:
    """Return the window of this conversation, or None if the bytes hold anything else."""
    try:
        payload = msgspec.msgpack.decode(packed, type=Payload)
    except (msgspec.DecodeError, RecollectError, ValueError):
        return None
    owner = (payload.tenant, payload.user, payload.conversation_id, payload.window.conversation.id)
    if payload.form != form() or owner != (scope.tenant, scope.user, conversation_id, conversation_id):
        return None
    return payload.window


@cache
def form() -> bytes:
    """Name the shape of a window in this program, so that no other version's is mistaken for it."""
    return blake2b(msgspec.json.encode(msgspec.json.schema(Window)), digest_size=8).digest()
