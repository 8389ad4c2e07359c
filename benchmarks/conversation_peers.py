"""What developers chat with today, each in its best honest configuration.

All of them keep the window short by the means they have, so that none pays for the length of the conversation.
Equal durability is checked, not assumed: `durability` reads the settings from the peer's own connections.
The peers are not dependencies of the project; `benchmarks/requirements.txt` installs them.
"""

from __future__ import annotations

import logging
import os
import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, ClassVar

from benchmarks.conversation_systems import CONVERSATION, REPLY, Prompt, role_at
from benchmarks.peers import make_durable, settings
from benchmarks.systems import WINDOW

USER = "user-1"


class OpenAIAgents:
    """The OpenAI Agents SDK: `get_items` and `add_items` of one `SQLiteSession`.

    Its default is WAL; it leaves `synchronous` to the SQLite that Python was built with.
    """

    name: ClassVar[str] = "openai-agents"
    threaded: ClassVar[bool] = False

    async def open(self, folder: Path) -> None:
        """Open a session."""
        from agents import SQLiteSession

        self._session = SQLiteSession(CONVERSATION, folder / "agents.db")

    async def seed(self, texts: Sequence[str]) -> None:
        """Add the messages as one batch."""
        await self._session.add_items([{"role": role_at(at), "content": text} for at, text in enumerate(texts)])

    async def turn(self, text: str) -> Prompt:
        """Get the newest items, then add two."""
        question: Any = {"role": "user", "content": text}
        items: list[Any] = [*await self._session.get_items(limit=WINDOW), question]
        prompt = [(item["role"], item["content"]) for item in items]
        await self._session.add_items([question, {"role": "assistant", "content": REPLY}])
        return prompt

    def durability(self) -> str:
        """Ask a connection that the session opened."""
        with self._session._locked_connection() as connection:
            return settings(connection)

    async def close(self) -> None:
        """Close the session."""
        self._session.close()


class LangGraph:
    """A LangGraph graph of one node with `AsyncSqliteSaver`, whose state keeps the newest messages only.

    Older messages stay in the older checkpoints, of which it keeps all.
    By default it writes a checkpoint after each step, while the next one runs; there the asynchronous saver was mostly
    the faster one here, by less than what a busy machine adds.
    """

    name: ClassVar[str] = "langgraph"
    threaded: ClassVar[bool] = False

    async def open(self, folder: Path) -> None:
        """Compile the graph on a connection with WAL and FULL."""
        import aiosqlite
        from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

        self._connection: Any = await aiosqlite.connect(folder / "langgraph.db", check_same_thread=False)
        await self._connection.execute("pragma journal_mode = wal")
        await self._connection.execute("pragma synchronous = full")
        self._compile(AsyncSqliteSaver(self._connection))

    def _compile(self, saver: Any) -> None:
        from langgraph.graph import END, START, StateGraph

        builder = StateGraph(_state())
        builder.add_node("model", self._answer)
        builder.add_edge(START, "model")
        builder.add_edge("model", END)
        self._graph = builder.compile(checkpointer=saver)
        self._config: Any = {"configurable": {"thread_id": CONVERSATION}}
        self._prompt: Prompt = []

    def _answer(self, state: Any) -> Any:
        from langchain_core.messages import AIMessage

        roles = {"human": "user", "ai": "assistant"}
        self._prompt = [(roles[message.type], message.content) for message in state["messages"]]
        return {"messages": [AIMessage(content=REPLY)]}

    async def seed(self, texts: Sequence[str]) -> None:
        """Put the messages into the state as one update."""
        await self._graph.aupdate_state(self._config, _update(texts), as_node="model")

    async def turn(self, text: str) -> Prompt:
        """Run the graph once; when it returns, its checkpoints are written."""
        await self._graph.ainvoke(_update([text]), self._config)
        return self._prompt

    def durability(self) -> str:
        """Ask the connection, past the thread that it usually waits for."""
        return settings(self._connection._conn)

    async def close(self) -> None:
        """Close the connection."""
        await self._connection.close()


class LangGraphExit(LangGraph):
    """The same with one checkpoint, when the graph ends; there the blocking `SqliteSaver` was mostly faster here."""

    name: ClassVar[str] = "langgraph+exit"
    threaded: ClassVar[bool] = True

    async def open(self, folder: Path) -> None:
        """Compile the graph on a connection with WAL and FULL."""
        from langgraph.checkpoint.sqlite import SqliteSaver

        self._connection = sqlite3.connect(folder / "langgraph.db", check_same_thread=False)
        make_durable(self._connection)
        self._compile(SqliteSaver(self._connection))

    async def seed(self, texts: Sequence[str]) -> None:
        """Put the messages into the state as one update."""
        self._graph.update_state(self._config, _update(texts), as_node="model")

    def turn(self, text: str) -> Any:
        """Run the graph once; when it returns, its checkpoint is written."""
        self._graph.invoke(_update([text]), self._config, durability="exit")
        return self._prompt

    def durability(self) -> str:
        """Ask the connection."""
        return settings(self._connection)

    async def close(self) -> None:
        """Close the connection."""
        self._connection.close()


def _update(texts: Sequence[str]) -> Any:
    from langchain_core.messages import AIMessage, HumanMessage

    return {"messages": [(AIMessage if at % 2 else HumanMessage)(content=text) for at, text in enumerate(texts)]}


def _state() -> Any:
    from langgraph.graph.message import add_messages
    from typing_extensions import TypedDict

    def newest(old: Any, new: Any) -> Any:
        # The question and the window before it.
        messages: Any = add_messages(old, new)
        return messages[-(WINDOW + 1) :]

    return TypedDict("State", {"messages": Annotated[list, newest]})  # type: ignore[operator]


class LlamaIndex:
    """LlamaIndex `Memory` on SQLite: `aget`, then one `aput_messages`.

    Its window is counted in tokens: at 1,800 it moves the oldest 900 out, which leaves about 20 to 40 messages.
    With its own limit of 21,000 tokens it reads hundreds of messages in each turn, and reads them twice.
    """

    name: ClassVar[str] = "llamaindex"
    threaded: ClassVar[bool] = False

    async def open(self, folder: Path) -> None:
        """Make the engine, its connections set to WAL and FULL by an event hook, and the memory on it."""
        from llama_index.core.llms import ChatMessage
        from llama_index.core.memory import Memory
        from sqlalchemy import event
        from sqlalchemy.ext.asyncio import create_async_engine

        self._message = ChatMessage
        self._engine = create_async_engine(f"sqlite+aiosqlite:///{folder / 'llamaindex.db'}", pool_size=1)
        event.listen(self._engine.sync_engine, "connect", self._connected)
        self._settings = "not connected"
        self._memory = Memory.from_defaults(
            session_id=CONVERSATION,
            token_limit=1_800,
            chat_history_token_ratio=1.0,
            token_flush_size=900,
            async_engine=self._engine,
        )
        await self._memory.aget()

    def _connected(self, connection: Any, record: object) -> None:
        make_durable(connection, record)
        self._settings = settings(connection)

    async def seed(self, texts: Sequence[str]) -> None:
        """Put the messages as one batch."""
        await self._memory.aput_messages(
            [self._message(role=role_at(at), content=text) for at, text in enumerate(texts)]
        )

    async def turn(self, text: str) -> Prompt:
        """Get the active messages, then put two."""
        question = self._message(role="user", content=text)
        messages = [*await self._memory.aget(), question]
        prompt = [(message.role.value, message.content or "") for message in messages]
        await self._memory.aput_messages([question, self._message(role="assistant", content=REPLY)])
        return prompt

    def durability(self) -> str:
        """Return what its connection said when it was made."""
        return self._settings

    async def close(self) -> None:
        """Close the pool."""
        await self._engine.dispose()


class Mem0:
    """mem0 on its default vector store, Qdrant inside the process: `search`, then `add(infer=False)`.

    It has no window: its prompt is what its search finds in the conversation.
    Its embedder is the constant one that it ships for stores that embed by themselves. No setting names that one, so it
    is put into the finished object: embedding takes no time here, as the model does, and finds nothing in particular.
    spaCy and fastembed, which it uses if installed, are not: it does without lemmas, entities and keyword search.
    Both of its databases keep a rollback journal; their connections are set to WAL and FULL, which was mostly
    faster here.
    """

    name: ClassVar[str] = "mem0"
    threaded: ClassVar[bool] = True

    async def open(self, folder: Path) -> None:
        """Make the memory without telemetry; the key is for a model that is never called."""
        os.environ["MEM0_TELEMETRY"] = "False"
        os.environ["MEM0_DIR"] = str(folder)
        # It says for each package that it could use that it is missing.
        logging.getLogger("mem0").setLevel(logging.ERROR)
        from mem0 import Memory
        from mem0.embeddings.mock import MockEmbeddings

        unused = {"api_key": "unused"}
        store = {"path": str(folder / "qdrant"), "on_disk": True, "embedding_model_dims": 10}
        self._memory = Memory.from_config(
            {
                "history_db_path": str(folder / "history.db"),
                "vector_store": {"provider": "qdrant", "config": store},
                "embedder": {"provider": "openai", "config": unused},
                "llm": {"provider": "openai", "config": unused},
            }
        )
        self._memory.embedding_model = MockEmbeddings()
        for connection in self._connections():
            make_durable(connection)

    def _connections(self) -> Iterator[Any]:
        yield self._memory.db.connection
        for collection in self._memory.vector_store.client._client.collections.values():
            yield collection.storage.storage

    async def seed(self, texts: Sequence[str]) -> None:
        """Add the messages."""
        self._add([{"role": role_at(at), "content": text} for at, text in enumerate(texts)])

    def turn(self, text: str) -> Prompt:
        """Search the conversation, then add two memories."""
        filters = {"user_id": USER, "run_id": CONVERSATION}
        found = self._memory.search(text, top_k=WINDOW, filters=filters)["results"]
        prompt = [(one["role"], one["memory"]) for one in found]
        self._add([{"role": "user", "content": text}, {"role": "assistant", "content": REPLY}])
        return [*prompt, ("user", text)]

    def _add(self, messages: list[dict[str, str]]) -> None:
        self._memory.add(messages, user_id=USER, run_id=CONVERSATION, infer=False)

    def durability(self) -> str:
        """Ask the connections of both of its databases."""
        return " and ".join(settings(connection) for connection in self._connections())

    async def close(self) -> None:
        """Close both databases."""
        self._memory.close()
        self._memory.vector_store.client.close()
