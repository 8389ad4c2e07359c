"""The tool that keeps notes: one schema for every protocol, and the seven operations against a simple model."""

from __future__ import annotations

import asyncio
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from recollect.domain.note import OPERATIONS
from recollect.domain.note_tool import NOTE_TOOL, ManageLTMInput, tool_schema
from recollect.errors import InvalidNoteOperationError
from recollect.service.notes import Notes, note_tool
from recollect.storage.inmemory import InMemoryStore
from recollect.testing.clock import FakeClock
from recollect.testing.samples import ALICE
from tests.support.heard_events import Heard


class ManageLTMModel(BaseModel):
    """The input as the design document writes it."""

    operation: Literal[
        "read",
        "overwrite",
        "append",
        "prepend",
        "delete_section_by_header",
        "replace_section_by_header",
        "delete_all_notes",
    ] = "read"
    content: str | None = None
    section_header: str | None = None


def bare(schema: Any) -> Any:
    """Return a schema without what only people read, and with words in order."""
    if isinstance(schema, dict):
        return {key: bare(value) for key, value in schema.items() if key not in ("title", "description", "required")}
    return sorted(schema, key=str) if isinstance(schema, list) else schema


@pytest.mark.spec("S2.6")
def test_every_protocol_gets_the_same_tool() -> None:
    openai, anthropic, mcp = tool_schema("openai"), tool_schema("anthropic"), tool_schema("mcp")
    spec = note_tool()
    function = openai["function"]
    schemas = [function["parameters"], anthropic["input_schema"], mcp["inputSchema"], spec.parameters]
    assert openai["type"] == "function"
    assert [one["name"] for one in (function, anthropic, mcp)] == [NOTE_TOOL] * 3 == [spec.name] * 3
    assert len({one["description"] for one in (function, anthropic, mcp)} | {spec.description}) == 1
    assert all(schema == schemas[0] for schema in schemas)
    assert bare(schemas[0]) == bare(ManageLTMModel.model_json_schema())
    assert schemas[0]["required"] == []
    with pytest.raises(InvalidNoteOperationError, match="protocol must be one of openai, anthropic, mcp"):
        tool_schema("soap")  # type: ignore[arg-type]


headers = st.sampled_from(["# A", "# B", "# C"])
contents = st.lists(headers | st.sampled_from(["x", "y z", "ж", "#no header"]), max_size=4).map("\n".join)
calls = st.builds(ManageLTMInput, operation=st.sampled_from(OPERATIONS), content=contents, section_header=headers)


class Lines:
    """The notes as a list of lines: what the seven operations mean, told simply."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def do(self, call: ManageLTMInput) -> bool:
        """Do what is asked; tell whether it can be done."""
        new = (call.content or "").split("\n") if call.content else []
        if call.operation.endswith("by_header"):
            if call.section_header not in self.lines:
                return False
            self._change_section(call, new)
            return True
        self.lines = {
            "read": self.lines,
            "overwrite": new,
            "append": self.lines + new,
            "prepend": new + self.lines,
            "delete_all_notes": [],
        }[call.operation]
        return True

    def _change_section(self, call: ManageLTMInput, new: list[str]) -> None:
        start = self.lines.index(call.section_header or "")
        after = [at for at, line in enumerate(self.lines) if at > start and line.startswith("# ")]
        end = after[0] if after else len(self.lines)
        if call.operation == "delete_section_by_header":
            new = []
        elif not new or not new[0].startswith("# "):
            new = [self.lines[start], *new]
        self.lines[start:end] = new


@pytest.mark.spec("S2.6")
@given(st.lists(calls, max_size=25))
def test_the_seven_operations_do_to_notes_what_they_do_to_lines(drawn: list[ManageLTMInput]) -> None:
    async def run() -> None:
        clock, model = FakeClock(), Lines()
        notes = Notes(InMemoryStore(), Heard(), clock=clock)
        for call in drawn:
            clock.advance(seconds=1)
            asked = {"operation": call.operation, "content": call.content, "section_header": call.section_header}
            told = await notes.call(ALICE, asked)
            assert told.startswith("Error") is not model.do(call)
            text = (await notes.read(ALICE)).notes
            assert text.removesuffix("\n") == "\n".join(model.lines)

    asyncio.run(run())


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=4,
)
fields = st.sampled_from(["operation", "content", "section_header", "agent", "expected_version"])
wild = st.dictionaries(fields, json_values | st.sampled_from(OPERATIONS), max_size=4)


@given(wild | json_values | st.binary(max_size=20) | st.builds(object))
def test_no_input_of_a_call_raises_an_error(given_input: object) -> None:
    notes = Notes(InMemoryStore(), Heard(), clock=FakeClock())
    told = asyncio.run(notes.call(ALICE, given_input))
    assert told.strip()
