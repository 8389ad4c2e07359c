"""Conversations: created once, listed by activity, changed by people, marked when idle."""

from __future__ import annotations

from typing import Any

from recollect.domain.conversation import Conversation, ConversationChanges, ConversationQuery
from recollect.domain.scope import Scope
from recollect.errors import ConversationNotFoundError, MessageNotFoundError, StaleVersionError
from recollect.ports.store import Store
from recollect.testing.clock import START
from recollect.testing.expect import raises
from recollect.testing.samples import ALICE, after, append, conversation, ids_of, message


async def every_page(store: Store, scope: Scope, query: ConversationQuery) -> list[Conversation]:
    """Read the list to its end."""
    found: list[Conversation] = []
    while True:
        page = await store.list_conversations(scope, query)
        found += page.items
        if page.next is None:
            return found
        query = ConversationQuery(limit=query.limit, archived=query.archived, agent=query.agent, after=page.next)


async def _paged(store: Store, limit: int, **query: Any) -> list[str]:
    """Return the ids of all conversations of a query, read in pages of this size."""
    page = await store.list_conversations(ALICE, ConversationQuery(limit=limit, **query))
    found = ids_of(page.items)
    while page.next is not None:
        page = await store.list_conversations(ALICE, ConversationQuery(limit=limit, after=page.next, **query))
        found += ids_of(page.items)
    return found


class ConversationConformance:
    """Check what a store promises about conversations."""

    async def test_pinned_conversations_are_listed_apart(self, store: Store) -> None:
        for number in range(9):
            agent = "guide" if number % 2 else "cook"
            await store.create_conversation(ALICE, conversation(f"c{number}", agent=agent, at=after(number)))
        for number in (1, 2, 5, 6, 8):
            await store.change_conversation(ALICE, f"c{number}", ConversationChanges(at=START, is_pinned=True))
        await store.change_conversation(ALICE, "c8", ConversationChanges(at=START, is_pinned=False))
        await store.change_conversation(ALICE, "c6", ConversationChanges(at=START, is_archived=True))
        await store.mark_inactive(ALICE, after(2), 9)
        for limit in range(1, 8):
            assert await _paged(store, limit, pinned=True) == ["c6", "c5", "c2", "c1"]
            assert await _paged(store, limit, pinned=False) == ["c8", "c7", "c4", "c3", "c0"]
            assert await _paged(store, limit, pinned=True, archived=False) == ["c5", "c2", "c1"]
            assert await _paged(store, limit, pinned=True, agent="guide") == ["c5", "c1"]
            assert await _paged(store, limit, pinned=True, active=False) == ["c2", "c1"]

    async def test_active_and_inactive_conversations_are_listed_apart(self, store: Store) -> None:
        for number in (1, 2, 3):
            await store.append(ALICE, append(f"c{number}", f"m{number}", at=after(number)))
        await store.mark_inactive(ALICE, after(2), 10)
        for active, expected in ((True, ["c3"]), (False, ["c2", "c1"]), (None, ["c3", "c2", "c1"])):
            page = await store.list_conversations(ALICE, ConversationQuery(active=active))
            assert ids_of(page.items) == expected

    async def test_a_created_conversation_is_read_back(self, store: Store) -> None:
        new = conversation("c1", title="Trip to Lviv", agent="guide", metadata={"colour": "blue", "tags": ["a"]})
        created = await store.create_conversation(ALICE, new)
        assert (created.id, created.title, created.agent) == ("c1", "Trip to Lviv", "guide")
        assert created.metadata == {"colour": "blue", "tags": ["a"]}
        assert (created.created_at, created.message_count, created.head_id) == (START, 0, None)
        assert await store.get_conversation(ALICE, "c1") == created

    async def test_creating_an_id_again_returns_the_first_conversation(self, store: Store) -> None:
        first = await store.create_conversation(ALICE, conversation("c1", title="First"))
        again = await store.create_conversation(ALICE, conversation("c1", title="Second", at=after(60)))
        assert again == first
        assert await store.get_conversation(ALICE, "c1") == first

    async def test_a_missing_conversation_is_not_found(self, store: Store) -> None:
        with raises(ConversationNotFoundError):
            await store.get_conversation(ALICE, "c1")

    async def test_the_current_conversation_is_the_newest_that_is_not_archived(self, store: Store) -> None:
        for number in range(3):
            await store.create_conversation(ALICE, conversation(f"c{number}", at=after(number)))
        await store.change_conversation(ALICE, "c2", ConversationChanges(at=after(9), is_archived=True))
        assert (await store.current_conversation(ALICE, conversation("new"))).id == "c1"
        await store.append(ALICE, append("c0", "m1", at=after(10)))
        assert (await store.current_conversation(ALICE, conversation("new"))).id == "c0"

    async def test_without_a_current_conversation_of_the_agent_one_is_created(self, store: Store) -> None:
        await store.create_conversation(ALICE, conversation("c1", agent="guide"))
        assert (await store.current_conversation(ALICE, conversation("c2", agent="cook"))).id == "c2"
        assert (await store.current_conversation(ALICE, conversation("c3", agent="cook"))).id == "c2"
        assert (await store.current_conversation(ALICE, conversation("c3", agent="guide"))).id == "c1"

    async def test_conversations_are_listed_by_last_activity_newest_first(self, store: Store) -> None:
        for number, name in enumerate("abc"):
            await store.append(ALICE, append(name, "m1", at=after(number)))
        await store.append(ALICE, append("a", "m2", at=after(60)))
        page = await store.list_conversations(ALICE, ConversationQuery())
        assert ids_of(page.items) == ["a", "c", "b"]
        assert page.next is None

    async def test_conversations_of_one_moment_are_listed_by_id(self, store: Store) -> None:
        names = ["b", "a", "d", "c", "Z", "é"]
        for name in names:
            await store.create_conversation(ALICE, conversation(name))
        assert ids_of(await every_page(store, ALICE, ConversationQuery(limit=2))) == sorted(names, reverse=True)

    async def test_every_page_size_lists_each_conversation_once(self, store: Store) -> None:
        for number in range(7):
            agent = "guide" if number % 2 else "cook"
            await store.create_conversation(ALICE, conversation(f"c{number}", agent=agent, at=after(number // 3)))
        await store.change_conversation(ALICE, "c4", ConversationChanges(at=START, is_archived=True))
        whole = ids_of((await store.list_conversations(ALICE, ConversationQuery())).items)
        assert sorted(whole) == [f"c{number}" for number in range(7)]
        for limit in range(1, 9):
            assert ids_of(await every_page(store, ALICE, ConversationQuery(limit=limit))) == whole

    async def test_conversations_are_listed_by_agent_and_by_archived(self, store: Store) -> None:
        for number in range(4):
            agent = "guide" if number % 2 else "cook"
            await store.create_conversation(ALICE, conversation(f"c{number}", agent=agent, at=after(number)))
        await store.change_conversation(ALICE, "c3", ConversationChanges(at=START, is_archived=True))
        expected = [
            (ConversationQuery(agent="guide"), ["c3", "c1"]),
            (ConversationQuery(archived=True), ["c3"]),
            (ConversationQuery(archived=False), ["c2", "c1", "c0"]),
            (ConversationQuery(agent="guide", archived=False), ["c1"]),
            (ConversationQuery(agent="nobody"), []),
        ]
        for query, names in expected:
            assert ids_of((await store.list_conversations(ALICE, query)).items) == names, query

    async def test_changes_are_applied_and_raise_the_version(self, store: Store) -> None:
        before = await store.create_conversation(ALICE, conversation("c1"))
        changes = ConversationChanges(
            at=after(5), title="Mine", is_archived=True, is_pinned=True, metadata={"k": 1}, expected_version=1
        )
        changed = await store.change_conversation(ALICE, "c1", changes)
        assert (changed.title, changed.title_source) == ("Mine", "user")
        assert (changed.is_archived, changed.is_pinned, changed.metadata) == (True, True, {"k": 1})
        assert (changed.version, changed.updated_at) == (before.version + 1, after(5))
        assert changed.last_activity_at == before.last_activity_at
        assert await store.get_conversation(ALICE, "c1") == changed

    async def test_what_is_unset_stays(self, store: Store) -> None:
        before = await store.create_conversation(ALICE, conversation("c1", title="Mine", metadata={"k": 1}))
        changed = await store.change_conversation(ALICE, "c1", ConversationChanges(at=after(5), is_pinned=True))
        assert (changed.title, changed.metadata, changed.is_archived) == ("Mine", {"k": 1}, False)
        same = await store.change_conversation(ALICE, "c1", ConversationChanges(at=after(6)))
        assert same == changed
        assert same.version == before.version + 1

    async def test_a_stale_version_changes_nothing(self, store: Store) -> None:
        before = await store.create_conversation(ALICE, conversation("c1"))
        with raises(StaleVersionError):
            changes = ConversationChanges(at=START, title="Lost", expected_version=before.version + 1)
            await store.change_conversation(ALICE, "c1", changes)
        assert await store.get_conversation(ALICE, "c1") == before

    async def test_a_head_that_is_no_message_of_the_conversation_is_refused(self, store: Store) -> None:
        await store.append(ALICE, append("c1", "m1"))
        await store.append(ALICE, append("c2", "m2"))
        before = await store.get_conversation(ALICE, "c1")
        for head in ("m2", "nothing"):
            with raises(MessageNotFoundError):
                changes = ConversationChanges(at=START, title="Lost", head_id=head)
                await store.change_conversation(ALICE, "c1", changes)
        assert await store.get_conversation(ALICE, "c1") == before

    async def test_changing_a_missing_conversation_is_refused(self, store: Store) -> None:
        with raises(ConversationNotFoundError):
            await store.change_conversation(ALICE, "c1", ConversationChanges(at=START, title="Mine"))

    async def test_the_first_message_gives_the_title(self, store: Store) -> None:
        said = message("m1", "  Where   do we\nstart? ")
        appended = await store.append(ALICE, append("c1", said))
        assert (appended.conversation.title, appended.conversation.title_source) == ("Where do we start?", "auto")
        await store.append(ALICE, append("c1", "m2"))
        assert (await store.get_conversation(ALICE, "c1")).title == "Where do we start?"

    async def test_a_title_of_a_person_is_never_replaced_by_an_automatic_one(self, store: Store) -> None:
        await store.create_conversation(ALICE, conversation("c1"))
        automatic = ConversationChanges(at=START, title="Automatic", title_source="auto")
        assert (await store.change_conversation(ALICE, "c1", automatic)).title == "Automatic"
        await store.change_conversation(ALICE, "c1", ConversationChanges(at=START, title="Mine"))
        assert (await store.change_conversation(ALICE, "c1", automatic)).title == "Mine"
        await store.append(ALICE, append("c1", "m1"))
        assert (await store.get_conversation(ALICE, "c1")).title == "Mine"

    async def test_idle_conversations_are_marked_up_to_the_limit(self, store: Store) -> None:
        for number in range(5):
            agent = "guide" if number % 2 else "cook"
            await store.create_conversation(ALICE, conversation(f"c{number}", agent=agent, at=after(number)))
        marked = await store.mark_inactive(ALICE, after(3), 3)
        assert len(set(marked)) == 3
        marked += await store.mark_inactive(ALICE, after(3), 3)
        assert sorted(marked) == ["c0", "c1", "c2", "c3"]
        assert await store.mark_inactive(ALICE, after(3), 3) == ()
        states = {one.id: one.is_active for one in await every_page(store, ALICE, ConversationQuery())}
        assert states == {"c0": False, "c1": False, "c2": False, "c3": False, "c4": True}

    async def test_idle_conversations_are_listed_longest_idle_first(self, store: Store) -> None:
        for number, name in enumerate(("b", "a", "d", "c", "e", "f")):
            agent = "guide" if number % 2 else "cook"
            await store.create_conversation(ALICE, conversation(name, agent=agent, at=after(number // 2)))
        await store.change_conversation(ALICE, "a", ConversationChanges(at=after(9), is_archived=True))
        await store.mark_inactive(ALICE, after(0), 1)
        assert ids_of(await store.list_idle(ALICE, after(1), 9)) == ["a", "b", "c", "d"]
        assert ids_of(await store.list_idle(ALICE, after(1), 3)) == ["a", "b", "c"]
        assert ids_of(await store.list_idle(ALICE, after(0.9), 9)) == ["a", "b"]
        assert await store.list_idle(ALICE, after(-1), 9) == ()
        assert (await store.list_idle(ALICE, after(1), 1))[0] == await store.get_conversation(ALICE, "a")
        await store.append(ALICE, append("a", "m1", at=after(5)))
        assert ids_of(await store.list_idle(ALICE, after(5), 9)) == ["b", "c", "d", "e", "f", "a"]

    async def test_the_next_message_makes_a_conversation_active_again(self, store: Store) -> None:
        await store.append(ALICE, append("c1", "m1"))
        assert await store.mark_inactive(ALICE, START, 1) == ("c1",)
        appended = await store.append(ALICE, append("c1", "m2", at=after(1)))
        assert appended.conversation.is_active
        assert await store.mark_inactive(ALICE, START, 1) == ()
