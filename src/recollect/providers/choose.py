"""Choose a model by the settings: what is said there, or else what a key in the environment points to."""

from __future__ import annotations

import logging
from datetime import timedelta
from typing import TYPE_CHECKING, Literal
from urllib.parse import urlsplit

import msgspec

from recollect.errors import SettingsError
from recollect.ports.chat_model import ChatModel
from recollect.ports.clock import Clock
from recollect.settings import Secret, Settings

if TYPE_CHECKING:
    # The HTTP client is imported when there is a model to call.
    from recollect.providers.dialect import Dialect
    from recollect.providers.http_model import Chances, HttpChatModel
    from recollect.providers.transport import Limits

Kind = Literal["openai", "anthropic", "gemini"]

_log = logging.getLogger(__name__)
#: The address, the variable of the key, and a small model, of each kind; keys are looked for in this order.
KNOWN: dict[Kind, tuple[str, str, str]] = {
    "openai": ("https://api.openai.com/v1", "OPENAI_API_KEY", "gpt-5.4-mini"),
    "anthropic": ("https://api.anthropic.com", "ANTHROPIC_API_KEY", "claude-haiku-4-5"),
    "gemini": ("https://generativelanguage.googleapis.com", "GEMINI_API_KEY", "gemini-flash-latest"),
}
#: What OpenTelemetry calls who speaks each protocol.
_PROVIDERS: dict[Kind, str] = {"openai": "openai", "anthropic": "anthropic", "gemini": "gcp.gemini"}
#: What a server of one model is asked for; others say that there is no such model.
UNNAMED = "default"


class Choice(msgspec.Struct, frozen=True, kw_only=True):
    """Which model to call, and how."""

    kind: Kind
    url: str
    name: str
    key: Secret | None


def choose(settings: Settings) -> Choice | None:
    """Return the model that the settings mean, or None if they mean none; raise `SettingsError` if something lacks.

    A provider's own key is sent to that provider alone; for any other address the settings name the key's variable.
    """
    model = settings.model
    kind = _kind(settings)
    if kind is None:
        return None
    url = KNOWN[kind][0] if model.url is None else _completed(model.url, kind)
    # By the host and not by the kind: Gemini also speaks chat completions.
    home = next((known for known in KNOWN.values() if host_of(known[0]) == host_of(url)), None)
    variable, name = home[1:] if home else (None, UNNAMED)
    return Choice(kind=kind, url=url, name=model.name or name, key=key_of(settings, model.key_variable or variable))


def open_model(settings: Settings, clock: Clock) -> ChatModel | None:
    """Return the model that the settings mean, behind a breaker; nothing is called yet.

    Return None, with one warning, if something lacks: a memory works without a model.
    """
    try:
        choice = choose(settings)
    except SettingsError as exc:
        _log.warning("there is no model: %s", exc)
        return None
    if choice is None:
        return None
    from recollect.providers.breaker import Breaker, BreakerLimits
    from recollect.providers.http_model import Chances
    from recollect.providers.resilient import ResilientModel
    from recollect.providers.transport import Limits

    model = settings.model
    limits = Limits(
        connect=model.connect_timeout_seconds,
        first_token=model.first_token_timeout_seconds,
        idle=model.idle_timeout_seconds,
        total=model.total_timeout_seconds,
        max_bytes=model.max_response_bytes,
        max_retries=model.max_retries,
    )
    pause = BreakerLimits(failures=model.breaker_failures, pause=timedelta(seconds=model.breaker_seconds))
    return ResilientModel(model_of(choice, limits, Chances(clock=clock)), Breaker(choice.name, clock, pause))


def provider_of(settings: Settings) -> str | None:
    """Return what OpenTelemetry calls the provider, by the protocol that it speaks; None where there is no model."""
    try:
        kind = _kind(settings)
    except SettingsError:
        return None
    return None if kind is None else _PROVIDERS[kind]


def model_of(choice: Choice, limits: Limits, chances: Chances | None = None) -> HttpChatModel:
    """Return the model alone, without a breaker."""
    from recollect.providers.http_model import Chances, HttpChatModel
    from recollect.providers.transport import Transport

    dialect = _dialect(choice)
    headers = dialect.headers(choice.key.reveal() if choice.key else None)
    return HttpChatModel(choice.name, dialect, Transport(choice.url, headers, limits), limits, chances or Chances())


def _dialect(choice: Choice) -> Dialect:
    match choice.kind:
        case "openai":
            from recollect.providers.openai import OpenAIDialect

            return OpenAIDialect(choice.name, newest=host_of(choice.url) == host_of(KNOWN["openai"][0]))
        case "anthropic":
            from recollect.providers.anthropic import AnthropicDialect

            return AnthropicDialect(choice.name)
        case "gemini":
            from recollect.providers.gemini import GeminiDialect

            return GeminiDialect(choice.name)


def _kind(settings: Settings) -> Kind | None:
    model = settings.model
    if model.kind == "none":
        return None
    if model.kind != "auto":
        return model.kind
    if model.url is None:
        found = next((kind for kind, (_, variable, _) in KNOWN.items() if variable in settings.keys), None)
        if found is None and (model.name is not None or model.key_variable is not None):
            raise SettingsError("model.name or model.key_variable is set, but no provider; set model.kind or model.url")
        return found
    if host_of(model.url) == host_of(KNOWN["gemini"][0]) and not model.url.endswith("/openai"):
        return "gemini"
    return "anthropic" if host_of(model.url) == host_of(KNOWN["anthropic"][0]) else "openai"


def key_of(settings: Settings, variable: str | None) -> Secret | None:
    """Return the key that a variable holds; raise `SettingsError` if it holds none."""
    if variable is None:
        return None
    key = settings.keys.get(variable)
    if key is None:
        raise SettingsError(f"{variable} is not set; it must hold the key of the model's provider")
    if not (key.reveal().isascii() and key.reveal().isprintable() and " " not in key.reveal()):
        raise SettingsError(f"{variable} holds characters that no key has")
    return key


def _completed(url: str, kind: Kind) -> str:
    """Return the address without what the protocol adds by itself, and with what people leave out."""
    if kind != "openai":
        return url.removesuffix("/v1beta").removesuffix("/v1")
    url = url.removesuffix("/chat/completions")
    return url if urlsplit(url).path.strip("/") else f"{url}/v1"


def host_of(url: str) -> str | None:
    """Return the host of an address."""
    return urlsplit(url).hostname
