"""Tell which memories stood in the place of one another, so that a person can follow a value through time."""

from __future__ import annotations

from collections.abc import Iterable

from recollect.domain.memory import Memory


def lineage(memory: Memory, known: Iterable[Memory], of_slot: Iterable[Memory] = ()) -> tuple[Memory, ...]:
    """Return all values of the place that a memory has or had, itself too, in the order in which they came to hold.

    They are those of its slot, and whatever took the place of one of them or left it to one; what waits for review
    or was rejected holds no place.
    """
    held = {one.id: one for one in known if one.trust == "active"} | {memory.id: memory}
    earlier: dict[str, list[str]] = {}
    for one in held.values():
        if one.superseded_by is not None:
            earlier.setdefault(one.superseded_by, []).append(one.id)
    found: dict[str, Memory] = {}
    waiting = [memory.id, *(one.id for one in of_slot)]
    while waiting:
        one_id = waiting.pop()
        if one_id in found or one_id not in held:
            continue
        found[one_id] = held[one_id]
        waiting += earlier.get(one_id, ())
        waiting.append(held[one_id].superseded_by or "")
    return tuple(sorted(found.values(), key=lambda one: (one.valid_from or one.created_at, one.created_at, one.id)))
