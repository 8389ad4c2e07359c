"""Damage and failure are told, and chat goes on: P19, P20, P23."""

from __future__ import annotations

import json
from typing import Any

import httpx2
import pytest
from hypothesis import strategies as st

from recollect.bootstrap import assemble
from recollect.domain.conversation import ConversationQuery
from recollect.domain.message import NewMessage
from recollect.domain.scope import Scope
from recollect.errors import (
    CorruptRecordError,
    MigrationRequiredError,
    RecollectError,
    StorageError,
    StorageLockedError,
    StorageUnavailableError,
)
from recollect.http.app import create_app, furnish
from recollect.http.errors import status_of
from recollect.service.chat_request import ChatRequest
from recollect.service.recollect import Recollect
from recollect.settings import HistorySettings, Settings
from recollect.testing.clock import START
from recollect.testing.samples import ids_of
from tests.support.damage import damage, stored
from tests.support.drawn_messages import Said, Speaker, talks, texts
from tests.support.faulty_parts import failing_store, warnings_logged
from tests.support.service_rig import C, Options, Place, Rig

# The threads of the connection pool draw random pauses of their own while Hypothesis draws.
pytestmark = pytest.mark.filterwarnings("ignore:Do not use the `random` module inside strategies")

SECRET = "words that nobody else may read"
NOWHERE = "http://127.0.0.1"
junk: st.SearchStrategy[Any] = st.sampled_from(
    (None, True, 0, -1, 1.5, 10**30, "", " ", "\0", "a\0b", "\ud800", "x" * 129, b"c1", (), ["x"], {})
)
ids = st.sampled_from(("c1", "m1", "nowhere", SECRET)) | junk


async def call(service: Recollect, scope: Scope, what: str, one: Any, two: Any) -> None:
    """Call the service as a program with a bug would."""
    conversations = service.conversations
    match what:
        case "turn":
            await service.chat.turn(scope, ChatRequest(text=one, conversation_id=two))
        case "key":
            await service.chat.turn(scope, ChatRequest(text="hello", key=one, write_policy=two))
        case "add":
            message = NewMessage(id=one, role="user", content=two, created_at=START)
            await conversations.add_messages(scope, C, (message,))
        case "add to":
            await conversations.add_messages(scope, one, two if isinstance(two, tuple) else (two,), create=False)
        case "read":
            await conversations.get_messages(scope, one, limit=two)
        case "read on":
            await conversations.get_messages(scope, C, before=one, after=two)
        case "edit":
            await conversations.edit(scope, C, one, two)
        case "rename":
            await conversations.update(scope, one, title=two)
        case "list":
            await conversations.list(scope, ConversationQuery(limit=one, agent=two))
        case _:
            await getattr(conversations, what)(scope, *(C, one)[-ARGUMENTS[what] :])


#: Methods that take a conversation, or a conversation and a message.
ARGUMENTS = {"get": 1, "get_context": 1, "clear_messages": 1, "delete": 1, "undo": 1, "select": 2, "erase_message": 2}
CALLS = ("turn", "key", "add", "add to", "read", "read on", "edit", "rename", "list", *ARGUMENTS)
FAILURES: tuple[RecollectError, ...] = (
    StorageUnavailableError("the store is away; try again"),
    StorageLockedError("the store is being migrated; try again"),
    MigrationRequiredError("run `recollect db upgrade`"),
    StorageError("the disk is full"),
    CorruptRecordError("conversation", "c1"),
)
ROUTES = ("/api/conversations", f"/api/conversations/{C}/messages", "/api/chat")


def check_error(error: RecollectError) -> None:
    """Prove that an error tells what is wrong in words and by a code, and nothing that was said."""
    assert error.code.replace("_", "").isalpha()
    assert len(str(error)) >= 8
    assert SECRET not in str(error)


def check_problem(answer: httpx2.Response) -> None:
    """Prove that an answer is a problem document with a sensible status."""
    assert answer.headers["content-type"] == "application/problem+json"
    problem = answer.json()
    assert (problem["status"], len(problem["detail"]) >= 8) == (answer.status_code, True)
    assert problem["code"].replace("_", "").isalpha()
    assert SECRET not in answer.text
    assert ("retry-after" in answer.headers) == (answer.status_code == 503)


@pytest.mark.spec("P19")
def test_p19_every_failure_is_an_error_with_a_code_and_words_that_help(place: Place) -> None:
    settings = Settings.load({"storage.database": "sqlite:///unused", "jobs.inside": False}, {})

    async def example(drawn: tuple[list[tuple[str, Any, Any]], Any, Any, RecollectError]) -> None:
        calls, body, limit, failure = drawn
        failing: dict[str, Exception] = {}
        rig = place.rig(change_store=lambda one: failing_store(one, failing))
        service = assemble(rig.store, settings, rig.clock)
        await rig.add(Speaker().messages([Said("user", "hello")] * 2))
        for one in calls:
            try:
                await call(service, rig.scope, *one)
            except RecollectError as error:
                check_error(error)
        app = create_app(settings)
        furnish(app, service, settings)
        transport = httpx2.ASGITransport(app=app, raise_app_exceptions=True)
        async with httpx2.AsyncClient(transport=transport, base_url=NOWHERE) as client:
            await check_routes(client, body, limit)
            failing |= dict.fromkeys(("list_conversations", "list_messages", "record_turn"), failure)
            for path in ROUTES:
                said = {"message": SECRET}
                answer = await (client.post(path, json=said) if path == "/api/chat" else client.get(path))
                assert answer.status_code == status_of(type(failure)) >= 500
                check_problem(answer)

    calls = st.lists(st.tuples(st.sampled_from(CALLS), ids, ids), min_size=1, max_size=5)
    plain = ids.filter(lambda value: not isinstance(value, bytes))
    bodies = st.fixed_dictionaries({}, optional={"message": plain, "conversation_id": plain})
    limits = st.sampled_from((0, -1, 201, "x", "", "1e3", 10**30))
    place.check(example, st.tuples(calls, bodies, limits, st.sampled_from(FAILURES)))


async def check_routes(client: httpx2.AsyncClient, body: Any, limit: Any) -> None:
    """Ask for what is not there, in ways that are not allowed."""
    answer = await client.post("/api/chat", content=json.dumps(body), headers={"content-type": "application/json"})
    if answer.status_code != 200:
        assert 400 <= answer.status_code < 500
        check_problem(answer)
    for path, status in (
        (f"/api/conversations?limit={limit}", 422),
        ("/api/conversations/missing/messages", 404),
        (f"/api/conversations/{'x' * 129}/messages", 422),
        ("/api/nothing", 404),
    ):
        answer = await client.get(path)
        assert answer.status_code == status
        check_problem(answer)


@pytest.mark.spec("P20", "S3.6")
def test_p20_damage_is_told_and_kept_and_the_current_message_is_stored(place: Place) -> None:
    async def example(drawn: tuple[str, int, list[Any], str]) -> None:
        table, number, talked, text = drawn
        options = Options(history=HistorySettings(threshold=3, keep_verbatim=2))
        before = place.rig(options)
        speaker = Speaker()
        for talk in talked:
            await before.add(speaker.messages(talk))
        messages = await before.all_messages()
        context = await before.conversations.get_context(before.scope, C)
        table = "messages" if table == "summaries" and not context.summaries else table
        records = {"messages": ids_of(messages), "summaries": ids_of(context.summaries), "conversations": [C]}
        broken = records[table][number % len(records[table])]
        assert damage(place.url, before.scope, table, broken) == 1
        after = Rig(place.driver, before.scope, options)
        with warnings_logged() as logged:
            reply = await after.chat.turn(after.scope, ChatRequest(text=text, conversation_id=C))
            # What is too old for the prompt is noticed when it is read.
            if table == "messages":
                page = await after.conversations.get_messages(after.scope, C, limit=200)
                assert page.corrupt == (broken,)
                assert ids_of(page.messages) == [one for one in ids_of(messages) if one != broken] + [
                    reply.user_message.id,
                    reply.message.id,
                ]
        assert reply.message.status == "complete"
        assert (reply.conversation_id == C) == (table != "conversations")
        assert reply.damaged_id == (C if table == "conversations" else None)
        kept = await after.store.get_message(after.scope, reply.conversation_id, reply.user_message.id)
        assert kept.content == text
        kind = table.removesuffix("ies") + "y" if table == "summaries" else table.removesuffix("s")
        assert (kind, broken) in {(one.kind, one.id) for one in await after.store.list_damaged(after.scope)}
        assert logged
        assert not [line for line in logged if len(text) > 9 and text in line]
        assert stored(place.url, before.scope, "messages") == len(messages) + 2
        assert stored(place.url, before.scope, "summaries") >= len(context.summaries)

    pieces = st.lists(talks(least=2, most=6), min_size=1, max_size=3)
    tables = st.sampled_from(("messages", "messages", "summaries", "conversations"))
    place.check(example, st.tuples(tables, st.integers(0, 99), pieces, texts))


#: Settings of S3 that have a number, by the name of each group and field.
NUMBERS = ("history.threshold", "history.keep_verbatim", "sessions.timeout_hours", "sessions.max_cached", "window.size")
bad_values = st.sampled_from((0, -1, "many", [], {}, float("nan"), 10**400))


@pytest.mark.spec("P23", "S3.4")
def test_p23_with_settings_that_fell_back_the_service_works_as_by_default(place: Place) -> None:
    async def example(drawn: dict[str, Any]) -> None:
        settings = Settings.load({**drawn, "storage.database": "sqlite:///unused", "history.when": "inline"}, {})
        assert (settings.history.threshold, settings.history.keep_verbatim) == (10, 6)
        assert (settings.sessions.timeout_hours, settings.sessions.max_cached) == (24, 1000)
        assert len(settings.warnings) == len(drawn)
        rig = place.rig()
        service = assemble(rig.store, settings, rig.clock)
        speaker = Speaker()
        for number in range(1, 12):
            await service.conversations.add_messages(rig.scope, C, speaker.messages([Said("user", "hello")]))
            context = await service.conversations.get_context(rig.scope, C)
            assert (len(context.recent), context.total) == (number if number < 11 else 6, number)

    values = dict.fromkeys(NUMBERS, bad_values)
    place.check(example, st.fixed_dictionaries({}, optional=values))
