"""All that is a user's: given away, taken in and erased."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractContextManager
from typing import Annotated, Any

import msgspec
from fastapi import Query, Request
from fastapi.responses import StreamingResponse

from recollect.domain.exported_knowledge import UserRecord
from recollect.http.access import Service, Whose
from recollect.http.route import api_router
from recollect.http.schemas.account import EXPORT_EXAMPLE, ImportedOut, ReceiptOut

router = api_router("account")

#: JSON, one object a line.
LINES = "application/x-ndjson"
#: Lines are sent in parts of about so many bytes.
PART = 65_536
_FILE: dict[str, Any] = {LINES: {"schema": {"type": "string"}, "example": EXPORT_EXAMPLE}}


class _JsonLines(StreamingResponse):
    media_type = LINES


@router.get(
    "/me/export",
    summary="Export everything of the user",
    response_class=_JsonLines,
    responses={200: {"description": "JSON lines; the last one, `end`, counts the others.", "content": _FILE}},
)
async def export_user(request: Request, recollect: Service, scope: Whose) -> StreamingResponse:
    """Send conversations with all branches, memories with their history, notes with all versions, and preferences.

    A file without its last line `{"kind": "end", …}` was cut off.
    """
    state = request.app.state
    parts = _parts(recollect.account.export(scope), state.rates.streaming(scope), state.stopping)
    # What fails before the first part is a problem document, not a broken file.
    first = await anext(parts)
    headers = {"Content-Disposition": 'attachment; filename="recollect-export.jsonl"', "Cache-Control": "no-store"}
    return _JsonLines(_from(first, parts), headers=headers)


async def _parts(
    records: AsyncIterator[UserRecord], held: AbstractContextManager[None], stopping: asyncio.Event
) -> AsyncIterator[bytes]:
    """Give the records as lines, many at a time; a server that stops leaves the file without its end."""
    part = bytearray()
    with held:
        async for record in records:
            part += msgspec.json.encode(record) + b"\n"
            if len(part) >= PART:
                yield bytes(part)
                part.clear()
            if stopping.is_set():
                return
        yield bytes(part)


async def _from(first: bytes, rest: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    yield first
    async for part in rest:
        yield part


@router.post(
    "/import",
    summary="Take in an export",
    openapi_extra={"requestBody": {"content": _FILE}},
)
async def import_user(
    request: Request,
    recollect: Service,
    scope: Whose,
    trusted: Annotated[
        bool, Query(description="The file is the user's own: keep trust and pins, take over notes and preferences.")
    ] = False,
) -> ImportedOut:
    """Store what the file holds under its own ids; what is stored already is skipped, what was erased is refused.

    A line that cannot be read is 422 and named with what was stored before it; the same file again is safe.
    A file larger than a body may be is sent in parts, cut between lines, in order.
    Unless it is `trusted`, its memories wait for review, its messages count as imported, and its
    notes and preferences are left out.
    """
    return ImportedOut.of(await recollect.account.import_lines(scope, _lines(request.stream()), trusted=trusted))


async def _lines(chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    rest = b""
    async for chunk in chunks:
        *whole, rest = (rest + chunk).split(b"\n")
        for line in whole:
            yield line
    if rest:
        yield rest


@router.delete("/me", summary="Erase everything of the user")
async def erase_user(recollect: Service, scope: Whose) -> ReceiptOut:
    """Erase conversations, memories, notes, jobs and all else, and return how much that was."""
    return ReceiptOut.of(await recollect.account.erase(scope))
