"""A way to a Postgres on which a commit, or the answer to it, gets lost."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress
from typing import Literal

#: How a commit looks on the wire, in either protocol.
COMMIT = b"COMMIT\0"


class CommitProxy:
    """Forward connections to a port; lose one commit when told to."""

    def __init__(self, port: int) -> None:
        self._server = ("127.0.0.1", port)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._sockets: list[socket.socket] = [self._listener]
        #: What to lose next; it is lost once.
        self.lose: Literal["nothing", "request", "reply"] = "nothing"
        self.lost = 0
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def port(self) -> int:
        """Tell where to connect."""
        port: int = self._listener.getsockname()[1]
        return port

    def close(self) -> None:
        """Drop everything."""
        for one in self._sockets:
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                server = socket.create_connection(self._server)
                self._sockets += [client, server]
                muted = threading.Event()
                threading.Thread(target=self._ask, args=(client, server, muted), daemon=True).start()
                threading.Thread(target=self._answer, args=(server, client, muted), daemon=True).start()

    def _ask(self, client: socket.socket, server: socket.socket, muted: threading.Event) -> None:
        with suppress(OSError):
            while data := client.recv(65_536):
                if COMMIT in data and self.lose != "nothing":
                    what, self.lose = self.lose, "nothing"
                    self.lost += 1
                    if what == "request":
                        break
                    muted.set()
                server.sendall(data)
        _hang_up(client, server)

    def _answer(self, server: socket.socket, client: socket.socket, muted: threading.Event) -> None:
        with suppress(OSError):
            while (data := server.recv(65_536)) and not muted.is_set():
                client.sendall(data)
        _hang_up(client, server)


def _hang_up(*sockets: socket.socket) -> None:
    for one in sockets:
        with suppress(OSError):
            one.shutdown(socket.SHUT_RDWR)
