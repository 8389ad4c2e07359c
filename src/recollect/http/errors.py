"""Errors as RFC 9457 problems; the one table that knows HTTP statuses."""

from __future__ import annotations

import logging
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException

from recollect import errors
from recollect.errors import RecollectError
from recollect.http.openai_errors import openai_error, speaks_openai
from recollect.http.request_id import request_id

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
    errors.RateLimitedError: 429,
    errors.UnauthenticatedError: 401,
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


def status_of_code(code: str) -> int:
    """Return the HTTP status of the error with this code."""
    kinds = [RecollectError]
    for kind in kinds:
        if kind.code == code:
            return status_of(kind)
        kinds += kind.__subclasses__()
    return STATUS[RecollectError]


class Problem(BaseModel):
    """What went wrong, and what to do."""

    type: str = Field("about:blank", description="Always `about:blank`: `code` tells problems apart.")
    title: str
    status: int
    detail: str
    code: str = Field(description="Stable and made for programs, such as `conversation_not_found`.")
    request_id: str = Field(description="Under this id the request is found in the logs.")


#: How each status is documented.
PROBLEMS: dict[int, dict[str, Any]] = {
    status: {
        "description": description,
        "content": {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}},
    }
    for status, description in {
        400: "The request is not for this server, or no HTTP that it understands.",
        401: "Who calls is not known.",
        403: "The caller may not do this.",
        404: "There is no such thing in the caller's scope.",
        409: "The thing is not in the state that the request expects, or the same request still runs.",
        412: "The thing was changed by someone else since.",
        413: "The request is too large.",
        422: "The request cannot be accepted as it is.",
        429: "Too many requests; `Retry-After` says when to come back.",
        500: "The server failed; the request is in its log.",
        502: "The model failed that the server asked; nothing was lost, try again.",
        503: "Something that the server needs is away; nothing was acknowledged, try again.",
    }.items()
}
_HEADERS = {401: {"WWW-Authenticate": "Bearer"}, 429: {"Retry-After": "1"}, 503: {"Retry-After": "1"}}


def problem(status: int, code: str, detail: str) -> Response:
    """Return a problem document."""
    body = Problem(
        type="about:blank",
        title=HTTPStatus(status).phrase,
        status=status,
        detail=detail,
        code=code,
        request_id=request_id.get(),
    )
    headers = _HEADERS.get(status, {})
    return Response(body.model_dump_json(), status_code=status, media_type="application/problem+json", headers=headers)


def answer(request: Request, status: int, code: str, detail: str, param: str | None = None) -> Response:
    """Return an error in the shape that the caller expects."""
    if speaks_openai(request):
        return openai_error(status, code, detail, param=param, headers=_HEADERS.get(status))
    return problem(status, code, detail)


def install(app: FastAPI) -> None:
    """Answer every error with a problem document, or as OpenAI does where its protocol is spoken."""

    @app.exception_handler(RecollectError)
    async def ours(request: Request, error: RecollectError) -> Response:
        status = status_of(type(error))
        if status >= 500:
            _log.error("%s %s failed: %s", request.method, request.url.path, error.code)
        return answer(request, status, error.code, str(error) or (type(error).__doc__ or ""))

    @app.exception_handler(RequestValidationError)
    async def invalid(request: Request, error: RequestValidationError) -> Response:
        # Only places and reasons: what was sent may be anything, and is not echoed.
        found = [f"{'.'.join(str(part) for part in one['loc'])}: {one['msg']}" for one in error.errors()[:5]]
        detail = "; ".join(found).encode("utf-8", "replace").decode()
        param = ".".join(str(part) for part in error.errors()[0]["loc"][1:])
        return answer(request, 422, "invalid_input", detail, param.encode("utf-8", "replace").decode() or None)

    @app.exception_handler(HTTPException)
    async def plain(request: Request, error: HTTPException) -> Response:
        code = "not_found" if error.status_code == 404 else "http_error"
        told = answer(request, error.status_code, code, str(error.detail))
        told.headers.update(error.headers or {})
        return told

    @app.exception_handler(Exception)
    async def unknown(request: Request, error: Exception) -> Response:
        _log.error("%s %s failed: %s", request.method, request.url.path, type(error).__name__, exc_info=error)
        return answer(request, 500, RecollectError.code, "the server failed; look for the request id in its log")
