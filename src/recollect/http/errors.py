"""Errors as RFC 9457 problems; the one table that knows HTTP statuses."""

from __future__ import annotations

import logging
from http import HTTPStatus

import msgspec
from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from recollect import errors
from recollect.errors import RecollectError

_log = logging.getLogger(__name__)

#: The status of each error; a class that is not listed has that of its nearest listed parent.
STATUS: dict[type[RecollectError], int] = {
    errors.RecollectError: 500,
    errors.NotFoundError: 404,
    errors.InvalidInputError: 422,
    errors.ConflictError: 409,
    errors.StaleVersionError: 412,
    errors.IdempotencyMismatchError: 422,
    errors.LimitExceededError: 413,
    errors.PermissionDeniedError: 403,
    errors.StorageError: 500,
    errors.StorageUnavailableError: 503,
    errors.StorageLockedError: 503,
    errors.MigrationRequiredError: 503,
    errors.CacheError: 500,
    errors.ProviderError: 502,
    errors.ProviderUnavailableError: 503,
    errors.MissingExtraError: 500,
    errors.SettingsError: 500,
}


def status_of(kind: type[RecollectError]) -> int:
    """Return the HTTP status of an error class."""
    return next(STATUS[parent] for parent in kind.__mro__ if parent in STATUS)


def problem(status: int, code: str, detail: str) -> Response:
    """Return a problem document."""
    body = {
        "type": "about:blank",
        "title": HTTPStatus(status).phrase,
        "status": status,
        "detail": detail,
        "code": code,
    }
    headers = {"Retry-After": "1"} if status == 503 else {}
    return Response(
        msgspec.json.encode(body), status_code=status, media_type="application/problem+json", headers=headers
    )


def install(app: FastAPI) -> None:
    """Answer every error with a problem document."""

    @app.exception_handler(RecollectError)
    async def ours(request: Request, error: RecollectError) -> Response:
        status = status_of(type(error))
        if status >= 500:
            _log.error("%s %s failed: %s", request.method, request.url.path, error.code)
        return problem(status, error.code, str(error) or (type(error).__doc__ or ""))

    @app.exception_handler(RequestValidationError)
    async def invalid(request: Request, error: RequestValidationError) -> Response:
        # Only places and reasons: what was sent may be anything, and is not echoed.
        found = [f"{'.'.join(str(part) for part in one['loc'])}: {one['msg']}" for one in error.errors()[:5]]
        detail = "; ".join(found).encode("utf-8", "replace").decode()
        return problem(422, "invalid_input", detail)

    @app.exception_handler(HTTPException)
    async def plain(request: Request, error: HTTPException) -> Response:
        code = "not_found" if error.status_code == 404 else "http_error"
        return problem(error.status_code, code, str(error.detail))
