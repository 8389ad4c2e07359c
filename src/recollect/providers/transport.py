"""Send one request over HTTP and read its events, within limits of time and size.

The only file that knows the HTTP client; what it raises is ours.
Redirects are not followed, cookies are not kept, and no proxy or certificate is taken from the environment.
"""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping
from contextlib import aclosing, asynccontextmanager, contextmanager
from typing import Any

import httpx2
import msgspec

from recollect.errors import ProviderOutputError, ProviderRejectedError, ProviderUnavailableError
from recollect.providers.sse import EventParser, ServerEvent
from recollect.providers.text import at, parsed, text_at

_ERROR_BYTES = 64 * 1024
# Calls are bounded by who makes them; the first number only keeps a mistake there from taking all sockets.
_POOL = httpx2.Limits(max_connections=1000, max_keepalive_connections=20, keepalive_expiry=5.0)
_RETRIED_STATUSES = {408, 409, 425, 429}
_REFUSALS = {"invalid_request_error", "authentication_error", "permission_error", "not_found_error"}
# Names such as `insufficient_quota` help people; anything longer could hold their text.
_CODE = re.compile(r"[A-Za-z0-9_.-]{1,64}")


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """How long and how much; times are in seconds."""

    #: To reach the server.
    connect: float = 5.0
    #: From sending the request to the first token of the reply.
    first_token: float = 60.0
    #: Between two events of a reply; comments that keep a connection alive do not count.
    idle: float = 30.0
    #: For a call with all its attempts.
    total: float = 300.0
    #: Of one response, with all that surrounds the text.
    max_bytes: int = 32 * 1024 * 1024
    #: Of one event.
    max_event_bytes: int = 2 * 1024 * 1024
    #: Attempts beyond the first, while no token has come.
    max_retries: int = 2
    #: The longest that a provider may ask us to wait before the next attempt.
    max_wait: float = 20.0


class Call(msgspec.Struct, frozen=True, kw_only=True):
    """What to send."""

    path: str
    body: Mapping[str, Any]


class AttemptFailedError(Exception):
    """An attempt got no reply; another one may."""

    def __init__(self, problem: str, retry_after: str | None = None) -> None:
        super().__init__(problem)
        #: The header of this name, as it came.
        self.retry_after = retry_after


class RefusedError(Exception):
    """The server does not accept the request; its words tell a protocol what to leave out."""

    def __init__(self, problem: str, status: int, said: str) -> None:
        super().__init__(problem)
        self.status = status
        #: Never shown: it may quote the request.
        self.said = said


class Transport:
    """A pool of connections to one server; used from one event loop."""

    def __init__(self, url: str, headers: Mapping[str, str], limits: Limits) -> None:
        self._url = url.rstrip("/")
        self._headers = {
            "accept": "text/event-stream, application/json",
            # A compressed reply could unfold beyond any limit.
            "accept-encoding": "identity",
            "content-type": "application/json",
            "user-agent": "recollect",
            **headers,
        }
        self._limits = limits
        self._pool: httpx2.AsyncHTTPTransport | None = None
        self._closed = False

    @asynccontextmanager
    async def open(self, call: Call) -> AsyncIterator[Response]:
        """Send a request and give its response; raise what any status but success means.

        It waits without end; the caller sets the deadline.
        """
        patience = {"connect": self._limits.connect, "read": None, "write": None, "pool": None}
        with translated():
            request = httpx2.Request(
                "POST",
                self._url + call.path,
                headers=self._headers,
                content=msgspec.json.encode(call.body),
                extensions={"timeout": patience},
            )
            response = await self._connected().handle_async_request(request)
        try:
            opened = Response(response, self._limits)
            await opened.check()
            yield opened
        finally:
            with translated():
                await response.aclose()

    async def close(self) -> None:
        """Close all connections."""
        self._closed = True
        if self._pool is not None:
            await self._pool.aclose()

    def _connected(self) -> httpx2.AsyncHTTPTransport:
        if self._closed:
            raise ProviderUnavailableError("the model was closed")
        if self._pool is None:
            # Reading the certificates takes 50 ms, so it is done when first needed, and not for a server without them.
            self._pool = httpx2.AsyncHTTPTransport(verify=must_verify(self._url), trust_env=False, limits=_POOL)
        return self._pool


def must_verify(url: str) -> bool:
    """Tell whether a server must prove who it is: always, but for an address that has no encryption at all."""
    return httpx2.URL(url).scheme != "http"


class Response:
    """What a server answers, read within the limits."""

    def __init__(self, response: httpx2.Response, limits: Limits) -> None:
        self._response = response
        self._limits = limits
        self._kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()

    @property
    def is_whole(self) -> bool:
        """Tell whether the server answers at once instead of with a stream."""
        return self._kind == "application/json"

    async def check(self) -> None:
        """Raise what a status, or a kind of content that cannot be a reply, means."""
        status = self._response.status_code
        if not 200 <= status < 300:
            said = b"" if 300 <= status < 400 else await self._some(_ERROR_BYTES)
            raise problem_of(status, said, self._response.headers.get("retry-after"))
        if self._kind in {"text/html", "application/xhtml+xml"}:
            raise ProviderOutputError("the address answers with a web page; check model.url or embedding.url")
        if self._response.headers.get("content-encoding", "identity").lower() != "identity":
            raise ProviderOutputError("the reply is compressed although that was not asked for")

    async def events(self) -> AsyncGenerator[ServerEvent, None]:
        """Give the events of a stream."""
        parser = EventParser(self._limits.max_event_bytes)
        async with aclosing(self._chunks(self._limits.max_bytes)) as chunks:
            async for chunk in chunks:
                for event in parser.feed(chunk):
                    yield event
        for event in parser.finish():
            yield event

    async def whole(self) -> Any:
        """Read the whole answer and parse it."""
        # Nothing in it repeats, so it has no more to say than the longest event.
        async with aclosing(self._chunks(self._limits.max_event_bytes)) as chunks:
            return parsed(b"".join([chunk async for chunk in chunks]).decode(errors="replace"))

    async def _chunks(self, at_most: int) -> AsyncGenerator[bytes, None]:
        left = at_most
        with translated():
            async for chunk in self._response.aiter_raw():
                left -= len(chunk)
                if left < 0:
                    raise ProviderOutputError(f"the reply is longer than {at_most} bytes")
                yield chunk

    async def _some(self, at_most: int) -> bytes:
        found = bytearray()
        async with aclosing(self._chunks(self._limits.max_bytes)) as chunks:
            async for chunk in chunks:
                found += chunk
                if len(found) >= at_most:
                    break
        return bytes(found[:at_most])


def problem_of(status: int, said: bytes, retry_after: str | None) -> Exception:
    """Say what a status means; of the server's words only a short code is shown."""
    words = said.decode(errors="replace")
    code = _code_in(words)
    problem = f"HTTP {status}{f' ({code})' if code else ''}"
    if status in _RETRIED_STATUSES or status >= 500:
        return AttemptFailedError(problem, retry_after)
    if 300 <= status < 400:
        return ProviderRejectedError(f"{problem}: redirects are not followed; check model.url or embedding.url")
    return RefusedError(problem, status, words)


def problem_in(error: Any) -> Exception:
    """Say what an error means that came inside a stream."""
    status = at(error, "code")
    code = _code_of(error)
    problem = f"the provider reports an error{f' ({code})' if code else ''}"
    refused = isinstance(status, int) and 400 <= status < 500 and status not in _RETRIED_STATUSES
    return ProviderRejectedError(problem) if refused or code in _REFUSALS else AttemptFailedError(problem)


@contextmanager
def translated() -> Iterator[None]:
    """Turn the HTTP client's errors into ours."""
    try:
        yield
    except httpx2.ConnectTimeout as exc:
        raise AttemptFailedError("it did not accept a connection in time") from exc
    except httpx2.ConnectError as exc:
        raise AttemptFailedError("it cannot be reached") from exc
    except (httpx2.InvalidURL, httpx2.UnsupportedProtocol, httpx2.LocalProtocolError):
        # The cause may quote a header, and a header holds the key.
        raise ProviderRejectedError("the address or the key cannot be used; check model.url or embedding.url") from None
    except httpx2.TransportError as exc:
        raise AttemptFailedError("the connection was lost") from exc


def _code_in(words: str) -> str:
    try:
        return _code_of(at(parsed(words), "error"))
    except ProviderOutputError:
        return ""


def _code_of(error: Any) -> str:
    codes = (text_at(error, key) for key in ("code", "status", "type"))
    return next((code for code in codes if _CODE.fullmatch(code)), "")
