"""A client of OpenAI sends its whole history each time, and that finds the conversation."""

from __future__ import annotations

import uuid

import pytest

from recollect.testing.models import Fault, ScriptedModelServer, ScriptedReply
from tests.http.conftest import AsUser
from tests.support.completions import Json, ask, bot, error_of, new_words, place_of, post, stored, text_of, user
from tests.support.server_process import Served


def test_a_history_goes_on_in_its_conversation(with_model: Served, model: ScriptedModelServer) -> None:
    history: list[Json] = [{"role": "system", "content": "Be brief."}]
    places = set()
    for _ in range(4):
        history.append(user(new_words()))
        told = ask(with_model.client, *history)
        history.append(bot(f"{text_of(told)}\n"))
        places.add(place_of(told))
    (place,) = places
    assert stored(with_model.client, place) == [(one["role"], one["content"].strip()) for one in history[1:]]
    asked = model.seen[-1].request
    assert asked is not None
    assert "Be brief." in asked.system
    assert [one.text for one in asked.messages[-7:]] == [one["content"].strip() for one in history[1:-1]]


def test_chats_that_begin_alike_are_two_and_each_goes_on_as_itself(
    with_model: Served, model: ScriptedModelServer
) -> None:
    begin = new_words()
    model.script(*[ScriptedReply(text=("Hello",))] * 2)
    places = [place_of(ask(with_model.client, user(begin))) for _ in range(2)]
    assert len(set(places)) == 2
    went_on = [place_of(ask(with_model.client, user(begin), bot("Hello"), user(f"I am {n}"))) for n in range(2)]
    assert set(went_on) == set(places)
    assert {len(stored(with_model.client, place)) for place in places} == {4}


def test_an_edited_history_begins_a_new_conversation(with_model: Served) -> None:
    first, second, edited = new_words(), new_words(), new_words()
    place = place_of(ask(with_model.client, user(first)))
    assert place_of(ask(with_model.client, user(first), bot(first), user(second))) == place
    other = place_of(ask(with_model.client, user(first), bot(first), user(edited)))
    assert other != place
    assert [text for _, text in stored(with_model.client, place)] == [first, first, second, second]
    assert [text for _, text in stored(with_model.client, other)] == [first, first, edited, edited]


def test_a_history_from_elsewhere_is_stored_whole_and_goes_on(with_model: Served) -> None:
    words = new_words()
    call = {"id": "c1", "type": "function", "function": {"name": "weather", "arguments": '{"city": "Oslo"}'}}
    history: list[Json] = [
        bot("How can I help?"),
        {"role": "user", "content": [{"type": "text", "text": words}, {"type": "text", "text": "Truly."}]},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "rain"},
    ]
    told = ask(with_model.client, *history)
    kept = stored(with_model.client, place_of(told))
    assert kept[:2] == [("assistant", "How can I help?"), ("user", f"{words}\nTruly.")]
    assert [role for role, _ in kept[2:]] == ["assistant", "tool", "assistant"]
    again = ask(with_model.client, *history, bot(text_of(told)), user("Thanks"))
    assert place_of(again) == place_of(told)
    assert [role for role, _ in stored(with_model.client, place_of(told))[5:]] == ["user", "assistant"]


def test_asking_again_answers_on_a_branch_of_the_same_conversation(
    with_model: Served, model: ScriptedModelServer
) -> None:
    first, second = new_words(), new_words()
    place = place_of(ask(with_model.client, user(first)))
    history = (user(first), bot(first), user(second))
    model.script(ScriptedReply(text=("One",)), ScriptedReply(text=("Two",)))
    assert [place_of(ask(with_model.client, *history)) for _ in range(2)] == [place, place]
    assert [text for _, text in stored(with_model.client, place)] == [first, first, second, "Two"]
    assert place_of(ask(with_model.client, *history, bot("Two"), user("On"))) == place
    assert place_of(ask(with_model.client, *history, bot("One"), user("On"))) != place


@pytest.mark.parametrize("fault", [Fault.UNAUTHORISED, Fault.DISCONNECT])
def test_what_failed_is_asked_again_in_the_same_conversation(
    with_model: Served, model: ScriptedModelServer, fault: Fault
) -> None:
    words, more = new_words(), new_words()
    model.script(ScriptedReply(text=("Half",), fault=fault))
    failed = post(with_model.client, user(words))
    assert error_of(failed)[1] == "server_error"
    place = failed.headers["Recollect-Conversation"]
    model.script(ScriptedReply(fault=fault))
    assert post(with_model.client, user(words)).headers["Recollect-Conversation"] == place
    assert place_of(ask(with_model.client, user(words), user(more))) == place
    assert [text for role, text in stored(with_model.client, place) if role == "user"] == [words, more]
    assert place_of(ask(with_model.client, user(words), user(more), bot(more), user("On"))) == place


def test_a_named_conversation_takes_what_is_new(with_model: Served) -> None:
    name = {"Recollect-Conversation": f"ticket-{uuid.uuid4().hex}"}
    for _ in range(2):
        assert place_of(ask(with_model.client, user("yes"), headers=name)) == name["Recollect-Conversation"]
    ask(with_model.client, bot("yes"), user("no"), headers=name)
    ask(with_model.client, user("unknown"), bot("unheard"), user("still"), headers=name)
    kept = [text for _, text in stored(with_model.client, name["Recollect-Conversation"])]
    assert kept == ["yes", "yes", "yes", "yes", "no", "no", "still", "still"]


def test_an_erased_message_does_not_come_back_with_the_history(with_model: Served) -> None:
    words, place = [new_words() for _ in range(3)], ""
    history: list[Json] = []
    for one in words[:2]:
        history.append(user(one))
        told = ask(with_model.client, *history)
        history.append(bot(text_of(told)))
        place = place_of(told)
    page = with_model.client.get(f"/api/conversations/{place}/messages").json()["items"]
    asked = next(one["id"] for one in page if one["role"] == "user" and one["content"] == words[1])
    assert with_model.client.delete(f"/api/conversations/{place}/messages/{asked}").status_code == 204
    history.append(user(words[2]))
    assert place_of(ask(with_model.client, *history)) == place
    kept = [text for role, text in stored(with_model.client, place) if role == "user"]
    assert kept == [words[0], words[2]]
    found = with_model.client.get("/api/conversations", params={"q": words[1].split()[-1].strip(".")}).json()["items"]
    assert [one["id"] for one in found] in ([], [place])


def test_what_was_erased_may_be_said_again(with_model: Served) -> None:
    first, second = new_words(), new_words()
    place = place_of(ask(with_model.client, user(first)))
    history = (user(first), bot(first), user(second))
    assert place_of(ask(with_model.client, *history)) == place
    page = with_model.client.get(f"/api/conversations/{place}/messages").json()["items"]
    for one in page[2:]:
        with_model.client.delete(f"/api/conversations/{place}/messages/{one['id']}")
    assert len(stored(with_model.client, place)) == 2
    told = ask(with_model.client, *history)
    assert [text for _, text in stored(with_model.client, place_of(told))] == [first, first, second, second]


def test_a_deleted_conversation_is_not_gone_on_with(with_model: Served) -> None:
    words = new_words()
    place = place_of(ask(with_model.client, user(words)))
    assert with_model.client.delete(f"/api/conversations/{place}").status_code == 204
    assert place_of(ask(with_model.client, user(words), bot(words), user("On"))) != place


def test_the_history_of_another_user_is_not_found(as_user: AsUser) -> None:
    ada, bob, words = as_user("ada"), as_user("bob"), new_words()
    told = ask(ada, user(words))
    history = (user(words), bot(text_of(told)), user("On"))
    assert place_of(ask(bob, *history)) != place_of(told)
    assert place_of(ask(ada, *history)) == place_of(told)
    assert len(stored(ada, place_of(told))) == 4
