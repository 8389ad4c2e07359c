"""Check addresses before anything connects to them, and print them without their passwords.

Only the form is checked here; whether something answers is the store's and the cache's to find out.
"""

from __future__ import annotations

import ipaddress
import re
from pathlib import Path
from urllib.parse import SplitResult, parse_qs, urlsplit

from recollect.errors import SettingsError

SQLITE = "sqlite:///"
_SQLITE_SUFFIXES = (".db", ".sqlite", ".sqlite3")
_DATABASE_FIX = "use sqlite:///path/to/file.db or postgresql://user:password@host:5432/name"
_MODEL_FIX = "use http://localhost:11434/v1 or https://host/path, and name the key's variable in model.key_variable"
_JWKS_FIX = "use https://issuer.example/.well-known/jwks.json"
_REDIS_FIX = "use redis://host:6379/0, rediss://host:6379/0 or unix:///path/to/socket"
# Greedy to the last @, because a password may hold an unescaped one.
_PASSWORD = re.compile(r":(?!//).*@", re.DOTALL)
_PASSWORD_PARAMETER = re.compile(r"(\w*(?:password|passwd|secret|token)\w*\s*=)[^&\s]*", re.IGNORECASE)
_HOST_NAME = re.compile(
    r"(?=.{1,253}\Z)[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?)*"
)


def masked(address: str) -> str:
    """Hide the passwords of an address, even of one that is malformed."""
    return _PASSWORD_PARAMETER.sub(r"\1***", _PASSWORD.sub(":***@", address))


def is_loopback(host: str) -> bool:
    """Tell whether only this machine can reach a server on this host."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def checked_host(host: str) -> str:
    """Return a host to listen on, or refuse it."""
    try:
        return str(ipaddress.ip_address(host.removeprefix("[").removesuffix("]")))
    except ValueError:
        if _HOST_NAME.fullmatch(host):
            return host
    raise SettingsError("is no host; use an address such as 127.0.0.1 or a name such as localhost")


def parts_of(listed: str) -> tuple[str, ...]:
    """Return what a setting lists with commas between."""
    return tuple(part for part in (one.strip() for one in listed.split(",")) if part)


def checked_hosts(listed: str) -> str:
    """Return host names to answer to, or refuse them; a name for everything would let any page in by its own name."""
    for host in parts_of(listed):
        try:
            checked_host(host)
        except SettingsError as exc:
            raise SettingsError(f"lists {host!r}, which is no host; use names such as memory.example.com") from exc
    return ",".join(part.lower() for part in parts_of(listed))


def checked_origins(listed: str) -> str:
    """Return origins of pages, or refuse them."""
    fix = "use origins such as https://app.example.com, each page's own and never *"
    for origin in parts_of(listed):
        parts = _split(origin, fix)
        if parts.scheme not in {"http", "https"} or not parts.hostname or origin != f"{parts.scheme}://{parts.netloc}":
            raise SettingsError(f"lists {origin!r}, which is no origin; {fix}")
        if "@" in parts.netloc:
            raise SettingsError(f"lists an origin with a password; {fix}")
    return ",".join(part.lower() for part in parts_of(listed))


def checked_networks(listed: str) -> str:
    """Return addresses and networks, or refuse them."""
    for network in parts_of(listed):
        try:
            ipaddress.ip_network(network)
        except ValueError as exc:
            raise SettingsError(f"lists {network!r}, which is no address or network such as 10.0.0.0/8") from exc
    return ",".join(parts_of(listed))


def checked_database(address: str) -> str:
    """Return the address of a database in its usual form, or refuse it; a plain file name means SQLite."""
    if "://" not in address and (address.startswith(("/", "./", "../", "~")) or address.endswith(_SQLITE_SUFFIXES)):
        address = SQLITE + address
    if address.startswith("sqlite:"):
        return _checked_sqlite(address)
    parts = _split(address, _DATABASE_FIX)
    if parts.scheme not in {"postgres", "postgresql"}:
        raise SettingsError(f"is no database address; {_DATABASE_FIX}")
    if not (parts.hostname or "host" in parse_qs(parts.query)):
        raise SettingsError(f"names no host; {_DATABASE_FIX}")
    if not parts.path.strip("/"):
        raise SettingsError(f"names no database; {_DATABASE_FIX}")
    return address


def checked_redis(address: str) -> str:
    """Return the address of a Redis, or refuse it."""
    parts = _split(address, _REDIS_FIX)
    database = parts.path.removeprefix("/")
    if parts.scheme in {"redis", "rediss"} and parts.hostname and (not database or database.isdecimal()):
        return address
    if parts.scheme == "unix" and database and not parts.hostname:
        return address
    raise SettingsError(f"is no Redis address; {_REDIS_FIX}")


def checked_model(address: str) -> str:
    """Return the address of a model's server, or refuse it; it holds no key, since addresses are logged."""
    parts = _split(address, _MODEL_FIX)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise SettingsError(f"is no address of a model; {_MODEL_FIX}")
    if "@" in parts.netloc or parts.query or parts.fragment:
        raise SettingsError(f"holds more than a server and a path; {_MODEL_FIX}")
    return address.rstrip("/")


def checked_jwks(address: str) -> str:
    """Return the address of an issuer's keys, or refuse it; on the way from another machine nobody may change them."""
    parts = _split(address, _JWKS_FIX)
    is_private = parts.scheme == "http" and is_loopback(parts.hostname or "")
    if not parts.hostname or not (parts.scheme == "https" or is_private):
        raise SettingsError(f"is no safe address of keys; {_JWKS_FIX}")
    if "@" in parts.netloc or parts.fragment:
        raise SettingsError(f"holds a password or a fragment; {_JWKS_FIX}")
    return address


def _checked_sqlite(address: str) -> str:
    path = address.removeprefix(SQLITE)
    if path == address or not path or path.endswith("/"):
        raise SettingsError(f"names no SQLite file; {_DATABASE_FIX}")
    if path.startswith((":memory:", "file:")):
        raise SettingsError(f"names no SQLite file and would lose everything; {_DATABASE_FIX}")
    if "\0" in path:
        raise SettingsError(f"holds a NUL; {_DATABASE_FIX}")
    try:
        return f"{SQLITE}{Path(path).expanduser()}"
    except RuntimeError as exc:
        raise SettingsError(f"needs a home folder that this user does not have; {_DATABASE_FIX}") from exc


def _split(address: str, fix: str) -> SplitResult:
    if any(character.isspace() or not character.isprintable() for character in address):
        raise SettingsError(f"holds a space or an unprintable character; {fix}")
    try:
        parts = urlsplit(address)
        # Postgres accepts a list of hosts, which has no single port.
        if "," not in parts.netloc:
            _ = parts.port
    except ValueError as exc:
        raise SettingsError(f"is malformed; {fix}") from exc
    return parts
