"""The strategies that come with Recollect, and how others are found."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import entry_points
from types import MappingProxyType

from recollect.domain.message import Message
from recollect.domain.scope import Scope
from recollect.domain.window import Window
from recollect.errors import SettingsError
from recollect.ports.strategy import Strategy, StrategyFactory, StrategyParts, Work

#: The group under which a package names its strategies.
GROUP = "recollect.strategies"
#: The kind of the job that writes summaries.
SUMMARISE = "summarise"
#: So many times the threshold is summarised at once, though messages keep coming.
BURST = 3


class SummariseStrategy:
    """Let summaries stand for all but the newest messages, written in the background or at once."""

    def __init__(self, parts: StrategyParts) -> None:
        self._parts = parts
        self._threshold = parts.settings.threshold
        self._inline = parts.settings.when == "inline"

    def work(self, window: Window, added: int) -> tuple[Work, ...]:
        """Name the job once there are too many messages that no summary covers."""
        waiting = len(window.uncovered) + added
        is_due = waiting > self._threshold or (not added and _has_gap(window))
        if self._inline or not is_due:
            return ()
        return (Work(kind=SUMMARISE, urgent=waiting > BURST * self._threshold),)

    async def post_add_messages_hook(self, scope: Scope, conversation_id: str, added: int, total: int) -> None:
        """Summarise at once if the settings say so; what does not fit into one call is left to a job."""
        if not self._inline or (added and total <= self._threshold):
            return
        window = await self._parts.store.get_window(scope, conversation_id)
        if len(window.uncovered) <= self._threshold and (added or not _has_gap(window)):
            return
        if (await self._parts.compaction.compact(scope, conversation_id)).more:
            now = self._parts.clock()
            job = Work(kind=SUMMARISE).job(conversation_id, self._parts.new_id(), now)
            await self._parts.store.enqueue_job(scope, job, now)

    def shown(self, window: Window) -> tuple[Message, ...]:
        """Show what no summary covers."""
        return window.uncovered


def _has_gap(window: Window) -> bool:
    """Tell whether a summary may be missing between others: what it covered was erased in part."""
    ends = (0, *(summary.last_seq for summary in window.summaries))
    return any(end + 1 < summary.first_seq for end, summary in zip(ends, window.summaries, strict=False))


class _Unsummarised:
    """Write no summaries."""

    def work(self, window: Window, added: int) -> tuple[Work, ...]:
        """Name none."""
        return ()

    async def post_add_messages_hook(self, scope: Scope, conversation_id: str, added: int, total: int) -> None:
        """Do nothing."""


class SlidingStrategy(_Unsummarised):
    """Show the newest messages and nothing of the others."""

    def __init__(self, parts: StrategyParts) -> None:
        self._size = parts.window_size

    def shown(self, window: Window) -> tuple[Message, ...]:
        """Show the newest messages; where the call of a tool has left the window, its results leave it too."""
        return tuple(_answered(window.uncovered[-self._size :]))


class KeepAllStrategy(_Unsummarised):
    """Show everything, as far as a window reaches."""

    def __init__(self, parts: StrategyParts) -> None:
        """Take what every factory gets; nothing of it is needed."""

    def shown(self, window: Window) -> tuple[Message, ...]:
        """Show what no summary of an earlier time covers."""
        return tuple(_answered(window.uncovered))


def _answered(messages: Sequence[Message]) -> Iterator[Message]:
    """Leave out the results of calls that are not among these messages: no model accepts them."""
    made: set[str] = set()
    for message in messages:
        made.update(call.id for call in message.tool_calls)
        if message.role != "tool" or message.tool_call_id in made:
            yield message


#: The names that `history.strategy` always knows.
BUILT_IN: Mapping[str, StrategyFactory] = MappingProxyType(
    {"summarise": SummariseStrategy, "sliding": SlidingStrategy, "keep_all": KeepAllStrategy}
)


def open_strategy(parts: StrategyParts) -> Strategy:
    """Return the strategy that the settings name: one of ours, or one that an installed package registers."""
    name = parts.settings.strategy
    factory = BUILT_IN.get(name) or _registered(name)
    return factory(parts)


def _registered(name: str) -> StrategyFactory:
    found = {point.name: point for point in entry_points(group=GROUP)}
    if name not in found:
        known = ", ".join(sorted({*BUILT_IN, *found}))
        raise SettingsError(
            f"history.strategy is {name}, which is none of {known}; "
            f'a package registers one with an entry point of the group "{GROUP}", see docs/strategies.md'
        )
    try:
        factory: StrategyFactory = found[name].load()
    except (ImportError, AttributeError) as exc:
        raise SettingsError(f"history.strategy is {name}, but {found[name].value} cannot be imported: {exc}") from exc
    return factory
