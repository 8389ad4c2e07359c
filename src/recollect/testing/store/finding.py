"""Finding conversations: by the words of a message or of a title, newest activity first, with a passage to show."""

from __future__ import annotations

from typing import Any

import msgspec

from recollect.domain.conversation import ConversationChanges, ConversationQuery, ConversationSearch, FoundConversation
from recollect.domain.snippet import SNIPPET
from recollect.ports.store import Store
from recollect.testing.samples import ALICE, BOB, after, append, conversation, erasure, message, summary


async def found(store: Store, text: str, **more: Any) -> list[FoundConversation]:
    """Search, and read the pages to the end."""
    query = ConversationSearch(text=text, **more)
    items: list[FoundConversation] = []
    while True:
        page = await store.search_conversations(ALICE, query)
        assert len(page.items) <= query.limit
        items += page.items
        if page.next is None:
            return items
        query = msgspec.structs.replace(query, after=page.next)


async def found_ids(store: Store, text: str, **more: Any) -> list[str]:
    """Return the ids of the conversations that are found."""
    return [item.conversation.id for item in await found(store, text, **more)]


async def shown(store: Store, text: str) -> list[tuple[str, str | None, str | None]]:
    """Return the conversations that are found, each with the message and the passage that are shown."""
    return [(item.conversation.id, item.message_id, item.snippet) for item in await found(store, text)]


async def retitle(store: Store, conversation_id: str, title: str, **more: Any) -> None:
    """Give the conversation another title."""
    await store.change_conversation(ALICE, conversation_id, ConversationChanges(at=after(1), title=title, **more))


class FindingConformance:
    """Check what a store promises about finding conversations."""

    async def test_conversations_are_found_by_all_words_of_one_message(self, store: Store) -> None:
        await store.append(ALICE, append("c1", message("m1", "Red apples"), message("m2", "green pears")))
        await store.append(ALICE, append("c2", message("m1", "A red\n\n  PEAR, and Apples!"), at=after(1)))
        assert await found_ids(store, "apples") == ["c2", "c1"]
        assert await shown(store, "pear apples") == [("c2", "m1", "A red PEAR, and Apples!")]
        assert await found_ids(store, "red pears") == []
        assert await found_ids(store, "red plum") == []
        for nothing in ("", " ", "?!"):
            assert await found_ids(store, nothing) == []

    async def test_conversations_are_found_by_all_words_of_a_title_that_a_person_gave(self, store: Store) -> None:
        await store.create_conversation(ALICE, conversation("c1", title="Trip to Lviv"))
        await store.append(ALICE, append("c1", message("m1", "when does the train leave?")))
        assert await shown(store, "LVIV trip") == [("c1", None, None)]
        assert await found_ids(store, "lviv train") == []
        await retitle(store, "c1", "Trip to Київ")
        assert await found_ids(store, "lviv") == []
        assert await shown(store, "київ") == [("c1", None, None)]
        await store.append(ALICE, append("c1", message("m2", "Київ it is")))
        assert await shown(store, "київ") == [("c1", "m2", "Київ it is")]

    async def test_an_automatic_title_is_found_by_its_message_only(self, store: Store) -> None:
        await store.append(ALICE, append("c1", message("m1", "plum jam")))
        assert await shown(store, "plum") == [("c1", "m1", "plum jam")]
        await retitle(store, "c1", "Preserves", title_source="auto")
        assert await found_ids(store, "preserves") == []
        await retitle(store, "c1", "Preserves")
        assert await found_ids(store, "preserves") == ["c1"]

    async def test_conversations_are_found_in_any_script(self, store: Store) -> None:
        said = {"latin": ("Crème brûlée", "CREME"), "arabic": ("مرحبا بالعالم", "بالعالم")}
        said |= {
            "chinese": ("我明天去北京", "北京"),
            "thai": ("ฉันชอบอาหารไทย", "อาหาร"),
            "korean": ("서울에서 만나요", "서울"),
        }
        for name, (text, _) in said.items():
            await store.append(ALICE, append(name, message("m1", text)))
            await store.create_conversation(ALICE, conversation(f"titled {name}", title=text, at=after(-1)))
        for name, (text, words) in said.items():
            assert await shown(store, words) == [(name, "m1", text), (f"titled {name}", None, None)]

    async def test_the_newest_message_that_holds_the_words_is_shown(self, store: Store) -> None:
        said = [message("m1", "red pear"), message("m2", "pear and red"), message("m3", "pear")]
        await store.append(ALICE, append("c1", *said))
        assert await shown(store, "pear red") == [("c1", "m2", "pear and red")]
        await store.append(ALICE, append("c1", message("m4", "a red pear", parent_id="m1")))
        await store.change_conversation(ALICE, "c1", ConversationChanges(at=after(1), head_id="m3"))
        assert await shown(store, "pear red") == [("c1", "m4", "a red pear")]

    async def test_a_passage_of_a_long_message_is_shown(self, store: Store) -> None:
        text = f"{'before ' * 100} the pear  tree {'after ' * 100}"
        await store.append(ALICE, append("c1", message("m1", text)))
        ((_, _, passage),) = await shown(store, "pear")
        assert passage is not None
        assert len(passage) <= SNIPPET
        assert "before the pear tree after" in passage

    async def test_found_conversations_are_listed_by_last_activity_in_pages_of_any_size(self, store: Store) -> None:
        for number in range(9):
            name, at = f"c{number}", after(number // 2)
            agent = "guide" if number % 2 else "cook"
            title = "A pear" if number % 3 else None
            await store.create_conversation(ALICE, conversation(name, agent=agent, title=title, at=at))
            if number % 3 != 1:
                await store.append(ALICE, append(name, message("m1", "pear"), message("m2", "pears, a pear"), at=at))
        await store.create_conversation(ALICE, conversation("other", title="An apple", at=after(9)))
        whole = (await store.list_conversations(ALICE, ConversationQuery())).items[1:]
        for limit in range(1, 11):
            assert [item.conversation for item in await found(store, "pear", limit=limit)] == list(whole)

    async def test_conversations_are_found_by_agent_and_by_archived(self, store: Store) -> None:
        for number in range(4):
            agent = "guide" if number % 2 else "cook"
            title = "A pear" if number > 1 else None
            new = conversation(f"c{number}", agent=agent, title=title, at=after(number))
            await store.create_conversation(ALICE, new)
            if number < 2:
                await store.append(ALICE, append(f"c{number}", message("m1", "pear"), at=after(number)))
        for name in ("c1", "c3"):
            await store.change_conversation(ALICE, name, ConversationChanges(at=after(9), is_archived=True))
        assert await found_ids(store, "pear", agent="guide") == ["c3", "c1"]
        assert await found_ids(store, "pear", archived=True) == ["c3", "c1"]
        assert await found_ids(store, "pear", archived=False) == ["c2", "c0"]
        assert await found_ids(store, "pear", agent="guide", archived=False) == []
        assert await found_ids(store, "pear", agent="nobody") == []

    async def test_pinned_conversations_are_found_apart(self, store: Store) -> None:
        for number in range(4):
            await store.create_conversation(ALICE, conversation(f"c{number}", title="A pear" if number > 1 else None))
            await store.append(ALICE, append(f"c{number}", message("m1", "pear" if number < 2 else "else")))
        for name in ("c1", "c3"):
            await store.change_conversation(ALICE, name, ConversationChanges(at=after(9), is_pinned=True))
        assert await found_ids(store, "pear", pinned=True) == ["c3", "c1"]
        assert await found_ids(store, "pear", pinned=False) == ["c2", "c0"]

    async def test_conversations_of_another_are_not_found(self, store: Store) -> None:
        await store.create_conversation(BOB, conversation("c1", title="pear"))
        await store.append(BOB, append("c1", message("m1", "pear")))
        assert await found_ids(store, "pear") == []
        await store.create_conversation(ALICE, conversation("c1", title="pear"))
        assert await shown(store, "pear") == [("c1", None, None)]

    async def test_erased_words_are_neither_found_nor_shown(self, store: Store) -> None:
        said = [message("m1", "first pear"), message("m2", "second pear"), message("m3", "third plum")]
        await store.append(ALICE, append("c1", *said))
        await store.erase_message(ALICE, "c1", "m2", erasure("r1"))
        assert await shown(store, "pear") == [("c1", "m1", "first pear")]
        await store.put_summary(ALICE, summary("s1", "m1", content="a pear", delete_originals=True))
        assert await found_ids(store, "pear") == []
        await retitle(store, "c1", "My plum")
        await store.clear_conversation(ALICE, "c1", erasure("r2"))
        assert await shown(store, "plum") == [("c1", None, None)]
        await store.erase_conversation(ALICE, "c1", erasure("r3"))
        assert await found_ids(store, "plum") == []

    async def test_conversations_are_found_by_the_id_of_a_message(self, store: Store) -> None:
        for name, ids in (("c1", ("m1", "m2")), ("c2", ("m1",)), ("c3", ("m3", "m1"))):
            await store.append(ALICE, append(name, *ids))
        await store.append(BOB, append("b1", "m1"))
        assert await store.conversations_holding(ALICE, "m1", 9) == ("c3", "c2", "c1")
        assert await store.conversations_holding(ALICE, "m1", 2) == ("c3", "c2")
        assert await store.conversations_holding(ALICE, "m2", 9) == ("c1",)
        assert await store.conversations_holding(ALICE, "m4", 9) == ()

    async def test_what_is_erased_is_not_found_by_its_id(self, store: Store) -> None:
        for name in ("c1", "c2", "c3"):
            await store.append(ALICE, append(name, "m1", "m2"))
        await store.erase_message(ALICE, "c1", "m1", erasure("r1"))
        await store.erase_conversation(ALICE, "c2", erasure("r2"))
        await store.clear_conversation(ALICE, "c3", erasure("r3"))
        assert await store.conversations_holding(ALICE, "m1", 9) == ()
        assert await store.conversations_holding(ALICE, "m2", 9) == ("c1",)
