"""What can be set, group by group: names, types, ranges and defaults.

The comment above a field is its documentation; `page.py` prints it.
Nothing here reads a value from anywhere.
"""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
import platformdirs
from msgspec import Meta

from recollect.domain.price import Price, Prices
from recollect.settings.addresses import SQLITE, checked_database, masked

Name = Annotated[str, Meta(pattern=r"^[A-Za-z][A-Za-z0-9_.:-]{0,99}\Z")]
Ratio = Annotated[float, Meta(ge=0, le=1)]
Seconds = Annotated[float, Meta(gt=0, le=3600)]


def default_database() -> str:
    """Name the file in the user's data folder that holds everything unless told otherwise."""
    return f"sqlite:///{platformdirs.user_data_path('recollect', appauthor=False) / 'recollect.db'}"


class Group(msgspec.Struct, frozen=True, kw_only=True):
    """Settings that print without their passwords."""

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}={value!r}" for name, value in self.__rich_repr__())
        return f"{type(self).__name__}({fields})"

    def __rich_repr__(self) -> list[tuple[str, Any]]:
        values = ((name, getattr(self, name)) for name in self.__struct_fields__)
        return [(name, masked(value) if isinstance(value, str) else value) for name, value in values]


class StorageSettings(Group, frozen=True, kw_only=True):
    #: Where everything is kept: `sqlite:///path` or `postgresql://user:password@host/name`.
    database: str = msgspec.field(default_factory=default_database)
    #: When messages become durable: with the whole turn, ahead of the model's reply, or when the client archives them.
    write_policy: Literal["turn", "ahead", "client"] = "turn"
    #: Accept messages while the store is down and say that they are volatile, instead of refusing them.
    volatile_fallback: bool = False
    #: SQLite connections that read beside the one that writes.
    readers: Annotated[int, Meta(ge=1, le=64)] = 4
    #: How long to wait for another process that holds the SQLite file.
    busy_timeout_seconds: Seconds = 5.0
    #: Postgres connections kept open; at most `pool_max`.
    pool_min: Annotated[int, Meta(ge=0, le=1000)] = 1
    #: Postgres connections at the very most.
    pool_max: Annotated[int, Meta(ge=1, le=1000)] = 10
    #: How long a request waits for a Postgres connection before it is told that the store is unavailable.
    pool_timeout_seconds: Seconds = 5.0
    #: How long one Postgres statement may run.
    statement_timeout_seconds: Seconds = 30.0

    @property
    def sqlite_path(self) -> Path | None:
        """Give the SQLite file, or None when the database is Postgres."""
        address = checked_database(self.database)
        return Path(address.removeprefix(SQLITE)) if address.startswith(SQLITE) else None


class ServerSettings(Group, frozen=True, kw_only=True):
    #: The address to listen on; any but a loopback address needs `auth.mode = "token"`.
    host: str = "127.0.0.1"
    #: The port to listen on; 0 takes a free one.
    port: Annotated[int, Meta(ge=0, le=65535)] = 8377
    #: Host names to answer to beside the machine's own, with commas between; a proxy must pass the name on.
    allowed_hosts: str = ""
    #: Origins of other pages that may call, such as `https://app.example.com`, with commas between.
    cors_origins: str = ""
    #: Addresses or networks of proxies whose `X-Forwarded-For` and `-Proto` are believed, with commas between.
    trusted_proxies: str = ""
    #: The longest body that is read; a message of a million characters takes up to 12 MB if all are escaped.
    max_body_bytes: Annotated[int, Meta(ge=1_000, le=1_073_741_824)] = 16_777_216
    #: The longest head of a request: its line and its headers.
    max_header_bytes: Annotated[int, Meta(ge=1_000, le=1_048_576)] = 65_536
    #: How long a connection may take for the head of a request, and a body to begin to flow.
    header_timeout_seconds: Annotated[float, Meta(gt=0, le=3600)] = 10.0
    #: Connections at the same time; one more is refused.
    max_connections: Annotated[int, Meta(ge=1, le=1_000_000)] = 4_000
    #: Requests of one user in a minute on one server; 0 is no limit, unset is none for the local user and else 600.
    requests_per_minute: Annotated[int, Meta(ge=0, le=10_000_000)] | None = None
    #: Streams of one user at the same time on one server; 0 is no limit.
    max_streams: Annotated[int, Meta(ge=0, le=100_000)] = 16
    #: How long a reply goes on being written while nobody follows it; then it is kept as far as it came.
    resume_seconds: Annotated[float, Meta(ge=0, le=3600)] = 5.0


class AuthSettings(Group, frozen=True, kw_only=True):
    #: Who may call: `local` is one user on this machine, `token` asks each caller for an API key or a JWT.
    mode: Literal["local", "token"] = "local"
    #: The one algorithm that a JWT may be signed with; it needs the issuer, the audience, and a key file or address.
    jwt_algorithm: Literal["HS256", "RS256", "ES256", "EdDSA"] | None = None
    #: The issuer that a JWT must name.
    jwt_issuer: str | None = None
    #: The audience that a JWT must name.
    jwt_audience: str | None = None
    #: The file with what verifies a JWT: a public key (PEM), a JSON Web Key Set, or for HS256 a secret of 32 bytes.
    jwt_key_file: str | None = None
    #: The address of the issuer's JSON Web Key Set, instead of a file; https, unless it is on this machine.
    jwt_jwks_url: str | None = None


class HistorySettings(Group, frozen=True, kw_only=True):
    #: How a conversation is kept short: `summarise`, `sliding`, `keep_all`, or the name of a registered strategy.
    strategy: Name = "summarise"
    #: Who writes summaries: `auto` is a model if there is one, and the built-in `extractive` where it fails for long.
    summariser: Literal["auto", "extractive", "model"] = "auto"
    #: When summaries are written: by a job in the background, or inline, before the call that adds messages returns.
    when: Literal["background", "inline"] = "background"
    #: Summarise once more than this many messages are not yet covered.
    threshold: Annotated[int, Meta(ge=2, le=400)] = 10
    #: The newest messages that are never summarised, below `threshold`; what completes a tool pair is kept too.
    keep_verbatim: Annotated[int, Meta(ge=1, le=399)] = 6
    #: Delete the messages that a summary covers.
    delete_originals: bool = False
    #: Fail the call that adds messages when the strategy fails.
    propagate_errors: bool = False


class SessionSettings(Group, frozen=True, kw_only=True):
    #: Mark a conversation inactive and drop it from the cache after this time; nothing stored is deleted.
    timeout_hours: Annotated[float, Meta(gt=0, le=87_600)] = 24.0
    #: Conversations held in the cache; past it the oldest is dropped from the cache.
    max_cached: Annotated[int, Meta(ge=1, le=10_000_000)] = 1000

    @property
    def timeout(self) -> timedelta:
        """Give the timeout as a duration."""
        return timedelta(hours=self.timeout_hours)


class MemorySettings(Group, frozen=True, kw_only=True):
    #: Learn memories and recall them.
    enabled: bool = True
    #: Who reads memories out of messages: `auto` is a model if there is one, and `rules` where it fails for long.
    extractor: Literal["auto", "rules", "model"] = "auto"
    #: Memories learned from one conversation; past it the least important unpinned one is archived.
    max_per_session: Annotated[int, Meta(ge=1, le=100_000)] = 50
    #: Keep an extracted memory only from this importance on.
    extraction_threshold: Ratio = 0.3
    #: Memories recalled for a question.
    context_limit: Annotated[int, Meta(ge=1, le=1000)] = 5
    #: Unimportant memories that nobody uses are archived; what one is worth halves in this time. 0 keeps all.
    half_life_days: Annotated[float, Meta(ge=0, le=36_500)] = 90.0
    #: Memories given when there is no question.
    recent_limit: Annotated[int, Meta(ge=1, le=1000)] = 10

    @property
    def half_life(self) -> timedelta | None:
        """Give the half-life as a duration, or None if nothing fades."""
        return timedelta(days=self.half_life_days) if self.half_life_days else None


class ArchiveSettings(Group, frozen=True, kw_only=True):
    #: A client archives its messages after this many.
    every_messages: Annotated[int, Meta(ge=1, le=10_000)] = 20
    #: A client archives its messages after this time.
    every_minutes: Annotated[float, Meta(gt=0, le=10_080)] = 5.0
    #: Erase conversations without activity for this long, memories excepted; unset keeps them for ever.
    retention_days: Annotated[int, Meta(ge=1, le=36_500)] | None = None


class WindowSettings(Group, frozen=True, kw_only=True):
    #: Messages of a conversation held in the cache, at least `history.threshold` and one turn.
    size: Annotated[int, Meta(ge=4, le=10_000)] = 20


class ModelSettings(Group, frozen=True, kw_only=True):
    #: The server of the model; unset is the provider of `kind`, or the one whose key the environment holds.
    url: str | None = None
    #: The name of the model; unset is a small one of the provider, or the only one of a server.
    name: Annotated[str, Meta(min_length=1, max_length=200)] | None = None
    #: The protocol: `auto` goes by the address, and without one by the key that is found; `none` is no model.
    kind: Literal["auto", "openai", "anthropic", "gemini", "none"] = "auto"
    #: The variable that holds the key; unset is the provider's own, and with another `url` no key is sent.
    key_variable: Annotated[str, Meta(pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,99}\Z")] | None = None
    #: How long to wait for a connection.
    connect_timeout_seconds: Seconds = 5.0
    #: How long to wait for the first token of a reply.
    first_token_timeout_seconds: Seconds = 60.0
    #: How long to wait for the next token of a reply.
    idle_timeout_seconds: Seconds = 30.0
    #: How long a call may take with all its attempts.
    total_timeout_seconds: Seconds = 300.0
    #: The longest response that is read, with all that surrounds the text.
    max_response_bytes: Annotated[int, Meta(ge=1024, le=1_073_741_824)] = 33_554_432
    #: Attempts after the first, made only while no token has come.
    max_retries: Annotated[int, Meta(ge=0, le=10)] = 2
    #: Failures in a row after which the model is not called for a while.
    breaker_failures: Annotated[int, Meta(ge=1, le=1000)] = 5
    #: How long it is not called then, before one call tries again.
    breaker_seconds: Seconds = 30.0
    #: What a million tokens cost by model, such as `{"my-model": {"input": 0.5, "output": 2}}`; unset tells no cost.
    prices: dict[str, Price] = {}
    #: The currency of `prices`.
    currency: Annotated[str, Meta(pattern=r"^[A-Z]{3}\Z")] = "USD"

    @property
    def known_prices(self) -> Prices | None:
        """Give the prices, or None if there are none."""
        return Prices(currency=self.currency, of=self.prices) if self.prices else None


class JobSettings(Group, frozen=True, kw_only=True):
    #: Do jobs inside the process that serves; else only `recollect worker` does them.
    inside: bool = True
    #: Jobs that one worker does at the same time.
    concurrency: Annotated[int, Meta(ge=1, le=100)] = 4
    #: How long work about a conversation waits for more messages; ten times this at the very most.
    debounce_seconds: Annotated[float, Meta(ge=0, le=3600)] = 2.0
    #: How often a worker looks for jobs that another process queued.
    poll_seconds: Seconds = 2.0
    #: How long a worker holds a job without a sign of life, until another may take it.
    lease_seconds: Seconds = 60.0
    #: How long one attempt may take.
    timeout_seconds: Annotated[float, Meta(gt=0, le=86_400)] = 900.0
    #: How long a worker that is stopped waits for its jobs before it gives them back.
    drain_seconds: Annotated[float, Meta(ge=0, le=3600)] = 10.0
    #: Forget jobs that were done this long ago.
    keep_done_days: Annotated[float, Meta(gt=0, le=36_500)] = 7.0


class ContextSettings(Group, frozen=True, kw_only=True):
    #: The text format of recalled memories: `s4` has the header "What You Know About the User", `s1` is plain.
    format: Literal["s4", "s1"] = "s4"
    #: What a model is told first; `{long_term_memory_notes}` stands for the notes.
    system: Annotated[str, Meta(max_length=100_000)] = "You are a helpful assistant with a long memory."
    #: Tokens of a whole prompt, by estimate.
    budget: Annotated[int, Meta(ge=100, le=10_000_000)] = 8_000
    #: Earlier messages recalled for a question.
    passages: Annotated[int, Meta(ge=0, le=200)] = 5


class EmbeddingSettings(Group, frozen=True, kw_only=True):
    #: Who turns texts into vectors: the built-in `static` vectors, an `onnx` model in a folder, or a server by `http`.
    kind: Literal["static", "onnx", "http"] = "static"
    #: The folder of the ONNX model with its tokenizer, as sentence-transformers writes it.
    path: str | None = None
    #: The server that speaks OpenAI's embeddings; unset is OpenAI.
    url: str | None = None
    #: The name of the model: what a server is asked for, and what a folder is known by if its own name may change.
    name: Annotated[str, Meta(min_length=1, max_length=200)] | None = None
    #: The length of a server's vectors; it must be set unless the model is one of OpenAI's.
    dimensions: Annotated[int, Meta(ge=1, le=16_000)] | None = None
    #: The variable that holds the key; unset is OpenAI's own, and with another `url` no key is sent.
    key_variable: Annotated[str, Meta(pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,99}\Z")] | None = None
    #: What the model wants before a question, such as `query: `.
    query_prefix: Annotated[str, Meta(max_length=500)] = ""
    #: What the model wants before a text to be found, such as `passage: `.
    document_prefix: Annotated[str, Meta(max_length=500)] = ""
    #: Texts that a server is given at a time.
    batch: Annotated[int, Meta(ge=1, le=2048)] = 64
    #: How long a server may take for them, with all attempts.
    timeout_seconds: Seconds = 30.0
    #: Attempts after the first.
    max_retries: Annotated[int, Meta(ge=0, le=10)] = 2


class LoggingSettings(Group, frozen=True, kw_only=True):
    #: How lines are written: as JSON objects, as text, or as text only where a person looks at a terminal.
    format: Literal["auto", "json", "text"] = "auto"
    #: The least important lines that are written; `warning` leaves out a line for each request.
    level: Literal["debug", "info", "warning", "error"] = "info"


class TelemetrySettings(Group, frozen=True, kw_only=True):
    #: Tell the OpenTelemetry of the process how long each step of the work took; needs the extra `otel`.
    traces: bool = False


#: The groups by the name that they have in `recollect.toml`.
GROUPS: dict[str, type[Group]] = {
    "storage": StorageSettings,
    "server": ServerSettings,
    "auth": AuthSettings,
    "history": HistorySettings,
    "sessions": SessionSettings,
    "memory": MemorySettings,
    "archive": ArchiveSettings,
    "window": WindowSettings,
    "context": ContextSettings,
    "model": ModelSettings,
    "embedding": EmbeddingSettings,
    "jobs": JobSettings,
    "logging": LoggingSettings,
    "telemetry": TelemetrySettings,
}
