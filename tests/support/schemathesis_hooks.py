"""What schemathesis cannot know of our API: how JSON lines are sent."""

from __future__ import annotations

import json
from typing import Any

import schemathesis


@schemathesis.serializer("application/x-ndjson")
def send_lines(context: schemathesis.SerializationContext, value: Any) -> Any:
    """Return text as it is, and anything else as one line of JSON."""
    return value.encode("utf-8", "surrogatepass") if isinstance(value, str) else json.dumps(value).encode()
