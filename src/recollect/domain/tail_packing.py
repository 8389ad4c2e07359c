"""Choose what stands at the end of a prompt: what was recalled for the question, and the newest messages.

The newest messages get half of the room, then what was recalled, the best first, then older messages.
The window stays one piece: no message is told beyond one that is missing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from recollect.domain.context import ContextItem, ContextParts, PromptMessage, Recalled, may_be_told
from recollect.domain.memory import Memory, normalised
from recollect.domain.message import Message
from recollect.domain.parcel import JOIN, NO_ROOM, WAITS, Parcel, line
from recollect.domain.rendering import (
    PASSAGE_CUT,
    as_data,
    cut_passage,
    memory_block,
    memory_line,
    passage_block,
    passage_line,
)
from recollect.domain.tokens import estimate_tokens
from recollect.domain.tool_pairs import MESSAGE_COST, Told, groups, told

#: A passage may take this part of the room for what is recalled; a longer one is cut.
PASSAGE_SHARE = 3
#: Longer texts are not compared with each other.
_COMPARED = 2_000
_TOLD_ALREADY = "it stands in the prompt already"

#: A message id is unique in its conversation only.
_Key = tuple[str, str]


def pack_tail(parcel: Parcel, parts: ContextParts, pinned: Sequence[Memory]) -> tuple[PromptMessage, ...]:
    """Fill the room with what was recalled and the window, and return the messages of the window."""
    recall = _Recall(parcel, parts)
    for memory in pinned:
        recall.add_memory(Recalled(memory=memory, why="pinned; nobody here said it, so it is told as data"))
    window = _Window(parcel, parts.window)
    window.take(parcel.room // 2)
    recall.limit = parcel.room // PASSAGE_SHARE
    in_window = {_key(message) for message in parts.window}
    if parts.recalled:
        recall.known.update(window.texts())
    again = []
    for found in parts.recalled:
        if found.message is not None and _key(found.message) in in_window:
            again.append(found)
        else:
            recall.add(found)
    window.take(parcel.room)
    shown = window.close()
    for found in again:
        recall.add(found, shown)
    recall.close()
    return window.prompts


class _Recall:
    """What was recalled, as far as it is told."""

    def __init__(self, parcel: Parcel, parts: ContextParts) -> None:
        self._parcel = parcel
        self._format = parts.format
        self._ids = {item.id for item in parcel.items("pinned")}
        self._messages: set[_Key] = set()
        #: What is told already, as it is compared.
        self.known = {_compared(parts.message), *_contents(parts.pinned, self._ids)} - {""}
        #: How many tokens a passage may take.
        self.limit = 0
        self._passages: list[tuple[Message, ContextItem]] = []

    def add(self, found: Recalled, shown: Iterable[_Key] = ()) -> None:
        """Tell what was found, unless it is told already or there is no room."""
        if found.memory is not None:
            self.add_memory(found)
        elif found.message is not None:
            self._add_passage(found.message, found, frozenset(shown))

    def add_memory(self, found: Recalled) -> None:
        """Tell a memory."""
        memory = found.memory
        if memory is None:
            return
        item = line(memory.id, memory_line(memory, self._format), found.why)
        if not may_be_told(memory):
            self._parcel.leave("memories", item.id, item.tokens, WAITS)
        elif memory.id in self._ids or _compared(memory.content) in self.known:
            self._parcel.leave("memories", item.id, item.tokens, _TOLD_ALREADY)
        elif self._parcel.take("memories", item, self._around(memory_block((), self._format))):
            self._ids.add(memory.id)
            self.known |= {_compared(memory.content)} - {""}
        else:
            self._parcel.leave("memories", item.id, item.tokens)

    def _add_passage(self, message: Message, found: Recalled, shown: frozenset[_Key]) -> None:
        item = line(message.id, passage_line(message), found.why)
        is_known = _key(message) in shown | self._messages or _compared(message.content) in self.known
        if is_known or not message.content.strip():
            self._parcel.leave("passages", item.id, item.tokens, _TOLD_ALREADY)
            return
        if item.tokens > self.limit:
            item = _cut(message, self.limit, found.why) or item
        if self._parcel.take("passages", item, self._around(passage_block(()))):
            self._messages.add(_key(message))
            self.known |= {_compared(message.content)} - {""}
            self._passages.append((message, item))
        else:
            self._parcel.leave("passages", item.id, item.tokens)

    def _around(self, header: str) -> int:
        """Return what stands around the first of a kind, and around everything if it is the first at all."""
        cost = estimate_tokens(header) + 2 * JOIN
        if not self._parcel.items("memories") and not self._parcel.items("passages"):
            cost += estimate_tokens(as_data("recalled", "")) + MESSAGE_COST
        return cost

    def close(self) -> None:
        """Bring the passages into the order in which they were said."""
        said = sorted(self._passages, key=lambda one: (one[0].created_at, one[0].conversation_id, one[0].seq))
        self._parcel.items("passages")[:] = [item for _, item in said]


class _Window:
    """The newest messages, as far as they are told."""

    def __init__(self, parcel: Parcel, messages: Sequence[Message]) -> None:
        self._parcel = parcel
        self._waiting = groups(messages)
        self._shown: list[list[Told]] = []
        self._is_closed = False
        self._is_cut = False
        #: Of each message that was cut: how many of its characters are told.
        self._kept: dict[str, int | None] = {}

    @property
    def prompts(self) -> tuple[PromptMessage, ...]:
        """Return the messages for the model."""
        return tuple(prompt for group in reversed(self._shown) for one in group for prompt in one.prompts)

    def take(self, at_most: int) -> None:
        """Tell messages, the newest first, in so many tokens; the newest even in more, and cut if there is no room."""
        while self._waiting and not self._is_closed:
            group = told(self._waiting[-1])
            cost = sum(one.tokens for one in group)
            if not self._shown and cost > self._parcel.room:
                whole = {message.id: message.content for message in self._waiting[-1]}
                group = _cut_group(self._waiting[-1], self._parcel.room)
                cost = sum(one.tokens for one in group)
                self._is_closed, self._is_cut = not group, bool(group)
                self._kept = {one.message.id: _kept(one.message.content, whole[one.message.id]) for one in group}
            elif self._shown and cost > at_most:
                return
            if not self._is_closed:
                self._waiting.pop()
                self._tell(group)
                at_most -= cost

    def _tell(self, group: list[Told]) -> None:
        if group:
            self._shown.append(group)
            self._parcel.room -= sum(one.tokens for one in group)

    def texts(self) -> set[str]:
        """Return what is told, as it is compared."""
        return {_compared(one.message.content) for group in self._shown for one in group} - {""}

    def close(self) -> frozenset[_Key]:
        """Write down what is told and what is not, and return the former."""
        for one in (one for group in reversed(self._shown) for one in group):
            text = "\n".join(prompt.text for prompt in one.prompts)
            why = "said lately; cut to fit" if self._is_cut and one in self._shown[0] else "said lately"
            kept = self._kept.get(one.message.id)
            item = ContextItem(id=one.message.id, text=text, tokens=one.tokens, why=why, kept=kept)
            self._parcel.items("window").append(item)
        for group in self._waiting:
            for one in told(group):
                self._parcel.leave("window", one.message.id, one.tokens, f"{NO_ROOM}, as for all that is older")
        return frozenset(_key(one.message) for group in self._shown for one in group)


def _cut_group(group: Sequence[Message], room: int) -> list[Told]:
    """Return the messages with every long text cut, or nothing if they still do not fit."""
    most = room // (2 * len(group))
    shorter = []
    for message in group:
        text = message.content
        if estimate_tokens(text) > most:
            text = cut_passage(text, most) or ""
        shorter.append(msgspec.structs.replace(message, content=text))
    shown = told(shorter)
    return shown if sum(one.tokens for one in shown) <= room else []


def _cut(message: Message, at_most: int, why: str) -> ContextItem | None:
    around = estimate_tokens(passage_line(msgspec.structs.replace(message, content="-")))
    text = cut_passage(message.content, at_most - around - 2 * JOIN)
    if text is None:
        return None
    shorter = msgspec.structs.replace(message, content=text)
    item = line(message.id, passage_line(shorter), f"{why}; cut to fit")
    return msgspec.structs.replace(item, kept=_kept(text, message.content))


def _kept(text: str, whole: str) -> int | None:
    """Return how many characters of the whole are told, or None if all are."""
    return None if text == whole else max(len(text) - len(PASSAGE_CUT), 0)


def _contents(memories: Iterable[Memory], ids: Iterable[str]) -> set[str]:
    wanted = frozenset(ids)
    return {_compared(memory.content) for memory in memories if memory.id in wanted}


def _compared(text: str) -> str:
    return normalised(text) if len(text) <= _COMPARED else ""


def _key(message: Message) -> _Key:
    return message.conversation_id, message.id
