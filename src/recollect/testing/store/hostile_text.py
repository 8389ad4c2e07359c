"""Text that would do something if it were read as anything but text: it changes no row set and comes back as it was."""

from __future__ import annotations

from recollect.domain.audit import AuditQuery
from recollect.domain.conversation import ConversationChanges, ConversationCursor, ConversationQuery, ConversationSearch
from recollect.domain.job import JobQuery
from recollect.domain.memory import MemoryQuery, Source
from recollect.domain.note import NoteHistoryQuery
from recollect.domain.page import MessageQuery, SearchQuery
from recollect.domain.scope import Scope
from recollect.errors import InvalidCursorError, MessageNotFoundError, NotFoundError, RecollectError
from recollect.ports.store import Store
from recollect.testing.clock import START
from recollect.testing.expect import raises
from recollect.testing.samples import (
    ALICE,
    BOB,
    after,
    answer,
    append,
    batch,
    claims,
    conversation,
    ids_of,
    job,
    memory,
    message,
    note,
    start,
    summary,
)
from recollect.testing.store.calls import call, furnish
from recollect.testing.store.dump import dump
from recollect.testing.store.memories import change

#: Metacharacters of SQL, LIKE, full-text queries, JSON, templates and paths; each may be an id too.
INJECTIONS = (
    "'; DROP TABLE messages; --",
    "' OR '1'='1",
    '" OR ""="',
    "1) OR 1=1 --",
    "\\' OR 1=1 #",
    ":id",
    ":tenant",
    "$1",
    "?",
    "@p",
    "%",
    "%%s",
    "_",
    "m_",
    "\\",
    "*",
    "words*",
    "words OR m1",
    "NEAR(words m1)",
    "terms:words",
    '"words',
    "-words",
    "^words",
    "(words",
    "words AND NOT x",
    "a:* | b & !c",
    "{}",
    "{0}",
    "{tenant}",
    "${tenant}",
    "%(tenant)s",
    '{"$ne": null}',
    '["a"]',
    "null",
    "NULL",
    "../../etc/passwd",
    "<script>alert(1)</script>",
    "0x27",
    "1e5",
    "00",
    "+1",
    "a b",
    " a",
)
#: Text of every width and direction; not all of it is printable, so it is no id.
TEXTS = (
    "line\nline\r\nline\ttab\x0b\x1b[31m\x7f",
    "\u202eright to left\u202c \u200f עברית العربية",
    "👩\u200d👩\u200d👧\u200d👦 🏳\ufe0f\u200d🌈",
    "e\u0301 is not \u00e9, and Ａ is not A",
    "漢字かなカナ한글ไทย",
    "𝔘𝔫𝔦𝔠𝔬𝔡𝔢 𠜎 😀",
    "\ufeffbom \ufffd \uffff \U0010ffff",
    "Z͑ͫ̓ͪ̂ͫ̽͏̴̙̤̞͉͚̯̞̠͍A̴̵̜̰͔ͫ͗͢L̠ͨͧͩ͘G̴̻͈͍͔̹̑͗̎̅͛́Ǫ̵̹̻̝̳͂̌̌͘!͖̬̰̙̗̿̋ͥͥ̂ͣ̐́́͜͞",
    " leading and trailing ",
    "ß ẞ İ ı ſ K Å",
)


class HostileTextConformance:
    """Check that text is only ever text."""

    async def test_an_id_may_hold_anything_printable(self, store: Store) -> None:
        for number, hostile in enumerate(INJECTIONS):
            await store.append(ALICE, append(hostile, hostile, f"{hostile}.", jobs=(job(hostile, key=hostile),)))
            learned = memory(hostile, f"statement {number}", sources=(Source(hostile, hostile),))
            await store.add_memories(ALICE, (learned,))
            await store.begin_request(ALICE, start(hostile))
        for hostile in INJECTIONS:
            assert (await store.get_conversation(ALICE, hostile)).id == hostile
            page = await store.list_messages(ALICE, MessageQuery(conversation_id=hostile, before=f"{hostile}."))
            assert ids_of(page.messages) == [hostile]
            assert (await store.get_memory(ALICE, hostile)).sources == (Source(hostile, hostile),)
            assert (await store.get_job(ALICE, hostile)).key == hostile
        assert len(await store.list_jobs(ALICE, JobQuery(limit=1000))) == len(INJECTIONS)
        assert await store.forget_requests(ALICE, after(1)) == len(INJECTIONS)

    async def test_a_scope_may_hold_anything_printable(self, store: Store) -> None:
        scopes = [Scope(hostile, hostile, hostile) for hostile in INJECTIONS]
        for scope in scopes:
            await store.append(scope, append("c1", "m1", jobs=(job("j1"),)))
            await store.change_note(scope, note("append", scope.user))
        for scope in scopes:
            assert len((await store.list_conversations(scope, ConversationQuery())).items) == 1
            assert len(await store.search_messages(scope, SearchQuery(text="words"))) == 1
            assert (await store.get_note(scope)).notes == scope.user
        taken = await store.claim_jobs(claims())
        assert {one.scope for one in taken} == set(scopes)

    async def test_text_comes_back_byte_for_byte(self, store: Store) -> None:
        for number, text in enumerate((*INJECTIONS, *TEXTS)):
            said = message(f"m{number}", text, name=text, metadata={text: text}, custom_payload=[text])
            await store.append(ALICE, append("c1", said))
            stored = await store.get_message(ALICE, "c1", f"m{number}")
            assert (stored.content, stored.name, stored.metadata) == (text, text, {text: text})
            assert stored.custom_payload == [text]
            changes = ConversationChanges(at=START, title=text, metadata={text: text})
            changed = await store.change_conversation(ALICE, "c1", changes)
            assert (changed.title, changed.metadata) == (text, {text: text})
            assert await store.get_conversation(ALICE, "c1") == changed

    async def test_summaries_notes_and_answers_come_back_byte_for_byte(self, store: Store) -> None:
        for number, text in enumerate((*INJECTIONS, *TEXTS)):
            await store.append(ALICE, append("c1", f"m{number}"))
            new = summary(f"s{number}", f"m{number}", content=text, metadata={text: text})
            assert (await store.put_summary(ALICE, new)).content == text
            assert (await store.get_conversation(ALICE, "c1")).summary == text
            await store.change_note(ALICE, note("overwrite", text))
            assert (await store.get_note(ALICE)).notes == text
            await store.finish_request(ALICE, answer(f"key {number}", text.encode()), START)
            assert await store.begin_request(ALICE, start(f"key {number}")) == answer(f"key {number}", text.encode())
        versions = await store.note_history(ALICE, NoteHistoryQuery(limit=1000))
        assert [one.notes for one in reversed(versions)] == [*INJECTIONS, *TEXTS]

    async def test_memories_come_back_byte_for_byte(self, store: Store) -> None:
        for number, text in enumerate((*INJECTIONS, *TEXTS)):
            new = memory(f"k{number}", f"{number} {text}", category=text, quote=text, subject=text, attribute=text)
            await store.add_memories(ALICE, (new,))
            stored = await store.get_memory(ALICE, f"k{number}")
            assert stored.content == f"{number} {text}"
            assert {stored.category, stored.quote, stored.subject, stored.attribute} == {text}
            await change(store, f"k{number}", content=f"{number}. {text}")
            (was,) = await store.memory_history(ALICE, f"k{number}")
            assert was.memory == stored

    async def test_a_filter_selects_only_what_equals_it(self, store: Store) -> None:
        await furnish(store, ALICE)
        for number, text in enumerate((*INJECTIONS, *TEXTS)):
            assert (await store.list_memories(ALICE, MemoryQuery(category=text))).items == ()
            await store.add_memories(ALICE, (memory(f"own {number}", f"{number} {text}", category=text),))
            found = (await store.list_memories(ALICE, MemoryQuery(category=text))).items
            assert ids_of(found) == [f"own {number}"]
        for hostile in INJECTIONS:
            assert (await store.list_conversations(ALICE, ConversationQuery(agent=hostile))).items == ()
            assert (await store.list_memories(ALICE, MemoryQuery(conversation_id=hostile))).items == ()
            assert await store.list_jobs(ALICE, JobQuery(conversation_id=hostile)) == ()
            assert await store.list_audit(ALICE, AuditQuery(entity_id=hostile)) == ()
            assert await store.claim_jobs(claims(kinds=(hostile,), now=after(9999))) == ()

    async def test_a_search_finds_only_the_words_it_names(self, store: Store) -> None:
        await store.append(ALICE, append("c1", message("m1", "plain sentence")))
        await store.append(BOB, append("c1", message("m1", "words of somebody else")))
        for text in (*INJECTIONS, *TEXTS):
            for query in (text, f"absent {text}", f'"{text}"', f"{text}*"):
                assert await store.search_messages(ALICE, SearchQuery(text=query)) == (), query
                found = await store.search_conversations(ALICE, ConversationSearch(text=query))
                assert found.items == (), query
            hits = await store.search_messages(ALICE, SearchQuery(text=f"{text} sentence"))
            assert ids_of(hit.message for hit in hits) == ["m1"], text

    async def test_a_page_position_is_only_a_position(self, store: Store) -> None:
        await furnish(store, ALICE)
        whole = ids_of((await store.list_conversations(ALICE, ConversationQuery())).items)
        for hostile in INJECTIONS:
            cursor = ConversationCursor(after(9999), hostile)
            assert ids_of((await store.list_conversations(ALICE, ConversationQuery(after=cursor))).items) == whole
            with raises(InvalidCursorError):
                await store.list_memories(ALICE, MemoryQuery(before_id=hostile))
            with raises(InvalidCursorError):
                await store.list_jobs(ALICE, JobQuery(before_id=hostile))
            with raises(InvalidCursorError):
                await store.list_audit(ALICE, AuditQuery(before_id=hostile))
            with raises(MessageNotFoundError):
                await store.list_messages(ALICE, MessageQuery(conversation_id="c1", after=hostile))

    async def test_hostile_ids_of_nothing_change_nothing(self, store: Store) -> None:
        calls = await furnish(store, ALICE)
        await furnish(store, BOB)
        before = [await dump(store, ALICE), await dump(store, BOB)]
        for hostile in INJECTIONS:
            for name, arguments in calls.items():
                for parameter in arguments:
                    if parameter.endswith("_id") and name != "conversations_holding":
                        with raises(NotFoundError):
                            await call(store, ALICE, name, arguments | {parameter: hostile})
            assert await store.conversations_holding(ALICE, hostile, 9) == ()
            with raises(RecollectError):
                await store.archive(ALICE, batch(hostile, hostile, hostile, create=False))
            with raises(RecollectError):
                await store.put_summary(ALICE, summary(hostile, hostile))
            with raises(RecollectError):
                await store.create_conversation(Scope(hostile + "\0"), conversation())
        assert [await dump(store, ALICE), await dump(store, BOB)] == before
