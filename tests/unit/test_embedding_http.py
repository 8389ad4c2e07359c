from __future__ import annotations

import math
import traceback
from collections.abc import AsyncIterator, Callable

import numpy as np
import pytest

from recollect.errors import (
    CircuitOpenError,
    ProviderError,
    ProviderOutputError,
    ProviderRejectedError,
    ProviderUnavailableError,
    SettingsError,
)
from recollect.ports.embedder import Embedder
from recollect.providers.choose_embedder import open_http_embedder
from recollect.settings import EmbeddingSettings, Secret, Settings
from recollect.testing.clock import FakeClock
from recollect.testing.models import (
    VECTOR_DIMENSIONS,
    Fault,
    ScriptedModelServer,
    ScriptedReply,
    VectorFault,
    vector_of,
)

KEY = "sk-embeddings"
SECRET_WORDS = "my own words"
UNAVAILABLE = (
    Fault.RATE_LIMITED,
    Fault.SERVER_ERROR,
    Fault.OVERLOADED,
    Fault.ENDLESS_ERROR,
    Fault.HANG_UP,
    Fault.NOT_HTTP,
    Fault.DISCONNECT,
    Fault.SILENT,
)
REJECTED = (Fault.REJECTED, Fault.UNAUTHORISED, Fault.REDIRECT)
UNUSABLE = (Fault.WEB_PAGE, Fault.COMPRESSED, Fault.GARBAGE, Fault.LATE, Fault.ENDLESS, Fault.ENDLESS_COMMENTS)

Opened = Callable[..., Embedder]


@pytest.fixture
async def server() -> AsyncIterator[ScriptedModelServer]:
    async with ScriptedModelServer() as started:
        yield started
    assert started.errors == []


@pytest.fixture
async def opened(server: ScriptedModelServer) -> AsyncIterator[Opened]:
    made: list[Embedder] = []
    clock = FakeClock()

    def one(**more: object) -> Embedder:
        usual: dict[str, object] = {"url": server.url, "dimensions": VECTOR_DIMENSIONS, "max_retries": 0}
        chosen = EmbeddingSettings(kind="http", **(usual | {"key_variable": "MY_KEY"} | more))  # type: ignore[arg-type]
        made.append(open_http_embedder(Settings(embedding=chosen, keys={"MY_KEY": Secret(KEY)}), clock))
        return made[-1]

    yield one
    for embedder in made:
        await embedder.close()


def unit(text: str) -> list[float]:
    vector = vector_of(text)
    return [number / math.hypot(*vector) for number in vector]


async def test_texts_go_in_batches_and_come_in_their_order(opened: Opened, server: ScriptedModelServer) -> None:
    texts = [f"text {number}" for number in range(7)]
    server.script(ScriptedReply(shuffled=True), ScriptedReply(), ScriptedReply(shuffled=True))
    rows = await opened(batch=3, name="small").embed([*texts[:3], "", *texts[3:]])
    assert np.abs(rows - np.array([*map(unit, texts[:3]), [0] * VECTOR_DIMENSIONS, *map(unit, texts[3:])])).max() < 1e-6
    assert [seen.body["input"] for seen in server.seen] == [texts[:3], texts[3:6], texts[6:]]
    assert {seen.path for seen in server.seen} == {"/v1/embeddings"}
    assert {seen.headers["authorization"] for seen in server.seen} == {f"Bearer {KEY}"}
    assert [set(seen.body) for seen in server.seen] == [{"model", "input", "encoding_format"}] * 3


async def test_nothing_but_empty_texts_asks_nobody(opened: Opened, server: ScriptedModelServer) -> None:
    assert not (await opened().embed(["", " \n"])).any()
    assert server.seen == []


async def test_a_question_is_worded_in_its_own_way(opened: Opened, server: ScriptedModelServer) -> None:
    embedder = opened(query_prefix="query: ", document_prefix="passage: ")
    await embedder.embed(["tea"])
    await embedder.embed(["tea"], "query")
    assert [seen.body["input"] for seen in server.seen] == [["passage: tea"], ["query: tea"]]
    assert embedder.model != opened().model


async def test_a_model_that_can_shorten_its_vectors_is_told_how_long(
    opened: Opened, server: ScriptedModelServer
) -> None:
    await opened(name="text-embedding-3-large").embed(["tea"])
    assert server.seen[-1].body["dimensions"] == VECTOR_DIMENSIONS


@pytest.mark.parametrize("fault", VectorFault)
async def test_what_are_no_vectors_for_the_texts_is_an_error(
    fault: VectorFault, opened: Opened, server: ScriptedModelServer
) -> None:
    server.script(ScriptedReply(vectors=fault))
    with pytest.raises(ProviderOutputError) as caught:
        await opened().embed([SECRET_WORDS, "tea"])
    assert SECRET_WORDS not in "".join(traceback.format_exception(caught.value))
    assert (await opened().embed(["tea"])).any()


@pytest.mark.parametrize(
    ("error", "fault"),
    [
        *((ProviderUnavailableError, fault) for fault in UNAVAILABLE),
        *((ProviderRejectedError, fault) for fault in REJECTED),
        *((ProviderOutputError, fault) for fault in UNUSABLE),
    ],
)
async def test_every_fault_of_a_server_is_an_error_of_ours(
    error: type[ProviderError], fault: Fault, opened: Opened, server: ScriptedModelServer
) -> None:
    server.script(ScriptedReply(fault=fault, said=SECRET_WORDS))
    with pytest.raises(error) as caught:
        await opened(timeout_seconds=0.3 if fault is Fault.SILENT else 10.0).embed(["tea"])
    shown = "".join(traceback.format_exception(caught.value))
    assert SECRET_WORDS not in shown
    assert KEY not in shown


async def test_a_server_that_is_slow_is_not_waited_for(opened: Opened, server: ScriptedModelServer) -> None:
    server.script(ScriptedReply(delay=0.5))
    with pytest.raises(ProviderUnavailableError, match="in time"):
        await opened(timeout_seconds=0.1).embed(["tea"])


async def test_a_server_that_is_not_there_is_unavailable(opened: Opened, server: ScriptedModelServer) -> None:
    async with server.down():
        with pytest.raises(ProviderUnavailableError, match="cannot be reached"):
            await opened().embed(["tea"])
    assert (await opened().embed(["tea"])).any()


async def test_an_attempt_is_repeated_after_the_time_that_the_server_asks_for(
    opened: Opened, server: ScriptedModelServer
) -> None:
    server.script(ScriptedReply(fault=Fault.RATE_LIMITED, retry_after="0"), ScriptedReply(fault=Fault.OVERLOADED))
    assert (await opened(max_retries=2).embed(["tea"])).any()
    assert len(server.seen) == 3


async def test_a_long_wait_is_not_waited_and_the_server_is_left_alone(
    opened: Opened, server: ScriptedModelServer
) -> None:
    embedder = opened(max_retries=5)
    server.script(ScriptedReply(fault=Fault.RATE_LIMITED, retry_after="3000"))
    with pytest.raises(ProviderUnavailableError, match="429"):
        await embedder.embed(["tea"])
    with pytest.raises(CircuitOpenError):
        await embedder.embed(["tea"])
    assert len(server.seen) == 1


async def test_what_would_not_help_is_not_tried_again(opened: Opened, server: ScriptedModelServer) -> None:
    for reply in (ScriptedReply(fault=Fault.UNAUTHORISED), ScriptedReply(vectors=VectorFault.SHORT)):
        server.seen.clear()
        server.script(reply)
        with pytest.raises(ProviderError):
            await opened(max_retries=3).embed(["tea"])
        assert len(server.seen) == 1


async def test_a_server_that_keeps_failing_is_not_asked(opened: Opened, server: ScriptedModelServer) -> None:
    embedder = opened()
    server.script(*[ScriptedReply(fault=Fault.SERVER_ERROR)] * 5)
    for _ in range(5):
        with pytest.raises(ProviderUnavailableError):
            await embedder.embed(["tea"])
    with pytest.raises(CircuitOpenError):
        await embedder.embed(["tea"])
    assert len(server.seen) == 5


def openai(**more: object) -> EmbeddingSettings:
    return EmbeddingSettings(kind="http", **more)  # type: ignore[arg-type]


def test_openai_is_known_by_its_key() -> None:
    keys = {"OPENAI_API_KEY": Secret(KEY)}
    embedder = open_http_embedder(Settings(embedding=openai(), keys=keys), FakeClock())
    assert (embedder.model, embedder.dimensions) == ("http:text-embedding-3-small:1536", 1536)
    with pytest.raises(SettingsError, match="OPENAI_API_KEY"):
        open_http_embedder(Settings(embedding=openai()), FakeClock())


def test_the_length_of_unknown_vectors_must_be_told() -> None:
    with pytest.raises(SettingsError, match=r"embedding\.dimensions"):
        open_http_embedder(Settings(embedding=openai(url="http://localhost:8080")), FakeClock())


@pytest.mark.parametrize("path", ["", "/v1", "/v1/embeddings", "/v1/"])
async def test_an_address_may_be_more_or_less_whole(path: str, opened: Opened, server: ScriptedModelServer) -> None:
    await opened(url=server.url + path).embed(["tea"])
    assert server.seen[-1].path == "/v1/embeddings"
