"""How each operation of the API is called so that it touches things of another user.

A case names things by `$name`; the tests put the ids of another user in their places, or ids that nobody has.
"""

from __future__ import annotations

import json
from typing import Any, Literal
from urllib.parse import quote

import httpx2
import msgspec

Ids = dict[str, str]

#: What somebody else must get:
#: `missing`: 404, in the same bytes as for ids that nobody has; `same`: what they get for ids that nobody has;
#: `own`: something new of their own, under whatever ids; `admin`: 403; `open`: it is about no user; `stream`: a stream.
Outcome = Literal["missing", "same", "own", "admin", "open", "stream"]


class Case(msgspec.Struct, frozen=True):
    """One way to call an operation."""

    #: Its method and its path, as the OpenAPI document names them.
    operation: str
    outcome: Outcome
    #: The values of the path, in order.
    at: tuple[str, ...] = ()
    query: dict[str, str] = {}
    #: The JSON body; text is sent as it is.
    body: Any = None
    headers: dict[str, str] = {}

    @property
    def is_writing(self) -> bool:
        """Tell whether it needs the right to write."""
        return not self.operation.startswith("GET ") and self.operation != "POST /api/memories/search"

    @property
    def is_foreign_alone(self) -> bool:
        """Tell whether all that it names is somebody else's, so that its owner finds all of it."""
        return "$m" not in f"{self.at}{self.query}{self.body}".replace("$message", "").replace("$memory", "")

    def send(self, client: httpx2.Client, ids: Ids, more: Case | None = None) -> httpx2.Response:
        """Call it with these ids, and with what is in another case beside."""
        method, path = self.operation.split(" ")
        for value in self.at:
            name = path[path.index("{") : path.index("}") + 1]
            path = path.replace(name, quote(filled(value, ids), safe=""))
        beside = more or Case("", "open")
        body = filled(self.body, ids)
        if isinstance(body, dict) and isinstance(beside.body, dict):
            body = beside.body | body
        content = body.encode() if isinstance(body, str) else None if body is None else json.dumps(body).encode()
        headers = {"Content-Type": "application/json"} if content is not None else {}
        return client.request(
            method,
            path,
            params=beside.query | filled(self.query, ids),
            content=content,
            headers=headers | beside.headers | filled(self.headers, ids),
        )


def filled(value: Any, ids: Ids) -> Any:
    """Return the value with the ids in the places of their names."""
    if isinstance(value, dict):
        return {key: filled(one, ids) for key, one in value.items()}
    if isinstance(value, list):
        return [filled(one, ids) for one in value]
    if isinstance(value, str):
        for name in sorted(ids, key=len, reverse=True):
            value = value.replace(f"${name}", ids[name])
    return value


_SAID = {"id": "$message", "role": "user", "content": "something else"}
_SEED = {"id": "$message", "text": "something else", "sender": "user", "timestamp": "2026-05-17T09:30:00Z"}
_WORDS = "what is it about $word?"
_SSE = {"Accept": "text/event-stream"}
_FILE = "\n".join(
    (
        '{"kind":"conversation","id":"$conversation","agent":"assistant","created_at":"2026-05-17T09:00:00Z",'
        '"last_activity_at":"2026-05-17T09:01:00Z"}',
        '{"kind":"message","conversation_id":"$conversation","id":"$message","seq":1,"parent_id":null,"role":"user",'
        '"content":"something else","created_at":"2026-05-17T09:01:00Z"}',
        '{"kind":"memory","id":"$memory","agent":"assistant","content":"something else",'
        '"created_at":"2026-05-17T09:01:00Z","conversation_id":"$conversation",'
        '"sources":[{"conversation_id":"$conversation","message_id":"$message"}]}',
        "",
    )
)
_TALK = "/api/conversations/{conversation_id}"
_MEMORY = "/api/memories/{memory_id}"
_OF_SESSION = "/api/sessions/{sessionId}/memories"

_CHAT = (
    Case("GET /api/chat/{message_id}/stream", "missing", ("$running",)),
    Case("GET /api/chat/{message_id}/stream", "missing", ("$answer",)),
    Case("GET /api/chat/{message_id}/stream", "missing", ("$message",), headers={"Last-Event-ID": "1"}),
    Case("POST /api/chat/stop", "missing", body={"message_id": "$answer"}),
    Case("POST /api/chat/stop", "missing", body={"message_id": "$running"}),
    Case("POST /api/chat", "missing", body={"conversation_id": "$conversation", "regenerate": "$answer"}),
    Case("POST /api/chat", "missing", body={"conversation_id": "$mine", "regenerate": "$answer"}),
    Case("POST /api/chat", "missing", body={"conversation_id": "$mine", "message": "hi", "parent_id": "$message"}),
    Case("POST /api/chat", "own", body={"conversation_id": "$conversation", "message": _WORDS}),
    Case("POST /api/chat", "own", body={"session_id": "$conversation", "new_messages": [_SEED]}),
    Case("POST /api/chat", "own", body={"message": _WORDS, "agent_id": "$agent"}, headers=_SSE),
    Case("POST /api/chat", "own", body={"message": _WORDS, "temporary": True, "conversation_id": "$conversation"}),
    Case("GET /api/sessions/{session_id}/context", "missing", ("$conversation",)),
    Case("POST /api/chat/session/archive_token", "own", body={"session_id": "$conversation"}),
    Case(
        "POST /api/chat/session/archive_messages",
        "own",
        body={"session_id": "$conversation", "messages_batch": [_SEED, {"text": "and more", "sender": "ai"}]},
    ),
)

_CONVERSATIONS = (
    Case("GET /api/conversations", "same"),
    Case("GET /api/conversations", "same", query={"q": "$word"}),
    Case("GET /api/conversations", "same", query={"q": "$conversation"}),
    Case("GET /api/conversations", "same", query={"agent": "$agent", "limit": "1"}),
    Case("POST /api/conversations", "own", body={"id": "$conversation", "agent": "$agent"}),
    Case("GET /api/conversations/current", "own", query={"agent": "$agent"}),
    Case(f"GET {_TALK}", "missing", ("$conversation",)),
    Case(f"GET {_TALK}/context", "missing", ("$conversation",), query={"query": _WORDS}),
    Case(f"GET {_TALK}/context", "same", ("$mine",), query={"query": _WORDS}),
    Case(f"GET {_TALK}/export", "missing", ("$conversation",)),
    Case(f"GET {_TALK}/export", "missing", ("$conversation",), query={"format": "md"}),
    Case(f"GET {_TALK}/messages", "missing", ("$conversation",)),
    Case(f"GET {_TALK}/messages", "missing", ("$conversation",), query={"before": "$my_message"}),
    Case(f"GET {_TALK}/messages", "missing", ("$mine",), query={"before": "$message"}),
    Case(f"GET {_TALK}/messages", "missing", ("$mine",), query={"after": "$message"}),
    Case(f"GET {_TALK}/messages", "missing", ("$mine",), query={"expand": "$summary"}),
    Case(f"GET {_TALK}/messages", "missing", ("$conversation",), query={"expand": "$summary"}),
    Case(f"POST {_TALK}/messages", "missing", ("$conversation",), body={"messages": [_SAID]}),
    Case(f"POST {_TALK}/messages", "missing", ("$mine",), body={"messages": [{**_SAID, "parent_id": "$answer"}]}),
    Case(f"PUT {_TALK}", "missing", ("$conversation",), body={"title": "Other"}),
    Case(f"PATCH {_TALK}", "missing", ("$conversation",), body={"is_archived": True}),
    Case(f"PATCH {_TALK}", "missing", ("$conversation",), body={"title": "Other"}, headers={"If-Match": '"1"'}),
    Case(f"PATCH {_TALK}", "missing", ("$mine",), body={"head_id": "$message"}),
    Case(f"DELETE {_TALK}/messages/{{message_id}}", "missing", ("$mine", "$message")),
    Case(f"DELETE {_TALK}/messages/{{message_id}}", "missing", ("$conversation", "$my_message")),
    Case(f"DELETE {_TALK}/messages/{{message_id}}", "missing", ("$conversation", "$message")),
)

_MEMORIES = (
    Case("GET /api/memories", "same"),
    Case("GET /api/memories", "same", query={"q": "$word"}),
    Case("GET /api/memories", "same", query={"trust": "pending"}),
    Case("GET /api/memories", "same", query={"conversation_id": "$conversation", "as_of": "2100-01-01T00:00:00Z"}),
    Case("POST /api/memories/search", "same", body={"query": _WORDS, "messages": True, "limit": 200}),
    Case(
        "POST /api/memories/search",
        "same",
        body={"query": "$word", "messages": True, "filters": {"conversation_id": "$conversation", "trust": None}},
    ),
    Case("POST /api/memories", "own", body={"content": "Prefers green tea", "memory_type": "preference"}),
    Case("POST /api/memories", "missing", body={"content": "Tea", "memory_type": "fact", "conversation_id": "$conversation"}),
    *(Case(f"GET {_MEMORY}", "missing", (one,)) for one in ("$memory", "$pending", "$deleted")),
    *(Case(f"GET {_MEMORY}/history", "missing", (one,)) for one in ("$memory", "$deleted")),
    Case("POST /api/memories/extract", "missing", body={"conversation_id": "$conversation"}),
    Case("POST /api/memories/extract", "missing", query={"wait": "true"}, body={"conversation_id": "$conversation"}),
    Case("POST /api/memories/review", "missing", body={"ids": ["$my_memory", "$pending"], "decision": "approve"}),
    Case("POST /api/memories/review", "missing", body={"ids": ["$pending"], "decision": "approve"}),
    Case(f"POST {_MEMORY}/review", "missing", ("$pending",), body={"decision": "reject"}),
    Case(f"POST {_MEMORY}/undo", "missing", ("$memory",)),
    Case(f"POST {_MEMORY}/undo", "missing", ("$deleted",)),
    Case(f"PUT {_MEMORY}", "missing", ("$memory",), body={"importance": 0.1}),
    Case(f"PATCH {_MEMORY}", "missing", ("$memory",), body={"content": "Other"}, headers={"If-Match": '"1"'}),
    Case(f"PATCH {_MEMORY}", "missing", ("$memory",), body={"is_archived": False}),
    Case(f"GET {_OF_SESSION}", "missing", ("$conversation",)),
    Case(f"GET {_OF_SESSION}/{{memoryId}}", "missing", ("$conversation", "$memory")),
    Case(f"GET {_OF_SESSION}/{{memoryId}}", "missing", ("$mine", "$memory")),
    Case(f"GET {_OF_SESSION}/{{memoryId}}", "missing", ("$conversation", "$my_memory")),
    Case(f"POST {_OF_SESSION}", "missing", ("$conversation",), body={"content": "Likes tea", "type": "fact"}),
    Case(f"DELETE {_OF_SESSION}/{{memoryId}}", "missing", ("$mine", "$memory")),
    Case(f"DELETE {_OF_SESSION}/{{memoryId}}", "missing", ("$conversation", "$my_memory")),
    Case(f"DELETE {_OF_SESSION}/{{memoryId}}", "missing", ("$conversation", "$memory")),
    Case(f"DELETE {_MEMORY}", "missing", ("$memory",), headers={"If-Match": '"1"'}),
    Case(f"DELETE {_MEMORY}", "missing", ("$memory",)),
    Case(f"DELETE {_MEMORY}", "missing", ("$pending",), query={"now": "true"}),
)

_REST = (
    Case("GET /api/notes", "same", query={"agent": "$agent"}),
    Case("GET /api/notes/history", "same", query={"agent": "$agent"}),
    Case("GET /api/notes/tool", "same"),
    Case("POST /api/notes/operations", "own", body={"operation": "append", "content": "mine", "agent": "$agent"}),
    Case("POST /api/notes/undo", "own", query={"agent": "$agent"}),
    Case("GET /api/jobs", "same"),
    Case("GET /api/jobs", "same", query={"conversation_id": "$conversation", "state": "dead"}),
    Case("GET /api/jobs/{job_id}", "missing", ("$job",)),
    Case("POST /api/jobs/{job_id}/retry", "missing", ("$job",)),
    Case("GET /api/usage", "same"),
    Case("GET /api/usage", "same", query={"conversation_id": "$conversation"}),
    Case("GET /api/settings", "same"),
    Case("GET /api/session", "same"),
    Case("POST /api/session", "open", body={"token": "$word"}),
    Case("DELETE /api/session", "open"),
    Case("GET /api/events", "stream"),
    Case("GET /healthz", "open"),
    Case("GET /readyz", "open"),
    # Whoever calls from this machine may read the counts; what a proxy passed on comes from another one.
    Case("GET /metrics", "admin", headers={"X-Forwarded-For": "203.0.113.9"}),
    Case("GET /api/me/export", "own"),
    Case("POST /api/import", "own", body=_FILE),
    Case("POST /api/import", "own", query={"trusted": "true"}, body=_FILE),
)

#: What ends a conversation or a user comes last, so that the owner can do all of it in this order.
_ENDS = (
    Case("POST /api/chat/clear", "missing", body={"session_id": "$conversation", "memories": "erase"}),
    Case(f"DELETE {_TALK}", "missing", ("$conversation",)),
    Case("DELETE /api/me", "own"),
)

CASES: tuple[Case, ...] = (*_CHAT, *_CONVERSATIONS, *_MEMORIES, *_REST, *_ENDS)
