"""The official client of OpenAI, unchanged but for its base URL, against a real server."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import openai
import pytest
from openai import AsyncOpenAI, OpenAI
from openai.types.chat import ChatCompletion, ChatCompletionMessageParam, ChatCompletionToolParam
from pydantic import BaseModel

from recollect.ports.chat_model import ToolCallRequest
from recollect.testing.models import Fault, ScriptedModelServer, ScriptedReply
from tests.http.conftest import AsUser
from tests.support.played_model import ALONE
from tests.support.server_process import Served, served
from tests.support.small_model import small_model

WEATHER: ChatCompletionToolParam = {
    "type": "function",
    "function": {
        "name": "weather",
        "description": "Tell the weather.",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    },
}


class Person(BaseModel):
    """Someone with an age."""

    name: str
    age: int


def connected(server: Served, **more: Any) -> OpenAI:
    """Return a client as people write it."""
    options = {"api_key": "anything", "max_retries": 0, "timeout": 60, **more}
    return OpenAI(base_url=f"http://127.0.0.1:{server.port}/v1", **options)


@pytest.fixture(scope="module")
def client(with_model: Served) -> Iterator[OpenAI]:
    with connected(with_model) as opened:
        yield opened


def place_of(answer: object) -> str:
    """Return the conversation of an answer, which is a field that the client does not know."""
    return str(answer.recollect["conversation_id"])  # type: ignore[attr-defined]


def test_it_chats(client: OpenAI, model: ScriptedModelServer) -> None:
    model.script(ScriptedReply(text=("Hello", " there")))
    answer = client.chat.completions.create(
        model="gpt-4o-mini",
        messages=[{"role": "developer", "content": "Be kind."}, {"role": "user", "content": "Hi"}],
        temperature=0.2,
        max_completion_tokens=50,
        user="somebody",
        metadata={"ticket": "7"},
        seed=1,
    )
    assert answer.choices[0].message.content == "Hello there"
    assert (answer.choices[0].finish_reason, answer.model) == ("stop", "gpt-4o-mini")
    assert answer.usage is not None
    assert (answer.usage.prompt_tokens, answer.usage.completion_tokens) == (7, 3)
    asked = model.seen[-1].request
    assert asked is not None
    assert "Be kind." in asked.system
    assert (asked.temperature, asked.max_output_tokens) == (0.2, 50)


def test_it_streams(client: OpenAI, model: ScriptedModelServer) -> None:
    model.script(ScriptedReply(text=("Hel", "lo")))
    chunks = list(
        client.chat.completions.create(
            model="any",
            messages=[{"role": "user", "content": "Hi"}],
            stream=True,
            stream_options={"include_usage": True},
        )
    )
    said = [chunk.choices[0].delta.content for chunk in chunks if chunk.choices]
    assert said == ["", "Hel", "lo", None]
    assert [chunk.choices[0].finish_reason for chunk in chunks if chunk.choices] == [None, None, None, "stop"]
    assert chunks[-1].usage is not None
    assert chunks[-1].usage.total_tokens == 10


async def test_it_streams_without_blocking(with_model: Served, model: ScriptedModelServer) -> None:
    model.script(ScriptedReply(text=("Hel", "lo")))
    async with (
        AsyncOpenAI(base_url=f"http://127.0.0.1:{with_model.port}/v1", api_key="anything") as opened,
        opened.chat.completions.stream(model="any", messages=[{"role": "user", "content": "Hi"}]) as stream,
    ):
        said = [event.delta async for event in stream if event.type == "content.delta"]
        whole = await stream.get_final_completion()
    assert said == ["", "Hel", "lo"]
    assert whole.choices[0].message.content == "Hello"


@pytest.mark.parametrize("streams", [False, True])
def test_it_runs_tools_of_its_own(client: OpenAI, model: ScriptedModelServer, streams: bool) -> None:
    ids = [uuid.uuid4().hex, uuid.uuid4().hex]
    calls = tuple(
        ToolCallRequest(id=one, tool_name="weather", input={"city": city})
        for one, city in zip(ids, ("Oslo", "Bergen"), strict=True)
    )
    history: list[ChatCompletionMessageParam] = [{"role": "user", "content": f"Weather? {ids[0]}"}]
    model.script(ScriptedReply(text=("Wait.",), tool_calls=calls), ScriptedReply(text=("Rain in both.",)))
    answer: ChatCompletion
    if streams:
        with client.chat.completions.stream(model="any", messages=history, tools=[WEATHER]) as stream:
            answer = stream.get_final_completion()
    else:
        answer = client.chat.completions.create(model="any", messages=history, tools=[WEATHER])
    choice = answer.choices[0]
    assert (choice.finish_reason, choice.message.content) == ("tool_calls", "Wait.")
    asked_for = choice.message.tool_calls
    assert asked_for is not None
    assert [(call.id, json.loads(call.function.arguments)) for call in asked_for if call.type == "function"] == [
        (ids[0], {"city": "Oslo"}),
        (ids[1], {"city": "Bergen"}),
    ]
    history.append(choice.message.model_dump(exclude_none=True))  # type: ignore[arg-type]  # as people do it
    history += [{"role": "tool", "tool_call_id": one, "content": "rain"} for one in ids]
    end = client.chat.completions.create(model="any", messages=history, tools=[WEATHER])
    assert (end.choices[0].message.content, end.choices[0].finish_reason) == ("Rain in both.", "stop")
    seen = model.seen[-1].request
    assert seen is not None
    assert [one.tool_call_id for one in seen.messages if one.role == "tool"][-2:] == ids
    if not streams:
        assert place_of(end) == place_of(answer)


def test_it_remembers_from_one_conversation_to_the_next(
    client: OpenAI, with_model: Served, model: ScriptedModelServer
) -> None:
    word = f"Zorblat{uuid.uuid4().hex[:8]}"
    new = {"content": f"The user's cat is called {word}.", "memory_type": "fact"}
    made = with_model.client.post("/api/memories", json=new)
    assert made.status_code == 201, made.text
    said = f"My dog is called {word}dog."
    first = client.chat.completions.create(model="any", messages=[{"role": "user", "content": said}])
    second = client.chat.completions.create(
        model="any", messages=[{"role": "user", "content": "What are my cat and my dog called?"}]
    )
    assert place_of(first) != place_of(second)
    asked = model.seen[-1].request
    assert asked is not None
    told = asked.system + "".join(one.text for one in asked.messages)
    assert new["content"] in told
    assert said in told
    used = second.recollect["memories_used"]  # type: ignore[attr-defined]  # a field of ours
    assert made.json()["id"] in [one["id"] for one in used]


def test_it_goes_on_in_one_conversation(client: OpenAI, with_model: Served) -> None:
    history: list[ChatCompletionMessageParam] = []
    places = set()
    for number in range(3):
        history.append({"role": "user", "content": f"{number} {uuid.uuid4().hex}"})
        answer = client.chat.completions.create(model="any", messages=history)
        history.append(answer.choices[0].message.model_dump())  # type: ignore[arg-type]  # as people do it
        places.add(place_of(answer))
    (place,) = places
    kept = with_model.client.get(f"/api/conversations/{place}/messages").json()["items"]
    assert [one["content"] for one in kept] == [one["content"] for one in history]


def test_it_parses_what_has_a_shape(client: OpenAI, model: ScriptedModelServer) -> None:
    model.script(ScriptedReply(text=('{"name": "Ada", "age": 36}',)))
    answer = client.chat.completions.parse(
        model="any", messages=[{"role": "user", "content": "Who?"}], response_format=Person
    )
    assert answer.choices[0].message.parsed == Person(name="Ada", age=36)


def test_it_lists_models(client: OpenAI) -> None:
    assert [one.id for one in client.models.list()] == ["small"]
    assert client.models.retrieve("small").owned_by == "recollect"


def test_it_raises_what_people_catch(client: OpenAI, with_model: Served, model: ScriptedModelServer) -> None:
    def ask(asked: OpenAI, **more: Any) -> None:
        asked.chat.completions.create(model="any", messages=[{"role": "user", "content": "Hi"}], **more)

    with pytest.raises(openai.UnprocessableEntityError, match="n: Input should be 1") as refused:
        ask(client, n=2)
    assert (refused.value.code, refused.value.param, refused.value.type) == (
        "invalid_input",
        "n",
        "invalid_request_error",
    )
    with pytest.raises(openai.NotFoundError):
        client.models.retrieve("other")
    with pytest.raises(openai.NotFoundError):
        client.embeddings.create(model="any", input="x")
    with connected(with_model, api_key="rk_a_b") as unknown, pytest.raises(openai.AuthenticationError):
        ask(unknown)
    for streams in (False, True):
        model.script(ScriptedReply(fault=Fault.OVERLOADED))
        with pytest.raises(openai.InternalServerError) as failed:
            ask(client, stream=streams)
        assert (failed.value.status_code, failed.value.code) == (503, "provider_unavailable")


def test_it_raises_in_a_stream_that_breaks(client: OpenAI, model: ScriptedModelServer) -> None:
    model.script(ScriptedReply(text=("Half",), fault=Fault.DISCONNECT))
    chunks = client.chat.completions.create(model="any", messages=[{"role": "user", "content": "Hi"}], stream=True)
    heard = [next(chunks).choices[0].delta.content for _ in range(2)]
    with pytest.raises(openai.APIError) as failed:
        next(chunks)
    assert heard == ["", "Half"]
    assert failed.value.code == "provider_unavailable"


def test_it_tries_again_by_itself_and_stores_nothing_twice(with_model: Served, model: ScriptedModelServer) -> None:
    words = uuid.uuid4().hex
    model.script(ScriptedReply(fault=Fault.OVERLOADED), ScriptedReply(text=("At last",)))
    with connected(with_model, max_retries=1) as patient:
        answer = patient.chat.completions.create(model="any", messages=[{"role": "user", "content": words}])
    assert answer.choices[0].message.content == "At last"
    found = with_model.client.get("/api/conversations", params={"q": words}).json()["items"]
    assert [one["id"] for one in found] == [place_of(answer)]
    kept = with_model.client.get(f"/api/conversations/{place_of(answer)}/messages").json()["items"]
    assert [one["content"] for one in kept] == [words, "At last"]


def test_it_shows_a_key_where_one_is_asked_for(as_user: AsUser) -> None:
    ada = as_user("ada")
    address, key = f"{str(ada.base_url).rstrip('/')}/v1", ada.headers["Authorization"].removeprefix("Bearer ")
    with OpenAI(base_url=address, api_key=key, max_retries=0) as opened:
        answer = opened.chat.completions.create(model="any", messages=[{"role": "user", "content": "Hi"}])
    assert ada.get(f"/api/conversations/{place_of(answer)}").status_code == 200
    stranger = OpenAI(base_url=address, api_key="anything", max_retries=0)
    with stranger, pytest.raises(openai.AuthenticationError):
        stranger.models.list()


def test_it_raises_when_it_asks_too_often(tmp_path: Path) -> None:
    limit = {"RECOLLECT_SERVER_REQUESTS_PER_MINUTE": "2"}
    with served(f"sqlite:///{tmp_path / 'recollect.db'}", tmp_path, limit) as server, connected(server) as client:
        client.models.list()
        client.models.list()
        with pytest.raises(openai.RateLimitError) as refused:
            client.models.list()
    assert (refused.value.code, refused.value.response.headers["Retry-After"]) == ("rate_limited", "1")


def test_it_talks_to_a_real_model(tmp_path: Path) -> None:
    database = f"sqlite:///{tmp_path / 'recollect.db'}"
    with small_model() as url, served(database, tmp_path, {**ALONE, "RECOLLECT_MODEL_URL": url}) as server:
        with connected(server) as client:
            history: list[ChatCompletionMessageParam] = [{"role": "user", "content": "Say hello."}]
            first = client.chat.completions.create(model="any", messages=history, max_tokens=8, temperature=0)
            said = first.choices[0].message.content
            assert said
            assert first.usage is not None
            assert 0 < first.usage.completion_tokens <= 8
            history += [{"role": "assistant", "content": said}, {"role": "user", "content": "Tell me a story."}]
            chunks = list(
                client.chat.completions.create(model="any", messages=history, max_tokens=8, temperature=0, stream=True)
            )
        page = server.client.get(f"/api/conversations/{place_of(first)}/messages").json()["items"]
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks) == page[-1]["content"]
    assert chunks[-1].choices[0].finish_reason == "length"
    assert [one["role"] for one in page] == ["user", "assistant", "user", "assistant"]
