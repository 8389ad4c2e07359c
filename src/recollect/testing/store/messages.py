"""Messages: appended in one order, found by id, by page and by their words."""

from __future__ import annotations

from recollect.domain.job import JobQuery
from recollect.domain.message import Message, NewMessage, ToolCall
from recollect.domain.page import MessageQuery, SearchQuery
from recollect.domain.scope import Scope
from recollect.errors import ConversationNotFoundError, InvalidMessageError, MessageNotFoundError
from recollect.ports.store import Store
from recollect.testing.expect import raises
from recollect.testing.samples import ALICE, after, append, conversation, ids_of, job, message


async def page_ids(store: Store, conversation_id: str, *, scope: Scope = ALICE, **query: object) -> list[str]:
    """Return the ids of one page."""
    page = await store.list_messages(scope, MessageQuery(conversation_id=conversation_id, **query))  # type: ignore[arg-type]  # each test passes what the query takes
    return ids_of(page.messages)


async def backwards(store: Store, conversation_id: str, limit: int) -> list[Message]:
    """Read a conversation page by page from its end, and return it in order."""
    found: tuple[Message, ...] = ()
    before: str | None = None
    while True:
        query = MessageQuery(conversation_id=conversation_id, limit=limit, before=before)
        page = await store.list_messages(ALICE, query)
        found = page.messages + found
        if not page.more:
            return list(found)
        before = page.messages[0].id


async def forwards(store: Store, conversation_id: str, first: str, limit: int) -> list[str]:
    """Read what follows a message page by page."""
    found, position = [first], first
    while True:
        query = MessageQuery(conversation_id=conversation_id, limit=limit, after=position)
        page = await store.list_messages(ALICE, query)
        found += ids_of(page.messages)
        if not page.more:
            return found
        position = found[-1]


def rich_message() -> NewMessage:
    """Return a message that uses every field."""
    calls = (ToolCall(id="call", tool_name="weather", input={"city": "Lviv"}, output=[1, 2.5, None, True]),)
    return message(
        "m1",
        "",
        role="assistant",
        name="Guide",
        status="interrupted",
        created_at=after(-3600),
        tool_calls=calls,
        suggested_values=["yes", "no"],
        suggested_actions=[{"label": "Book", "id": 7}],
        custom_payload={"nested": {"deep": ["ü", 0.1]}},
        metadata={"model": "m", "empty": {}},
    )


class MessageConformance:
    """Check what a store promises about messages."""

    async def test_messages_keep_the_given_order_with_consecutive_seqs(self, store: Store) -> None:
        await store.append(ALICE, append("c1", "m1", "m2"))
        appended = await store.append(ALICE, append("c1", "m3", message("m4", created_at=after(-99)), "m5"))
        assert [(one.id, one.seq, one.parent_id) for one in appended.messages] == [
            ("m3", 3, "m2"),
            ("m4", 4, "m3"),
            ("m5", 5, "m4"),
        ]
        page = await store.list_messages(ALICE, MessageQuery(conversation_id="c1"))
        assert [(one.id, one.seq) for one in page.messages] == [(f"m{seq}", seq) for seq in range(1, 6)]
        assert (page.more, page.corrupt) == (False, ())

    async def test_every_part_of_a_message_comes_back(self, store: Store) -> None:
        new = rich_message()
        reply = message("m2", "22 °C", role="tool", tool_call_id="call")
        appended = await store.append(ALICE, append("c1", new, reply))
        stored = await store.get_message(ALICE, "c1", "m1")
        assert appended.messages[0] == stored
        for name in new.__struct_fields__:
            if name != "parent_id":
                assert getattr(stored, name) == getattr(new, name), name
        assert (await store.get_message(ALICE, "c1", "m2")).tool_call_id == "call"

    async def test_an_append_returns_the_conversation_after_it(self, store: Store) -> None:
        appended = await store.append(ALICE, append("c1", "m1", "m2", at=after(5)))
        after_it = appended.conversation
        assert (after_it.head_id, after_it.message_count, after_it.next_seq) == ("m2", 2, 3)
        assert after_it.last_activity_at == after(5)
        assert await store.get_conversation(ALICE, "c1") == after_it

    async def test_a_stored_message_is_a_duplicate_and_not_stored_again(self, store: Store) -> None:
        await store.append(ALICE, append("c1", "m1", "m2"))
        appended = await store.append(ALICE, append("c1", message("m2", "other words"), "m3", "m1"))
        assert (ids_of(appended.messages), appended.duplicates) == (["m3"], ("m2", "m1"))
        assert await page_ids(store, "c1") == ["m1", "m2", "m3"]
        assert (await store.get_message(ALICE, "c1", "m2")).content == "words of m2"

    async def test_a_message_given_twice_in_one_append_is_stored_once(self, store: Store) -> None:
        appended = await store.append(ALICE, append("c1", "m1", "m1", "m2"))
        assert (ids_of(appended.messages), appended.duplicates) == (["m1", "m2"], ("m1",))
        assert appended.conversation.message_count == 2

    async def test_one_message_id_in_two_conversations_is_two_messages(self, store: Store) -> None:
        await store.append(ALICE, append("c1", message("m1", "first")))
        await store.append(ALICE, append("c2", message("m1", "second")))
        assert (await store.get_message(ALICE, "c1", "m1")).content == "first"
        assert (await store.get_message(ALICE, "c2", "m1")).content == "second"

    async def test_an_append_needs_a_conversation_unless_it_may_create_one(self, store: Store) -> None:
        with raises(ConversationNotFoundError):
            await store.append(ALICE, append("c1", "m1", create=False))
        with raises(ConversationNotFoundError):
            await store.get_conversation(ALICE, "c1")
        created = (await store.append(Scope("acme", "alice", "guide"), append("c1", "m1"))).conversation
        assert created.agent == "guide"
        assert (await store.append(ALICE, append("c1", "m2", create=False))).conversation.agent == "guide"

    async def test_a_parent_outside_the_conversation_stores_nothing_of_the_append(self, store: Store) -> None:
        await store.append(ALICE, append("other", "foreign"))
        for parent in ("nothing", "foreign", "m2"):
            with raises(InvalidMessageError):
                await store.append(ALICE, append("c1", "m1", message("m2", parent_id=parent), jobs=(job("j1"),)))
        with raises(ConversationNotFoundError):
            await store.get_conversation(ALICE, "c1")
        assert await store.list_jobs(ALICE, JobQuery()) == ()

    async def test_jobs_are_enqueued_with_the_messages(self, store: Store) -> None:
        await store.append(ALICE, append("c1", "m1", jobs=(job("j1", conversation_id="c1", payload={"k": [1]}),)))
        queued = await store.get_job(ALICE, "j1")
        assert (queued.state, queued.conversation_id, queued.payload) == ("queued", "c1", {"k": [1]})

    async def test_jobs_are_not_enqueued_when_no_message_was_stored(self, store: Store) -> None:
        await store.append(ALICE, append("c1", "m1"))
        await store.append(ALICE, append("c1", "m1", jobs=(job("j1"),)))
        assert await store.list_jobs(ALICE, JobQuery()) == ()

    async def test_a_missing_message_is_not_found(self, store: Store) -> None:
        await store.append(ALICE, append("c1", "m1"))
        await store.append(ALICE, append("c2", "m2"))
        with raises(MessageNotFoundError):
            await store.get_message(ALICE, "c1", "m2")
        with raises(ConversationNotFoundError):
            await store.get_message(ALICE, "nothing", "m1")


class PagingConformance:
    """Check what a store promises about pages of messages."""

    async def test_without_a_position_the_page_is_the_newest(self, store: Store) -> None:
        await store.append(ALICE, append("c1", *(f"m{number}" for number in range(5))))
        page = await store.list_messages(ALICE, MessageQuery(conversation_id="c1", limit=2))
        assert (ids_of(page.messages), page.more) == (["m3", "m4"], True)

    async def test_a_conversation_is_read_from_its_start(self, store: Store) -> None:
        await store.append(ALICE, append("c1", *(f"m{number}" for number in range(5))))
        page = await store.list_messages(ALICE, MessageQuery(conversation_id="c1", limit=2, from_start=True))
        assert (ids_of(page.messages), page.more) == (["m0", "m1"], True)
        assert await page_ids(store, "c1", limit=5, from_start=True) == ["m0", "m1", "m2", "m3", "m4"]

    async def test_pages_of_every_size_meet_without_gap_or_overlap(self, store: Store) -> None:
        names = [f"m{number}" for number in range(7)]
        await store.append(ALICE, append("c1", *names))
        for limit in range(1, 9):
            assert ids_of(await backwards(store, "c1", limit)) == names
            assert await forwards(store, "c1", "m0", limit) == names

    async def test_a_page_beside_a_message_does_not_hold_it(self, store: Store) -> None:
        await store.append(ALICE, append("c1", "m1", "m2", "m3"))
        assert await page_ids(store, "c1", before="m2") == ["m1"]
        assert await page_ids(store, "c1", after="m2") == ["m3"]
        assert await page_ids(store, "c1", before="m1") == []
        assert await page_ids(store, "c1", after="m3") == []

    async def test_a_position_that_is_no_message_of_the_conversation_is_refused(self, store: Store) -> None:
        await store.append(ALICE, append("c1", "m1"))
        await store.append(ALICE, append("c2", "m2"))
        for position in ("m2", "nothing"):
            with raises(MessageNotFoundError):
                await page_ids(store, "c1", before=position)
            with raises(MessageNotFoundError):
                await page_ids(store, "c1", after=position)

    async def test_a_page_needs_a_conversation(self, store: Store) -> None:
        with raises(ConversationNotFoundError):
            await page_ids(store, "c1")

    async def test_an_empty_conversation_has_an_empty_page(self, store: Store) -> None:
        await store.create_conversation(ALICE, conversation("c1"))
        page = await store.list_messages(ALICE, MessageQuery(conversation_id="c1"))
        assert (page.messages, page.summaries, page.more) == ((), (), False)


class SearchConformance:
    """Check what a store promises about finding messages by their words."""

    async def test_words_are_found_in_any_script(self, store: Store) -> None:
        said = {
            "latin": "Crème brûlée für Zoë",
            "cyrillic": "Зустріч у Львові завтра",
            "arabic": "مرحبا بالعالم",
            "chinese": "我明天去北京",
            "japanese": "京都でラーメンを食べた",
            "korean": "서울에서 만나요",
            "thai": "ฉันชอบอาหารไทย",
        }
        await store.append(ALICE, append("c1", *(message(name, text) for name, text in said.items())))
        wanted = {"latin": "CREME brulee", "cyrillic": "львові", "arabic": "بالعالم", "chinese": "北京"}
        wanted |= {"japanese": "ラーメン", "korean": "서울", "thai": "อาหาร"}
        for name, words in wanted.items():
            hits = await store.search_messages(ALICE, SearchQuery(text=words))
            assert ids_of(hit.message for hit in hits) == [name], words

    async def test_most_of_the_words_come_first_then_the_newest(self, store: Store) -> None:
        said = ["red apple", "green pear", "red pear", "red apple pear", "blue", "red apple"]
        await store.append(ALICE, append("c1", *(message(f"m{n}", text) for n, text in enumerate(said))))
        hits = await store.search_messages(ALICE, SearchQuery(text="Red pear apple!"))
        assert ids_of(hit.message for hit in hits) == ["m3", "m5", "m2", "m0", "m1"]
        assert [round(hit.similarity, 3) for hit in hits] == [1.0, 0.667, 0.667, 0.667, 0.333]

    async def test_a_search_is_bounded_by_its_limit_and_its_conversation(self, store: Store) -> None:
        for conversation_id in ("c1", "c2"):
            said = [message(f"{conversation_id}-{number}", "pear") for number in range(3)]
            await store.append(ALICE, append(conversation_id, *said))
        hits = await store.search_messages(ALICE, SearchQuery(text="pear", limit=4))
        assert ids_of(hit.message for hit in hits) == ["c2-2", "c2-1", "c2-0", "c1-2"]
        hits = await store.search_messages(ALICE, SearchQuery(text="pear", conversation_id="c1"))
        assert ids_of(hit.message for hit in hits) == ["c1-2", "c1-1", "c1-0"]
        assert await store.search_messages(ALICE, SearchQuery(text="pear", conversation_id="nothing")) == ()

    async def test_a_search_without_words_finds_nothing(self, store: Store) -> None:
        await store.append(ALICE, append("c1", message("m1", "pear ! ?")))
        for text in ("", " ", "?!", "apple"):
            assert await store.search_messages(ALICE, SearchQuery(text=text)) == ()
