"""A word that nobody else says, spread over everything a service keeps, and the search for what is left of it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from random import Random
from typing import Any, Protocol

import apsw
import psycopg
import redis
from psycopg import sql

from recollect.bootstrap import new_id
from recollect.domain.job import ClaimedJob, ClaimRequest
from recollect.domain.memory import MemoryQuery
from recollect.domain.message import NewMessage
from recollect.extraction.extractors import Extractors, RuleExtractor
from recollect.history.generators import ExtractiveGenerator, Generators
from recollect.history.plan import PlanSettings
from recollect.ports.extractor import Extractor
from recollect.ports.summary_generator import SummaryGenerator
from recollect.service.chat_request import ChatRequest
from recollect.service.compaction import CompactionSettings, Compactor
from recollect.service.learning import Learner
from recollect.service.memories import Correction, Statement
from recollect.storage.maintenance import Maintenance
from recollect.storage.postgres_maintenance import PostgresMaintenance
from recollect.storage.sqlite_maintenance import SqliteMaintenance
from recollect.testing.models import Fault, ScriptedReply
from recollect.testing.samples import ALICE, BOB, message
from tests.support.learning import found, item
from tests.support.model_service import Played

ECHO = ScriptedReply(echo=True)
#: What is said in conversations that nobody erases, and where it must be found again.
HARMLESS = "My sister plays the violin in Bergen"
#: How a conversation is kept so short that even a small one is summarised and folded.
SHORT = PlanSettings(threshold=4, keep_verbatim=2, batch=2, most_summaries=2, fold=2)

_LETTERS = {
    "latin": "abcdefghijklmnopqrstuvwxyz",
    "cyrillic": "абвгдежзиклмнопрстуфхцчшэюя",
    "greek": "αβγδεζηθικλμνξοπρστυφχψω",
    "arabic": "ابتثجحخدذرزسشصضطظعغفقكلمنهوي",
    "han": "龘鱻麤靐齉爨癵驫灪籱鸜麷",
}


class Canary:
    """Words of several scripts, drawn anew in every run, and all the ways in which bytes may spell them."""

    def __init__(self, rng: Random) -> None:
        self.words = {
            script: "".join(rng.choice(letters) for _ in range(6 if script == "han" else 16))
            for script, letters in _LETTERS.items()
        }
        latin = self.words["latin"]
        #: The name that rules and models learn, and all of the words, oddly cased.
        self.name = latin.capitalize()
        odd = "".join(c.upper() if n % 3 == 0 else c for n, c in enumerate(latin))
        self.text = " ".join((odd, latin.upper(), *list(self.words.values())[1:]))

    def spellings(self) -> set[bytes]:
        """Return what is looked for: each word but for its beginning, which an index may leave out, in any case."""
        tails = [word[2:] for word in self.words.values()]
        cased = {form for tail in tails for form in (tail, tail.upper(), tail.casefold())}
        escaped = {json.dumps(form)[1:-1] for form in cased}
        return {form.encode() for form in cased | escaped}

    def places(self, pile: Mapping[str, bytes]) -> list[str]:
        """Return where it is found."""
        spellings = self.spellings()
        latin = self.words["latin"][2:].encode()
        return sorted(
            name for name, raw in pile.items() if latin in raw.lower() or any(spelling in raw for spelling in spellings)
        )


class Database(Protocol):
    """What a search needs of a database."""

    url: str

    @property
    def maintenance(self) -> Maintenance:
        """Look after the database."""

    def raw(self) -> dict[str, bytes]:
        """Return every byte that a thief would read."""

    def count(self) -> dict[str, int]:
        """Count the rows of each table."""


class SqliteFiles:
    """A folder with a SQLite file and all that stands beside it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.url = f"sqlite:///{path}"

    @property
    def maintenance(self) -> Maintenance:
        return SqliteMaintenance(self.path)

    def raw(self) -> dict[str, bytes]:
        return {file.name: file.read_bytes() for file in self.path.parent.iterdir() if file.is_file()}

    def count(self) -> dict[str, int]:
        connection = apsw.Connection(str(self.path), flags=apsw.SQLITE_OPEN_READONLY)
        try:
            query = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT GLOB 'message_terms*'"
            tables = [name for (name,) in connection.execute(query)]
            return {name: len(connection.execute(f"SELECT 1 FROM {name}").fetchall()) for name in tables}
        finally:
            connection.close()


class PostgresRows:
    """Every live row of every table of a Postgres database."""

    def __init__(self, url: str) -> None:
        self.url = url

    @property
    def maintenance(self) -> Maintenance:
        return PostgresMaintenance(self.url)

    def raw(self) -> dict[str, bytes]:
        return {name: b"\n".join(map(_bytes, rows)) for name, rows in self._rows().items()}

    def count(self) -> dict[str, int]:
        return {name: len(rows) for name, rows in self._rows().items()}

    def _rows(self) -> dict[str, list[tuple[Any, ...]]]:
        query = (
            "SELECT schemaname, tablename FROM pg_tables WHERE schemaname NOT IN ('pg_catalog', 'information_schema')"
        )
        with psycopg.connect(self.url) as connection:
            tables = connection.execute(query).fetchall()
            return {
                table: connection.execute(sql.SQL("SELECT * FROM {}").format(sql.Identifier(schema, table))).fetchall()
                for schema, table in tables
            }


def _bytes(row: Iterable[object]) -> bytes:
    return b"|".join(bytes(one) if isinstance(one, (bytes, memoryview)) else str(one).encode() for one in row)


def redis_bytes(url: str) -> dict[str, bytes]:
    """Return what a Redis of this machine holds, as it saves it to a disk: keys and values, none of them compressed."""
    with redis.Redis.from_url(url, decode_responses=True) as client:
        client.config_set("rdbcompression", "no")
        client.save()
        place: Any = client.config_get()
    file = Path(place["dir"], place["dbfilename"])
    raw = file.read_bytes()
    file.unlink()
    return {"redis": raw}


class Spread:
    """A service whose every part is told the canary."""

    def __init__(self, played: Played, canary: Canary) -> None:
        self.played = played
        self.service = played.service
        self.canary = canary

    async def job(self, kind: str, conversation_id: str = "c1") -> str:
        """Do the due job of this kind as a worker does, and return what became of it; those of others are let go."""
        (held,) = [held for held in await self.claimed(kind) if held.job.conversation_id == conversation_id]
        return (await self.service.worker._attempts.make(held)).outcome

    async def claimed(self, kind: str) -> tuple[ClaimedJob, ...]:
        """Take all due jobs of this kind."""
        lease = CompactionSettings().call_time
        request = ClaimRequest(worker=new_id(), now=self.played.clock(), lease=lease, kinds=(kind,), limit=100)
        return await self.service.store.claim_jobs(request)

    def compactor(self, first: SummaryGenerator | None = None) -> Compactor:
        """Return what summarises even short conversations."""
        generators = Generators(first=first or ExtractiveGenerator())
        settings = CompactionSettings(plan=SHORT)
        return Compactor(self.service.store, generators, settings, clock=self.played.clock, new_id=new_id)

    def learner(self, first: Extractor) -> Learner:
        """Return the learner of the service with another extractor."""
        own = self.service.learner
        return Learner(own._store, own._writer, Extractors(first=first), own._means, own._options)

    async def say(self, conversation_id: str, text: str, reply: ScriptedReply, key: str | None = None) -> str:
        """Take a chat turn a second after the last, and return the id of what was said."""
        self.played.clock.advance(seconds=1)
        self.played.server.script(reply)
        asked = ChatRequest(text=text, conversation_id=conversation_id, key=key)
        return (await self.service.chat.turn(ALICE, asked)).user_message.id

    async def note(self, conversation_id: str, content: str) -> None:
        """Have the agent note something in a conversation, by its tool."""
        self.played.clock.advance(milliseconds=10)
        told = await self.service.notes.call(ALICE, {"operation": "append", "content": content}, conversation_id)
        assert told.startswith("Saved")

    async def fail_to_learn(self) -> None:
        """Have a model answer with no list of memories: its words are kept with the job, for a person to see."""
        self.played.answer(ScriptedReply(text=(f"I would rather talk about {self.canary.text}",)))
        assert await self.job("extract") == "failed"

    async def name(self) -> None:
        """Have the model make a title of it."""
        self.played.server.script(ScriptedReply(text=(f"About {self.canary.name}",)))
        assert await self.job("title") == "done"

    async def harmless(self) -> None:
        """Say, learn, summarise and note what is to stay, for two users."""
        for scope in (ALICE, BOB):
            said = [message(f"h{n}", f"{HARMLESS}, part {n}.", created_at=self.played.clock()) for n in range(8)]
            await self.service.conversations.add_messages(scope, "c2", said)
            await self.compactor().compact(scope, "c2")
            await self.service.memories.add(scope, Statement(content=HARMLESS))
            await self.service.notes.call(scope, {"operation": "append", "content": f"# Kept\n{HARMLESS}"}, "c2")

    async def chat(self) -> None:
        """Say it in chat, with a title, answers for a retry, notes, failed jobs, learned rules and a failed turn."""
        for number in range(3):
            text = f"My name is {self.canary.name}. Remember {self.canary.text} number {number}."
            await self.say("c1", text, ECHO, key=f"key-{number}")
        await self.note("c1", f"# Names\nis called {self.canary.text}")
        await self.name()
        await self.fail_to_learn()
        learned = await self.learner(RuleExtractor()).learn(ALICE, "c1")
        assert any(self.canary.name in memory.content for memory in learned.memories)
        await self.say("c1", self.canary.text, ScriptedReply(fault=Fault.REJECTED))

    def transcript(self) -> list[NewMessage]:
        """Return what a client archives, always with the same ids; the last of it came from elsewhere."""
        text = f"I live in {self.canary.name}. Seen: {self.canary.text}"
        said = [message(f"a{n}", f"{n}: {text}.", role=role) for n, role in enumerate(("user", "assistant") * 4)]
        return [*said, message("brought", text, metadata={"origin": "import"})]

    async def archive(self) -> None:
        """Archive a transcript, summarise and fold it."""
        await self.service.conversations.archive(ALICE, "c1", self.transcript(), batch_id="batch")
        await self.compactor().compact(ALICE, "c1")

    async def learn(self) -> None:
        """Learn by a model, leave something waiting for review, edit, supersede."""
        name, text = self.canary.name, self.canary.text
        home = {"subject": "user", "attribute": "residence"}
        items = (
            item(f"Lives in {name}", f"0: I live in {name}", **home),
            item(f"Saw {text}", f"in {name}. Seen: {text}"),
        )
        self.played.server.script(found(*items))
        await self.service.learner.learn(ALICE, "c1")
        page = await self.service.memories.list(ALICE, MemoryQuery(conversation_id="c1", trust=None))
        seen = next(memory for memory in page.items if memory.content == f"Saw {text}")
        await self.service.memories.change(ALICE, seen.id, Correction(content=f"Once saw {text}", importance=0.9))
        await self.service.memories.add(
            ALICE,
            Statement(content="Lives in Oslo", valid_from=self.played.clock(), conversation_id="c1", **home),  # type: ignore[arg-type]
        )

    async def everything(self) -> None:
        """Spread the canary everywhere, all of it in conversation c1."""
        await self.harmless()
        await self.chat()
        await self.archive()
        await self.learn()
        await self.service.ledger.flush()
