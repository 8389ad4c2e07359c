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
#: - `missing`, `refused`: 404 or 422, in the same bytes as for ids that nobody has;
#: - `same`: what they get for ids that nobody has;
#: - `own`: something new of their own, whatever its id; `end`: their own end;
#: - `admin`: 403, for it is not about users; `open`: an answer, for it is about nobody; `stream`: their own stream.
Outcome = Literal["missing", "refused", "same", "own", "end", "admin", "open", "stream"]


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
    #: Whether its owner finds all that it names.
    found: bool = True

    @property
    def is_writing(self) -> bool:
        """Tell whether it needs the right to write."""
        return not self.operation.startswith("GET ") and self.operation != "POST /api/memories/search"

    def send(self, client: httpx2.Client, ids: Ids, more: Case | None = None) -> httpx2.Response:
        """Call it with these ids, and with what is in another case beside."""
        return client.send(self._request(client, ids, more))

    def status(self, client: httpx2.Client, ids: Ids) -> int:
        """Call it with these ids and return the status; what comes then is not waited for."""
        answer = client.send(self._request(client, ids, None), stream=True)
        answer.close()
        return answer.status_code

    def _request(self, client: httpx2.Client, ids: Ids, more: Case | None) -> httpx2.Request:
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
        return client.build_request(
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
_AT = "2026-05-17T09:00:00Z"
_RECORDS: list[dict[str, Any]] = [
    {"kind": "conversation", "id": "$conversation", "agent": "$agent", "created_at": _AT, "last_activity_at": _AT},
    {"kind": "message", "conversation_id": "$conversation", "seq": 1, "parent_id": None, "created_at": _AT, **_SAID},
    {"kind": "memory", "id": "$memory", "agent": "$agent", "content": "something else", "created_at": _AT}
    | {"conversation_id": "$conversation", "sources": [{"conversation_id": "$conversation", "message_id": "$message"}]},
]
_FILE = "".join(f"{json.dumps(one)}\n" for one in _RECORDS)
_TALK = "/api/conversations/{conversation_id}"
_MEMORY = "/api/memories/{memory_id}"
_OF_SESSION = "/api/sessions/{sessionId}/memories"

_CHAT = (
    Case("GET /api/chat/{message_id}/stream", "missing", ("$running",)),
    Case("GET /api/chat/{message_id}/stream", "missing", ("$running",), headers={"Last-Event-ID": "1"}),
    # A reply that ended is followed for a minute only, so that its owner may come too late.
    Case("GET /api/chat/{message_id}/stream", "missing", ("$answer",), found=False),
    Case("POST /api/chat/stop", "missing", body={"message_id": "$answer"}, found=False),
    Case("POST /api/chat/stop", "missing", body={"message_id": "$running"}),
    Case("POST /api/chat", "missing", body={"conversation_id": "$conversation", "regenerate": "$answer"}),
    Case("POST /api/chat", "missing", body={"conversation_id": "$mine", "regenerate": "$answer"}, found=False),
    Case(
        "POST /api/chat",
        "missing",
        body={"conversation_id": "$mine", "message": "hi", "parent_id": "$message"},
        found=False,
    ),
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
    Case("GET /api/conversations", "same", query={"pinned": "false"}),
    Case("POST /api/conversations", "own", body={"id": "$conversation", "agent": "$agent"}),
    Case("GET /api/conversations/current", "own", query={"agent": "$agent"}),
    Case(f"GET {_TALK}", "missing", ("$conversation",)),
    Case(f"GET {_TALK}/context", "missing", ("$conversation",), query={"query": _WORDS}),
    Case(f"GET {_TALK}/context", "same", ("$mine",), query={"query": _WORDS}, found=False),
    Case(f"GET {_TALK}/context", "missing", ("$conversation",), query={"message_id": "$answer"}),
    Case(f"GET {_TALK}/context", "missing", ("$mine",), query={"message_id": "$answer"}, found=False),
    Case(f"GET {_TALK}/export", "missing", ("$conversation",)),
    Case(f"GET {_TALK}/export", "missing", ("$conversation",), query={"format": "md"}),
    Case(f"GET {_TALK}/messages", "missing", ("$conversation",)),
    Case(f"GET {_TALK}/messages", "missing", ("$conversation",), query={"memories": "true"}),
    Case(f"GET {_TALK}/messages", "missing", ("$conversation",), query={"before": "$my_message"}, found=False),
    Case(f"GET {_TALK}/messages", "missing", ("$mine",), query={"before": "$message"}, found=False),
    Case(f"GET {_TALK}/messages", "missing", ("$mine",), query={"after": "$message"}, found=False),
    Case(f"GET {_TALK}/messages", "missing", ("$mine",), query={"expand": "$summary"}, found=False),
    Case(f"GET {_TALK}/messages", "missing", ("$conversation",), query={"expand": "$summary"}),
    Case(f"POST {_TALK}/messages", "missing", ("$conversation",), body={"messages": [_SAID]}),
    Case(
        f"POST {_TALK}/messages",
        "refused",
        ("$mine",),
        body={"messages": [{**_SAID, "parent_id": "$answer"}]},
        found=False,
    ),
    Case(f"PUT {_TALK}", "missing", ("$conversation",), body={"title": "Other"}),
    Case(f"PATCH {_TALK}", "missing", ("$conversation",), body={"is_archived": True}),
    Case(f"PATCH {_TALK}", "missing", ("$conversation",), body={"title": "Other"}, headers={"If-Match": '"1"'}),
    Case(f"PATCH {_TALK}", "missing", ("$mine",), body={"head_id": "$message"}, found=False),
    Case(f"DELETE {_TALK}/messages/{{message_id}}", "missing", ("$mine", "$message"), found=False),
    Case(f"DELETE {_TALK}/messages/{{message_id}}", "missing", ("$conversation", "$my_message"), found=False),
    Case(f"DELETE {_TALK}/messages/{{message_id}}", "missing", ("$conversation", "$message")),
)

_MEMORIES = (
    Case("GET /api/memories", "same"),
    Case("GET /api/memories", "same", query={"q": "$word"}),
    Case("GET /api/memories", "same", query={"trust": "pending"}),
    Case("GET /api/memories", "same", query={"sort": "importance", "since": "2000-01-01T00:00:00Z"}),
    Case("GET /api/memories", "same", query={"conversation_id": "$conversation", "as_of": "2100-01-01T00:00:00Z"}),
    Case("POST /api/memories/search", "same", body={"query": _WORDS, "messages": True, "limit": 200}),
    Case(
        "POST /api/memories/search",
        "same",
        body={"query": "$word", "messages": True, "filters": {"conversation_id": "$conversation", "trust": None}},
    ),
    Case("POST /api/memories", "own", body={"content": "something of $memory", "memory_type": "preference"}),
    Case(
        "POST /api/memories",
        "missing",
        body={"content": "Tea", "memory_type": "fact", "conversation_id": "$conversation"},
    ),
    *(Case(f"GET {_MEMORY}", "missing", (one,)) for one in ("$memory", "$pending")),
    Case(f"GET {_MEMORY}", "missing", ("$deleted",), found=False),
    Case(f"GET {_MEMORY}/history", "missing", ("$memory",)),
    Case(f"GET {_MEMORY}/history", "missing", ("$deleted",), found=False),
    Case("POST /api/memories/extract", "missing", body={"conversation_id": "$conversation"}),
    Case("POST /api/memories/extract", "missing", query={"wait": "true"}, body={"conversation_id": "$conversation"}),
    Case(
        "POST /api/memories/review",
        "missing",
        body={"ids": ["$my_memory", "$pending"], "decision": "approve"},
        found=False,
    ),
    Case("POST /api/memories/review", "missing", body={"ids": ["$pending"], "decision": "approve"}),
    Case(f"POST {_MEMORY}/review", "missing", ("$pending",), body={"decision": "reject"}),
    Case(f"POST {_MEMORY}/undo", "missing", ("$memory",)),
    # Its owner may take that back for 30 seconds only.
    Case(f"POST {_MEMORY}/undo", "missing", ("$deleted",), found=False),
    Case(f"PUT {_MEMORY}", "missing", ("$memory",), body={"importance": 0.1}),
    Case(f"PATCH {_MEMORY}", "missing", ("$memory",), body={"content": "Other"}, headers={"If-Match": '"1"'}),
    Case(f"PATCH {_MEMORY}", "missing", ("$memory",), body={"is_archived": False}),
    Case(f"DELETE {_MEMORY}", "missing", ("$memory",), headers={"If-Match": '"1"'}),
    Case(f"GET {_OF_SESSION}", "missing", ("$conversation",)),
    Case(f"GET {_OF_SESSION}/{{memoryId}}", "missing", ("$conversation", "$memory")),
    Case(f"GET {_OF_SESSION}/{{memoryId}}", "missing", ("$mine", "$memory"), found=False),
    Case(f"GET {_OF_SESSION}/{{memoryId}}", "missing", ("$conversation", "$my_memory"), found=False),
    Case(f"POST {_OF_SESSION}", "missing", ("$conversation",), body={"content": "Likes tea", "type": "fact"}),
    Case(f"DELETE {_OF_SESSION}/{{memoryId}}", "missing", ("$mine", "$memory"), found=False),
    Case(f"DELETE {_OF_SESSION}/{{memoryId}}", "missing", ("$conversation", "$my_memory"), found=False),
    Case(f"DELETE {_OF_SESSION}/{{memoryId}}", "missing", ("$conversation", "$memory")),
    # Its owner deleted it a line before.
    Case(f"DELETE {_MEMORY}", "missing", ("$memory",), found=False),
    Case(f"DELETE {_MEMORY}", "missing", ("$pending",), query={"now": "true"}),
)

_ASKED = {"messages": [{"role": "user", "content": _WORDS}]}
_IN_CONVERSATION = {"Recollect-Conversation": "$conversation"}

_OPENAI = (
    Case("GET /v1/models", "same"),
    Case("GET /v1/models/{model}", "missing", ("$conversation",), found=False),
    Case("POST /v1/chat/completions", "own", body=_ASKED, headers=_IN_CONVERSATION),
    Case(
        "POST /v1/chat/completions", "own", body={**_ASKED, "stream": True, "user": "alice"}, headers=_IN_CONVERSATION
    ),
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
    Case("GET /api/overview", "same", query={"days": "7"}),
    Case("GET /api/settings", "same"),
    Case("PATCH /api/settings", "own", body={"instructions": "Answer briefly."}),
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
    Case("DELETE /api/me", "end"),
)

CASES: tuple[Case, ...] = (*_CHAT, *_CONVERSATIONS, *_MEMORIES, *_OPENAI, *_REST, *_ENDS)
