"""Conversations and their messages (S4.1, S4.2, S0.1)."""

from __future__ import annotations

from typing import Annotated, Literal
from urllib.parse import quote

from fastapi import Query, Response
from fastapi.responses import StreamingResponse

from recollect.domain.conversation import (
    ConversationCursor,
    ConversationPage,
    ConversationQuery,
    ConversationSearch,
    FoundConversations,
)
from recollect.errors import InvalidInputError
from recollect.http.access import AgentName, NewId, Service, Who, Whose, acting
from recollect.http.cursors import from_cursor, to_cursor
from recollect.http.headers import ExpectedVersion, tagged
from recollect.http.route import api_router
from recollect.http.schemas.context import ContextOut
from recollect.http.schemas.conversation import (
    ConversationChangesIn,
    ConversationIn,
    ConversationOut,
    ConversationPageOut,
    ConversationsAsked,
    ListedConversation,
    OpenedConversation,
)
from recollect.http.schemas.message import PathId, listed, next_of
from recollect.service import exporting

router = api_router("conversations")

#: Messages that come with an opened conversation.
NEWEST = 50
_WRITERS = {"json": exporting.as_json, "jsonl": exporting.as_json_lines, "md": exporting.as_markdown}
_MEDIA = {"json": "application/json", "jsonl": "application/x-ndjson", "md": "text/markdown"}


@router.get("/conversations", summary="List or search conversations, newest activity first")
async def list_conversations(
    recollect: Service, scope: Whose, asked: Annotated[ConversationsAsked, Query()]
) -> ConversationPageOut:
    """Return a page of conversations; with `q`, those whose title or messages hold the words, with a snippet."""
    page: ConversationPage | FoundConversations
    shared = asked.model_dump(include={"limit", "archived", "pinned", "agent"})
    after = from_cursor(asked.cursor, ConversationCursor)
    if asked.q is not None and asked.q.strip():
        search = ConversationSearch(text=asked.q, after=after, **shared)
        page = await recollect.conversations.search(scope, search)
        items = [
            ListedConversation.of(one.conversation, snippet=one.snippet, message_id=one.message_id)
            for one in page.items
        ]
    else:
        page = await recollect.conversations.list(scope, ConversationQuery(after=after, **shared))
        items = [ListedConversation.of(one) for one in page.items]
    return ConversationPageOut(items=items, next=to_cursor(page.next), corrupt=list(page.corrupt))


@router.post("/conversations", status_code=201, summary="Create a conversation")
async def create_conversation(
    body: ConversationIn, recollect: Service, scope: Whose, new_id: NewId, response: Response
) -> ConversationOut:
    """Return the conversation with this id, created if there is none."""
    made = await recollect.conversations.create(
        acting(scope, body.agent), conversation_id=body.id or new_id(), title=body.title, metadata=body.metadata
    )
    response.headers["Location"] = f"/api/conversations/{quote(made.id, safe='')}"
    tagged(response, made.version)
    return ConversationOut.of(made)


@router.get("/conversations/current", summary="Open the current conversation of an agent")
async def current_conversation(
    recollect: Service, who: Who, response: Response, agent: AgentName = None
) -> OpenedConversation:
    """Return the newest conversation that is not archived with its newest messages; it is created if there is none."""
    whose = acting(who.scope, agent)
    if "write" in who.rights:
        current = await recollect.conversations.current(whose)
    else:
        newest = ConversationQuery(limit=1, archived=False, agent=whose.agent)
        found = (await recollect.conversations.list(whose, newest)).items
        if not found:
            who.require("write")
        current = found[0]
    return await open_conversation(current.id, recollect, who.scope, response)


@router.get("/conversations/{conversation_id}", summary="Open a conversation")
async def open_conversation(
    conversation_id: PathId, recollect: Service, scope: Whose, response: Response
) -> OpenedConversation:
    """Return a conversation with its newest messages."""
    found = await recollect.conversations.get(scope, conversation_id)
    page = await recollect.conversations.get_messages(scope, conversation_id, limit=NEWEST)
    tagged(response, found.version)
    return OpenedConversation.of(found, messages=listed(page), next=next_of(page), corrupt=list(page.corrupt))


@router.put("/conversations/{conversation_id}", summary="Change a conversation", operation_id="put_conversation")
@router.patch("/conversations/{conversation_id}", summary="Change a conversation", operation_id="change_conversation")
async def change_conversation(
    conversation_id: PathId,
    body: ConversationChangesIn,
    recollect: Service,
    scope: Whose,
    version: ExpectedVersion,
    response: Response,
) -> ConversationOut:
    """Change what is sent and leave the rest; a title given here is never replaced by an automatic one."""
    changed = await recollect.conversations.update(scope, conversation_id, **body.changes(), expected_version=version)
    tagged(response, changed.version)
    return ConversationOut.of(changed)


@router.delete("/conversations/{conversation_id}", status_code=204, summary="Erase a conversation")
async def delete_conversation(
    conversation_id: PathId,
    recollect: Service,
    scope: Whose,
    memories: Annotated[
        Literal["erase", "keep"], Query(description="What becomes of what was learned here.")
    ] = "erase",
) -> None:
    """Erase a conversation with all that derives from it; memories that have other sources stay and lose this one."""
    await recollect.conversations.delete(scope, conversation_id, memories=memories == "erase")


@router.get("/conversations/{conversation_id}/context", summary="See what a model was given, or would be")
async def preview_context(
    conversation_id: PathId,
    recollect: Service,
    scope: Whose,
    query: Annotated[str, Query(max_length=10_000, description="What the user would say.")] = "",
    budget: Annotated[int | None, Query(ge=0, le=10_000_000, description="Tokens; unset is the setting.")] = None,
    message_id: Annotated[
        str | None,
        Query(min_length=1, max_length=128, description="A reply: give what the model was told for it."),
    ] = None,
) -> ContextOut:
    """Return the prompt for a question, for none, or of an earlier turn, with a reason for all in it and left out."""
    if message_id is not None:
        if query or budget is not None:
            raise InvalidInputError("what was told is what it was: give message_id without query and budget")
        return ContextOut.of(await recollect.contexts.told(scope, conversation_id, message_id))
    return ContextOut.of(await recollect.contexts.preview(scope, conversation_id, query=query, budget=budget))


@router.get(
    "/conversations/{conversation_id}/export",
    summary="Export a conversation",
    response_class=StreamingResponse,
    responses={200: {"description": "The whole conversation.", "content": {kind: {} for kind in _MEDIA.values()}}},
)
async def export_conversation(
    conversation_id: PathId,
    recollect: Service,
    scope: Whose,
    form: Annotated[Literal["json", "jsonl", "md"], Query(alias="format", description="How it is written.")] = "json",
) -> StreamingResponse:
    """Give all branches and summaries: records as a JSON list or as JSON lines, or a page to read."""
    records = await exporting.begun(exporting.export_conversation(recollect.store, scope, conversation_id))
    name = quote(f"{conversation_id}.{form}", safe="")
    return StreamingResponse(
        exporting.in_chunks(_WRITERS[form](records)),
        media_type=_MEDIA[form],
        headers={"Content-Disposition": f"attachment; filename*=UTF-8''{name}"},
    )
