"""What requests and answers say in headers: versions for If-Match, and who asks for which agent."""

from __future__ import annotations

import re
from typing import Annotated

from fastapi import Depends, Header, Response

from recollect.errors import StaleVersionError

_VERSION = re.compile(r'(?:W/)?"(\d{1,18})"\Z')


def tagged(response: Response, version: int) -> None:
    """Say in the answer which version of a thing it is."""
    response.headers["ETag"] = f'"{version}"'


async def expected_version(if_match: Annotated[str | None, Header()] = None) -> int | None:
    """Return the version that the caller expects, or None if any will do; what is no version of ours is stale."""
    if if_match is None or if_match.strip() == "*":
        return None
    found = _VERSION.match(if_match.strip())
    if found is None:
        raise StaleVersionError('If-Match must be an ETag that we gave, such as "3"; read it again, then retry')
    return int(found[1])


#: The version in If-Match; None if the caller did not say.
ExpectedVersion = Annotated[int | None, Depends(expected_version)]
