"""Choose what server is asked for embeddings, by the settings."""

from __future__ import annotations

from recollect.errors import SettingsError
from recollect.ports.clock import Clock
from recollect.ports.embedder import Embedder
from recollect.providers.choose import KNOWN, UNNAMED, host_of, key_of
from recollect.settings import Settings

_OPENAI, _OPENAI_KEY, _ = KNOWN["openai"]
_USUAL = "text-embedding-3-small"
#: How long the vectors of known models are.
_DIMENSIONS = {"text-embedding-3-small": 1536, "text-embedding-3-large": 3072, "text-embedding-ada-002": 1536}


def open_http_embedder(settings: Settings, clock: Clock) -> Embedder:
    """Return an embedder that asks the server of the settings, behind a breaker; nothing is called yet.

    Raise `SettingsError` if something lacks.
    """
    from recollect.providers.breaker import Breaker
    from recollect.providers.embeddings import HttpEmbedder, RemoteModel
    from recollect.providers.http_model import Chances
    from recollect.providers.transport import Limits, Transport

    chosen = settings.embedding
    url = chosen.url or _OPENAI
    at_home = host_of(url) == host_of(_OPENAI)
    name = chosen.name or (_USUAL if at_home else UNNAMED)
    dimensions = chosen.dimensions or _DIMENSIONS.get(name)
    if dimensions is None:
        raise SettingsError(f"embedding.dimensions must be set: how long the vectors of {name} are is not known")
    model = RemoteModel(
        name=name,
        dimensions=dimensions,
        query_prefix=chosen.query_prefix,
        document_prefix=chosen.document_prefix,
        batch=chosen.batch,
    )
    limits = Limits(
        total=chosen.timeout_seconds,
        max_retries=chosen.max_retries,
        max_bytes=model.reply_bytes,
        max_event_bytes=model.reply_bytes,
    )
    key = key_of(settings, chosen.key_variable or (_OPENAI_KEY if at_home else None))
    headers = {"accept": "application/json"} | ({"authorization": f"Bearer {key.reveal()}"} if key else {})
    transport = Transport(_completed(url), headers, limits)
    return HttpEmbedder(model, transport, limits, Breaker(model.id, clock), Chances(clock=clock))


def _completed(url: str) -> str:
    """Return the address without what the protocol adds by itself, and with what people leave out."""
    url = url.removesuffix("/embeddings")
    return url if url.partition("//")[2].strip("/").count("/") else f"{url}/v1"
