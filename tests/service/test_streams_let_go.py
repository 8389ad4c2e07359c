"""Ended streams that are let go early: nothing holds them until the time is over that they would have been kept."""

from __future__ import annotations

import gc
import weakref
from collections.abc import AsyncIterator

import pytest

from recollect.errors import MessageNotFoundError
from recollect.ports.chat_model import TextDelta
from recollect.ports.responder import Hear, Question, Reply
from recollect.service import streams as streams_module
from recollect.service.chat_request import ChatRequest
from recollect.service.streams import StreamOptions, Streams
from recollect.storage.sqlite import SqliteDriver
from recollect.testing.samples import ALICE
from tests.support.service_rig import Options, Rig


class Brief:
    """A responder that says one word."""

    name = "brief"

    async def reply(self, question: Question, hear: Hear) -> Reply:
        hear(TextDelta("Yes."))
        return Reply()


@pytest.fixture
async def streams() -> AsyncIterator[Streams]:
    driver = await SqliteDriver.open(":memory:")
    rig = Rig(driver, ALICE, Options(), responder=Brief())
    opened = Streams(rig.chat, rig.store, StreamOptions())
    yield opened
    await opened.close()
    await driver.close()


async def test_a_stream_that_gives_way_to_newer_ones_is_held_by_nothing(
    streams: Streams, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streams_module, "MOST_ENDED", 2)
    held: list[tuple[str, weakref.ref[object]]] = []
    for number in range(6):
        stream = streams.start(ALICE, ChatRequest(text="Well?", conversation_id=f"c{number}"))
        held.append(((await stream.result()).message.id, weakref.ref(stream)))
        del stream
    gc.collect()
    assert [ref() is not None for _, ref in held] == [False, False, False, False, True, True]
    with pytest.raises(MessageNotFoundError):
        await streams.find(ALICE, held[0][0])
    assert await streams.find(ALICE, held[-1][0]) is held[-1][1]()
