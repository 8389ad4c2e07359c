"""What use cases need beside the store: the time, ids, somebody to tell, the books, and what traces them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime

import msgspec

from recollect.domain.scope import Scope
from recollect.ports.clock import Clock
from recollect.ports.events import Event, Events
from recollect.ports.meter import Meter
from recollect.ports.tracer import NoTracer, Tracer
from recollect.service.ledger import Ledger


class Means(msgspec.Struct, frozen=True, kw_only=True):
    """The means by which a use case acts."""

    clock: Clock
    new_id: Callable[[], str]
    events: Events
    meter: Meter
    ledger: Ledger
    #: Tell a worker of this process that there is work from this time on.
    wake: Callable[[datetime], None]
    tracer: Tracer = NoTracer()

    def tell(self, scope: Scope, kind: str, ids: Iterable[str]) -> None:
        """Tell the user's sessions that these changed."""
        self.events.publish(Event(kind=kind, scope=scope, entity_id=one) for one in ids)

    def tell_of_many(self, scope: Scope, *kinds: str) -> None:
        """Tell the user's sessions that more changed of these kinds than is worth naming."""
        self.events.publish(Event(kind=kind, scope=scope) for kind in kinds)
