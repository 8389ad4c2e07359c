"""Errors as OpenAI's clients read them, for the routes that speak their protocol."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fastapi import Request, Response
from pydantic import BaseModel, Field

#: Where OpenAI's protocol is spoken.
PREFIX = "/v1"
_TYPES = {401: "authentication_error", 403: "permission_error", 404: "not_found_error", 429: "rate_limit_error"}
_JSON = "application/json"
#: Statuses that are also given before it is known which route is asked for.
_EARLY = (400, 403, 413, 500)


class OpenAIError(BaseModel):
    """What went wrong."""

    message: str
    type: str = Field(description="Such as `invalid_request_error`, `authentication_error` or `server_error`.")
    param: str | None = Field(description="The part of the request that is wrong, if it is known.")
    code: str = Field(description="Stable and made for programs, such as `conversation_not_found`.")


class OpenAIFailure(BaseModel):
    """An error as OpenAI's clients read it."""

    error: OpenAIError


def speaks_openai(request: Request) -> bool:
    """Tell whether the caller expects OpenAI's protocol."""
    return request.url.path.startswith(f"{PREFIX}/")


def failure(status: int, code: str, detail: str, param: str | None = None) -> OpenAIFailure:
    """Return what is told of an error."""
    usual = "server_error" if status >= 500 else "invalid_request_error"
    return OpenAIFailure(error=OpenAIError(message=detail, type=_TYPES.get(status, usual), param=param, code=code))


def openai_error(
    status: int, code: str, detail: str, *, param: str | None = None, headers: Mapping[str, str] | None = None
) -> Response:
    """Return an error in OpenAI's shape."""
    body = failure(status, code, detail, param).model_dump_json()
    return Response(body, status_code=status, media_type=_JSON, headers=headers)


def documented(problems: Mapping[int, Mapping[str, Any]], *statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return how these statuses are documented for a route of OpenAI's protocol."""
    return {
        status: {
            "model": OpenAIFailure,
            "description": problems[status]["description"],
            "content": dict(problems[status]["content"]) if status in _EARLY else {},
        }
        for status in statuses
    }
