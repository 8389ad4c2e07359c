"""A chat model whose calls are counted, and whose tokens are added to the bill of the work that is being done.

Nothing that was spent is left out: a reply that is thrown away, cut or lost on the way costs what it costs.
Where the provider did not count, its tokens are estimated, and the bill says so.
"""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AbstractContextManager, aclosing
from typing import Literal

import msgspec

from recollect.domain.tokens import estimate_tokens
from recollect.domain.turn import Usage
from recollect.errors import CircuitOpenError, ProviderError
from recollect.ports.bill import Bill, Charge, charge, current_bill, model_name
from recollect.ports.chat_model import (
    ChatModel,
    Circuit,
    Finished,
    ModelEvent,
    ModelRequest,
    ModelState,
    TextDelta,
    ToolCallRequest,
    UsageReport,
)
from recollect.ports.meter import Meter, NoMeter
from recollect.ports.tracer import (
    INPUT_TOKENS,
    MAX_TOKENS,
    MODEL,
    OUTPUT_TOKENS,
    OUTWARD,
    PROVIDER,
    STREAM,
    TEMPERATURE,
    NoTracer,
    Span,
    Tracer,
    Value,
    operation,
)

#: `cancelled`: whoever asked went away before the end.
CallOutcome = Literal["done", "failed", "refused", "cancelled"]
#: The circuit as a number.
CIRCUITS: dict[Circuit, int] = {"ready": 0, "half_open": 1, "open": 2}


class MeteredModel(ChatModel):
    """Count the calls of any chat model; stands before its breaker, so that calls it refuses are counted too."""

    def __init__(
        self,
        inner: ChatModel,
        meter: Meter | None = None,
        timer: Callable[[], float] = time.perf_counter,
        *,
        tracer: Tracer | None = None,
        provider: str | None = None,
    ) -> None:
        self._inner = inner
        self._tracer = tracer or NoTracer()
        self._about: dict[str, Value] = {} if provider is None else {PROVIDER: provider}
        self._meter = meter or NoMeter()
        self._timer = timer
        self._meter.gauge("recollect.model.circuit", lambda: CIRCUITS[inner.state.circuit])

    @property
    def name(self) -> str:
        """Tell the name of the model."""
        return self._inner.name

    @property
    def state(self) -> ModelState:
        """Tell how the model fares."""
        return self._inner.state

    def is_available(self) -> bool:
        """Tell whether a call would be tried."""
        return self._inner.is_available()

    def stream(self, request: ModelRequest) -> AbstractAsyncContextManager[AsyncIterator[ModelEvent]]:
        """Give the events of the reply, and charge what it cost once it ended, however it ended."""
        return aclosing(self._events(request))

    async def close(self) -> None:
        """Close the model."""
        await self._inner.close()

    def _span(self, request: ModelRequest) -> AbstractContextManager[Span]:
        name = model_name(self.name)
        about = {**self._about, MODEL: name, MAX_TOKENS: request.max_output_tokens, STREAM: True}
        if request.temperature is not None:
            about[TEMPERATURE] = request.temperature
        return operation(self._tracer, "chat", name, OUTWARD, **about)

    async def _events(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        # Whoever closes a stream that was left may do it in another context.
        bill = current_bill()
        seen = _Seen()
        outcome: CallOutcome = "cancelled"
        began = self._timer()
        with self._span(request) as span:
            try:
                async with self._inner.stream(request) as events:
                    async for event in events:
                        seen.note(event)
                        if isinstance(event, Finished):
                            outcome = "done"
                        yield event
            except CircuitOpenError:
                outcome = "refused"
                raise
            except ProviderError:
                outcome = "failed"
                raise
            finally:
                self._meter.add("recollect.model.calls", outcome=outcome)
                self._meter.observe("recollect.model.duration", self._timer() - began)
                cost = seen.cost(request)
                if cost is not None:
                    self._charge(bill, cost, span)

    def _charge(self, bill: Bill | None, cost: Charge, span: Span) -> None:
        usage = cost.usage
        self._meter.add("recollect.model.input_tokens", usage.input_tokens)
        self._meter.add("recollect.model.output_tokens", usage.output_tokens)
        span.set(INPUT_TOKENS, usage.input_tokens)
        span.set(OUTPUT_TOKENS, usage.output_tokens)
        charge(bill, self.name, cost)


class _Seen:
    """What came of a reply."""

    def __init__(self) -> None:
        self._usage: Usage | None = None
        self._wrote: list[str] = []
        self._begun = False

    def note(self, event: ModelEvent) -> None:
        """Note one event."""
        self._begun = True
        match event:
            case UsageReport():
                self._usage = event.usage
            case TextDelta():
                self._wrote.append(event.text)
            case ToolCallRequest():
                self._wrote.append(_written(event))

    def cost(self, request: ModelRequest) -> Charge | None:
        """Return what the call cost, or None if the model never began, for then nobody knows of any cost."""
        if self._usage is not None:
            return Charge(self._usage)
        if not self._begun:
            return None
        written = estimate_tokens("".join(self._wrote))
        return Charge(Usage(input_tokens=_asked(request), output_tokens=written), estimated=1)


def _asked(request: ModelRequest) -> int:
    """Estimate the tokens of a request."""
    parts = [request.system, *(message.text for message in request.messages)]
    parts += [_written(call) for message in request.messages for call in message.tool_calls]
    parts += [msgspec.json.encode((tool.description, tool.parameters)).decode() for tool in request.tools]
    return estimate_tokens("\n\n".join(parts))


def _written(call: ToolCallRequest) -> str:
    return msgspec.json.encode((call.tool_name, call.input)).decode()
