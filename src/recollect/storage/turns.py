"""Reading turns in SQL."""

from __future__ import annotations

from functools import partial

from recollect.domain.scope import Scope
from recollect.domain.turn import Turn
from recollect.storage import damage
from recollect.storage.conversations import find
from recollect.storage.damage import Sound, sound
from recollect.storage.driver import Driver, Transaction, Work
from recollect.storage.rows import scoped
from recollect.storage.turn_rows import turn_from


def of_conversation(tx: Transaction, scope: Scope, conversation_id: str) -> Sound[Turn]:
    """Return the turns of a conversation, oldest first."""
    stored = find(tx, scope, conversation_id)
    found = tx.all("list_turns", **scoped(scope), conversation=stored.number)
    return sound(partial(turn_from, scope, conversation_id), found)


def some(tx: Transaction, scope: Scope, conversation_id: str, ids: tuple[str, ...]) -> Sound[Turn]:
    """Return those of these turns that are stored, oldest first."""
    stored = find(tx, scope, conversation_id)
    found = tx.all("find_turns", **scoped(scope), conversation=stored.number, ids=tx.ids(ids))
    return sound(partial(turn_from, scope, conversation_id), found)


class TurnRecords:
    """The part of the store that reads turns."""

    _driver: Driver

    async def list_turns(self, scope: Scope, conversation_id: str) -> tuple[Turn, ...]:
        return await self._turns(scope, lambda tx: of_conversation(tx, scope, conversation_id), quick=False)

    async def find_turns(self, scope: Scope, conversation_id: str, turn_ids: tuple[str, ...]) -> tuple[Turn, ...]:
        return await self._turns(scope, lambda tx: some(tx, scope, conversation_id, turn_ids), quick=True)

    async def _turns(self, scope: Scope, work: Work[Sound[Turn]], *, quick: bool) -> tuple[Turn, ...]:
        reading = self._driver.read(scope, work, quick=quick)
        whole, corrupt = await damage.reported(self._driver, scope, reading)
        await damage.report(self._driver, scope, "turn", corrupt)
        return whole
