"""Bytes are a window only if they are exactly the one that was asked for."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.cache import payload
from recollect.cache.payload import MAX_BYTES, Payload, pack, unpack
from recollect.domain.message import ToolCall
from recollect.domain.scope import Scope
from recollect.domain.window import Window
from recollect.testing.samples import ALICE, BOB, STRANGER
from recollect.testing.windows import window_at


def with_message(**more: object) -> Window:
    window = window_at(ALICE, "c1", 3)
    return msgspec.structs.replace(window, messages=(msgspec.structs.replace(window.messages[0], **more),))


def packed(window: Window) -> bytes:
    found = pack(ALICE, window)
    assert found is not None
    return found


@given(content=st.text(), metadata=st.dictionaries(st.text(), st.none() | st.booleans() | st.floats(allow_nan=False)))
def test_a_window_comes_back_as_it_was(content: str, metadata: dict[str, object]) -> None:
    call = ToolCall(id="t1", tool_name="tool", input={"a": [1, None]}, output="x")
    try:
        content.encode()
    except UnicodeEncodeError:
        return
    window = with_message(content=content, metadata=metadata, tool_calls=(call,), custom_payload=[metadata])
    assert unpack(ALICE, "c1", packed(window)) == window


@pytest.mark.parametrize("scope", [BOB, STRANGER, Scope("acme", "alice2")])
def test_a_window_of_another_user_is_none(scope: Scope) -> None:
    assert unpack(scope, "c1", packed(window_at(ALICE, "c1", 1))) is None


def test_a_window_of_another_conversation_is_none() -> None:
    assert unpack(ALICE, "c2", packed(window_at(ALICE, "c1", 1))) is None


@given(cut=st.integers(0, 10_000), other=st.binary(max_size=30))
def test_damaged_bytes_are_no_window_or_a_whole_one(cut: int, other: bytes) -> None:
    whole = packed(window_at(ALICE, "c1", 1))
    assert unpack(ALICE, "c1", other) is None
    assert unpack(ALICE, "c1", whole[: cut % len(whole)]) is None


def test_a_window_of_another_version_of_the_program_is_none() -> None:
    window = window_at(ALICE, "c1", 1)
    other = Payload(payload.form()[::-1], ALICE.tenant, ALICE.user, "c1", window)
    assert unpack(ALICE, "c1", msgspec.msgpack.encode(other)) is None


def test_what_the_domain_refuses_is_no_window() -> None:
    raw = msgspec.msgpack.decode(packed(with_message(tool_calls=(ToolCall(id="t1", tool_name="tool"),))))
    raw[4]["messages"][0]["tool_calls"][0]["id"] = ""
    assert unpack(ALICE, "c1", msgspec.msgpack.encode(raw)) is None


@pytest.mark.parametrize("more", [{"custom_payload": 2**70}, {"content": "x" * MAX_BYTES}, {"metadata": {"a": {1j}}}])
def test_a_window_that_cannot_be_kept_has_no_bytes(more: dict[str, object]) -> None:
    assert pack(ALICE, with_message(**more)) is None
