"""Memories by hand through a real socket: every endpoint, filter and error, and what a retry does (S1.5, S4.3)."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import httpx2
import pytest

from tests.support.memory_client import (
    COLUMNS,
    ONLY_WHEN_ASKED,
    add,
    contents,
    conversation,
    extract,
    forget_all,
    listed,
    pages,
    problem,
    waiting,
)
from tests.support.server_process import served

#: Statements that have nothing in common, so that each is a memory of its own.
PLAIN = ("Prefers green tea", "Runs marathons", "Owns a telescope", "Speaks Portuguese", "Collects stamps")


@pytest.fixture(scope="module")
def client(served_database: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx2.Client]:
    """Give a client of a server that learns only when it is asked to."""
    with served(served_database, tmp_path_factory.mktemp("server"), ONLY_WHEN_ASKED) as opened:
        yield opened.client


@pytest.fixture(autouse=True)
def _nothing_remembered(client: httpx2.Client) -> None:
    forget_all(client)


@pytest.mark.spec("S1.5")
@pytest.mark.spec("S4.3")
def test_a_memory_added_by_hand_has_every_column_and_is_found_at_its_place(client: httpx2.Client) -> None:
    home = conversation(client)
    sent = {
        "content": "Runs a marathon in May",
        "memory_type": "project",
        "category": "sport",
        "importance": 0.9,
        "confidence": 0.7,
        "is_pinned": True,
        "conversation_id": home,
    }
    answer = client.post("/api/memories", json=sent)
    made = answer.json()
    assert (answer.status_code, list(made)) == (201, COLUMNS)
    assert (answer.headers["location"], answer.headers["etag"]) == (f"/api/memories/{made['id']}", '"1"')
    own = {name: made[name] for name in sent if name != "conversation_id"}
    assert own | {"conversation_id": made["source_conversation_id"]} == sent
    assert (made["origin"], made["trust"], made["is_archived"], made["access_count"]) == ("manual", "active", False, 0)
    assert (made["source_message_id"], made["source_message_ids"], made["quote"]) == (None, [], None)
    assert made["created_at"].endswith("Z")
    again = client.get(answer.headers["location"])
    assert (again.json(), again.headers["etag"]) == (made, '"1"')
    assert listed(client) == [made]


@pytest.mark.spec("S4.3")
def test_what_is_remembered_already_is_not_stored_twice(client: httpx2.Client) -> None:
    first = add(client, "Prefers green tea", "preference")
    answer = client.post("/api/memories", json={"content": "prefers  green tea.", "memory_type": "preference"})
    assert (answer.status_code, answer.json()["id"]) == (200, first["id"])
    assert answer.headers["location"] == f"/api/memories/{first['id']}"
    assert len(listed(client)) == 1


@pytest.mark.spec("S4.3")
def test_memories_are_listed_by_each_filter(client: httpx2.Client) -> None:
    tea = add(client, PLAIN[0], "preference", category="food")["id"]
    runs = add(client, PLAIN[1], is_pinned=True)["id"]
    home = conversation(client)
    sky = add(client, PLAIN[2], "project", conversation_id=home)["id"]
    old = add(client, PLAIN[3])["id"]
    assert client.patch(f"/api/memories/{old}", json={"is_archived": True}).status_code == 200
    (said,) = extract(client, conversation(client, "I work as a beekeeper."))
    (pending,) = waiting(client, "I work as a locksmith.")
    for filters, expected in (
        ({}, [said["id"], sky, runs, tea]),
        ({"type": "preference"}, [tea]),
        ({"category": "food"}, [tea]),
        ({"pinned": "true"}, [runs]),
        ({"pinned": "false", "origin": "manual"}, [sky, tea]),
        ({"conversation_id": home}, [sky]),
        ({"archived": "true"}, [old]),
        ({"origin": "user"}, [said["id"]]),
        ({"trust": "pending"}, [pending["id"]]),
        ({"trust": "rejected"}, []),
        ({"type": "preference", "category": "sport"}, []),
    ):
        assert [memory["id"] for memory in listed(client, **filters)] == expected, filters


@pytest.mark.spec("S4.3")
def test_memories_are_listed_by_time_and_in_the_order_that_is_asked_for(client: httpx2.Client) -> None:
    made = [add(client, PLAIN[number], importance=(0.5, 0.9, 0.1, 0.5)[number]) for number in range(4)]
    orders = {"newest": [3, 2, 1, 0], "oldest": [0, 1, 2, 3], "importance": [1, 3, 0, 2]}
    for sort, order in orders.items():
        expected = [PLAIN[number] for number in order]
        for limit in (1, 3, 4, 50):
            read = [memory for one in pages(client, "/api/memories", sort=sort, limit=limit) for memory in one]
            assert contents(read) == expected
    first, second = made[0]["created_at"], made[1]["created_at"]
    assert contents(listed(client, since=second, sort="oldest")) == list(PLAIN[1:4])
    assert contents(listed(client, since=first, until=second)) == [PLAIN[0]]
    assert contents(listed(client, q="s", until=made[3]["created_at"], sort="importance")) == [
        PLAIN[1],
        PLAIN[0],
        PLAIN[2],
    ]
    for wrong in ({"sort": "best"}, {"since": "yesterday"}, {"since": second, "until": first}):
        assert client.get("/api/memories", params=wrong).status_code == 422


@pytest.mark.spec("S4.3")
def test_memories_are_listed_by_words_or_parts_of_them_in_any_script(client: httpx2.Client) -> None:
    add(client, "Prefers GREEN tea, at 100% strength", category="Drinks")
    add(client, "京都に住んでいます")
    add(client, "Owns a telescope")
    for words, expected in (
        ("green TEA", 1),
        ("gre drin", 1),
        ("tea green", 1),
        ("京都", 1),
        ("green telescope", 0),
        ("100%", 1),
        ("%", 1),
        ("_", 0),
        ("' OR 1=1 --", 0),
        ("\0", 0),
        ("  ", 3),
    ):
        assert len(listed(client, q=words)) == expected, words
    assert listed(client, q="green", type="preference") == []


@pytest.mark.spec("S4.3")
def test_pages_go_to_the_end_and_are_not_moved_by_what_is_added_meanwhile(client: httpx2.Client) -> None:
    for content in PLAIN:
        add(client, content, category="hobby")
    for asked in ({}, {"q": "hobb"}):
        found = [contents(page) for page in pages(client, "/api/memories", limit=2, **asked)]
        assert found == [[PLAIN[4], PLAIN[3]], [PLAIN[2], PLAIN[1]], [PLAIN[0]]]
    reading = pages(client, "/api/memories", limit=3)
    first = next(reading)
    add(client, "Plays the harp")
    assert contents([*first, *next(reading)]) == list(reversed(PLAIN))


@pytest.mark.spec("S4.3")
@pytest.mark.parametrize("method", ["PUT", "PATCH"])
def test_a_change_keeps_what_was_not_sent(client: httpx2.Client, method: str) -> None:
    made = add(client, "Prefers green tea", "preference", category="food", importance=0.4)
    place = f"/api/memories/{made['id']}"
    sent: dict[str, object] = {"content": "Prefers black tea", "category": None, "is_pinned": True, "importance": 1}
    answer = client.request(method, place, json=sent, headers={"If-Match": '"1"'})
    changed = answer.json()
    assert (answer.status_code, answer.headers["etag"]) == (200, '"2"')
    assert changed == made | sent | {"importance": 1.0, "version": 2, "updated_at": changed["updated_at"]}
    assert client.get(place).json() == changed
    more = {"memory_type": "decision", "confidence": 0.25, "is_archived": True}
    answer = client.request(method, place, json=more, headers={"If-Match": "*"})
    assert answer.json() == changed | more | {"version": 3, "updated_at": answer.json()["updated_at"]}
    unchanged = client.request(method, place, json={})
    assert (unchanged.status_code, unchanged.json()) == (200, answer.json())


@pytest.mark.spec("S4.3")
def test_a_stale_version_changes_and_deletes_nothing(client: httpx2.Client) -> None:
    made = add(client, "Prefers green tea")
    place = f"/api/memories/{made['id']}"
    for tag in ('"0"', '"2"', '"x"', "1"):
        for query in ("", "?now=true"):
            assert problem(client.delete(place + query, headers={"If-Match": tag})) == (412, "stale_version")
        answer = client.patch(place, json={"content": "Hates tea"}, headers={"If-Match": tag})
        assert problem(answer) == (412, "stale_version")
    assert client.get(place).json() == made
    assert client.delete(place, headers={"If-Match": '"1"'}).status_code == 204


def test_of_many_changes_of_one_version_one_is_made(client: httpx2.Client) -> None:
    place = f"/api/memories/{add(client, 'Prefers green tea')['id']}"

    def change(number: int) -> int:
        sent = {"importance": number / 10}
        return client.patch(place, json=sent, headers={"If-Match": '"1"'}).status_code

    with ThreadPoolExecutor(8) as pool:
        assert sorted(pool.map(change, range(8))) == [200, *[412] * 7]
    assert client.get(place).json()["version"] == 2


@pytest.mark.spec("S1.5")
@pytest.mark.spec("S4.3")
def test_a_deleted_memory_is_gone_until_that_is_undone(client: httpx2.Client) -> None:
    made = add(client, "Prefers green tea")
    place = f"/api/memories/{made['id']}"
    answer = client.delete(place)
    assert (answer.status_code, answer.content) == (204, b"")
    gone = [
        client.get(place),
        client.get(f"{place}/history"),
        client.patch(place, json={"importance": 1}),
        client.delete(place),
        client.post(f"{place}/review", json={"decision": "approve"}),
    ]
    assert [problem(one) for one in gone] == [(404, "memory_not_found")] * len(gone)
    assert listed(client) == listed(client, as_of="2100-01-01T00:00:00Z") == []
    assert client.post("/api/memories/search", json={"query": "green tea"}).json() == {"items": []}
    back = client.post(f"{place}/undo")
    assert (back.status_code, back.headers["etag"]) == (200, f'"{back.json()["version"]}"')
    own = {"version": back.json()["version"], "updated_at": back.json()["updated_at"]}
    assert [back.json()] == listed(client) == [made | own]


@pytest.mark.spec("S4.3")
def test_a_memory_erased_at_once_does_not_come_back(client: httpx2.Client) -> None:
    made = add(client, "Prefers green tea")
    place = f"/api/memories/{made['id']}"
    assert client.delete(f"{place}?now=true").status_code == 204
    assert problem(client.post(f"{place}/undo")) == (404, "memory_not_found")
    assert problem(client.delete(f"{place}?now=true")) == (404, "memory_not_found")
    assert listed(client) == []


def test_history_tells_each_version_and_undo_goes_back(client: httpx2.Client) -> None:
    made = add(client, "Prefers green tea")
    place = f"/api/memories/{made['id']}"
    assert client.get(f"{place}/history").json() == {"items": [], "next": None, "values": [made], "sources": []}
    assert problem(client.post(f"{place}/undo")) == (409, "conflict")
    changes = [client.patch(place, json={"importance": share}) for share in (0.1, 0.2, 0.3, 0.4)]
    versions = [made, *(answer.json() for answer in changes)]
    read = list(pages(client, f"{place}/history", limit=3))
    assert [len(page) for page in read] == [3, 1]
    past = [*read[0], *read[1]]
    assert [one["memory"] for one in past] == versions[-2::-1]
    assert [one["until"] for one in past] == [one["updated_at"] for one in versions[:0:-1]]
    undone = client.post(f"{place}/undo").json()
    assert (undone["importance"], undone["version"]) == (0.3, 6)


def test_a_retried_request_has_one_effect_and_one_answer(client: httpx2.Client) -> None:
    key = {"Idempotency-Key": str(uuid.uuid4())}
    sent = {"content": "Prefers green tea", "memory_type": "preference"}
    first, second = (client.post("/api/memories", json=sent, headers=key) for _ in range(2))
    assert (first.status_code, second.status_code) == (201, 201)
    assert (first.json(), first.headers["etag"], first.headers["location"]) == (
        second.json(),
        second.headers["etag"],
        second.headers["location"],
    )
    assert (first.headers.get("idempotent-replayed"), second.headers["idempotent-replayed"]) == (None, "true")
    other = client.post("/api/memories", json={**sent, "content": "Owns a telescope"}, headers=key)
    assert problem(other) == (422, "idempotency_mismatch")
    assert listed(client) == [first.json()]


def test_a_retried_undo_takes_back_one_change(client: httpx2.Client) -> None:
    place = f"/api/memories/{add(client, 'Prefers green tea', importance=0.1)['id']}"
    for importance in (0.2, 0.3):
        client.patch(place, json={"importance": importance})
    key = {"Idempotency-Key": str(uuid.uuid4())}
    assert [client.post(f"{place}/undo", headers=key).json()["importance"] for _ in range(2)] == [0.2, 0.2]
    assert client.get(place).json()["importance"] == 0.2


def test_text_comes_back_as_it_was_sent(client: httpx2.Client) -> None:
    for content in (
        "👩‍👩‍👧‍👦 lives next door",
        "\u202eright to left\u202c",
        "a\u200db\u00ad",
        "שלום עולם",
        "tab\tand\r\nline",
        "x" * 10_000,
    ):
        made = add(client, content)
        assert client.get(f"/api/memories/{made['id']}").json()["content"] == content
        assert contents(listed(client, q=content[:1_000])) == [content]


GOOD = b'{"content": "x", "memory_type": "fact"'


def test_a_memory_that_cannot_be_kept_is_refused(client: httpx2.Client) -> None:
    for body in (
        b"",
        b"[]",
        b'{"content": "x"}',
        b'{"memory_type": "fact"}',
        b'{"content": "x", "memory_type": "opinion"}',
        b'{"content": "", "memory_type": "fact"}',
        b'{"content": " \\n", "memory_type": "fact"}',
        b'{"content": "a\\u0000b", "memory_type": "fact"}',
        b'{"content": "a\\ud800", "memory_type": "fact"}',
        b'{"content": 7, "memory_type": "fact"}',
        b'{"content": "' + b"x" * 10_001 + b'", "memory_type": "fact"}',
        GOOD + b', "importance": 1.01}',
        GOOD + b', "importance": "0.5"}',
        GOOD + b', "importance": NaN}',
        GOOD + b', "confidence": true}',
        GOOD + b', "is_pinned": 1}',
        GOOD + b', "category": "' + b"x" * 101 + b'"}',
        GOOD + b', "conversation_id": ""}',
        GOOD + b', "conversation_id": "a\\u0007"}',
    ):
        answer = client.post("/api/memories", content=body, headers={"Content-Type": "application/json"})
        assert problem(answer) == (422, "invalid_input"), body[:80]
    assert listed(client) == []


def test_a_change_that_cannot_be_made_is_refused(client: httpx2.Client) -> None:
    made = add(client, "Prefers green tea")
    add(client, "Owns a telescope")
    place = f"/api/memories/{made['id']}"
    for sent in (
        {"content": None},
        {"content": " "},
        {"memory_type": None},
        {"importance": None},
        {"importance": -0.1},
        {"confidence": "1"},
        {"is_pinned": None},
        {"is_archived": "yes"},
        {"category": "x" * 101},
    ):
        assert problem(client.patch(place, json=sent)) == (422, "invalid_input"), sent
    assert problem(client.patch(place, json={"content": "Owns a telescope."})) == (409, "conflict")
    assert client.get(place).json() == made


def test_a_list_that_makes_no_sense_is_refused(client: httpx2.Client) -> None:
    for query, code in (
        ("limit=0", "invalid_input"),
        ("limit=201", "invalid_input"),
        ("limit=many", "invalid_input"),
        ("cursor=%21", "invalid_cursor"),
        ("cursor=MTI", "invalid_cursor"),
        ("cursor=Im5vYm9keSI", "invalid_cursor"),
        ("type=opinion", "invalid_input"),
        ("origin=space", "invalid_input"),
        ("trust=blind", "invalid_input"),
        ("pinned=perhaps", "invalid_input"),
        ("as_of=yesterday", "invalid_input"),
        ("as_of=2020-01-01T00:00:00", "invalid_input"),
        ("as_of=0001-01-01T00:00:00%2B23:00", "invalid_input"),
        ("category=%00", "invalid_input"),
        ("conversation_id=%00", "invalid_input"),
        ("q=" + "x" * 1_001, "invalid_input"),
    ):
        assert problem(client.get(f"/api/memories?{query}")) == (422, code), query


@pytest.mark.spec("S1.10")
def test_what_is_not_there_is_said_so_by_name(client: httpx2.Client) -> None:
    for method, path, sent in (
        ("GET", "nobody", None),
        ("PUT", "nobody", {"importance": 1}),
        ("PATCH", "nobody", {}),
        ("DELETE", "nobody", None),
        ("DELETE", "nobody?now=true", None),
        ("GET", "nobody/history", None),
        ("POST", "nobody/undo", None),
        ("POST", "nobody/review", {"decision": "reject"}),
    ):
        assert problem(client.request(method, f"/api/memories/{path}", json=sent)) == (404, "memory_not_found"), path
    for path, sent in (
        ("", {"content": "x", "memory_type": "fact", "conversation_id": "nowhere"}),
        ("/extract", {"conversation_id": "nowhere"}),
        ("/extract?wait=true", {"conversation_id": "nowhere"}),
    ):
        assert problem(client.post(f"/api/memories{path}", json=sent)) == (404, "conversation_not_found"), path
