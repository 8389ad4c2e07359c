"""Everything of a user: exported, taken in again by id, and erased; a file is nobody's word unless it is trusted."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Any

import msgspec
import pytest

from recollect.domain.exported_knowledge import UserRecord, read_record
from recollect.domain.job import JobQuery
from recollect.domain.memory import MemoryQuery
from recollect.domain.message import ToolCall
from recollect.domain.page import MessageQuery
from recollect.domain.scope import Scope
from recollect.errors import InvalidInputError
from recollect.service.importing import Imported
from recollect.service.memories import Correction, Statement
from recollect.service.notes import NoteRequest
from recollect.service.preferences import PreferenceRequest
from recollect.service.recollect import Recollect
from recollect.testing.clock import FakeClock
from recollect.testing.samples import ALICE, BOB, message

GUIDE = Scope(ALICE.tenant, ALICE.user, "guide")
#: What an import cannot keep: places in the destination, and what the system says of a memory's past.
NOT_KEPT = {"seq", "extracted_seq", "history", "version", "updated_at", "last_accessed_at", "access_count", "origin"}


async def lines_of(text: bytes) -> AsyncIterator[bytes]:
    for line in text.splitlines():
        yield line


async def exported(service: Recollect, scope: Scope) -> bytes:
    return b"".join([msgspec.json.encode(record) + b"\n" async for record in service.account.export(scope)])


async def taken_in(service: Recollect, scope: Scope, text: bytes, *, trusted: bool = True) -> Imported:
    return await service.account.import_lines(scope, lines_of(text), trusted=trusted)


def records(text: bytes, *kinds: str) -> list[dict[str, Any]]:
    """Return the records of these kinds, without what an import cannot keep."""
    found = [msgspec.json.decode(line) for line in text.splitlines()]
    return [
        {name: value for name, value in record.items() if name not in NOT_KEPT}
        for record in found
        if record["kind"] in kinds
    ]


def counts(imported: Imported) -> dict[str, int]:
    return {name: value for name, value in msgspec.structs.asdict(imported).items() if value and name != "refusals"}


@pytest.fixture
async def service(make: Callable[..., Recollect], clock: FakeClock) -> Recollect:
    """Give a service with a user who has one of everything."""
    service = make(history__when="inline", history__threshold=4, history__keep_verbatim=2)
    talk = service.conversations
    for number in range(9):
        clock.advance(seconds=1)
        await talk.add_messages(ALICE, "long", [message(f"l{number}", f"We saw {number} whales.", created_at=clock())])
    clock.advance(minutes=1)
    await talk.create(GUIDE, conversation_id="tree", title="Two ways", metadata={"colour": "blue"})
    call = ToolCall(id="t1", tool_name="look", input={"where": "Oslo"})
    await talk.add_messages(
        ALICE,
        "tree",
        [
            message("q", "Where is it?", created_at=clock()),
            message("a", "", role="assistant", tool_calls=(call,), created_at=clock()),
            message("r", "rainy", role="tool", tool_call_id="t1", created_at=clock()),
            message("b", "It rains.", role="assistant", parent_id="r", created_at=clock()),
        ],
    )
    await talk.add_messages(ALICE, "tree", [message("q2", "Where else?", parent_id=None, created_at=clock())])
    await talk.update(ALICE, "tree", head_id="b", is_pinned=True, is_archived=True)
    await talk.create(ALICE, conversation_id="empty")
    await remember(service, clock)
    return service


async def remember(service: Recollect, clock: FakeClock) -> None:
    slot: dict[str, Any] = {"subject": "user", "attribute": "home"}
    await service.memories.add(ALICE, Statement(id="k1", content="Lives in Oslo", **slot))
    clock.advance(days=1)
    await service.memories.add(ALICE, Statement(id="k2", content="Lives in Bergen", is_pinned=True, **slot))
    await service.memories.add(ALICE, Statement(id="k3", content="Plays the cello", category="music"))
    await service.memories.change(ALICE, "k3", Correction(content="Plays the old cello", is_archived=True))
    for number in range(25):
        clock.advance(seconds=1)
        await service.notes.apply(ALICE, NoteRequest(operation="append", content=f"line {number}"))
    await service.notes.apply(GUIDE, NoteRequest(operation="overwrite", content="# Tea\ngreen"))
    await service.preferences.change(ALICE, PreferenceRequest(instructions="Be brief."))


async def test_an_export_tells_all_of_a_user_and_counts_it(service: Recollect) -> None:
    text = await exported(service, ALICE)
    found: list[UserRecord] = [read_record(line) for line in text.splitlines()]
    kinds = [msgspec.json.decode(line)["kind"] for line in text.splitlines()]
    assert (kinds[0], kinds[-1]) == ("export", "end")
    end = msgspec.json.decode(text.splitlines()[-1])
    summaries = kinds.count("summary")
    assert summaries >= 2
    assert {name: count for name, count in end.items() if name != "kind"} == {
        "conversations": 3,
        "messages": 14,
        "summaries": summaries,
        "memories": 3,
        "notes": 26,
        "preferences": 1,
        "damaged": 0,
    }
    assert len(found) == 2 + 3 + 14 + summaries + 3 + 26 + 1
    versions = [
        (one["agent"], one["version"]) for one in map(msgspec.json.decode, text.splitlines()) if one["kind"] == "note"
    ]
    assert versions == [("assistant", number) for number in range(1, 26)] + [("guide", 1)]
    past = {one["id"]: one["history"] for one in map(msgspec.json.decode, text.splitlines()) if one["kind"] == "memory"}
    assert [one["memory"]["content"] for one in past["k3"]] == ["Plays the cello"]
    assert (await exported(service, BOB)).count(b"\n") == 2


async def test_a_trusted_export_comes_back_whole_in_another_user(service: Recollect) -> None:
    text = await exported(service, ALICE)
    summaries = len(records(text, "summary"))
    imported = await taken_in(service, BOB, text)
    stored = {"conversations": 3, "messages": 14, "summaries": summaries, "memories": 3, "notes": 26, "preferences": 1}
    assert counts(imported) == stored
    copy = await exported(service, BOB)
    for kind in ("message", "summary"):
        assert sorted(map(repr, records(copy, kind))) == sorted(map(repr, records(text, kind)))
    for kind in ("conversation", "memory"):
        by_id = {record["id"]: record for record in records(copy, kind)}
        assert by_id == {record["id"]: record for record in records(text, kind)}
    notes = [{**record, "operation": "overwrite"} for record in records(text, "note")]
    assert records(copy, "note") == notes
    assert records(copy, "preferences") == records(text, "preferences")
    window = await service.store.get_window(BOB, "long")
    assert [one.id for one in window.uncovered] == [
        one.id for one in (await service.store.get_window(ALICE, "long")).uncovered
    ]


async def test_the_same_file_again_stores_nothing(service: Recollect) -> None:
    text = await exported(service, ALICE)
    total = len(text.splitlines()) - 2
    await taken_in(service, BOB, text)
    before = await exported(service, BOB)
    assert counts(await taken_in(service, BOB, text)) == {"skipped": total}
    assert counts(await taken_in(service, ALICE, text)) == {"skipped": total}
    assert (await exported(service, BOB)).splitlines()[1:] == before.splitlines()[1:]


async def test_a_file_may_be_sent_line_by_line(service: Recollect, clock: FakeClock) -> None:
    text = await exported(service, ALICE)
    await taken_in(service, BOB, text)
    carol = Scope(ALICE.tenant, "carol")
    for line in text.splitlines():
        assert (await taken_in(service, carol, line)).refused == 0
    clock.advance(seconds=1)
    whole, parts = await exported(service, BOB), await exported(service, carol)
    for kind in ("message", "summary", "memory", "note", "preferences"):
        assert sorted(map(repr, records(parts, kind))) == sorted(map(repr, records(whole, kind)))


async def test_a_json_list_with_a_record_a_line_is_taken_in_too(service: Recollect) -> None:
    text = await exported(service, ALICE)
    listed = b"[\n" + b",\n".join(text.splitlines()) + b"\n]\n"
    assert (await taken_in(service, BOB, listed)).messages == 14


@pytest.mark.spec("R28")
async def test_what_an_untrusted_file_says_waits_and_stands_in_no_prompt(service: Recollect) -> None:
    text = await exported(service, ALICE)
    imported = await taken_in(service, BOB, text, trusted=False)
    assert (imported.memories, imported.notes, imported.preferences, imported.refused) == (3, 0, 0, 27)
    assert {one.why for one in imported.refusals} == {
        "notes are taken over only from a trusted file",
        "preferences are taken over only from a trusted file",
    }
    assert (await service.memories.list(BOB, MemoryQuery())).items == ()
    pending = (await service.memories.list(BOB, MemoryQuery(trust="pending", archived=None))).items
    assert {one.id: (one.origin, one.is_pinned) for one in pending} == {
        "k2": ("import", False),
        "k3": ("import", False),
    }
    page = await service.store.list_messages(BOB, MessageQuery(conversation_id="tree", all_branches=True))
    assert {one.metadata["origin"] for one in page.messages} == {"import"}
    assert (await service.notes.read(BOB)).version == 0
    told = await service.contexts.preview(BOB, "empty", query="Where do I live?")
    assert "Bergen" not in str(told)
    assert "brief" not in str(told)


async def test_memories_are_not_learned_twice_and_no_model_is_asked_for(service: Recollect, clock: FakeClock) -> None:
    await service.learner.learn(ALICE, "long")
    text = await exported(service, ALICE)
    await taken_in(service, BOB, text)
    conversation = await service.store.get_conversation(BOB, "long")
    assert (conversation.extracted_seq, conversation.next_seq) == (9, 10)
    assert {job.kind for job in await service.store.list_jobs(BOB, JobQuery())} <= {"tidy", "embed"}


async def test_what_was_erased_stays_erased(service: Recollect) -> None:
    text = await exported(service, ALICE)
    await service.conversations.erase_message(ALICE, "tree", "b")
    await service.conversations.delete(ALICE, "empty")
    await service.memories.erase(ALICE, "k2")
    imported = await taken_in(service, ALICE, text)
    assert imported.refused == 3
    assert (imported.conversations, imported.messages, imported.memories) == (0, 0, 0)
    left = await exported(service, ALICE)
    assert "k2" not in {record["id"] for record in records(left, "memory")}
    assert "b" not in {record["id"] for record in records(left, "message")}
    assert {record["id"] for record in records(left, "conversation")} == {"long", "tree"}


async def test_a_whole_erased_conversation_is_refused_message_by_message(service: Recollect) -> None:
    text = await exported(service, ALICE)
    await service.conversations.delete(ALICE, "tree")
    imported = await taken_in(service, ALICE, text)
    assert (imported.conversations, imported.messages, imported.refused) == (0, 0, 1 + 5)


async def test_what_a_person_changed_since_is_not_changed_back(service: Recollect, clock: FakeClock) -> None:
    text = await exported(service, ALICE)
    await taken_in(service, BOB, text)
    await service.conversations.update(BOB, "tree", title="Mine", is_pinned=False)
    clock.advance(days=1)
    await service.notes.apply(BOB, NoteRequest(operation="append", content="mine"))
    await service.memories.change(BOB, "k2", Correction(content="Lives in Tromsø"))
    assert counts(await taken_in(service, BOB, text)) == {"skipped": len(text.splitlines()) - 2}
    tree = await service.conversations.get(BOB, "tree")
    assert (tree.title, tree.is_pinned, tree.head_id) == ("Mine", False, "b")
    assert (await service.notes.read(BOB)).notes.endswith("line 24\nmine")
    assert (await service.memories.get(BOB, "k2")).content == "Lives in Tromsø"


async def test_notes_of_an_agent_that_has_others_are_refused(service: Recollect) -> None:
    await service.notes.apply(BOB, NoteRequest(operation="overwrite", content="my own"))
    imported = await taken_in(service, BOB, await exported(service, ALICE))
    assert (imported.notes, imported.refused) == (1, 25)
    assert {one.why for one in imported.refusals} == {"the agent has other notes already"}
    assert (await service.notes.read(BOB)).notes == "my own"


async def test_preferences_of_a_user_who_set_others_are_refused(service: Recollect) -> None:
    await service.preferences.change(BOB, PreferenceRequest(memory_enabled=False))
    imported = await taken_in(service, BOB, await exported(service, ALICE))
    assert (imported.preferences, imported.refused) == (0, 1)
    assert {one.why for one in imported.refusals} == {"the user has other preferences already"}
    kept = await service.preferences.get(BOB)
    assert (kept.memory_enabled, kept.instructions) == (False, "")


CONVERSATION = (
    b'{"kind":"conversation","id":"c","agent":"a","created_at":"2026-05-17T09:00:00Z",'
    b'"last_activity_at":"2026-05-17T09:01:00Z"}'
)
SAID = (
    b'{"kind":"message","conversation_id":"c","id":"m","seq":1,"parent_id":null,"role":"user",'
    b'"content":"Geheimnis","created_at":"2026-05-17T09:01:00Z"}'
)
NOTED = (
    b'{"kind":"note","agent":"a","version":1,"notes":"Geheimnis","operation":"append",'
    b'"created_at":"2026-05-17T09:00:00Z"}'
)
WANTED = b'{"kind":"preferences","instructions":"Geheimnis","updated_at":"2026-05-17T09:00:00Z"}'


@pytest.mark.parametrize(
    ("bad", "fault"),
    [
        (b"Geheimnis", "it is no JSON object on one line"),
        (b'"Geheimnis"', "Expected object, got str"),
        (b'{"kind": "Geheimnis"}', "a value at $.kind is not one of those that the format has"),
        (b'{"kind": "export", "exported_at": "2026-05-17T09:00:00Z", "version": 2}', "the file has version 2"),
        (SAID.replace(b'"seq":1', b'"seq":"Geheimnis"'), "Expected int, got str - at $.seq"),
        (SAID.replace(b'"user"', b'"Geheimnis"'), "a value at $.role is not one of those"),
        (SAID.replace(b'"Geheimnis"', b'""'), "content must not be empty"),
        (SAID.replace(b"Geheimnis", b"Geheimnis\\u0000"), "content must not hold a NUL"),
        (SAID.replace(b"09:01:00Z", b"09:01:00"), "created_at has no time zone"),
        (SAID.replace(b'"id":"m"', b'"id":""'), "message id must have 1 to 128"),
        (CONVERSATION.replace(b'"id":"c"', b'"id":"d","title":""'), "title must not be empty"),
        (CONVERSATION.replace(b'"agent":"a"', b'"agent":""'), "agent must have 1 to 128"),
        (b'{"kind":"memory","id":"k","agent":"a","created_at":"2026-05-17T09:00:00Z"}', "required field content"),
        (NOTED.replace(b'"agent":"a"', b'"agent":""'), "agent must have 1 to 128"),
        (NOTED.replace(b"Geheimnis", b"x" * 200_001), "content has 200001 characters"),
        (WANTED.replace(b"Geheimnis", b"x" * 4_001), "instructions has 4001 characters"),
        (WANTED.replace(b'"updated_at"', b'"memory_enabled":"Geheimnis","updated_at"'), "Expected bool, got str"),
        (b'{"kind":' + b"[" * 10_000, "it is no JSON object on one line"),
    ],
)
async def test_a_bad_line_is_named_without_its_words_and_all_before_it_is_stored(
    make: Callable[..., Recollect], bad: bytes, fault: str
) -> None:
    service = make()
    with pytest.raises(InvalidInputError) as raised:
        await taken_in(service, ALICE, b"\n".join([CONVERSATION, SAID, b"", bad, SAID]))
    told = str(raised.value)
    assert told.startswith("line 4: ")
    assert fault in told
    assert "stored before it: conversations 1, messages 1," in told
    assert "Geheimnis" not in told
    assert [one.content for one in (await service.conversations.get_messages(ALICE, "c")).messages] == ["Geheimnis"]


async def test_a_message_whose_parent_is_missing_follows_the_one_before_it(make: Callable[..., Recollect]) -> None:
    service = make()
    orphan = SAID.replace(b'"id":"m"', b'"id":"n"').replace(b'"parent_id":null', b'"parent_id":"gone"')
    assert (await taken_in(service, ALICE, b"\n".join([CONVERSATION, SAID, orphan]))).messages == 2
    page = await service.conversations.get_messages(ALICE, "c")
    assert [(one.id, one.parent_id) for one in page.messages] == [("m", None), ("n", "m")]


async def test_a_summary_whose_messages_are_gone_is_refused_and_told(make: Callable[..., Recollect]) -> None:
    service = make()
    summary = (
        b'{"kind":"summary","conversation_id":"c","id":"s","message_id":"sm","content":"x","generator":"g",'
        b'"created_at":"2026-05-17T09:00:00Z","message_ids":["gone"]}'
    )
    imported = await taken_in(service, ALICE, b"\n".join([CONVERSATION, SAID, summary]))
    assert [(one.line, "gone" in one.why) for one in imported.refusals] == [(3, True)]


async def test_secrets_in_a_file_are_not_kept(make: Callable[..., Recollect]) -> None:
    service = make()
    card = "My card is 4111 1111 1111 1111."
    memory = {"kind": "memory", "id": "k", "agent": "a", "content": card, "created_at": "2026-05-17T09:00:00Z"}
    note = {**memory, "kind": "note", "version": 1, "notes": card, "operation": "append"}
    wanted = {"kind": "preferences", "instructions": card, "updated_at": "2026-05-17T09:00:00Z"}
    text = b"\n".join(map(msgspec.json.encode, [{**memory, "quote": card}, note, wanted]))
    assert (await taken_in(service, ALICE, text)).refused == 0
    assert b"4111" not in await exported(service, ALICE)


async def test_a_long_conversation_comes_back_in_order(make: Callable[..., Recollect], clock: FakeClock) -> None:
    service = make()
    said = [message(f"m{number:04}", f"{number}") for number in range(450)]
    for start in range(0, 450, 150):
        await service.conversations.add_messages(ALICE, "c", said[start : start + 150])
    text = await exported(service, ALICE)
    assert (await taken_in(service, BOB, text)).messages == 450
    assert records(await exported(service, BOB), "message") == records(text, "message")


async def test_a_conversation_that_is_used_while_it_is_exported_is_not_missed(
    make: Callable[..., Recollect], clock: FakeClock
) -> None:
    service = make()
    for number in range(120):
        clock.advance(seconds=1)
        await service.conversations.add_messages(ALICE, f"c{number}", [message(f"m{number}", "x")])
    clock.advance(seconds=1)
    seen: set[str] = set()
    async for record in service.account.export(ALICE):
        if msgspec.to_builtins(record).get("kind") == "conversation":
            seen.add(msgspec.to_builtins(record)["id"])
            if len(seen) == 50:
                clock.advance(seconds=1)
                await service.conversations.add_messages(ALICE, "c0", [message("late", "y")])
    assert seen == {f"c{number}" for number in range(120)}


async def test_erasing_a_user_leaves_nothing_and_touches_nobody_else(service: Recollect) -> None:
    await taken_in(service, BOB, await exported(service, ALICE))
    receipt = await service.account.erase(ALICE)
    assert receipt.erased.conversations == 3
    assert receipt.erased.memories == 3
    assert (receipt.erased.messages, receipt.erased.notes, receipt.erased.preferences) == (14, 2, 1)
    assert (await exported(service, ALICE)).count(b"\n") == 2
    assert len(records(await exported(service, BOB), "message")) == 14
    assert not (await service.account.erase(ALICE)).erased.any()


async def test_sessions_are_told_of_imports_and_erasures(service: Recollect) -> None:
    heard = service.events.subscribe(BOB)
    await taken_in(service, BOB, await exported(service, ALICE))
    await service.account.erase(BOB)
    heard_kinds = [(await anext(heard)).kind for _ in range(8)]
    assert heard_kinds == [
        *("conversation.created", "memory.created", "notes.updated", "settings.updated"),
        *("conversation.deleted", "memory.deleted", "notes.updated", "settings.updated"),
    ]
