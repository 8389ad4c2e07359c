"""The blocking face of an asynchronous object, made when it is asked for: no method is written twice.

It knows no class of the service; what it looks like to a type checker is in `signatures`.
"""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from functools import lru_cache, wraps
from types import TracebackType
from typing import Any, Generic, ParamSpec, Self, TypeVar

from recollect.sync.loop import LoopThread

P = ParamSpec("P")
T = TypeVar("T")

_END = object()


class Blocking:
    """An asynchronous object whose methods block.

    Calls run on the object's loop, one loop for all threads; results that are asynchronous objects themselves
    come wrapped, asynchronous iterators as iterators, values as they are.
    """

    __slots__ = ("_loop", "_target")

    def __init__(self, target: Any, loop: LoopThread) -> None:
        self._target = target
        self._loop = loop

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(f"{type(self._target).__name__} has no public attribute {name!r}")
        value = getattr(self._target, name)
        if inspect.isroutine(value):
            return self._method(value)
        return self._wrapped(value)

    def _method(self, function: Callable[..., Any]) -> Callable[..., Any]:
        async def run(*args: Any, **kwargs: Any) -> Any:
            result = function(*args, **kwargs)
            return await result if inspect.isawaitable(result) else result

        @wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            return self._wrapped(self._loop.call(run, *args, **kwargs))

        return call

    def _wrapped(self, value: Any) -> Any:
        kind: type = type(value)
        if hasattr(kind, "__aiter__"):
            return BlockingIterator(value.__aiter__(), self._loop)
        return Blocking(value, self._loop) if is_asynchronous(kind) else value

    def __enter__(self) -> Any:
        return self._wrapped(self._loop.call(self._target.__aenter__))

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> Any:
        return self._loop.call(self._target.__aexit__, kind, error, trace)

    def __dir__(self) -> list[str]:
        return [name for name in dir(self._target) if not name.startswith("_")]

    def __repr__(self) -> str:
        return f"<blocking {self._target!r}>"


class BlockingOwner(Blocking):
    """The blocking face of what was opened on a loop of its own; closing it ends the loop too."""

    __slots__ = ()

    @classmethod
    def open(cls, function: Callable[P, Awaitable[Any]], /, *args: P.args, **kwargs: P.kwargs) -> Self:
        """Open something with an asynchronous function, on a new loop.

        Whoever opens closes, by `close` or a `with` block; what is still open at interpreter exit is closed then.
        """
        loop = LoopThread()
        try:
            target = loop.call(function, *args, **kwargs)
        except BaseException:  # the thread must not outlive a failed opening
            loop.close()
            raise
        loop.close_first(target.close)
        return cls(target, loop)

    def close(self) -> None:
        """Close what was opened, then end its loop; closing twice does nothing."""
        self._loop.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class BlockingIterator(Iterator[T], Generic[T]):
    """The blocking face of an asynchronous iterator; leaving a `with` block or the last item ends it."""

    def __init__(self, source: AsyncIterator[T], loop: LoopThread) -> None:
        self._source = source
        self._loop = loop

    def __next__(self) -> T:
        item = self._loop.call(self._step)
        if item is _END:
            raise StopIteration
        return item  # type: ignore[return-value]  # all that is not the end is an item

    async def _step(self) -> T | object:
        return await anext(self._source, _END)

    def close(self) -> None:
        """End the iteration before its last item."""
        self._loop.call(self._finish)

    async def _finish(self) -> None:
        end = getattr(self._source, "aclose", None)
        if end is not None:
            await end()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


@lru_cache(maxsize=256)
def is_asynchronous(kind: type) -> bool:
    """Tell whether objects of this class have methods that must be awaited."""
    if hasattr(kind, "__aenter__"):
        return True
    members = (getattr(kind, name, None) for name in dir(kind) if not name.startswith("_"))
    return any(inspect.iscoroutinefunction(one) or inspect.isasyncgenfunction(one) for one in members)
