"""Keep account of a budget of tokens: what is told, what is left out and why, and how much room is left."""

from __future__ import annotations

from recollect.domain.context import BLOCK_KINDS, BlockKind, ContextBlock, ContextItem, LeftOut
from recollect.domain.tokens import estimate_tokens

#: What it costs at most to join a text to another by line breaks.
JOIN = 2
NO_ROOM = "there is no room for it in the budget"
WAITS = "it waits for review, or is set aside"


class Parcel:
    """What is told so far, under a budget."""

    def __init__(self) -> None:
        #: How many more tokens may be told.
        self.room = 0
        self.left_out: list[LeftOut] = []
        self._items: dict[BlockKind, list[ContextItem]] = {}
        self._around: dict[BlockKind, int] = {}

    def items(self, kind: BlockKind) -> list[ContextItem]:
        """Return what is told of this kind, in the order in which it was taken."""
        return self._items.setdefault(kind, [])

    def put(self, kind: BlockKind, item: ContextItem) -> None:
        """Tell the item, whether there is room or not."""
        self.items(kind).append(item)
        self.room -= item.tokens

    def take(self, kind: BlockKind, item: ContextItem, around: int = 0) -> bool:
        """Tell the item if there is room for it, and for what stands around the first of its kind."""
        around = 0 if self.items(kind) else around
        if item.tokens + around > self.room:
            return False
        self.put(kind, item)
        if around:
            self._around[kind] = around
            self.room -= around
        return True

    def leave(self, kind: BlockKind, item_id: str, tokens: int, why: str = NO_ROOM) -> None:
        """Say that something is not told."""
        self.left_out.append(LeftOut(kind=kind, id=item_id, tokens=tokens, why=why))

    def sort(self, kind: BlockKind, order: dict[str, int]) -> None:
        """Bring what is told of this kind into an order by id."""
        self.items(kind).sort(key=lambda item: order[item.id])

    def texts(self, kind: BlockKind) -> list[str]:
        """Return what is told of this kind as it is written."""
        return [item.text for item in self.items(kind)]

    def blocks(self) -> tuple[ContextBlock, ...]:
        """Return what is told, in the order in which the model reads it."""
        return tuple(
            ContextBlock(kind=kind, tokens=self._tokens(kind), items=tuple(self._items[kind]))
            for kind in sorted(self._items, key=BLOCK_KINDS.index)
            if self._items[kind]
        )

    def _tokens(self, kind: BlockKind) -> int:
        return self._around.get(kind, 0) + sum(item.tokens for item in self._items[kind])


def line(item_id: str, text: str, why: str) -> ContextItem:
    """Return an item that is joined to others by line breaks."""
    return ContextItem(id=item_id, text=text, tokens=estimate_tokens(text) + JOIN, why=why)
