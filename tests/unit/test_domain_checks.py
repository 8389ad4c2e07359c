"""Whatever comes from outside is refused with a typed error or accepted as it is."""

from __future__ import annotations

from collections import UserDict, deque
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta, timezone
from enum import IntEnum
from types import MappingProxyType
from typing import Any

import msgspec
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from recollect.domain import checks
from recollect.domain.audit import AuditQuery
from recollect.domain.conversation import (
    ConversationChanges,
    ConversationCursor,
    ConversationQuery,
    ConversationSearch,
    NewConversation,
)
from recollect.domain.erasure import Erasure
from recollect.domain.holdings import HoldingsQuery
from recollect.domain.idempotency import Answer, RequestKey, RequestStart
from recollect.domain.identity import ApiKey, KeyQuery, StoredKey
from recollect.domain.job import Claim, ClaimRequest, JobFailure, JobQuery, NewJob
from recollect.domain.memory import Extraction, MemoryChanges, MemoryEdit, MemoryPlan, MemoryQuery, NewMemory, Source
from recollect.domain.message import NewMessage, ToolCall
from recollect.domain.note import NoteChange, NoteHistoryQuery
from recollect.domain.page import MessageQuery, SearchQuery
from recollect.domain.passage import PassageMatch, PassageQuery
from recollect.domain.preferences import PreferenceChanges
from recollect.domain.recalling import RecallRequest
from recollect.domain.scope import Scope
from recollect.domain.summary import NewSummary
from recollect.domain.turn import Append, ArchiveBatch, TurnRecord, Usage
from recollect.domain.usage import UsageEntry, UsageQuery
from recollect.domain.vector import MessageVector, Vector, VectorBatch
from recollect.errors import InvalidInputError, InvalidLimitError, InvalidMessageError
from recollect.testing.clock import START


class Colour(IntEnum):
    RED = 1


def looped() -> list[Any]:
    loop: list[Any] = []
    loop.append(loop)
    return loop


def nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


any_text = st.text(st.characters(exclude_categories=()), max_size=5)
ODD: tuple[Any, ...] = (
    *(None, True, -1, 0, 10**400, 0.5, float("nan"), float("-inf"), 1j, Colour.RED, object, object()),
    *("", " ", "\0", "\ud800", "x" * 129, "ok", b"ok", bytearray(b"x"), memoryview(b"x"), msgspec.UNSET),
    *((), [], {}, set(), ("ok",), ["ok"], {"k": 1}, {1: 2}, {"\0": 1}, {None: 1}, range(3), deque([1]), looped()),
    *(nested(64), nested(65), UserDict(k=1), MappingProxyType({"k": 1}), {"k": {1, 2}}, {"k": 2**63}, {"k": 1e400}),
    *(START, START.replace(tzinfo=None), datetime.max.replace(tzinfo=UTC), datetime.min.replace(tzinfo=UTC)),
    *(datetime.max.replace(tzinfo=timezone(timedelta(hours=-5))), START.date(), START.time()),
    *(timedelta(0), timedelta.max, timedelta.min, Usage(), Scope()),
)
odd = st.sampled_from(ODD) | any_text | st.integers() | st.floats() | st.binary(max_size=3)
junk = (
    odd | st.lists(odd, max_size=2) | st.lists(odd, max_size=2).map(tuple) | st.dictionaries(any_text, odd, max_size=2)
)

MESSAGE = NewMessage(id="m", role="user", content="x", created_at=START)
APPEND = Append(conversation_id="c", messages=(MESSAGE,), at=START)
KEY = RequestKey(key="k", digest="d")
CHANGES = MemoryChanges(at=START)
VALID: tuple[msgspec.Struct, ...] = (
    Scope(),
    AuditQuery(),
    ConversationChanges(at=START),
    ConversationCursor(START, "c"),
    ConversationQuery(),
    ConversationSearch(text="words"),
    NewConversation(id="c", at=START),
    Erasure(receipt_id="r", at=START),
    HoldingsQuery(now=START),
    KEY,
    RequestStart(request=KEY, at=START),
    Answer(request=KEY, status=200, body=b""),
    Claim("j", "w", 1),
    ClaimRequest(worker="w", now=START, lease=timedelta(1)),
    JobFailure(at=START, error="", retry_at=None),
    JobQuery(),
    NewJob(id="j", kind="k", run_at=START),
    Source("c", "m"),
    CHANGES,
    MemoryEdit(memory_id="m", changes=CHANGES),
    MemoryQuery(),
    NewMemory(id="m", content="x", at=START),
    Extraction(conversation_id="c", from_seq=0, to_seq=1, at=START),
    ToolCall(id="t", tool_name="x"),
    MESSAGE,
    NewMessage(id="m", role="tool", content="", created_at=START, tool_call_id="t"),
    NoteChange(operation="read", at=START),
    NoteHistoryQuery(),
    PreferenceChanges(at=START, memory_enabled=False, instructions="Be brief."),
    MessageQuery(conversation_id="c"),
    SearchQuery(text="x"),
    NewSummary(id="s", message_id="m", conversation_id="c", content="x", at=START, generator="g", message_ids=("m",)),
    APPEND,
    TurnRecord(id="t", append=APPEND),
    Usage(),
    ArchiveBatch(id="b", append=APPEND),
    MemoryPlan(at=START),
    PassageQuery(model="m"),
    PassageMatch(terms=("x",)),
    VectorBatch(conversation_id="c", messages=(MessageVector("m", Vector("m", b"\0<")),)),
    Vector("m", b"\0<"),
    UsageEntry(id="u", at=START, kind="chat", model="m", usage=Usage()),
    UsageQuery(),
    RecallRequest(text="x"),
    KeyQuery(tenant="t"),
    StoredKey(key=ApiKey(id="k", name="n", tenant="t", user="u", created_at=START), digest="0" * 64),
)

CHECKS: dict[str, Callable[[object], object]] = {
    "type": lambda value: checks.check_type(value, int, "it"),
    "id": lambda value: checks.check_id(value, "it"),
    "optional id": lambda value: checks.check_optional_id(value, "it"),
    "text": lambda value: checks.check_text(value, "it", at_most=4, at_least=1),
    "optional text": lambda value: checks.check_optional_text(value, "it"),
    "one of": lambda value: checks.check_one_of(value, ("a", "b"), "it"),
    "time": lambda value: checks.check_time(value, "it"),
    "optional time": lambda value: checks.check_optional_time(value, "it"),
    "duration": lambda value: checks.check_duration(value, "it"),
    "flag": lambda value: checks.check_flag(value, "it"),
    "count": lambda value: checks.check_count(value, "it"),
    "limit": checks.check_limit,
    "share": lambda value: checks.check_share(value, "it"),
    "items": lambda value: checks.check_items(value, int, "it", at_most=1),
    "ids": lambda value: checks.check_ids(value, "it", at_most=1),
    "json": lambda value: checks.check_json(value, "it", at_most=10),
    "object": lambda value: checks.check_object(value, "it"),
}


@settings(max_examples=300)
@given(value=junk, name=st.sampled_from(sorted(CHECKS)))
def test_a_check_raises_its_own_error_or_none(value: object, name: str) -> None:
    with suppress(InvalidInputError):
        CHECKS[name](value)


@settings(max_examples=400)
@given(data=st.data(), valid=st.sampled_from(VALID))
def test_a_value_with_any_field_replaced_is_refused_or_valid(data: st.DataObject, valid: msgspec.Struct) -> None:
    field = data.draw(st.sampled_from(valid.__struct_fields__))
    given_fields = {name: getattr(valid, name) for name in valid.__struct_fields__} | {field: data.draw(junk)}
    try:
        again = type(valid)(**given_fields)
    except InvalidInputError:
        return
    assert type(again)(**{name: getattr(again, name) for name in valid.__struct_fields__}) is not again


def test_every_value_that_a_store_takes_is_among_the_tested() -> None:
    from recollect.storage.checked import port_methods

    taken = {kind for parameters in port_methods().values() for kind in parameters.values()}
    structs = {kind for kind in taken if type(kind) is msgspec.StructMeta}
    assert structs - {type(valid) for valid in VALID} == set()


@given(st.text(max_size=130))
def test_an_id_has_1_to_128_printable_characters(value: str) -> None:
    if 0 < len(value) <= 128 and value.isprintable():
        assert checks.check_id(value, "it") == value
    else:
        with pytest.raises(InvalidInputError):
            checks.check_id(value, "it")


@given(any_text)
def test_accepted_text_is_valid_unicode_without_nul(value: str) -> None:
    try:
        checks.check_text(value, "it")
    except InvalidInputError:
        assert "\0" in value or any("\ud800" <= character <= "\udfff" for character in value)
    else:
        assert value.encode().decode() == value
        assert "\0" not in value


@given(junk)
@example({"k": [1, "a", None, {"x": -0.0}]})
@example([2**63 - 1, -(2**63)])
def test_accepted_json_comes_back_the_same(value: object) -> None:
    try:
        checks.check_json(value, "it")
    except InvalidInputError:
        return
    encoded = msgspec.json.encode(value)
    assert msgspec.json.encode(msgspec.json.decode(encoded)) == encoded


@pytest.mark.parametrize("value", [2**63, -(2**63) - 1, [10**400], float("nan"), float("inf"), {"k": float("-inf")}])
def test_json_holds_no_number_that_a_store_would_change(value: object) -> None:
    with pytest.raises(InvalidInputError):
        checks.check_json(value, "it")


def test_json_is_nested_64_levels_deep_at_most() -> None:
    assert checks.check_json(nested(64), "it")
    with pytest.raises(InvalidInputError, match="deeper than 64"):
        checks.check_json(nested(65), "it")


def test_json_is_measured_as_it_is_stored() -> None:
    assert checks.check_json("é" * 4, "it", at_most=10)
    with pytest.raises(InvalidInputError, match="takes 12 bytes"):
        checks.check_json("é" * 5, "it", at_most=10)


@pytest.mark.parametrize("value", [0, -1, 1_001, True, 1.0, "5", None])
def test_a_limit_is_a_whole_number_from_1_to_1000(value: object) -> None:
    with pytest.raises(InvalidLimitError):
        checks.check_limit(value)


def test_a_number_too_long_to_be_written_is_refused_like_others() -> None:
    with pytest.raises(InvalidLimitError):
        checks.check_limit(10**5_000)


def test_a_check_raises_the_error_that_it_is_told_to() -> None:
    with pytest.raises(InvalidMessageError):
        checks.check_id("", "it", InvalidMessageError)


def test_a_time_without_a_zone_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="no time zone"):
        checks.check_time(START.replace(tzinfo=None), "at")


@given(st.datetimes(timezones=st.sampled_from([UTC, timezone(timedelta(hours=14)), timezone(timedelta(hours=-12))])))
def test_every_accepted_time_can_be_read_as_utc(value: datetime) -> None:
    try:
        checks.check_time(value, "at")
    except InvalidInputError:
        assert value.year in {1, 9999}
    else:
        assert checks.as_utc(value) == value
        assert checks.as_utc(value).tzinfo is UTC


@given(st.datetimes(timezones=st.just(UTC)), st.timedeltas(min_value=timedelta(0)))
def test_later_never_leaves_the_calendar(at: datetime, delay: timedelta) -> None:
    moved = checks.later(at, delay)
    assert moved >= at
    assert moved - at == delay or moved == datetime.max.replace(tzinfo=UTC)
