"""The blocking facade: the same methods, from scripts, threads and notebooks, and a clean end."""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, assert_type

import pytest

import recollect.sync
from recollect.domain.conversation import Conversation
from recollect.domain.page import MessageQuery
from recollect.domain.scope import Scope
from recollect.errors import (
    ConversationNotFoundError,
    InvalidInputError,
    SettingsError,
    StorageUnavailableError,
)
from recollect.ports.store import Store
from recollect.service.chat_request import ChatReply, ChatRequest
from recollect.service.recollect import Recollect
from recollect.settings import Settings
from recollect.sync import Blocking, BlockingIterator, BlockingOwner, BlockingRecollect, BlockingStore, LoopThread
from recollect.testing.samples import ALICE, append, conversation, ids_of
from tests.meta.source_tree import ROOT
from tests.support.blocking_signatures import FOLDER, files

NAME = contextvars.ContextVar("name", default="nobody")


class Service:
    """An asynchronous object with one of everything that the facade must handle."""

    limit = 3

    def __init__(self) -> None:
        self.part = Part()
        self.events: list[str] = []

    async def double(self, number: int, *, plus: int = 0) -> int:
        """Double it."""
        await asyncio.sleep(0)
        return 2 * number + plus

    async def fail(self, error: BaseException) -> None:
        raise error

    async def hang(self) -> None:
        self.events.append("hanging")
        try:
            await asyncio.Event().wait()
        finally:
            self.events.append("cancelled")

    async def count(self, end: int) -> AsyncIterator[int]:
        try:
            for number in range(end):
                await asyncio.sleep(0)
                yield number
        finally:
            self.events.append("counted")

    @asynccontextmanager
    async def lease(self) -> AsyncIterator[Part]:
        self.events.append("leased")
        yield self.part
        self.events.append("returned")

    def loop_name(self) -> str:
        return threading.current_thread().name

    async def name(self) -> str:
        return NAME.get()

    async def call(self, function: Any) -> Any:
        return function()

    async def close(self) -> None:
        await asyncio.to_thread(self.events.append, "closed")


class Part:
    async def triple(self, number: int) -> int:
        return 3 * number


async def make() -> Service:
    return Service()


@pytest.fixture
def service() -> Iterator[Any]:
    with BlockingOwner.open(make) as opened:
        yield opened


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[BlockingRecollect]:
    with recollect.sync.open(settings_for(tmp_path)) as opened:
        yield opened


def settings_for(folder: Path) -> Settings:
    return Settings.load({"storage.database": str(folder / "memory.db")}, {})


def threads() -> set[threading.Thread]:
    return set(threading.enumerate())


def run(script: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-W", "error", "-c", script, *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=60)


# Calls


def test_the_whole_service_can_be_used_without_awaiting(memory: BlockingRecollect) -> None:
    reply = memory.chat.turn(ALICE, ChatRequest(text="Hello"))
    page = memory.store.list_messages(ALICE, MessageQuery(conversation_id=reply.conversation_id))
    assert ids_of(page.messages) == [reply.user_message.id, reply.message.id]


def test_a_method_keeps_its_name_its_documentation_and_its_arguments(service: Any) -> None:
    assert service.double(3, plus=1) == 7
    assert (service.double.__name__, service.double.__doc__) == ("double", "Double it.")
    assert list(inspect.signature(service.double).parameters) == ["number", "plus"]
    assert "double" in dir(service)
    assert not [name for name in dir(service) if name.startswith("_")]


def test_values_come_as_they_are_and_parts_come_wrapped(service: Any) -> None:
    assert service.limit == 3
    assert isinstance(service.part, Blocking)
    assert service.part.triple(2) == 6
    assert repr(service.part).startswith("<blocking <")


def test_what_is_private_stays_private(service: Any) -> None:
    with pytest.raises(AttributeError):
        service._anything  # noqa: B018  # reading it is the test
    with pytest.raises(AttributeError):
        service.missing  # noqa: B018  # reading it is the test


def test_plain_methods_run_on_the_loop_too(service: Any) -> None:
    assert service.loop_name() == "recollect-sync"


def test_an_error_keeps_its_type_and_its_message(memory: BlockingRecollect, service: Any) -> None:
    with pytest.raises(ConversationNotFoundError, match="no conversation"):
        memory.store.get_conversation(ALICE, "nothing")
    with pytest.raises(InvalidInputError):
        memory.store.get_conversation(ALICE, "")
    with pytest.raises(ZeroDivisionError, match="by hand"):
        service.fail(ZeroDivisionError("by hand"))


async def test_it_works_where_another_loop_runs(service: Any) -> None:
    assert service.double(3) == 6


def test_many_threads_share_one_store(memory: BlockingRecollect) -> None:
    with ThreadPoolExecutor(8) as pool:
        appends = [append("c1", f"m{number}") for number in range(100)]
        list(pool.map(lambda one: memory.store.append(ALICE, one), appends))
    page = memory.store.list_messages(ALICE, MessageQuery(conversation_id="c1", limit=1000))
    assert [one.seq for one in page.messages] == list(range(1, 101))


def test_context_variables_of_the_caller_are_seen(service: Any) -> None:
    token = NAME.set("alice")
    try:
        assert service.name() == "alice"
    finally:
        NAME.reset(token)


# Iterators and context managers


def test_an_asynchronous_iterator_becomes_an_iterator(service: Any) -> None:
    assert list(service.count(4)) == [0, 1, 2, 3]
    assert service.events == ["counted"]


def test_an_iterator_can_be_ended_early(service: Any) -> None:
    with service.count(1000) as numbers:
        assert isinstance(numbers, BlockingIterator)
        assert [next(numbers), next(numbers)] == [0, 1]
    assert service.events == ["counted"]
    assert list(numbers) == []


def test_an_iterator_that_is_dropped_ends_too(service: Any) -> None:
    for number in service.count(1000):
        if number == 2:
            break
    # The end is scheduled by the collector; what is called next comes after it.
    service.double(1)
    service.double(1)
    assert service.events == ["counted"]


def test_an_asynchronous_context_manager_becomes_a_plain_one(service: Any) -> None:
    with service.lease() as part:
        assert part.triple(1) == 3
        assert service.events == ["leased"]
    assert service.events == ["leased", "returned"]


# The end


def test_closing_closes_what_was_opened_and_leaves_no_thread() -> None:
    before = threads()
    target = Service()

    async def give() -> Service:
        return target

    opened = BlockingOwner.open(give)
    assert threads() - before
    opened.close()
    opened.close()
    assert target.events == ["closed"]
    assert threads() == before


def test_a_closed_facade_says_so(tmp_path: Path) -> None:
    memory = recollect.sync.open(settings_for(tmp_path))
    store = memory.store
    memory.close()
    with pytest.raises(StorageUnavailableError):
        store.get_conversation(ALICE, "c1")
    with pytest.raises(StorageUnavailableError):
        memory.chat.turn(ALICE, ChatRequest(text="Hello"))


def test_a_call_that_still_waits_when_another_thread_closes_is_told() -> None:
    opened: Any = BlockingOwner.open(make)
    events = opened.events
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(opened.hang)
        while "hanging" not in events:
            opened.double(1)
        opened.close()
        with pytest.raises(StorageUnavailableError):
            waiting.result(30)
    assert events == ["hanging", "closed", "cancelled"]


def test_a_failed_opening_leaves_no_thread(tmp_path: Path) -> None:
    before = threads()
    (tmp_path / "memory.db").mkdir()
    with pytest.raises(StorageUnavailableError):
        recollect.sync.open(settings_for(tmp_path))
    with pytest.raises(SettingsError):
        recollect.sync.open(Settings.load({"server.host": "0.0.0.0"}, {}))
    assert threads() == before


def test_an_error_of_closing_is_raised_and_the_loop_still_ends() -> None:
    before = threads()
    loop = LoopThread()

    async def fail() -> None:
        raise ZeroDivisionError

    loop.close_first(fail)
    with pytest.raises(ZeroDivisionError):
        loop.close()
    assert threads() == before


def test_a_call_on_its_own_loop_is_refused(service: Any) -> None:
    with pytest.raises(RuntimeError, match="wait for itself"):
        service.call(lambda: service.double(1))
    with pytest.raises(RuntimeError, match="wait for itself"):
        service.call(service.close)
    assert service.double(1) == 2


def test_interpreter_exit_closes_what_was_left_open(tmp_path: Path) -> None:
    script = """
import sys, recollect.sync
from recollect.settings import Settings
from recollect.testing.samples import ALICE, append
memory = recollect.sync.open(Settings.load({"storage.database": sys.argv[1]}, {}))
memory.store.append(ALICE, append("c1", "m1"))
another = recollect.sync.open(Settings.load({"storage.database": sys.argv[1]}, {}))
"""
    done = run(script, str(tmp_path / "memory.db"))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    # SQLite removes its log when the last connection is closed in order.
    assert not (tmp_path / "memory.db-wal").exists()
    with recollect.sync.open(settings_for(tmp_path)) as memory:
        assert memory.store.get_conversation(ALICE, "c1").message_count == 1


def test_a_keyboard_interrupt_cancels_the_call_and_not_the_loop() -> None:
    # The call sends the interrupt itself, often before the caller has begun to wait for it.
    script = """
import asyncio, os, signal
from recollect.sync.loop import LoopThread
loop = LoopThread()
ended = []
async def double(number):
    await asyncio.sleep(0)
    return 2 * number
async def hang(delay):
    try:
        await asyncio.sleep(delay)
        os.kill(os.getpid(), signal.SIGINT)
        await asyncio.Event().wait()
    finally:
        ended.append(delay)
for number in range(200):
    try:
        loop.call(hang, number % 4 / 1000)
    except KeyboardInterrupt:
        pass
    assert loop.call(double, number) == 2 * number
loop.call(double, 1)
print(len(ended), loop.call(double, 4))
loop.close()
"""
    done = run(script)
    assert (done.returncode, done.stdout, done.stderr) == (0, "200 8\n", "")


def test_a_facade_from_before_a_fork_is_refused_instead_of_hanging() -> None:
    script = """
import os, sys, warnings
from recollect.errors import StorageUnavailableError
from tests.unit.test_sync import BlockingOwner, make
service = BlockingOwner.open(make)
warnings.simplefilter("ignore")
child = os.fork()
if child:
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    assert service.double(2) == 4
else:
    try:
        service.double(1)
    except StorageUnavailableError:
        service.close()
        sys.exit(7)
"""
    done = run(script)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


# Types


def test_the_signatures_are_up_to_date() -> None:
    written = {path.name: path.read_text(encoding="utf-8") for path in FOLDER.glob("*.py")}
    assert written == files(), "run `python -m tests.support.blocking_signatures`"


def test_the_signatures_name_every_public_method_of_the_service() -> None:
    for blocking, asynchronous in ((BlockingStore, Store), (BlockingRecollect, Recollect)):
        awaited = {name for name, _ in inspect.getmembers(asynchronous, inspect.iscoroutinefunction)}
        shown = {name for name, _ in inspect.getmembers(blocking, inspect.isfunction)}
        assert {name for name in awaited if not name.startswith("_")} <= shown


if TYPE_CHECKING:

    def check_the_types_of_user_code(memory: BlockingRecollect) -> None:
        assert_type(recollect.sync.open(), BlockingRecollect)
        assert_type(memory.store.create_conversation(Scope(), conversation("c1")), Conversation)
        assert_type(memory.chat.turn(Scope(), ChatRequest(text="Hello")), ChatReply)
        memory.store.get_conversation(Scope(), 1)  # type: ignore[arg-type]  # a type checker must refuse this
        memory.store.get_conversations(Scope())  # type: ignore[attr-defined]  # and this
