"""A server with several tenants, on which one user has one of everything and others have little."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx2
import jwt
from msgspec.structs import replace

from recollect.cli.keys import open_keys
from recollect.domain.identity import NewKey
from recollect.domain.job import ClaimRequest, JobFailure, NewJob
from recollect.domain.memory import NewMemory
from recollect.domain.scope import Scope
from recollect.domain.summary import NewSummary
from recollect.ports.store import Store
from recollect.settings import Settings
from recollect.testing.models import Fault, ScriptedModelServer, ScriptedReply
from recollect.testing.store.dump import dump
from tests.support.chat_client import Event, said, streaming
from tests.support.played_model import ALONE, played_model
from tests.support.server_process import Served, served
from tests.support.stored import with_store
from tests.support.tenant_cases import Ids

#: What others may ask about, and a word that stands beside it wherever the owner wrote it, and nowhere else.
WORD, CANARY = "zephyrquartz", "quillonmarsh"
TEXT = f"{WORD} {CANARY}"
OWNER = Scope("t1", "alice", "guide")
ISSUER, AUDIENCE, SECRET = "https://issuer.example", "recollect", "a secret of more than thirty-two bytes"
#: Where a server finds what tests put in its place.
ROOT = Path(__file__).parents[2]


class World:
    """The server, whose things are what, and how to call as anybody."""

    def __init__(self, server: Served, database: str, model: ScriptedModelServer) -> None:
        self.server = server
        self.model = model
        self._database = database
        self._opened = ExitStack()
        self.keys = asyncio.run(_keys(Settings.load({"storage.database": database}, {})))
        self.owner = self.caller(bearer(self.keys["owner"]))
        #: The ids of everything that the owner has, by kind.
        self.ids: Ids = {}
        #: The same kinds with ids that nobody has.
        self.nothing: Ids = {}
        self.archive_token = ""
        #: A reply that is being written; its connection is closed when nobody holds this any more.
        self.reply: Iterator[Event] = iter(())

    def caller(self, headers: dict[str, str]) -> httpx2.Client:
        """Return a client that says this of itself with every request."""
        # The id of a request is in every answer, and would tell answers apart that are the same.
        headers = {"X-Request-Id": "matrix", **headers}
        client = httpx2.Client(base_url=self.server.client.base_url, headers=headers, timeout=30)
        return self._opened.enter_context(client)

    def person(self, user: str, tenant: str = OWNER.tenant) -> httpx2.Client:
        """Return a client of a new user, who has a conversation with a message and a memory."""
        client = self.caller(bearer(self.new_key(NewKey(name="other", tenant=tenant, user=user))))
        furnish_other(client)
        return client

    def new_key(self, new: NewKey) -> str:
        """Return the text of a new key."""

        async def create() -> str:
            async with open_keys(Settings.load({"storage.database": self._database}, {})) as keys:
                return (await keys.create(new)).text

        return asyncio.run(create())

    def everything(self) -> dict[str, Any]:
        """Return all that the store has of the owner, but for when a key was last used."""
        found = with_store(self._database, lambda store: dump(store, OWNER))
        del found["keys"]
        return found

    def stored(self, work: Any) -> Any:
        """Return what the work returns on the store."""
        return with_store(self._database, work)

    def hold(self, opened: Any) -> Any:
        """Enter what stays open as long as the world."""
        return self._opened.enter_context(opened)

    def close(self) -> None:
        """Let go of all connections."""
        self._opened.close()


@contextmanager
def tenant_world(database: str, folder: Path, *, program: str = "recollect") -> Iterator[World]:
    """Serve the database to several tenants; the owner's reply is being written all the time."""
    secret = folder / "secret"
    secret.write_text(SECRET)
    with played_model() as model:
        environ = {
            **ALONE,
            "RECOLLECT_MODEL_URL": model.url,
            "PYTHONPATH": str(ROOT),
            "RECOLLECT_AUTH_MODE": "token",
            "RECOLLECT_AUTH_JWT_ALGORITHM": "HS256",
            "RECOLLECT_AUTH_JWT_ISSUER": ISSUER,
            "RECOLLECT_AUTH_JWT_AUDIENCE": AUDIENCE,
            "RECOLLECT_AUTH_JWT_KEY_FILE": str(secret),
            "RECOLLECT_SERVER_REQUESTS_PER_MINUTE": "0",
            "RECOLLECT_MODEL_IDLE_TIMEOUT_SECONDS": "600",
            "RECOLLECT_MODEL_TOTAL_TIMEOUT_SECONDS": "600",
        }
        with served(database, folder, environ, program=program) as server:
            world = World(server, database, model)
            try:
                _furnish_owner(world)
                yield world
            finally:
                world.close()


def bearer(token: str) -> dict[str, str]:
    """Return the header that shows a token."""
    return {"Authorization": f"Bearer {token}"}


def token(secret: str = SECRET, *, algorithm: str = "HS256", **more: Any) -> str:
    """Return a JWT of the owner, or of whom more says."""
    claims = {"iss": ISSUER, "aud": AUDIENCE, "sub": OWNER.user, "tenant": OWNER.tenant}
    claims["exp"] = datetime.now(UTC) + timedelta(hours=1)  # type: ignore[assignment]  # the library takes both
    return jwt.encode(claims | more, "" if algorithm == "none" else secret, algorithm=algorithm)


async def _keys(settings: Settings) -> dict[str, str]:
    """Make keys of the owner and of a service."""
    own = NewKey(name="own", tenant=OWNER.tenant, user=OWNER.user, agent=OWNER.agent)
    wanted = {
        "owner": own,
        "reader": replace(own, rights=frozenset(("read",))),
        "revoked": own,
        "expired": replace(own, lifetime=timedelta(microseconds=1)),
        "service": NewKey(name="service", tenant=OWNER.tenant, user=None),
    }
    async with open_keys(settings) as keys:
        issued = {name: await keys.create(new) for name, new in wanted.items()}
        await keys.revoke(issued["revoked"].key.id)
    return {name: one.text for name, one in issued.items()}


def done(answer: httpx2.Response) -> Any:
    """Return the JSON of an answer that is no refusal."""
    assert answer.is_success, answer.text
    return answer.json() if answer.content else None


def furnish_other(client: httpx2.Client) -> None:
    """Give a user a conversation, a message and a memory under the names by which cases call them."""
    mine = MINE
    done(client.post("/api/conversations", json={"id": mine["mine"], "title": "Mine"}))
    message = {"id": mine["my_message"], "role": "user", "content": "my own words"}
    done(client.post(f"/api/conversations/{mine['mine']}/messages", json={"messages": [message]}))
    memory = {"kind": "memory", "id": mine["my_memory"], "agent": "assistant", "content": "Mine waits for review"}
    lines = httpx2.Request("POST", "http://x", json=memory | {"created_at": "2026-05-17T09:01:00Z"}).content
    assert done(client.post("/api/import", content=lines))["memories"] == 1


#: What everybody else has.
MINE: Ids = {"mine": "c-mine", "my_message": "m-mine", "my_memory": "k-mine"}


def _furnish_owner(world: World) -> None:
    client, talk = world.owner, f"c-{uuid.uuid4()}"
    ids: Ids = {"conversation": talk, "message": f"m-{uuid.uuid4()}", "agent": OWNER.agent, **MINE}
    done(client.post("/api/conversations", json={"id": talk, "title": TEXT, "metadata": {"k": TEXT}}))
    messages = [{"id": ids["message"], "role": "user", "content": f"{TEXT} is my word"}]
    messages += [{"id": f"old-{number}", "role": "user", "content": f"{TEXT} {number}"} for number in range(3)]
    done(client.post(f"/api/conversations/{talk}/messages", json={"messages": messages}))
    batch = [{"id": "archived", "text": f"{TEXT} archived", "sender": "user"}]
    done(client.post("/api/chat/session/archive_messages", json={"session_id": talk, "messages_batch": batch}))
    answer = client.post("/api/chat/session/archive_token", json={"session_id": talk})
    memory = {"memory_type": "fact", "conversation_id": talk, "category": TEXT}
    for name, content in (("memory", f"The word is {TEXT}"), ("deleted", f"Once had a boat named {TEXT}")):
        ids[name] = done(client.post("/api/memories", json=memory | {"content": content}))["id"]
    done(client.delete(f"/api/memories/{ids['deleted']}"))
    done(client.post("/api/memories", json={"content": "Prefers green tea", "memory_type": "preference"}))
    done(client.post("/api/notes/operations", json={"operation": "append", "content": f"# {TEXT}"}))
    ids["answer"] = said(client, f"{TEXT}?", conversation_id=talk, key="owners-key")["message"]["id"]
    ids |= world.stored(lambda store: _stored_beside(store, talk, ids["message"]))
    world.model.script(ScriptedReply(text=(TEXT, "..."), fault=Fault.STALL))
    world.reply = world.hold(streaming(client, {"message": f"{TEXT} now?", "conversation_id": talk}))
    ids["running"] = next(world.reply).data["message_id"]
    assert next(world.reply).data == {"text": TEXT}
    world.nothing = {name: str(uuid.uuid4()) for name in ids} | MINE | {"word": WORD}
    world.ids = ids | {"word": WORD}
    world.archive_token = done(answer)["archive_token"]


async def _stored_beside(store: Store, talk: str, message_id: str) -> Ids:
    """Store what only workers make: a summary, a memory that waits for review and a job that died."""
    now, ids = datetime.now(UTC), {name: str(uuid.uuid4()) for name in ("summary", "pending", "job")}
    summary = NewSummary(
        id=ids["summary"],
        message_id=str(uuid.uuid4()),
        conversation_id=talk,
        at=now,
        content=f"About {TEXT}",
        generator="test",
        message_ids=(message_id,),
    )
    await store.put_summary(OWNER, summary)
    pending = NewMemory(id=ids["pending"], content=f"{TEXT} waits", at=now, origin="import", trust="pending")
    await store.add_memories(OWNER, (pending,))
    await store.enqueue_job(OWNER, NewJob(id=ids["job"], kind="dies", run_at=now, conversation_id=talk), now)
    claims = ClaimRequest(worker="test", now=now, lease=timedelta(minutes=1), limit=1, kinds=("dies",))
    (held,) = await store.claim_jobs(claims)
    await store.fail_job(OWNER, held.claim, JobFailure(at=now, error=TEXT, retry_at=None))
    return ids
