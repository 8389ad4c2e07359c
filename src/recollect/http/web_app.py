"""The files of the web app, as its build left them.

They are read once: all of them together are smaller than one cached conversation window.
"""

from __future__ import annotations

import gzip
import hashlib
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import NamedTuple

from fastapi import FastAPI, Request, Response

#: What a browser asks for first; it names all others.
INDEX = "index.html"
_TYPES = {
    ".css": "text/css",
    ".html": "text/html",
    ".js": "text/javascript",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".webmanifest": "application/manifest+json",
    ".woff2": "font/woff2",
}
#: What is compressed already.
_DENSE = (".png", ".woff2")
#: The build writes a digest of the content into the names of these files.
_NAMED_BY_CONTENT = "assets/"
_FOREVER = "public, max-age=31536000, immutable"
_ASK_AGAIN = "no-cache"


class _File(NamedTuple):
    content: bytes
    #: Empty where compressing does not help.
    compressed: bytes
    kind: str
    etag: str
    keeping: str


def add_web_app(app: FastAPI) -> None:
    """Answer the addresses of the web app, or say at `/` how to build it."""
    package = files("recollect.http")
    built = _read(package.joinpath("static"))
    if INDEX not in built:
        built = {INDEX: _file("unbuilt.html", package.joinpath("pages", "unbuilt.html").read_bytes())}
    for name, file in built.items():
        _answer(app, "/" if name == INDEX else f"/{name}", file)


def add_page(app: FastAPI, path: str, name: str) -> None:
    """Answer an address with one of the plain pages."""
    _answer(app, path, _file(name, files("recollect.http").joinpath("pages", name).read_bytes()))


def _read(folder: Traversable, prefix: str = "") -> dict[str, _File]:
    found: dict[str, _File] = {}
    if not folder.is_dir():
        return found
    for one in folder.iterdir():
        name = prefix + one.name
        if one.is_dir():
            found |= _read(one, f"{name}/")
        elif _ending(name) in _TYPES:
            found[name] = _file(name, one.read_bytes())
    return found


def _file(name: str, content: bytes) -> _File:
    is_dense = _ending(name) in _DENSE
    return _File(
        content=content,
        # The time of compressing is left out, so that every process answers with the same bytes.
        compressed=b"" if is_dense else gzip.compress(content, mtime=0),
        kind=_TYPES[_ending(name)],
        etag=f'"{hashlib.blake2b(content, digest_size=12).hexdigest()}"',
        keeping=_FOREVER if name.startswith(_NAMED_BY_CONTENT) else _ASK_AGAIN,
    )


def _answer(app: FastAPI, path: str, file: _File) -> None:
    @app.api_route(path, methods=["GET", "HEAD"], include_in_schema=False, name=path)
    async def get(request: Request) -> Response:
        headers = {"ETag": file.etag, "Cache-Control": file.keeping, "Vary": "Accept-Encoding"}
        if request.headers.get("if-none-match") == file.etag:
            return Response(status_code=304, headers=headers)
        if file.compressed and "gzip" in request.headers.get("accept-encoding", ""):
            return Response(file.compressed, media_type=file.kind, headers=headers | {"Content-Encoding": "gzip"})
        return Response(file.content, media_type=file.kind, headers=headers)


def _ending(name: str) -> str:
    return name[name.rfind(".") :] if "." in name else ""
