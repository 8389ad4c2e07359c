"""The stores of memories that developers use today, each in its best honest configuration.

Each gets the embedder that we use, in the form that it asks for; none downloads anything or reports home.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import os
import sqlite3
import threading
import warnings
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar, TypeVar

from uuid_utils import uuid4

from benchmarks.memory_systems import FOUND, Known, embedded, user_name
from benchmarks.peers import make_durable, settings
from recollect.embedding.static import DIMENSIONS

T = TypeVar("T")

#: Memories that are stored in one call while a store is filled.
BATCH = 1_000
COLLECTION = "memories"


class LangGraphStore:
    """LangGraph's `SqliteStore` with its vector index, a namespace for each user, and a connection set to WAL and FULL.

    The connection is one of pysqlite3, since the SQLite that Python was built with may load no extension.
    """

    name: ClassVar[str] = "langgraph"
    threaded: ClassVar[bool] = True

    async def open(self, folder: Path) -> None:
        """Connect as `from_conn_string` does, and make the tables."""
        import pysqlite3
        from langgraph.store.base import PutOp
        from langgraph.store.sqlite import SqliteStore

        self._put = PutOp
        connection = pysqlite3.connect(str(folder / "langgraph.db"), check_same_thread=False, isolation_level=None)
        make_durable(connection)
        # It reads `text_fields` although its documentation says `fields`.
        index = {"dims": DIMENSIONS, "embed": self._embed, "text_fields": ["text"]}
        self._store = SqliteStore(connection, index=index)
        self._store.setup()
        self._made: dict[str, list[float]] = {}

    def _embed(self, texts: Sequence[str]) -> list[list[float]]:
        if self._made:
            return [self._made[text] for text in texts]
        return embedded(texts).tolist()  # type: ignore[no-any-return]  # a list of rows

    async def fill(self, known: Sequence[Known]) -> None:
        """Put everything in large batches, embedded before."""
        for batch in _batches(
            (user_name(o.user), t, v) for o in known for t, v in zip(o.texts, o.vectors, strict=True)
        ):
            self._made = {text: vector.tolist() for _, text, vector in batch}
            self._store.batch(
                [self._put(namespace=(user,), key=str(uuid4()), value={"text": text}) for user, text, _ in batch]
            )
        self._made = {}

    def add(self, user: int, text: str) -> None:
        """Put one item."""
        self._store.put((user_name(user),), str(uuid4()), {"text": text})

    def search(self, user: int, text: str) -> list[str]:
        """Search the namespace of the user."""
        return [item.value["text"] for item in self._store.search((user_name(user),), query=text, limit=FOUND)]

    def durability(self) -> str:
        """Ask the connection."""
        return settings(self._store.conn)

    async def close(self) -> None:
        """Close the connection."""
        self._store.conn.close()


class LangGraphAsync(LangGraphStore):
    """The same store with LangGraph's `AsyncSqliteStore` for additions, which puts what several tasks add together."""

    name: ClassVar[str] = "langgraph+async"
    threaded: ClassVar[bool] = False

    async def open(self, folder: Path) -> None:
        """Open the file twice: to fill and to search it as the other does, and to add."""
        await super().open(folder)
        import aiosqlite
        import pysqlite3
        from langgraph.store.sqlite import AsyncSqliteStore

        path = str(folder / "langgraph.db")
        self._connection: Any = aiosqlite.Connection(lambda: pysqlite3.connect(path, isolation_level=None), 64)
        await self._connection
        for pragma in ("journal_mode = wal", "synchronous = full"):
            await self._connection.execute(f"pragma {pragma}")
        index: Any = {"dims": DIMENSIONS, "embed": self._embed, "text_fields": ["text"]}
        self._async_store = AsyncSqliteStore(self._connection, index=index)
        await self._async_store.setup()

    def add(self, user: int, text: str) -> Any:
        """Put one item, with those of other tasks that wait."""
        return self._async_store.aput((user_name(user),), str(uuid4()), {"text": text})

    async def close(self) -> None:
        """End the task that puts things together, and close both connections."""
        task: Any = self._async_store._task
        task.cancel()
        await asyncio.wait([task])
        await self._connection.close()
        await super().close()


class Chroma:
    """Chroma inside the process, one collection for all users, searched with a condition on the user.

    Its file keeps a rollback journal; another connection sets WAL, which stays with the file and was faster here.
    """

    name: ClassVar[str] = "chroma"
    threaded: ClassVar[bool] = True

    async def open(self, folder: Path) -> None:
        """Make the collection without an embedder of its own."""
        import chromadb
        from chromadb.config import Settings

        self._client: Any = chromadb.PersistentClient(str(folder / "chroma"), Settings(anonymized_telemetry=False))
        self._collection = self._client.create_collection(
            COLLECTION, embedding_function=None, configuration={"hnsw": {"space": "cosine"}}
        )
        self._file = chroma_in_wal(folder / "chroma")

    async def fill(self, known: Sequence[Known]) -> None:
        """Add everything in large batches."""
        for batch in _batches(
            (user_name(o.user), t, v) for o in known for t, v in zip(o.texts, o.vectors, strict=True)
        ):
            self._collection.add(
                ids=[str(uuid4()) for _ in batch],
                embeddings=[vector for _, _, vector in batch],
                documents=[text for _, text, _ in batch],
                metadatas=[{"user": user} for user, _, _ in batch],
            )

    def add(self, user: int, text: str) -> None:
        """Add one document."""
        self._collection.add(
            ids=[str(uuid4())],
            embeddings=embedded([text]),
            documents=[text],
            metadatas=[{"user": user_name(user)}],
        )

    def search(self, user: int, text: str) -> list[str]:
        """Query for the documents of the user."""
        found = self._collection.query(
            query_embeddings=embedded([text]), n_results=FOUND, where={"user": user_name(user)}, include=["documents"]
        )
        documents: list[str] = found["documents"][0]
        return documents

    def durability(self) -> str:
        """Ask another connection to the same file; the level of flushing is hidden inside Chroma."""
        return _chroma_settings(self._file)

    async def close(self) -> None:
        """Stop it; what it started ends with the last client."""
        self._file.close()
        self._client.close()


class Mem0:
    """mem0 on its default vector store, Qdrant inside the process, with `infer=False`, so that no model is asked.

    No setting names an embedder of one's own, so ours is put into the finished object.
    spaCy and fastembed, which it uses if installed, are not: it does without lemmas, entities and keyword search.
    Both of its databases keep a rollback journal; their connections are set to WAL and FULL.
    Qdrant inside the process loses what several threads add at once, so they take turns at a lock.
    """

    name: ClassVar[str] = "mem0"
    threaded: ClassVar[bool] = True
    provider: ClassVar[str] = "qdrant"
    #: What a client that adds waits for.
    turn: AbstractContextManager[Any] = threading.Lock()

    async def open(self, folder: Path) -> None:
        """Make the memory without telemetry; the key is for a model that is never called."""
        os.environ["MEM0_TELEMETRY"] = "False"
        os.environ["MEM0_DIR"] = str(folder)
        # It says for each package that it could use that it is missing.
        logging.getLogger("mem0").setLevel(logging.ERROR)
        from mem0 import Memory

        unused = {"api_key": "unused"}
        self._memory = Memory.from_config(
            {
                "history_db_path": str(folder / "history.db"),
                "vector_store": {"provider": self.provider, "config": self._store_config(folder)},
                "embedder": {"provider": "openai", "config": unused},
                "llm": {"provider": "openai", "config": unused},
            }
        )
        self._memory.embedding_model = _Mem0Embedder()
        self._connections = self._made_durable(folder)

    def _store_config(self, folder: Path) -> dict[str, Any]:
        return {"path": str(folder / "qdrant"), "on_disk": True, "embedding_model_dims": DIMENSIONS}

    def _made_durable(self, _folder: Path) -> list[Any]:
        collections = self._memory.vector_store.client._client.collections.values()
        connections = [self._memory.db.connection, *(one.storage.storage for one in collections)]
        for connection in connections:
            make_durable(connection)
        return connections

    async def fill(self, known: Sequence[Known]) -> None:
        """Insert points like those that `add` inserts; Qdrant commits each one, here without a flush."""
        for connection in self._connections:
            connection.execute("pragma synchronous = off")
        # Qdrant says that so many points want a server, each time.
        warnings.filterwarnings("ignore", message="Local mode is not recommended", module="mem0")
        now = datetime.now(UTC).isoformat()
        for batch in _batches(
            (user_name(o.user), t, v) for o in known for t, v in zip(o.texts, o.vectors, strict=True)
        ):
            self._memory.vector_store.insert(
                vectors=[vector.tolist() for _, _, vector in batch],
                payloads=[_mem0_payload(user, text, now) for user, text, _ in batch],
                ids=[str(uuid4()) for _ in batch],
            )
        for connection in self._connections:
            connection.execute("pragma synchronous = full")

    def add(self, user: int, text: str) -> None:
        """Add one memory as it is."""
        with self.turn:
            self._memory.add(text, user_id=user_name(user), infer=False)

    def search(self, user: int, text: str) -> list[str]:
        """Search what the user said."""
        found = self._memory.search(text, top_k=FOUND, filters={"user_id": user_name(user)})["results"]
        return [one["memory"] for one in found]

    def durability(self) -> str:
        """Ask the connections of both of its databases."""
        return " and ".join(settings(connection) for connection in self._connections)

    async def close(self) -> None:
        """Close both databases."""
        self._memory.close()
        self._memory.vector_store.client.close()


class Mem0Chroma(Mem0):
    """mem0 on Chroma, which searches a large store faster than Qdrant does inside the process."""

    name: ClassVar[str] = "mem0+chroma"
    provider: ClassVar[str] = "chroma"
    turn: AbstractContextManager[Any] = nullcontext()

    def _store_config(self, folder: Path) -> dict[str, Any]:
        return {"path": str(folder / "chroma"), "collection_name": COLLECTION}

    def _made_durable(self, folder: Path) -> list[Any]:
        make_durable(self._memory.db.connection)
        self._file = chroma_in_wal(folder / "chroma")
        return [self._memory.db.connection]

    def durability(self) -> str:
        """Ask the connection of the history, and another one to the file of Chroma."""
        return f"{super().durability()} and {_chroma_settings(self._file)}"

    async def close(self) -> None:
        """Close the history and Chroma."""
        self._file.close()
        await super().close()


class _Mem0Embedder:
    """Our embedder in the form that mem0 asks for."""

    def embed(self, text: str, _action: str | None = None, **_named: object) -> list[float]:
        """Return the vector of a text."""
        return embedded([text])[0].tolist()  # type: ignore[no-any-return]  # a list of numbers


def _mem0_payload(user: str, text: str, now: str) -> dict[str, str]:
    return {
        "user_id": user,
        "role": "user",
        "data": text,
        "hash": hashlib.md5(text.encode(), usedforsecurity=False).hexdigest(),
        "created_at": now,
        "updated_at": now,
        "text_lemmatized": text.lower(),
    }


def chroma_in_wal(folder: Path) -> sqlite3.Connection:
    """Let the file of a Chroma client keep a write-ahead log, and return another connection to it."""
    connection = sqlite3.connect(folder / "chroma.sqlite3")
    connection.execute("pragma journal_mode = wal")
    return connection


def _chroma_settings(connection: sqlite3.Connection) -> str:
    (mode,) = connection.execute("pragma journal_mode").fetchone()
    return f"journal_mode={mode}, flushed as Chroma chooses"


def _batches(items: Iterator[T]) -> Iterator[list[T]]:
    while batch := list(islice(items, BATCH)):
        yield batch
