"""One request, one effect: a POST with an Idempotency-Key that comes again gets the first answer.

The key is kept per user. Ids that such a request makes come from its key (`access.id_maker`), so that even a server
which died between the work and the answer does not do it twice.
"""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable
from datetime import timedelta

import msgspec
from fastapi import Request, Response

from recollect.bootstrap import system_clock
from recollect.domain.idempotency import Answer, RequestKey, RequestStart
from recollect.domain.scope import Scope
from recollect.ports.requests import RequestStore

HEADER = "Idempotency-Key"
#: Tells that the answer was given before.
REPLAYED = "Idempotent-Replayed"
#: Headers of the first answer that a retry gets too.
_KEPT_HEADERS = ("content-type", "location", "etag", "link")
#: After this time a retry may do the work that nobody finished.
LEASE = timedelta(seconds=20)


class _Kept(msgspec.Struct, frozen=True, array_like=True):
    """What is kept of an answer."""

    headers: dict[str, str]
    body: bytes


async def read_key(request: Request) -> None:
    """Look for a key, and remember it with a digest of all that is asked."""
    key = request.headers.get(HEADER)
    if request.method != "POST" or key is None:
        return
    digest = hashlib.blake2b(digest_size=16)
    for part in (request.url.path.encode(), request.url.query.encode(), await request.body()):
        digest.update(len(part).to_bytes(8, "big") + part)
    request.state.request_key = RequestKey(key=key, digest=digest.hexdigest())


def request_key(request: Request) -> RequestKey | None:
    """Return the key of the request, if it has one."""
    found: RequestKey | None = getattr(request.state, "request_key", None)
    return found


async def once(
    store: RequestStore, scope: Scope, asked: RequestKey, answer: Callable[[], Awaitable[Response]]
) -> Response:
    """Return the first answer to this request, or give it now.

    Raise `RequestInFlightError` while it is being given, `IdempotencyMismatchError` if the key was used for another.
    """
    known = await store.begin_request(scope, RequestStart(request=asked, at=system_clock(), lease=LEASE))
    if known is not None:
        kept = msgspec.msgpack.decode(known.body, type=_Kept)
        return Response(kept.body, status_code=known.status, headers={**kept.headers, REPLAYED: "true"})
    try:
        response = await answer()
    except BaseException:  # whatever stopped it, the same request may be tried again
        await store.abandon_request(scope, asked)
        raise
    if response.status_code >= 500:
        await store.abandon_request(scope, asked)
        return response
    headers = {name: value for name in _KEPT_HEADERS if (value := response.headers.get(name)) is not None}
    body = msgspec.msgpack.encode(_Kept(headers, bytes(response.body)))
    await store.finish_request(scope, Answer(request=asked, status=response.status_code, body=body), system_clock())
    return response
